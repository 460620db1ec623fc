"""A `.env` file beside the notebook gives keys and takes nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from deep_notebook.models.dotenv import Dotenv, load_dotenv, parse_dotenv


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    values: dict[str, str] = field(default_factory=dict)
    bad: list[int] = field(default_factory=list)


CASES = [
    Case('plain', 'A=1\nB=two words\n', {'A': '1', 'B': 'two words'}),
    Case('no last newline', 'A=1', {'A': '1'}),
    Case('spaces around', '  A = 1  ', {'A': '1'}),
    Case('export', 'export A=1', {'A': '1'}),
    Case('empty value', 'A=\nB=2', {'A': '', 'B': '2'}),
    Case('comments', '# one\n\nA=1 # two\nB=#three\nC=a#b', {'A': '1', 'B': '', 'C': 'a#b'}),
    Case('single quotes are literal', r"A='x # $HOME \n'", {'A': r'x # $HOME \n'}),
    Case('double quotes have escapes', r'A="x\ty\"z\\" # note', {'A': 'x\ty"z\\'}),
    Case('quoted over lines', 'A="one\ntwo"\nB=3', {'A': 'one\ntwo', 'B': '3'}),
    Case('nothing is expanded or executed', 'A=$HOME\nB=`id`\nC=$(id)', {'A': '$HOME', 'B': '`id`', 'C': '$(id)'}),
    Case('windows file', '\ufeffA=1\r\nB=2\r\n', {'A': '1', 'B': '2'}),
    Case('the last one counts', 'A=1\nA=2', {'A': '2'}),
    Case('bad lines', 'A=1\nnot a line\n2B=3\nB=4', {'A': '1', 'B': '4'}, [2, 3]),
    Case('open quote', 'A="never closed\nB=2', {'B': '2'}, [1]),
    Case('text after a quote', "A='x' y", {}, [1]),
    Case('empty file', '', {}),
]


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.name)
def test_a_file_is_understood(case: Case) -> None:
    assert parse_dotenv(case.text) == (case.values, case.bad)


def test_variables_already_set_are_not_overridden(tmp_path: Path) -> None:
    (tmp_path / '.env').write_text('A=file\nB=file\nC=file\n')
    environ = {'A': 'mine', 'B': ''}
    assert load_dotenv(tmp_path, environ) is None
    assert environ == {'A': 'mine', 'B': '', 'C': 'file'}


def test_only_the_file_beside_the_notebook_is_read(tmp_path: Path) -> None:
    (tmp_path / '.env').write_text('A=1')
    (tmp_path / 'deeper').mkdir()
    environ: dict[str, str] = {}
    assert load_dotenv(tmp_path / 'deeper', environ) is None
    assert environ == {}


def test_a_bad_line_is_reported_by_number_and_never_by_value(tmp_path: Path) -> None:
    (tmp_path / '.env').write_text('A=1\nhunter2\n')
    assert load_dotenv(tmp_path, {}) == 'Ignored in .env: line 2 is not NAME=value.'


def test_a_changed_file_is_read_again_and_takes_back_what_it_set(tmp_path: Path) -> None:
    file = tmp_path / '.env'
    file.write_text('A=1\nB=1\nC=1')
    environ: dict[str, str] = {}
    dotenv = Dotenv(file, environ)
    dotenv.refresh()
    environ['B'] = 'changed by the user'
    file.write_text('A=22')
    dotenv.refresh()
    assert environ == {'A': '22', 'B': 'changed by the user'}
    file.unlink()
    dotenv.refresh()
    assert environ == {'B': 'changed by the user'}


def test_an_unchanged_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / '.env').write_text('A=1')
    environ: dict[str, str] = {}
    load_dotenv(tmp_path, environ)
    monkeypatch.setattr(Path, 'read_bytes', lambda self: pytest.fail('read again'))
    load_dotenv(tmp_path, environ)
    assert environ == {'A': '1'}


@pytest.mark.parametrize('content', [b'A=\xff', b'A=1\n' * 300_000], ids=['not UTF-8', 'huge'])
def test_a_file_that_cannot_be_read_is_said(tmp_path: Path, content: bytes) -> None:
    (tmp_path / '.env').write_bytes(content)
    environ: dict[str, str] = {}
    notice = load_dotenv(tmp_path, environ)
    assert notice == '.env was not used: it is not a readable UTF-8 file of less than 1 MB.'
    assert environ == {}


@pytest.mark.parametrize('name', ['LD_PRELOAD', 'PYTHONSTARTUP', 'HTTPS_PROXY', 'BASH_ENV', 'PATH', 'NODE_OPTIONS'])
def test_a_file_from_a_stranger_cannot_change_how_programs_run(tmp_path: Path, name: str) -> None:
    (tmp_path / '.env').write_text(f'{name}=/tmp/evil')
    environ: dict[str, str] = {}
    assert load_dotenv(tmp_path, environ) == f'Ignored in .env: {name} (it changes how programs run).'
    assert environ == {}


@pytest.mark.parametrize(
    ('address', 'key'),
    [('OPENAI_BASE_URL', 'OPENAI_API_KEY'), ('GOOGLE_GEMINI_BASE_URL', 'GEMINI_API_KEY'), ('HF_ENDPOINT', 'HF_TOKEN')],
)
def test_a_file_from_a_stranger_cannot_send_a_key_elsewhere(tmp_path: Path, address: str, key: str) -> None:
    (tmp_path / '.env').write_text(f'{address}=https://evil.example')
    environ = {key: 'mine'}
    notice = load_dotenv(tmp_path, environ)
    assert notice is not None
    assert address in notice
    assert key in notice
    assert environ == {key: 'mine'}


def test_an_address_together_with_its_key_is_taken(tmp_path: Path) -> None:
    (tmp_path / '.env').write_text('OPENAI_BASE_URL=https://mine.example\nOPENAI_API_KEY=k\n')
    environ = {'GITHUB_TOKEN': 'other'}
    assert load_dotenv(tmp_path, environ) is None
    assert environ['OPENAI_BASE_URL'] == 'https://mine.example'


def test_the_environment_of_the_process_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('DEEP_TEST_VALUE', raising=False)
    (tmp_path / '.env').write_text('DEEP_TEST_VALUE=1')
    load_dotenv(tmp_path)
    assert os.environ['DEEP_TEST_VALUE'] == '1'
    (tmp_path / '.env').unlink()
    load_dotenv(tmp_path)
    assert 'DEEP_TEST_VALUE' not in os.environ

"""A search finds the same with ripgrep and without, shows nothing that may not be seen, and always ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deep_notebook.capabilities.filesystem import Filesystem, search
from deep_notebook.workspaces import KernelWorkspace, StateBackend
from harness.play import Deps, play

pytestmark = pytest.mark.anyio

FILES = {
    'a.py': 'import os\n\ndef find(x):\n    return x\n',
    'src/b.py': 'from a import find\nfind(1)\n',
    'notes.md': 'Nothing to FIND here\n',
    'crlf.txt': 'first\r\nfind me\r\n',
    'wide.json': '{"text": "' + 'ä' * 2000 + ' find ' + 'x' * 2000 + '"}',
    '-dash.txt': '-e find\n',
    'utf16.txt': '\ufefffind ü\n',
    '.hidden/secret.txt': 'find the secret\n',
}


@pytest.fixture(params=['ripgrep', 'python', 'memory'])
def grep(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    if request.param == 'memory':
        backend: Any = StateBackend()
    else:
        backend = KernelWorkspace(tmp_path)
    if request.param == 'python':
        monkeypatch.setattr(search, 'ripgrep_binary', lambda: None)
    for name, text in FILES.items():
        data = text.encode('utf-16-le' if name == 'utf16.txt' else 'utf-8')
        if request.param == 'memory':
            backend.files[f'/{name}'] = data
        else:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(data)

    async def run(pattern: str, *, edit_format: Any = 'str_replace', **args: Any) -> str:
        played = await play(
            [('grep', {'pattern': pattern, **args})],
            capabilities=[Filesystem(edit_format=edit_format)],
            deps=Deps(backend),
        )
        return played.texts[0]

    return run


async def test_matches_stand_under_their_file(grep: Callable[..., Any]) -> None:
    assert await grep('find', glob='*.py') == ('a.py\n3:def find(x):\nsrc/b.py\n1:from a import find\n2:find(1)')


async def test_anchors_are_shown_for_hashline(grep: Callable[..., Any]) -> None:
    assert await grep('import os', edit_format='hashline') == 'a.py\n1:60|import os'


async def test_case_context_and_single_files(grep: Callable[..., Any]) -> None:
    assert await grep('find', path='notes.md') == 'No matches.'
    assert await grep('find', path='notes.md', ignore_case=True) == 'notes.md\n1:Nothing to FIND here'
    assert await grep('def', path='a.py', context=1) == 'a.py\n2:\n3:def find(x):\n4:    return x'
    assert await grep('find', path='src') == 'src/b.py\n1:from a import find\n2:find(1)'
    assert await grep('find', path='src/b.py') == 'src/b.py\n1:from a import find\n2:find(1)'


async def test_line_endings_and_encodings_do_not_hide_a_match(grep: Callable[..., Any]) -> None:
    assert await grep('me$', path='crlf.txt') in ('crlf.txt\n2:find me', 'No matches.')
    assert await grep('find me', path='crlf.txt') == 'crlf.txt\n2:find me'
    assert await grep('find ü', path='utf16.txt') == 'utf16.txt\n1:find ü'


async def test_of_a_long_line_the_match_is_shown_and_where_it_is(grep: Callable[..., Any]) -> None:
    text = await grep(' find ', path='wide.json')
    assert ' find ' in text
    assert len(text) < 500
    assert text.endswith('… (at char_offset=2010)')


async def test_what_looks_like_an_option_is_a_pattern_or_a_path(grep: Callable[..., Any]) -> None:
    assert await grep('-e find') == '-dash.txt\n1:-e find'
    assert await grep('find', path='-dash.txt') == '-dash.txt\n1:-e find'
    assert await grep('--version') == 'No matches.'


async def test_hidden_files_are_searched_when_they_are_named(grep: Callable[..., Any]) -> None:
    assert 'secret' not in await grep('find')
    assert await grep('find', path='.hidden') == '.hidden/secret.txt\n1:find the secret'


@pytest.mark.parametrize(
    ('pattern', 'args'), [('(', {}), ('', {}), ('a\nb', {}), ('x', {'path': 'nowhere'}), ('x', {'path': '../x'})]
)
async def test_what_cannot_be_searched_is_answered(
    grep: Callable[..., Any], pattern: str, args: dict[str, str]
) -> None:
    assert (await grep(pattern, **args)) != 'No matches.'


async def test_a_pattern_that_backtracks_for_ever_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, '_TIMEOUT', 0.5)
    deps = Deps(StateBackend({'/a.txt': b'a' * 64 + b'b\n'}))
    played = await play([('grep', {'pattern': '(a+)+$'})], capabilities=[Filesystem()], deps=deps)
    assert played.texts == ['Nothing was found within 0.5 s: search a smaller part, or simpler.']


async def test_many_matches_are_cut_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / 'a.txt').write_text('find\n' * 1000)
    played = await play(
        [('grep', {'pattern': 'find'})], capabilities=[Filesystem()], deps=Deps(KernelWorkspace(tmp_path))
    )
    assert played.texts[0].count('|find') == 100
    assert played.texts[0].endswith('… there may be more: narrow the search')
    assert played.returns[0].metadata == {'summary': 'find · 100+ matches'}


async def test_links_out_and_what_is_kept_do_not_leak(tmp_path: Path) -> None:
    root = tmp_path / 'root'
    (root / '.deep/note').mkdir(parents=True)
    (root / '.deep/note/session.txt').write_text('find the session\n')
    (root / '.deep/memory').mkdir()
    (root / '.deep/memory/MEMORY.md').write_text('find the memory\n')
    (tmp_path / 'secret.txt').write_text('find the secret\n')
    (root / 'link.txt').symlink_to(tmp_path / 'secret.txt')
    (root / 'linked').symlink_to(tmp_path)
    played = await play(
        [
            ('grep', {'pattern': 'find'}),
            ('grep', {'pattern': 'find', 'path': 'linked'}),
            ('grep', {'pattern': 'find', 'path': 'link.txt'}),
            ('grep', {'pattern': 'find', 'path': '.deep'}),
        ],
        capabilities=[Filesystem(edit_format='str_replace')],
        deps=Deps(KernelWorkspace(root)),
    )
    assert 'secret' not in ''.join(played.texts).replace("'linked'", '').replace("'link.txt'", '')
    assert played.texts[0] == 'No matches.'
    assert played.texts[3] == '.deep/memory/MEMORY.md\n1:find the memory'


def test_the_binary_of_the_package_is_found() -> None:
    binary = search.ripgrep_binary()
    assert binary is not None
    assert Path(binary).name.startswith('rg')

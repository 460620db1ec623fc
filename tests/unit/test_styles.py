from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path
from typing import Any

import pytest

from deep_notebook.errors import UsageError
from deep_notebook.styles import BUILTIN_STYLES, OutputStyle, discover_styles, format_style_prompt, resolve_style


def write(directory: Path, **files: str) -> Path:
    for name, text in files.items():
        (directory / f'{name}.md').write_text(text, encoding='utf-8')
    return directory


@pytest.mark.parametrize('name', BUILTIN_STYLES)
def test_each_built_in_style_is_found_by_its_name(name: str) -> None:
    style = resolve_style(name)
    assert style.name == name
    assert style.description
    assert '\n' not in style.description
    assert format_style_prompt(style).startswith(f'## Output style: {name}\n\n{style.content[:20]}')


def test_a_style_stands_for_itself() -> None:
    style = OutputStyle('mine', 'For me.', 'Write haiku.')
    assert resolve_style(style) is style
    with pytest.raises(FrozenInstanceError):
        style.name = 'x'  # type: ignore[misc]


def test_styles_are_read_from_a_directory(tmp_path: Path) -> None:
    write(
        tmp_path,
        haiku='---\nname: haiku\ndescription: Three\n  lines.\nkeep: 1\n---\n\nWrite haiku.\n\n---\n\nAlways.\n',
        plain='\ufeffJust say it.\r\n',
        bare='---\n---\nBe bare.',
    )
    (tmp_path / '._haiku.md').write_bytes(b'\0\1\xff')
    (tmp_path / 'notes.txt').write_text('no style')
    (tmp_path / 'more').mkdir()
    assert discover_styles(tmp_path) == {
        'bare': OutputStyle('bare', '', 'Be bare.'),
        'haiku': OutputStyle('haiku', 'Three lines.', 'Write haiku.\n\n---\n\nAlways.'),
        'plain': OutputStyle('plain', '', 'Just say it.'),
    }


def test_an_own_style_goes_before_a_built_in_one(tmp_path: Path) -> None:
    write(tmp_path, concise='One word.')
    assert resolve_style('concise', tmp_path).content == 'One word.'
    assert resolve_style('formal', str(tmp_path)) is BUILTIN_STYLES['formal']


def test_the_home_directory_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('HOME', str(write(tmp_path, mine='x')))
    assert list(discover_styles('~')) == ['mine']


def test_an_unknown_name_is_answered_with_the_closest_and_all_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as unknown:
        resolve_style('Concize')
    assert str(unknown.value) == (
        "There is no output style 'Concize'. Did you mean 'concise'? "
        'There are concise, conversational, explanatory, formal.'
    )
    with pytest.raises(UsageError, match="Did you mean 'haiku'") as own:
        resolve_style('haikus', write(tmp_path, haiku='x'))
    assert str(own.value).endswith(f'(own ones: {tmp_path}).')


@dataclass(frozen=True)
class Broken:
    name: str
    files: dict[str, str]
    says: str


@pytest.mark.parametrize(
    'case',
    [
        Broken('empty', {'a': '---\nname: x\n---\n \n'}, 'a.md says nothing'),
        Broken('no end', {'a': '---\nname: x\nBe nice.'}, 'a.md has a header without an end'),
        Broken('no YAML', {'a': '---\nname: x\ndescription: a: b\n---\nBe nice.'}, 'a.md is not YAML in line 3'),
        Broken(
            'a list', {'a': '---\n- name\n---\nBe nice.'}, 'a.md must have lines such as "name: mine", got [\'name\']'
        ),
        Broken('a number', {'a': '---\nname: 42\n---\nBe nice.'}, 'a.md must be a text, got 42'),
        Broken('twice', {'a': '---\nname: b\n---\nx', 'b': 'y'}, "b.md are both named 'b'"),
    ],
    ids=lambda case: case.name,
)
def test_a_broken_style_is_reported_in_one_line_with_its_file(tmp_path: Path, case: Broken) -> None:
    with pytest.raises(UsageError) as broken:
        discover_styles(write(tmp_path, **case.files))
    assert case.says in str(broken.value)
    assert str(tmp_path) in str(broken.value)
    assert '\n' not in str(broken.value)


def test_what_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r'styles directory .*nowhere cannot be read \(No such file'):
        discover_styles(tmp_path / 'nowhere')
    (tmp_path / 'a.md').write_bytes('Größe'.encode('latin-1'))
    with pytest.raises(UsageError, match=r'a\.md is not UTF-8 \(byte 2\)'):
        discover_styles(tmp_path)


@pytest.mark.parametrize('value', [{}, BUILTIN_STYLES])
def test_built_in_styles_cannot_be_changed(value: Any) -> None:
    with pytest.raises(TypeError):
        BUILTIN_STYLES['concise'] = value  # type: ignore[index]

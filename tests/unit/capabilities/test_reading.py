from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from pydantic_ai.messages import BinaryContent
from pydantic_ai.workspaces import LocalWorkspaceBackend

from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.workspaces import KernelWorkspace, StateBackend
from harness.play import Deps, play

pytestmark = pytest.mark.anyio


async def read(data: bytes, *, name: str = 'a.txt', edit_format: Any = 'hashline', **args: Any) -> str:
    played = await play(
        [('read_file', {'path': name, **args})],
        capabilities=[Filesystem(edit_format=edit_format, max_read_chars=2_000)],
        deps=Deps(StateBackend({f'/{name}': data})),
    )
    return played.texts[0]


async def test_lines_come_with_number_and_hash() -> None:
    assert await read(b'import os\n\nprint(1)\n') == snapshot("""\
1:60|import os
2:2e|
3:40|print(1)\
""")


async def test_for_str_replace_the_text_comes_as_it_is() -> None:
    assert await read(b'import os\n\nprint(1)\n', edit_format='str_replace') == 'import os\n\nprint(1)\n'


@pytest.mark.parametrize(
    ('data', 'header'),
    [
        (b'', '[a.txt: empty file]'),
        (b'a\r\nb\r\n', '[a.txt: CRLF line endings]'),
        (b'a\r\nb\n', '[a.txt: mixed line endings]'),
        (b'a\nb', '[a.txt: no newline at the end]'),
        ('ä'.encode('utf-16') + '\n'.encode('utf-16-le'), '[a.txt: encoding utf-16-le with BOM]'),
        ('é à\n'.encode('latin-1'), '[a.txt: encoding latin-1]'),
    ],
)
async def test_what_lines_do_not_show_is_said(data: bytes, header: str) -> None:
    assert (await read(data)).split('\n')[0] == header


async def test_a_long_file_says_how_to_go_on() -> None:
    lines = b''.join(b'line %d\n' % number for number in range(1, 501))
    first = await read(lines)
    assert first.startswith('[a.txt: lines 1 to ')
    assert '; continue with offset=' in first.split('\n')[0]
    assert (await read(lines, offset=2, limit=1)).startswith('[a.txt: lines 3 to 3 of 500; continue with offset=3]\n3:')
    assert (await read(lines, offset=498)).startswith('[a.txt: lines 499 to 500 of 500, the end]\n499:')
    assert await read(lines, offset=500) == 'a.txt ends before that: it has 500 lines.'


async def test_arguments_that_make_no_sense_are_answered(tmp_path: Path) -> None:
    (tmp_path / 'reports').mkdir()
    (tmp_path / 'reports/sales.csv').write_text('a,b\n')
    played = await play(
        [
            ('read_file', {'path': 'reports'}),
            ('read_file', {'path': 'reports/sale.csv'}),
            ('read_file', {'path': 'nowhere/sales.csv'}),
            ('read_file', {'path': 'reports/sales.csv/x'}),
            ('read_file', {'path': ''}),
            ('ls', {'path': 'reports/sales.csv'}),
            ('ls', {'path': 'report'}),
        ],
        capabilities=[Filesystem()],
        deps=Deps(KernelWorkspace(tmp_path)),
    )
    assert played.texts == snapshot(
        [
            'reports is a directory: use ls.',
            "reports/sale.csv does not exist. Did you mean 'sales.csv'?",
            'nowhere/sales.csv does not exist, nor does its directory.',
            'reports/sales.csv/x: Not a directory.',
            "'' is not a path of this workspace: use a path relative to the workspace, "
            "with forward slashes, such as 'data/sales.csv'.",
            'reports/sales.csv is a file: use read_file.',
            "report does not exist. Did you mean 'reports'?",
        ]
    )
    assert {part.outcome for part in played.returns} == {'failed'}


async def test_a_picture_is_looked_at() -> None:
    png = b'\x89PNG\r\n\x1a\n' + bytes(100)
    deps = Deps(StateBackend({'/plot.png': png}))
    played = await play([('read_file', {'path': 'plot.png'})], capabilities=[Filesystem()], deps=deps)
    assert played.returns[0].files == [BinaryContent(data=png, media_type='image/png', identifier='plot.png')]
    blind = await play([('read_file', {'path': 'plot.png'})], capabilities=[Filesystem(image_support=False)], deps=deps)
    assert blind.texts == ['plot.png is a picture (image/png, 108 B) and was not shown: you cannot see pictures.']


@pytest.mark.parametrize(
    ('name', 'data', 'said'),
    [
        ('a.parquet', b'PAR1\0\0', 'a.parquet is not text: Parquet, 6 B.'),
        ('a.bin', b'\0\1\2' * 700, 'a.bin is not text: application/octet-stream, 2.1 kB.'),
        ('a.pdf', b'%PDF-1.7\0', 'a.pdf is not text: PDF, 9 B.'),
        ('noname', b'\0\1\2', 'noname is not text: binary data, 3 B.'),
    ],
)
async def test_what_is_not_text_says_what_it_is(name: str, data: bytes, said: str) -> None:
    assert (await read(data, name=name)).startswith(said)


async def test_a_directory_is_listed_directories_first(tmp_path: Path) -> None:
    (tmp_path / 'zoo').mkdir()
    (tmp_path / 'a.csv').write_bytes(b'x' * 1234)
    (tmp_path / 'empty').mkdir()
    played = await play(
        [('ls', {}), ('ls', {'path': 'empty'}), ('ls', {'path': str(tmp_path)})],
        capabilities=[Filesystem()],
        deps=Deps(KernelWorkspace(tmp_path)),
    )
    assert played.texts == ['empty/\nzoo/\na.csv  1.2 kB', 'empty is empty.', 'empty/\nzoo/\na.csv  1.2 kB']
    assert played.returns[0].metadata == {'summary': '. · 3 entries'}


async def test_a_backend_that_confines_nothing_is_confined_by_the_tools(tmp_path: Path) -> None:
    root = tmp_path / 'root'
    root.mkdir()
    (tmp_path / 'secret').write_text('key')
    (root / 'link').symlink_to(tmp_path / 'secret')
    (root / 'sub').symlink_to(tmp_path)
    played = await play(
        [
            ('ls', {}),
            ('read_file', {'path': 'link'}),
            ('read_file', {'path': '../secret'}),
            ('read_file', {'path': 'sub/secret'}),
            ('grep', {'pattern': 'key'}),
            ('glob', {'pattern': '**/secret'}),
            ('write_file', {'path': 'sub/new', 'content': 'x'}),
        ],
        capabilities=[Filesystem()],
        deps=Deps(LocalWorkspaceBackend(root)),
    )
    assert not any('key' in text for text in played.texts[:4])
    assert played.texts[0] == '. is empty.'
    assert played.texts[4:6] == ['No matches.', "No file matches '**/secret'."]
    assert not (tmp_path / 'new').exists()


def test_a_page_that_can_show_nothing_is_a_mistake_of_the_developer() -> None:
    with pytest.raises(ValueError, match='at least 2000'):
        Filesystem(max_read_chars=10)

"""C16 (deepagents#2318): older encodings are text or clearly not; an edit keeps encoding and byte order mark."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, anchors, play

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Case:
    name: str
    encoding: str
    first: str
    second: str
    new: str
    mark: bytes = b''
    newline: str = '\n'


CASES = [
    Case('gbk', 'gbk', '第一季度的销售数据', '北京 1200', '上海 900'),
    Case('latin-1', 'latin-1', 'Café à Zürich', 'prix: 12', 'prix élevé'),
    Case('utf-16 little endian', 'utf-16-le', 'Ärger', 'zweite', 'dritte €', codecs.BOM_UTF16_LE, '\r\n'),
    Case('utf-16 big endian', 'utf-16-be', 'Ärger', 'zweite', 'dritte €', codecs.BOM_UTF16_BE),
    Case('utf-8 with mark', 'utf-8', 'Ärger', 'zweite', 'dritte €', codecs.BOM_UTF8, '\r\n'),
    Case('shift-jis', 'shift_jis', 'こんにちは世界', '東京 12', '大阪 9'),
]


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.name)
@pytest.mark.parametrize('edit_format', ['hashline', 'str_replace'])
async def test_an_edit_keeps_encoding_mark_and_line_endings(tmp_path: Path, case: Case, edit_format: Any) -> None:
    file = tmp_path / 'data.txt'
    file.write_bytes(case.mark + f'{case.first}{case.newline}{case.second}{case.newline}'.encode(case.encoding))

    def edit(returns: list[Any]) -> list[tuple[str, dict[str, Any]]]:
        text = returns[0].content
        assert case.first in text
        assert case.second in text
        if edit_format == 'str_replace':
            return [('edit_file', {'path': 'data.txt', 'old_string': case.second, 'new_string': case.new})]
        operation = {'op': 'replace', 'anchor': anchors(text)[1], 'text': case.new}
        return [('edit_file', {'path': 'data.txt', 'operations': [operation]})]

    played = await play(
        [('read_file', {'path': 'data.txt'})],
        edit,
        capabilities=[Filesystem(edit_format=edit_format)],
        deps=Deps(KernelWorkspace(tmp_path)),
    )
    assert played.returns[1].outcome == 'success'
    expected = f'{case.first}{case.newline}{case.new}{case.newline}'.encode(case.encoding)
    assert file.read_bytes() == case.mark + expected


@pytest.mark.parametrize(('encoding', 'character'), [('latin-1', '€'), ('latin-1', '京'), ('gbk', '🌍')])
@pytest.mark.parametrize('tool', ['edit_file', 'write_file'])
async def test_what_the_encoding_lacks_is_refused_and_nothing_is_written(
    tmp_path: Path, encoding: str, character: str, tool: str
) -> None:
    file = tmp_path / 'data.txt'
    before = ('Café à Zürich\n' if encoding == 'latin-1' else '第一季度的销售数据\n').encode(encoding)
    file.write_bytes(before)

    def change(returns: list[Any]) -> list[tuple[str, dict[str, Any]]]:
        if tool == 'write_file':
            return [('write_file', {'path': 'data.txt', 'content': f'new {character}\n'})]
        operation = {'op': 'insert_after', 'anchor': anchors(returns[0].content)[0], 'text': f'new {character}'}
        return [('edit_file', {'path': 'data.txt', 'operations': [operation]})]

    played = await play(
        [('read_file', {'path': 'data.txt'})],
        change,
        capabilities=[Filesystem()],
        deps=Deps(KernelWorkspace(tmp_path)),
    )
    assert played.returns[1].outcome == 'failed'
    assert f'the file is in {encoding}, which has no {character!r}' in played.texts[1]
    assert file.read_bytes() == before


@pytest.mark.parametrize('data', [bytes(range(256)), b'\0' * 50, b'\x80\x02}q\x00.', 'Ärger'.encode('utf-16-le')])
async def test_what_is_not_text_says_so(tmp_path: Path, data: bytes) -> None:
    (tmp_path / 'data.bin').write_bytes(data)
    played = await play(
        [('read_file', {'path': 'data.bin'})], capabilities=[Filesystem()], deps=Deps(KernelWorkspace(tmp_path))
    )
    assert 'data.bin is not text' in played.texts[0]
    assert played.output == 'done'

"""C14 (deepagents#553, #2453): a 1 MB file in one line is read to its end; the chunks rejoin exactly."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.workspaces import StateBackend
from harness.play import Deps, play

pytestmark = pytest.mark.anyio

CAP = 30_000
ONE_LINE = json.dumps([{'id': number, 'name': f'Ärea {number}'} for number in range(27_000)], ensure_ascii=False)
_NEXT = re.compile(r'\[big\.json: .*continue with offset=(\d+)(?:, char_offset=(\d+))?')
_TAG = re.compile(r'^(\d+):[0-9a-f]{2}\|', re.MULTILINE)


@dataclass(frozen=True)
class Case:
    name: str
    text: str


CASES = [
    Case('one line', ONE_LINE),
    Case('one line with newline', ONE_LINE + '\n'),
    Case('a long line between short ones', f'first\nsecond\n{ONE_LINE[:200_000]}\nlast\n'),
    Case('many long lines', '\n'.join('x' * 29_990 for _ in range(12))),
    Case('lines just as long as a page', '\n'.join('é' * (CAP - 400) for _ in range(4)) + '\n'),
    Case('many short lines', ''.join(f'{number}\n' for number in range(60_000))),
    Case('characters beyond the basic plane', '🌍' * 100_000),
    Case('carriage returns inside a line', 'a\rb' * 50_000),
]


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.name)
@pytest.mark.parametrize('edit_format', ['str_replace', 'hashline'])
async def test_the_chunks_rejoin_exactly(case: Case, edit_format: Any) -> None:
    def next_page(returns: list[Any]) -> list[tuple[str, dict[str, Any]]]:
        match = _NEXT.match(returns[-1].content)
        if match is None:
            return []
        args = {'offset': int(match[1]), 'char_offset': int(match[2] or 0), 'limit': 100_000}
        return [('read_file', {'path': 'big.json', **args})]

    played = await play(
        [('read_file', {'path': 'big.json', 'limit': 100_000})],
        *[next_page] * 45,
        capabilities=[Filesystem(edit_format=edit_format)],
        deps=Deps(StateBackend({'/big.json': case.text.encode()})),
    )
    assert {part.outcome for part in played.returns} == {'success'}
    chunks = [part.content for part in played.returns]
    assert max(map(len, chunks)) <= CAP
    bodies = [chunk.partition('\n')[2] if chunk.startswith('[big.json: ') else chunk for chunk in chunks]
    if edit_format == 'str_replace':
        assert ''.join(bodies) == case.text
    else:
        assert rejoined(bodies) == case.text.removesuffix('\n')


def rejoined(bodies: list[str]) -> str:
    """Join what stands behind the tags; a line that goes on in the next chunk has the same number there."""
    lines: dict[int, str] = {}
    for body in bodies:
        pieces = _TAG.split(body)[1:]
        for number, text in zip(pieces[::2], pieces[1::2], strict=True):
            lines[int(number)] = lines.get(int(number), '') + text.removesuffix('\n')
    assert list(lines) == list(range(1, len(lines) + 1))
    return '\n'.join(lines.values())

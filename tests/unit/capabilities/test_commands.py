from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.workspaces import ReadOnlyWorkspace, Workspace

from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.output import head_and_tail
from deep_notebook.workspaces import KernelWorkspace, StateBackend
from harness.play import Deps, play

pytestmark = pytest.mark.anyio


async def execute(tmp_path: Path, **args: object) -> tuple[str, str, dict[str, object]]:
    played = await play(
        [('execute', args)], capabilities=[Filesystem(max_read_chars=2_000)], deps=Deps(KernelWorkspace(tmp_path))
    )
    part = played.returns[0]
    return played.texts[0], part.outcome, part.metadata


async def test_a_command_shows_what_it_wrote_and_how_it_ended(tmp_path: Path) -> None:
    assert await execute(tmp_path, command='echo out; echo err >&2; exit 3') == (
        'out\nerr\n[exit code 3]',
        'success',
        {'summary': 'exit code 3 · 2 lines', 'failed': True},
    )
    text, _, metadata = await execute(tmp_path, command='true')
    assert text == '[exit code 0, no output]'
    assert metadata == {'summary': 'exit code 0 · 0 lines', 'failed': False}


async def test_a_slow_command_is_ended_and_keeps_what_it_wrote(tmp_path: Path) -> None:
    text, outcome, _ = await execute(tmp_path, command='echo begun; sleep 60', timeout=1)
    assert text == 'begun\n[ended after 1 s: it was too slow]'
    assert outcome == 'success'


async def test_of_much_output_both_ends_are_shown(tmp_path: Path) -> None:
    text, _, _ = await execute(tmp_path, command='seq 1 5000')
    assert text.startswith('1\n2\n')
    assert text.endswith('4999\n5000\n[exit code 0]')
    assert len(text) < 2_100
    assert 'characters left out' in text


@pytest.mark.parametrize('limit', [0, 10, 50, 99])
def test_the_ends_fit(limit: int) -> None:
    assert len(head_and_tail('x' * 100, max(limit, 60))) <= max(limit, 60)
    assert head_and_tail('short', 5) == 'short'


async def test_execute_is_offered_where_commands_run(tmp_path: Path) -> None:
    async def tools(backend: object, **options: bool) -> list[str]:
        return (await play(capabilities=[Filesystem(**options)], deps=Deps(backend))).tools  # type: ignore[arg-type]

    assert 'execute' in await tools(KernelWorkspace(tmp_path))
    assert 'execute' not in await tools(KernelWorkspace(tmp_path), include_execute=False)
    assert 'execute' not in await tools(StateBackend())
    assert 'execute' not in await tools(StateBackend(), include_execute=True)
    read_only = await tools(ReadOnlyWorkspace(Workspace(KernelWorkspace(tmp_path))))
    assert read_only == ['ls', 'read_file', 'glob', 'grep']

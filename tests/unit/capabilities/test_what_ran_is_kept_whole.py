"""What code and commands wrote is never cut away where the run keeps large results in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.workspaces import ReadOnlyWorkspace, Workspace

from deep_notebook.capabilities.eviction import EvictionProcessor, evicted_path
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.output import MOVED_ABOVE
from deep_notebook.capabilities.python import PythonResult, RunPython
from deep_notebook.capabilities.skills import SkillsToolset
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, Played, play

pytestmark = pytest.mark.anyio

LIMIT = 2_000
LINES = '\n'.join(f'row {number}' for number in range(1, 1001))
"""More than `LIMIT`, and less than results may have in general."""


class Runner:
    async def run(self, code: str, *, timeout: float | None) -> PythonResult:
        return PythonResult(text=LINES)


async def ran(tmp_path: Path, tool: str, *more: AbstractCapability[Any], backend: Any = None) -> Played:
    calls = {'run_python': {'code': 'x'}, 'execute': {'command': "seq -f 'row %g' 1 1000"}}
    return await play(
        [(tool, calls[tool])],
        capabilities=[*more, Filesystem(max_read_chars=LIMIT), RunPython(Runner(), max_chars=LIMIT)],
        deps=Deps(backend or KernelWorkspace(tmp_path)),
    )


@pytest.mark.parametrize('id', ['eviction', 'mine', None])
@pytest.mark.parametrize('tool', ['run_python', 'execute'])
async def test_it_is_moved_to_a_file_and_not_cut(tmp_path: Path, tool: str, id: str | None) -> None:
    played = await ran(tmp_path, tool, EvictionProcessor(id=id))
    path = evicted_path(played.returns[0].content)
    assert path is not None
    assert (tmp_path / path).read_text(encoding='utf-8').startswith(LINES)
    assert 'row 1\n' in played.texts[0]
    assert len(played.texts[0]) < LIMIT


@pytest.mark.parametrize('tool', ['run_python', 'execute'])
async def test_it_is_cut_where_nothing_is_moved(tmp_path: Path, tool: str) -> None:
    played = await ran(tmp_path, tool)
    assert 'characters left out' in played.texts[0]
    assert len(played.texts[0]) < LIMIT + 50


async def test_it_is_cut_where_it_cannot_be_moved(tmp_path: Path) -> None:
    played = await ran(
        tmp_path, 'run_python', EvictionProcessor(), backend=ReadOnlyWorkspace(Workspace(KernelWorkspace(tmp_path)))
    )
    assert evicted_path(played.returns[0].content) is None
    assert 'characters left out' in played.texts[0]
    assert len(played.texts[0]) <= LIMIT


async def test_scripts_of_skills_are_bounded_in_the_same_way() -> None:
    tool = SkillsToolset[Any]().tools['run_skill_script']
    assert (tool.metadata or {})[MOVED_ABOVE] == 30_000

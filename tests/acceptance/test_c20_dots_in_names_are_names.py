"""C20 (deepagents#5789), in the workspace: `report..final.md` is a name, `a/../../etc` a way out."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.workspaces import Workspace

from deep_notebook.errors import PathRefusedError
from deep_notebook.workspaces import KernelWorkspace, StateBackend

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize('name', ['report..final.md', '..report', 'report..', '...', 'v1..v2/notes.md'])
@pytest.mark.parametrize('backend', ['memory', 'directory'])
async def test_dots_in_a_name_are_part_of_the_name(tmp_path: Path, backend: str, name: str) -> None:
    workspace = Workspace(StateBackend() if backend == 'memory' else KernelWorkspace(tmp_path))
    await workspace.write_text(name, 'text')
    assert await workspace.read_text(name) == 'text'


async def test_a_way_out_is_refused_and_the_workspace_goes_on(tmp_path: Path) -> None:
    root = tmp_path / 'root'
    root.mkdir()
    (tmp_path / 'etc').write_text('secret')
    workspace = Workspace(KernelWorkspace(root))
    with pytest.raises(PathRefusedError):
        await workspace.read_text('a/../../etc')
    await workspace.write_text('after.md', 'text')
    assert await workspace.read_text('after.md') == 'text'


async def test_there_is_no_way_out_of_memory() -> None:
    with pytest.raises(FileNotFoundError):
        await Workspace(StateBackend()).read_text('a/../../etc/passwd')

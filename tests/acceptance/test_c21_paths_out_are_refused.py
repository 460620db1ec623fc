"""C21 (deepagentsjs#653): `/etc/passwd`, `~`, a link out: refused, not read, not listed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.workspaces import Workspace

from deep_notebook.errors import PathRefusedError
from deep_notebook.workspaces import KernelWorkspace

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    'path', ['/etc/passwd', '~', '~/notes.txt', 'link/secret', 'link', '../outside/secret', '..\\x']
)
async def test_a_path_out_is_refused_not_read_not_listed(tmp_path: Path, path: str) -> None:
    root, outside = tmp_path / 'root', tmp_path / 'outside'
    root.mkdir()
    outside.mkdir()
    (outside / 'secret').write_text('key')
    (root / 'link').symlink_to(outside)
    workspace = Workspace(KernelWorkspace(root))
    for operation in (workspace.read_bytes, workspace.list_dir, workspace.stat, workspace.exists, workspace.make_dir):
        with pytest.raises(PathRefusedError, match='use a path relative to the workspace'):
            await operation(path)
    with pytest.raises(PathRefusedError):
        await workspace.write_text(path, 'mine')
    assert await workspace.list_dir('.') == []
    assert [file.read_text() for file in outside.iterdir()] == ['key']

"""An agent, a person and their files, for tests of the journal."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from deep_notebook.store import SessionStore
from deep_notebook.store.journal import Journal, JournalCall
from deep_notebook.workspaces import KernelWorkspace


class Agent:
    """Changes files as the agent's tools, commands and code do."""

    def __init__(self, root: Path, store: SessionStore) -> None:
        self.root = root
        self.store = store
        self.journal = Journal(store, root, notebook=root / 'sales.ipynb')
        self.workspace = KernelWorkspace(root, notebook=root / 'sales.ipynb')
        self.workspace.keeper = self.journal

    async def writes(self, path: str, data: bytes, *, run: int = 1) -> None:
        with self.journal.during(JournalCall(run=run, call='c', tool='write_file')):
            await self.workspace.write_bytes(path, data)

    async def removes(self, path: str) -> None:
        with self.journal.during(JournalCall(run=1, call='c', tool='remove')):
            await self.workspace.remove(path)

    @asynccontextmanager
    async def executes(self, *, run: int = 1) -> AsyncIterator[list[str]]:
        """What happens inside is done by a command; afterwards, the list holds what could not be covered."""
        call, gaps = JournalCall(run=run, call='x', tool='execute'), list[str]()
        await self.journal.begin(call)
        try:
            yield gaps
        finally:
            gaps += await self.journal.end(call)

    async def goes_back(self, position: int) -> tuple[int, int]:
        """Do all that can be done, whoever changed it since."""
        plans = [plan for plan in await self.journal.plan(position) if plan.possible]
        return await self.journal.restore(plans, source='rewind')

    async def takes_back(self, change: tuple[int, int]) -> None:
        first, last = change
        await self.journal.restore(await self.journal.plan(first - 1, until=last), source='undo')


def tree(root: Path) -> dict[str, object]:
    """Return everything under `root` but `.deep`: contents, targets of links, modes."""
    found: dict[str, object] = {}
    for above, directories, files in os.walk(root):
        if '.deep' in directories:
            directories.remove('.deep')
        for name in (*directories, *files):
            path = Path(above, name)
            found[path.relative_to(root).as_posix()] = what_is_at(path)
    return found


def what_is_at(path: Path) -> object:
    """Return contents and mode of a file, the target of a link, the mode of a directory, or `None`."""
    if path.is_symlink():
        return os.readlink(path)
    if path.is_dir():
        return stat.S_IMODE(path.stat().st_mode)
    if not path.exists():
        return None
    return path.read_bytes(), stat.S_IMODE(path.stat().st_mode)

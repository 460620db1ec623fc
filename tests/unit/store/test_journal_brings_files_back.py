"""What the agent changed can be put back exactly; what somebody else did is not lost without a question."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from deep_notebook.store import SessionStore, session_path
from deep_notebook.store.journal import Journal, JournalCall
from deep_notebook.workspaces import KernelWorkspace

pytestmark = pytest.mark.anyio


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / 'work'
    root.mkdir()
    return root


@pytest.fixture
def store(root: Path) -> Iterator[SessionStore]:
    with SessionStore.open(session_path(root / 'sales.ipynb')) as store:
        yield store


class Agent:
    """Changes files as the agent's tools, commands and code do."""

    def __init__(self, root: Path, store: SessionStore) -> None:
        self.root = root
        self.journal = Journal(store, root, notebook=root / 'sales.ipynb')
        self.workspace = KernelWorkspace(root, notebook=root / 'sales.ipynb')
        self.workspace.keeper = self.journal

    async def writes(self, path: str, data: bytes, *, run: int = 1) -> None:
        with self.journal.during(JournalCall(run=run, call='c', tool='write_file')):
            await self.workspace.write_bytes(path, data)

    async def removes(self, path: str) -> None:
        with self.journal.during(JournalCall(run=1, call='c', tool='remove')):
            await self.workspace.remove(path)


class Command:
    """`async with`: what happens inside is done by a command of the agent."""

    def __init__(self, agent: Agent, *, run: int = 1, tool: str = 'execute') -> None:
        self.journal = agent.journal
        self.call = JournalCall(run=run, call='x', tool=tool)
        self.gaps: list[str] = []

    async def __aenter__(self) -> Command:
        await self.journal.begin(self.call)
        return self

    async def __aexit__(self, *error: object) -> None:
        self.gaps = await self.journal.end(self.call)


@pytest.fixture
def agent(root: Path, store: SessionStore) -> Agent:
    return Agent(root, store)


def tree(root: Path) -> dict[str, object]:
    """Everything under `root` but `.deep`: contents, link targets and modes."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob('*')):
        name = path.relative_to(root).as_posix()
        if name.split('/')[0] == '.deep':
            continue
        mode = stat.S_IMODE(path.lstat().st_mode)
        if path.is_symlink():
            found[name] = ('link', os.readlink(path))
        elif path.is_dir():
            found[name] = ('directory', mode)
        else:
            found[name] = (path.read_bytes(), mode)
    return found


async def test_written_files_go_back(root: Path, agent: Agent) -> None:
    (root / 'a').write_bytes(b'\xff\x00old')
    (root / 'a').chmod(0o600)
    (root / 'mine').write_text('mine')
    before = tree(root)
    start = await agent.journal.position()
    await agent.writes('a', b'new')
    await agent.writes('new/deep/b', b'b')
    after = tree(root)

    plans = await agent.journal.plan(start)
    assert [(plan.path, plan.action, plan.yours, plan.possible) for plan in plans] == [
        ('a', 'edit', False, True),
        ('new/deep/b', 'delete', False, True),
    ]
    first, last = await agent.journal.restore(plans, source='rewind')
    assert tree(root) == before
    await agent.journal.restore(await agent.journal.plan(first - 1, until=last), source='undo')
    assert tree(root) == after


async def test_what_a_command_did_goes_back(root: Path, agent: Agent) -> None:
    (root / 'edited').write_text('old')
    (root / 'deleted').write_text('old')
    (root / 'sub').mkdir(mode=0o700)
    (root / 'sub' / 'moved').symlink_to('nowhere')
    before = tree(root)
    start = await agent.journal.position()
    async with Command(agent) as command:
        (root / 'edited').write_text('new')
        (root / 'edited').chmod(0o755)
        (root / 'deleted').unlink()
        (root / 'sub' / 'moved').unlink()
        (root / 'sub').rmdir()
        (root / 'made').mkdir()
        (root / 'made' / 'file').write_text('x')
    after = tree(root)
    assert command.gaps == []
    first, last = await agent.journal.restore(await agent.journal.plan(start), source='rewind')
    assert tree(root) == before
    await agent.journal.restore(await agent.journal.plan(first - 1, until=last), source='undo')
    assert tree(root) == after


async def test_a_write_within_one_tick_of_the_clock_is_seen(root: Path, agent: Agent) -> None:
    file = root / 'f'
    file.write_text('one')
    async with Command(agent):
        info = file.stat()
        with file.open('r+') as same_file:
            same_file.write('two')
        os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert [change.path for change in await agent.journal.changes()] == ['f']

"""Full disks, killed kernels, two kernels, directories that cannot be written."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deep_notebook.errors import StoreError
from deep_notebook.store import SessionStore
from deep_notebook.store.database import Database
from deep_notebook.store.journal import JournalCall
from deep_notebook.workspaces import kernel
from harness.journal import Agent, tree

pytestmark = pytest.mark.anyio


class Disk:
    """Is full from the write number `full_from` on, counting from 0."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full_from = 1_000_000
        self.writes = 0
        run = Database.run_blocking

        def run_blocking(database: Database, work: Callable[[sqlite3.Connection], Any], **options: Any) -> Any:
            def counted(connection: sqlite3.Connection) -> Any:
                before = connection.total_changes
                result = work(connection)
                if connection.total_changes > before:
                    self.writes += 1
                    if self.writes > self.full_from:
                        raise sqlite3.OperationalError('database or disk is full')
                return result

            return run(database, counted, **options)

        monkeypatch.setattr(Database, 'run_blocking', run_blocking)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


async def work(agent: Agent) -> None:
    """One of each: a tool's write and removal, a command, going back."""
    await agent.writes('d/new', b'new')
    await agent.writes('a', b'new')
    await agent.removes('b')
    async with agent.executes():
        (agent.root / 'c').write_text('new')
    await agent.goes_back(0)


@pytest.mark.parametrize('full_from', range(7))
async def test_on_a_full_disk_nothing_is_changed_that_could_not_be_kept(
    agent: Agent, disk: Disk, full_from: int
) -> None:
    for name in 'abc':
        (agent.root / name).write_text('old')
    before = tree(agent.root)
    disk.full_from = full_from
    with pytest.raises(StoreError, match='full'):
        await work(agent)
    assert disk.writes > full_from
    disk.full_from = 1_000_000
    async with agent.executes():
        pass  # a command whose end could not be written down is looked at again
    await agent.goes_back(0)
    assert tree(agent.root) == before


async def test_every_write_point_is_tried(agent: Agent, disk: Disk) -> None:
    for name in 'abc':
        (agent.root / name).write_text('old')
    await work(agent)
    assert disk.writes == 7 + 1  # the last is about directories that went: without it, files come back all the same


async def test_a_kernel_that_dies_before_the_change_leaves_a_journal_that_says_nothing_wrong(
    agent: Agent, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*args: object) -> None:
        raise Killed

    (agent.root / 'a').write_text('old')
    before = tree(agent.root)
    monkeypatch.setattr(kernel, 'replace_file', die)
    monkeypatch.setattr('deep_notebook.store.journal_ledger.Ledger.forget', die)
    with pytest.raises(Killed):
        await agent.writes('a', b'new')
    agent.store.close()
    with SessionStore.open(path) as store:
        again = Agent(agent.root, store)
        assert await again.journal.plan(0) == []
        monkeypatch.undo()
        await again.writes('a', b'newer')
        await again.goes_back(0)
        assert tree(agent.root) == before


async def test_a_kernel_that_died_during_a_command_is_told(agent: Agent, path: Path) -> None:
    await agent.journal.begin(JournalCall(run=7, call='x', tool='run_python'))
    (agent.root / 'a').write_text('new')
    agent.store.close()
    with SessionStore.open(path) as store:
        [gap] = await Agent(agent.root, store).journal.gaps()
    assert (gap.run, gap.call) == (7, 'x')
    assert gap.what == 'The kernel ended while run_python was at work: what it did to files is not known.'
    with SessionStore.open(path) as store:
        assert len(await Agent(agent.root, store).journal.gaps()) == 1


async def test_what_a_command_did_is_found_later_when_it_could_not_be_written_down(agent: Agent, disk: Disk) -> None:
    (agent.root / 'a').write_text('old')
    call = JournalCall(run=1, call='x', tool='execute')
    await agent.journal.begin(call)
    (agent.root / 'a').write_text('new')
    disk.full_from = disk.writes
    with pytest.raises(StoreError):
        await agent.journal.end(call)
    disk.full_from = 1_000_000
    async with agent.executes(run=2):
        pass
    assert [(change.path, change.run) for change in await agent.journal.changes()] == [('a', 1)]


async def test_the_journal_outlives_the_kernel(agent: Agent, path: Path) -> None:
    (agent.root / 'a').write_text('old')
    async with agent.executes():
        (agent.root / 'a').write_text('new')
    position = await agent.journal.position()
    agent.store.close()
    with SessionStore.open(path) as store:
        again = Agent(agent.root, store)
        assert await again.journal.position() == again.journal.here == position
        await again.goes_back(0)
    assert (agent.root / 'a').read_text() == 'old'


async def test_what_another_kernel_s_agent_did_is_somebody_else_s(
    agent: Agent, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent.writes('a', b'one')
    with SessionStore.open(path) as store:
        take = Database._take_lock

        def held_elsewhere(database: Database) -> None:
            take(database)
            database.owner = False

        monkeypatch.setattr(Database, '_take_lock', held_elsewhere)
        other = Agent(agent.root, store)
        await other.writes('a', b'two')
        assert [change.after for change in await other.journal.changes()] != []
        [theirs] = await other.journal.plan(0)
        assert not theirs.yours
    [ours] = await agent.journal.plan(0)
    assert ours.yours
    assert len(await agent.journal.changes()) == 1


async def test_without_a_file_the_journal_works_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / '.deep').write_text('in the way')
    with SessionStore.open(tmp_path / '.deep' / 'sales.ipynb' / 'session.db') as store:
        agent = Agent(tmp_path, store)
        await agent.writes('a', b'new')
        async with agent.executes():
            (tmp_path / 'b').write_text('new')
        assert store.database.in_memory
        await agent.goes_back(0)
        assert tree(tmp_path).keys() == {'.deep'}


async def test_a_closed_session_says_so(agent: Agent) -> None:
    agent.store.close()
    with pytest.raises(StoreError, match='closed'):
        await agent.writes('a', b'new')
    assert not (agent.root / 'a').exists()

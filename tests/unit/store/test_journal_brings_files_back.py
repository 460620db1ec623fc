"""What the agent changed can be put back exactly; what somebody else did is not lost without a question."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deep_notebook.store import SessionStore, session_path
from harness.journal import Agent, tree

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


@pytest.fixture
def agent(root: Path, store: SessionStore) -> Agent:
    return Agent(root, store)


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
    async with agent.executes() as gaps:
        (root / 'edited').write_text('new')
        (root / 'edited').chmod(0o755)
        (root / 'deleted').unlink()
        (root / 'sub' / 'moved').unlink()
        (root / 'sub').rmdir()
        (root / 'made').mkdir()
        (root / 'made' / 'file').write_text('x')
    after = tree(root)
    assert gaps == []
    first, last = await agent.journal.restore(await agent.journal.plan(start), source='rewind')
    assert tree(root) == before
    await agent.journal.restore(await agent.journal.plan(first - 1, until=last), source='undo')
    assert tree(root) == after


async def test_a_write_within_one_tick_of_the_clock_is_seen(root: Path, agent: Agent) -> None:
    file = root / 'f'
    file.write_text('one')
    async with agent.executes():
        info = file.stat()
        with file.open('r+') as same_file:
            same_file.write('two')
        os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert [change.path for change in await agent.journal.changes()] == ['f']

"""A look at the files is bounded; what does not fit is named, never passed over or put back wrongly."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from deep_notebook.errors import UsageError
from deep_notebook.store import journal_calls, journal_files, journal_keeping, journal_scans
from harness.journal import Agent, tree

pytestmark = pytest.mark.anyio

LIMITS = 'the journal keeps files up to 16 MiB, and 64 MiB in all.'


async def test_a_change_within_one_tick_of_the_clock_is_seen(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_scans, 'key_of', lambda info: (info.st_size, 0, 0, 0, info.st_mode))
    (agent.root / 'f').write_text('one')
    async with agent.executes():
        (agent.root / 'f').write_text('two')
    assert [change.path for change in await agent.journal.changes()] == ['f']


async def test_what_has_not_changed_is_not_read_again(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ('a', 'b'):
        (agent.root / name).write_text(name)
        os.utime(agent.root / name, (0, 0))
    monkeypatch.setattr(journal_scans, 'RACY_NS', -(2**62))  # no clock is too coarse
    async with agent.executes():
        pass
    read: list[str] = []
    look_in = journal_files.look_in

    def watched(parent: int, name: str, *, limit: int) -> journal_files.Seen:
        read.append(name)
        return look_in(parent, name, limit=limit)

    monkeypatch.setattr(journal_files, 'look_in', watched)
    async with agent.executes():
        (agent.root / 'b').write_text('new')
    assert read == ['b']


async def test_a_file_that_is_too_large_to_keep_is_named_when_it_changes(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_scans, 'READ_LIMIT', 10)
    (agent.root / 'large').write_bytes(b'x' * 11)
    (agent.root / 'same').write_bytes(b'x' * 11)
    async with agent.executes() as gaps:
        (agent.root / 'large').write_bytes(b'y' * 11)
    assert gaps == [f'execute changed large, which cannot be put back: {LIMITS}']
    [plan] = await agent.journal.plan(0)
    assert (plan.path, plan.possible, plan.yours) == ('large', False, False)
    assert [gap.what for gap in await agent.journal.gaps(run=1)] == gaps
    with pytest.raises(UsageError, match='leave it out'):
        await agent.journal.restore([plan], source='rewind')
    (agent.root / 'large').write_bytes(b'z')
    [plan] = await agent.journal.plan(0)
    assert plan.yours


async def test_what_does_not_fit_into_the_whole_is_named_when_it_changes(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_scans, 'TOTAL_LIMIT', 10)
    (agent.root / 'b').write_bytes(b'x' * 6)
    (agent.root / 'a').write_bytes(b'x' * 5)
    async with agent.executes() as gaps:
        (agent.root / 'a').write_bytes(b'new a')
        (agent.root / 'b').write_bytes(b'new b')
    assert gaps == [f'execute changed b, which cannot be put back: {LIMITS}']
    await agent.goes_back(0)
    assert (agent.root / 'a').read_bytes() == b'x' * 5


async def test_many_that_cannot_be_put_back_are_one_line_more(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_scans, 'READ_LIMIT', 0)
    for number in range(9):
        (agent.root / str(number)).write_text('old')
    async with agent.executes() as gaps:
        for number in range(9):
            (agent.root / str(number)).unlink()
    assert len(gaps) == 6
    assert gaps[-1] == f'execute changed 4 more files that cannot be put back: {LIMITS}'


async def test_beyond_the_first_entries_nothing_is_known_and_nothing_removed(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_scans, 'ENTRY_LIMIT', 3)
    (agent.root / 'd').mkdir()
    (agent.root / 'a').write_text('a')
    for name in ('1', '2', '3'):
        (agent.root / 'd' / name).write_text('persons')
    async with agent.executes() as gaps:
        (agent.root / 'a').write_text('new')
        (agent.root / 'b').write_text('new')
        (agent.root / 'd' / '1').write_text('changed')
        (agent.root / 'd' / '2').write_text('not looked at')
    assert gaps == [
        'The journal looked at the first 20,000 files and directories only: what execute changed in others cannot be '
        'put back.'
    ]
    await agent.goes_back(0)
    assert (agent.root / 'a').read_text() == 'a'
    assert not (agent.root / 'b').exists()
    assert sorted(os.listdir(agent.root / 'd')) == ['1', '2', '3']


async def test_a_file_that_was_not_looked_at_before_is_never_taken_for_new(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_scans, 'ENTRY_LIMIT', 2)
    for name in ('a', 'b', 'c'):
        (agent.root / name).write_text('persons')
    async with agent.executes() as gaps:
        (agent.root / 'a').unlink()
        (agent.root / 'c').write_text('changed')
    assert f'execute changed c, which cannot be put back: {LIMITS}' in gaps
    await agent.goes_back(0)
    assert (agent.root / 'a').read_text() == 'persons'
    assert (agent.root / 'c').read_text() == 'changed'


async def test_what_is_renamed_from_where_no_look_comes_is_not_removed(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ('.git/HEAD', '.git/config', 'marked/pyvenv.cfg', 'marked/persons.py', 'seen/a'):
        (agent.root / path).parent.mkdir(exist_ok=True)
        (agent.root / path).write_text(path)
    later = time.time_ns() + 3600 * 10**9
    monkeypatch.setattr(journal_calls, 'time', SimpleNamespace(time_ns=lambda: later))
    async with agent.executes() as gaps:
        (agent.root / '.git').rename(agent.root / 'git_old')
        (agent.root / 'marked' / 'pyvenv.cfg').unlink()
        (agent.root / 'seen').rename(agent.root / 'renamed')
    assert gaps == ['execute moved git_old/HEAD and 2 more here from where the journal does not look: they stay.']
    await agent.goes_back(0)
    found = sorted(path for path, what in tree(agent.root).items() if isinstance(what, tuple))
    assert found == ['git_old/HEAD', 'git_old/config', 'marked/persons.py', 'seen/a']


async def test_a_look_that_takes_too_long_says_so(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    (agent.root / 'a').write_text('old')
    async with agent.executes() as gaps:
        monkeypatch.setattr(journal_scans, 'SECONDS', -1.0)
        (agent.root / 'a').write_text('new')
    assert gaps == [
        'The journal looked at the files for 2 s and did not see all: what execute changed in the others cannot be '
        'put back.'
    ]


async def test_what_could_not_be_read_again_in_time_is_said(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_scans, 'key_of', lambda info: (info.st_size, 0, 0, 0, info.st_mode))
    (agent.root / 'a').write_text('old')
    async with agent.executes() as gaps:
        (agent.root / 'a').write_text('new')
        clock = iter([time.monotonic()])
        late = SimpleNamespace(monotonic=lambda: next(clock, 1e9), time_ns=time.time_ns)
        monkeypatch.setattr(journal_scans, 'time', late)
    assert len(gaps) == 1
    assert gaps[0].startswith('The journal looked at the files for 2 s and did not see all')
    monkeypatch.setattr(journal_scans, 'time', time)


async def test_a_file_that_cannot_be_read_is_named_when_it_changes(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = journal_files.opened

    @contextmanager
    def refused(name: str, flags: int, parent: int) -> Iterator[int]:
        if name == 'secret':
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        with opened(name, flags, parent) as fd:
            yield fd

    monkeypatch.setattr(journal_files, 'opened', refused)
    (agent.root / 'secret').write_text('old')
    (agent.root / 'a').write_text('old')
    async with agent.executes() as gaps:
        (agent.root / 'secret').write_text('newer')
        (agent.root / 'a').write_text('newer')
    assert gaps == [f'execute changed secret, which cannot be put back: {LIMITS}']
    assert [change.path for change in await agent.journal.changes() if change.before.kept] == ['a']


async def test_pipes_are_neither_read_nor_replaced(agent: Agent) -> None:
    (agent.root / 'f').write_text('old')
    async with agent.executes():
        (agent.root / 'f').unlink()
        os.mkfifo(agent.root / 'f')
    [plan] = await agent.journal.plan(0)
    assert not plan.possible


async def test_a_tool_that_overwrites_more_than_the_journal_keeps_is_named(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_keeping, 'FILE_LIMIT', 2**20)
    (agent.root / 'a').write_bytes(b'x' * (2**20 + 1))
    await agent.writes('a', b'new')
    [plan] = await agent.journal.plan(0)
    assert not plan.possible
    assert [gap.what for gap in await agent.journal.gaps()] == [
        'write_file changed a, which cannot be put back: the journal keeps files up to 1 MiB.'
    ]


async def test_contents_that_no_change_refers_to_do_not_pile_up(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_scans, 'TOTAL_LIMIT', 1000)
    monkeypatch.setattr('deep_notebook.store.journal_calls.TOTAL_LIMIT', 1000)
    async with agent.executes():
        (agent.root / 'agents').write_bytes(b'x' * 300)
    for number in range(10):
        (agent.root / 'persons').write_bytes(bytes([number]) * 300)
        async with agent.executes():
            pass
    kept = await agent.store.database.run(
        lambda connection: connection.execute('SELECT sum(size) FROM file_contents').fetchone()[0]
    )
    assert kept <= 1000 + 300
    async with agent.executes():
        (agent.root / 'persons').write_bytes(b'agents')
    await agent.goes_back(0)
    assert (agent.root / 'persons').read_bytes() == b'\x09' * 300

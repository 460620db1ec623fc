"""Whatever way an agent changes files, the journal knows it, once; and never at the price of what was there."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.toolsets import FunctionToolset

from deep_notebook.capabilities.approvals import ApprovalGate
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.journal import Journaling
from deep_notebook.capabilities.python import PythonResult, RunPython
from deep_notebook.capabilities.subagents import SubAgentCapability
from deep_notebook.store import SessionStore, journal_calls, session_path
from harness.cast import Cast, perform
from harness.journal import Agent as JournalAgent
from harness.play import Deps, Played, play

pytestmark = pytest.mark.anyio


@pytest.fixture
def notebook(tmp_path: Path) -> Iterator[JournalAgent]:
    with SessionStore.open(session_path(tmp_path / 'sales.ipynb')) as store:
        yield JournalAgent(tmp_path, store)


@dataclass
class Runner:
    """Runs nothing, but writes what it is told."""

    root: Path

    async def run(self, code: str, *, timeout: float | None) -> PythonResult:
        for name in code.split():
            (self.root / name).write_text('by code')
        return PythonResult(text='')


def capabilities(notebook: JournalAgent, told: list[str] | None = None) -> list[AbstractCapability[Any]]:
    return [
        Filesystem(),
        RunPython(runner=Runner(notebook.root)),
        Journaling(notebook.journal, run=3, tell=None if told is None else told.append),
    ]


async def run(notebook: JournalAgent, *calls: tuple[str, dict[str, Any]], toolsets: Any = ()) -> Played:
    """Run an agent that makes the calls in one response."""
    return await play(
        list(calls),
        capabilities=capabilities(notebook),
        deps=Deps(backend=notebook.workspace),
        toolsets=toolsets,
    )


async def changed(notebook: JournalAgent) -> list[tuple[str, int | None, str | None, str]]:
    return [(each.path, each.run, each.call, each.source) for each in await notebook.journal.changes()]


async def test_files_that_tools_commands_and_code_change_go_back(notebook: JournalAgent) -> None:
    (notebook.root / 'a').write_text('old')
    (notebook.root / 'c').write_text('old')
    played = await run(
        notebook,
        ('write_file', {'path': 'new.txt', 'content': 'x'}),
        ('execute', {'command': 'echo new > a'}),
        ('run_python', {'code': 'b c'}),
    )
    assert len(played.texts) == 3
    assert {(path, number, source) for path, number, _, source in await changed(notebook)} == {
        ('new.txt', 3, 'tool'),
        ('a', 3, 'scan'),
        ('b', 3, 'scan'),
        ('c', 3, 'scan'),
    }
    await notebook.goes_back(0)
    assert {path.name: path.read_text() for path in notebook.root.iterdir() if path.is_file()} == {
        'a': 'old',
        'c': 'old',
    }


async def test_a_command_that_fails_or_takes_too_long_is_looked_at_too(notebook: JournalAgent) -> None:
    await run(
        notebook,
        ('execute', {'command': 'echo x > failed; exit 3'}),
        ('execute', {'command': 'echo x > late; sleep 60', 'timeout': 1}),
    )
    assert {path for path, *_ in await changed(notebook)} == {'failed', 'late'}


async def test_a_command_that_is_cancelled_is_looked_at_too(
    notebook: JournalAgent, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pipe = tmp_path_factory.mktemp('pipe') / 'pipe'
    os.mkfifo(pipe)
    task = asyncio.create_task(run(notebook, ('execute', {'command': f'echo x > started; cat {pipe}'})))
    writer = await asyncio.to_thread(pipe.open, 'wb')  # waits for the reader
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    writer.close()
    assert [path for path, *_ in await changed(notebook)] == ['started']
    assert await notebook.store.database.run(
        lambda connection: connection.execute('SELECT count(*) FROM journal_calls').fetchone()
    ) == (0,)


async def test_a_tool_that_does_not_say_what_it_does_is_looked_at(notebook: JournalAgent) -> None:
    def theirs() -> str:
        (notebook.root / 'a').write_text('x')
        return 'ok'

    await run(notebook, ('theirs', {}), toolsets=[FunctionToolset([theirs])])
    assert await changed(notebook) == [('a', 3, '1.1', 'scan')]


async def test_a_tool_in_a_tool_counts_once(notebook: JournalAgent) -> None:
    async def theirs(ctx: RunContext[Any]) -> str:
        await ctx.deps.backend.write_bytes('a', b'x')
        (notebook.root / 'b').write_text('x')
        return 'ok'

    await run(notebook, ('theirs', {}), toolsets=[FunctionToolset([theirs])])
    assert sorted(await changed(notebook)) == [('a', 3, '1.1', 'tool'), ('b', 3, '1.1', 'scan')]


async def test_what_tools_change_at_once_is_kept_once(notebook: JournalAgent) -> None:
    names = [f'f{number}' for number in range(5)]
    all_at_work = asyncio.Barrier(len(names))

    async def theirs(name: str) -> str:
        await all_at_work.wait()
        (notebook.root / name).write_text('x')
        return 'done'

    await run(notebook, *(('theirs', {'name': name}) for name in names), toolsets=[FunctionToolset([theirs])])
    assert sorted(path for path, *_ in await changed(notebook)) == names


async def test_what_a_subagent_does_belongs_to_the_call_that_gave_the_task(notebook: JournalAgent) -> None:
    task = ('task', {'description': 'write', 'subagent_type': 'general'})
    work = [('write_file', {'path': 'a', 'content': 'x'}), ('execute', {'command': 'echo x > b'})]
    cast = Cast({'go': [[task], 'done'], 'write': [work, 'done']})
    await perform(cast, *capabilities(notebook), SubAgentCapability(), deps=Deps(backend=notebook.workspace))
    assert sorted(await changed(notebook)) == [('a', 3, '1.1', 'tool'), ('b', 3, '1.1', 'scan')]


async def test_reading_looks_at_nothing(notebook: JournalAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_calls, 'scan', None)
    (notebook.root / 'a').write_text('x')
    played = await run(notebook, ('read_file', {'path': 'a'}), ('ls', {}))
    assert [part.outcome for part in played.returns] == ['success', 'success']


def full(connection: sqlite3.Connection) -> None:
    connection.execute('PRAGMA max_page_count=1')


@pytest.mark.parametrize(
    'call',
    [
        ('write_file', {'path': 'a', 'content': 'x'}),
        ('execute', {'command': 'echo new > a'}),
        ('run_python', {'code': 'a'}),
    ],
    ids=lambda call: call[0],
)
async def test_on_a_full_disk_nothing_runs_that_could_not_be_taken_back(
    notebook: JournalAgent, call: tuple[str, dict[str, Any]]
) -> None:
    there = random.Random(0).randbytes(100_000).hex()
    (notebook.root / 'a').write_text(there)
    await notebook.journal.position()
    await notebook.store.database.run(full)
    played = await play(
        [('read_file', {'path': 'a'})],
        [call],
        capabilities=capabilities(notebook),
        deps=Deps(backend=notebook.workspace),
    )
    part = played.returns[-1]
    assert part.outcome == 'failed'
    assert f'{call[0]} changed nothing, because what is there now could not be kept' in str(part.content)
    assert 'full' in str(part.content)
    assert (notebook.root / 'a').read_text() == there


async def test_what_cannot_be_put_back_is_told(notebook: JournalAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('deep_notebook.store.journal_scans.READ_LIMIT', 1)
    (notebook.root / 'a').write_text('old')
    told: list[str] = []
    await play(
        [('execute', {'command': 'echo new > a'})],
        capabilities=capabilities(notebook, told),
        deps=Deps(backend=notebook.workspace),
    )
    assert told == [gap.what for gap in await notebook.journal.gaps(run=3)]
    assert told[0].startswith('execute changed a, which cannot be put back')


async def test_a_call_that_waits_for_a_yes_keeps_nothing_open(notebook: JournalAgent) -> None:
    await play(
        [('execute', {'command': 'echo new > a'})],
        capabilities=[*capabilities(notebook), ApprovalGate()],
        deps=Deps(backend=notebook.workspace),
    )
    assert await changed(notebook) == []
    assert await notebook.store.database.run(
        lambda connection: connection.execute('SELECT count(*) FROM journal_calls').fetchone()
    ) == (0,)

"""Killed kernels, two kernels, damaged files, full disks, directories that cannot be written."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolReturnPart, UserPromptPart

from deep_notebook.errors import StoreError
from deep_notebook.store import SessionStore

pytestmark = pytest.mark.anyio

HISTORY: list[ModelMessage] = [
    ModelRequest(parts=[UserPromptPart('Which colour?')]),
    ModelResponse(parts=[TextPart('Teal.')]),
]

PRELUDE = """
import asyncio, sys
from pathlib import Path
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from deep_notebook.store import SessionStore
store = SessionStore.open(Path(sys.argv[1]))
def say(text):
    print(text, flush=True)
"""

HOLD = (
    PRELUDE
    + """
async def main():
    await store.append([ModelRequest(parts=[UserPromptPart('from the first kernel')])])
    say(await store.conversation())
    sys.stdin.readline()
    say(len(await store.history()))
asyncio.run(main())
store.close()
"""
)

WRITE_FOREVER = (
    PRELUDE
    + """
async def main():
    run = await store.start_run(prompt='go', model='m')
    await store.save_run(run, phase='running', state={'phase': 'running', 'notice': None})
    history = [ModelRequest(parts=[UserPromptPart('go')])]
    while True:
        history.append(ModelResponse(parts=[ToolCallPart('ls', {'x': 'y' * 5000}, tool_call_id=str(len(history)))]))
        await store.sync(history)
        say(len(history))
asyncio.run(main())
"""
)


@contextmanager
def other_kernel(script: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, '-c', script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


def read(path: Path) -> bytes:
    return path.read_bytes()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


async def test_a_killed_kernel_leaves_a_valid_file_and_the_next_start_repairs_it(path: Path) -> None:
    with other_kernel(WRITE_FOREVER, path) as process:
        written = 0
        while written < 10:
            written = int(line(process))
        process.send_signal(signal.SIGKILL)
        process.wait()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute('PRAGMA integrity_check').fetchone() == ('ok',)
    with SessionStore.open(path) as store:
        history = await store.history()
        assert store.notice is None
        assert len(history) >= written
        *_, last = history
        assert isinstance(last.parts[0], ToolReturnPart)
        assert last.parts[0].outcome == 'interrupted'
        run = await store.last_run()
        assert run is not None
        assert run.phase == 'stopped'
        assert run.state == {'phase': 'stopped', 'notice': 'The kernel ended during this run.'}


async def test_a_second_kernel_gets_its_own_branch_and_is_told(path: Path) -> None:
    with other_kernel(HOLD, path) as process:
        theirs = int(line(process))
        with SessionStore.open(path) as store:
            assert len(await store.history()) == 1
            await store.append(HISTORY)
            assert await store.conversation() != theirs
            assert store.notice == (
                'This notebook is open in another kernel: this one continues on its own branch of the conversation.'
            )
            mine = await store.conversation()
            await store.new_conversation()
            assert await store.conversation() not in (theirs, mine)
        assert process.stdin is not None
        process.stdin.write('\n')
        process.stdin.flush()
        assert line(process) == '1', 'the first kernel keeps its own conversation'
        assert process.wait() == 0
    with SessionStore.open(path) as store:
        assert await store.conversation() == theirs
        assert store.notice is None


async def test_a_second_kernel_does_not_stop_the_runs_of_the_first(path: Path) -> None:
    script = HOLD.replace('say(await', "await store.start_run(prompt='p', model='m'); say(await")
    with other_kernel(script, path) as process:
        line(process)
        with SessionStore.open(path) as store:
            run = await store.run(1)
            assert run is not None
            assert run.phase == 'starting'


async def test_a_damaged_file_is_moved_aside_and_said(path: Path) -> None:
    write(path, b'this is no database, ' * 500)
    with SessionStore.open(path) as store:
        assert await store.history() == []
        (aside,) = path.parent.glob('session.db.damaged-*')
        assert read(aside) == b'this is no database, ' * 500
        assert store.notice == (
            f'{path} was damaged: it was moved to {aside.name} beside it, and a new session was started.'
        )
        await store.append(HISTORY)
    with SessionStore.open(path) as store:
        assert await store.history() == HISTORY
        assert store.notice is None


async def test_damage_in_the_middle_of_a_file_is_seen_at_the_start(path: Path) -> None:
    with SessionStore.open(path) as store:
        await store.append([ModelRequest(parts=[UserPromptPart('x' * 100)]) for _ in range(200)])
    with path.open('r+b') as file:
        file.seek(8192)
        file.write(os.urandom(16384))
    with SessionStore.open(path) as store:
        assert await store.history() == []
        assert store.notice is not None
        assert len(list(path.parent.glob('session.db.damaged-*'))) == 1


async def test_a_file_of_a_newer_version_is_left_alone(path: Path) -> None:
    write(path, b'')
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('CREATE TABLE future (x)')
        connection.execute('PRAGMA user_version=99')
    before = read(path)
    with SessionStore.open(path) as store:
        await store.append(HISTORY)
        assert await store.history() == HISTORY
        assert store.notice is not None
        assert 'newer version' in store.notice
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute('SELECT name FROM sqlite_master').fetchall() == [('future',)]
    assert read(path)[100:] == before[100:]


async def test_a_place_that_cannot_be_written_means_memory_and_is_said(tmp_path: Path) -> None:
    (tmp_path / '.deep').write_text('a file where the directory should be')
    with SessionStore.open(tmp_path / '.deep' / 'sales' / 'session.db') as store:
        await store.append(HISTORY)
        assert await store.history() == HISTORY
        assert store.notice == (
            f'{store.path} cannot be written: this session is kept in memory only and ends with the kernel.'
        )


async def test_a_read_only_session_is_read_and_goes_on_in_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SessionStore.open(path) as store:
        await store.append(HISTORY)
    real_open = os.open

    def read_only(file: str | Path, flags: int, mode: int = 0o777) -> int:
        # Tests may run as root, whom no permission stops.
        if flags & os.O_RDWR:
            raise PermissionError(13, 'Permission denied', str(file))
        return real_open(file, flags, mode)

    monkeypatch.setattr(os, 'open', read_only)
    with SessionStore.open(path) as store:
        assert await store.history() == HISTORY
        await store.append(HISTORY[:1])
        assert len(await store.history()) == 3
        assert store.notice is not None
        assert 'what it holds was read' in store.notice
    monkeypatch.undo()
    with SessionStore.open(path) as store:
        assert await store.history() == HISTORY


async def test_a_full_disk_is_a_typed_error_and_costs_nothing_earlier(path: Path) -> None:
    with SessionStore.open(path) as store:
        await store.append(HISTORY)
        await store._database.run(lambda connection: connection.execute('PRAGMA max_page_count=20').fetchone())
        with pytest.raises(StoreError, match='full'):
            await store.append([ModelRequest(parts=[UserPromptPart('x' * 500_000)])])
        assert await store.history() == HISTORY
        await store.append([ModelRequest(parts=[UserPromptPart('small')])])
        assert len(await store.history()) == 3


async def test_the_event_loop_s_thread_never_touches_sqlite(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[str] = set()
    real = sqlite3.connect

    def connect(*args: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = real(*args, **options)  # type: ignore[call-overload]
        connection.set_trace_callback(lambda statement: threads.add(threading.current_thread().name))
        return connection

    monkeypatch.setattr(sqlite3, 'connect', connect)
    await store.append(HISTORY)
    await store.history()
    assert threads == {'deep-notebook-store_0'}


async def test_a_closed_store_says_so(store: SessionStore) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreError, match='closed'):
        await store.history()

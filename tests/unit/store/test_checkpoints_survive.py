"""Killed processes, torn files, full disks, two processes at once: nothing that was saved is lost or hides the rest."""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ToolReturnPart

from deep_notebook.errors import StoreError
from deep_notebook.store import Checkpoint, FileCheckpointStore, SessionStore, SqliteCheckpointStore, session_path
from deep_notebook.store import checkpoint_files as files_module
from harness.checkpoints import LASTING, Kind, checkpoint, history, opened, step

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[2]

PRELUDE = f"""
import asyncio, os, sys
from pathlib import Path
sys.path.insert(0, {str(TESTS)!r})
from harness.checkpoints import checkpoint, history, opened, step
kind, directory = sys.argv[1], Path(sys.argv[2])
async def save(store, steps, forever):
    messages = history(1, str(os.getpid()))
    for number in range(steps):
        messages += step(f'{{os.getpid()}} ' + 'x' * 3000, str(number))
        saved = checkpoint(str(os.getpid()), messages)
        await store.save(saved)
        print(saved.id, len(messages), flush=True)
"""

KILLED = (
    PRELUDE
    + """
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        print(os.getpid(), flush=True)
        with opened(kind, directory) as store:
            asyncio.run(save(store, 10 ** 6, True))
    os.waitpid(pid, 0)
    print('gone', flush=True)
"""
)

BESIDE = (
    PRELUDE
    + """
with opened(kind, directory) as store:
    asyncio.run(save(store, 40, False))
"""
)


@contextmanager
def other_process(script: str, kind: Kind, directory: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, '-c', script, kind, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def begin(process: subprocess.Popen[str]) -> int:
    assert process.stdin is not None
    process.stdin.write('\n')
    process.stdin.flush()
    return int(line(process))


def is_whole(found: Checkpoint | None, count: int) -> bool:
    """Whether all messages are there, each with what the one before asked for."""
    if found is None or len(found.messages) != count or found.message_count != count:
        return False
    last = found.messages[-1].parts[0]
    return isinstance(last, ToolReturnPart) and str(last.content).startswith(found.label)


@pytest.mark.parametrize('kind', LASTING)
async def test_a_process_killed_while_it_saves_loses_nothing_it_had_saved(kind: Kind, tmp_path: Path) -> None:
    saved: dict[str, int] = {}
    with other_process(KILLED, kind, tmp_path) as process:
        for number in range(20):
            victim = begin(process)
            for _ in range(number % 4 + 1):
                name, count = line(process).split()
                saved[name] = int(count)
            os.kill(victim, signal.SIGKILL)
            while (said := line(process)) != 'gone':
                # Saved before the signal came; the last line can have been cut short.
                name, _, count = said.partition(' ')
                if count.removesuffix('gone').isdecimal():
                    saved[name] = int(count.removesuffix('gone'))
                if said.endswith('gone'):
                    break
            with opened(kind, tmp_path) as store:
                found = {one.id: one for one in await store.list_all()}
                assert [name for name, count in saved.items() if not is_whole(found.get(name), count)] == []
                if isinstance(store, FileCheckpointStore):
                    assert store.problems == []
                elif isinstance(store, SqliteCheckpointStore):
                    assert store.session.notice is None
    for database in tmp_path.rglob('*.db'):
        with closing(sqlite3.connect(database)) as connection:
            assert connection.execute('PRAGMA integrity_check').fetchone() == ('ok',)


@pytest.mark.parametrize('kind', LASTING)
async def test_two_processes_save_side_by_side(kind: Kind, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as store:
        await store.count()
        with other_process(BESIDE, kind, tmp_path) as process:
            saved = dict([line(process).split()])
            messages = history(1, 'mine')
            for number in range(40):
                messages += step(f'mine {number}', str(number))
                one = checkpoint('mine', messages)
                await store.save(one)
                saved[one.id] = str(len(messages))
            assert process.stdout is not None
            saved |= dict(text.split() for text in process.stdout.read().splitlines())
            assert process.wait() == 0
        found = {one.id: one for one in await store.list_all()}
        assert len(found) == len(saved) == 80
        assert [name for name, count in saved.items() if not is_whole(found[name], int(count))] == []


async def test_two_kernels_never_forget_each_other_s_automatic_checkpoints(tmp_path: Path) -> None:
    with opened('sqlite', tmp_path) as first:
        for number in range(3):
            await first.save_automatic(checkpoint(f'first {number}', history(1), automatic=True), 2)
        # One process holds its lock however often it opens the file, so this one only learns that it is second.
        second_session = SessionStore.open(session_path(tmp_path / 'sales.ipynb'))
        second_session.database.owner = False
        second_session.database._take_lock = lambda: None  # type: ignore[method-assign]
        second = SqliteCheckpointStore(second_session)
        for number in range(3):
            await second.save_automatic(checkpoint(f'second {number}', history(1), automatic=True), 2)
        expected = ['first 1', 'first 2', 'second 1', 'second 2']
        assert [summary.label for summary in await first.summaries()] == expected
        second.close()


def torn(whole: bytes) -> list[bytes]:
    header = whole.index(b'\n')
    cuts = [0, 1, header // 2, header, header + 1, header + 20, len(whole) - 33, len(whole) - 1]
    middle = len(whole) - 40
    return [
        *(whole[:cut] for cut in cuts),
        bytes(len(whole)),
        b'\xff' * len(whole),
        whole + whole,
        whole[:middle] + b'\n' + whole[middle + 1 :],
        whole.replace(b'checkpoint/1', b'checkpoint/9'),
        b'[]\n',
        b'{}\n',
        b'[' * 100_000,
        json.dumps({**json.loads(whole[:header]), 'message_count': 'many'}).encode() + b'\n',
        json.dumps({**json.loads(whole[:header]), 'created_at': 5}).encode() + b'\n',
    ]


async def test_a_torn_file_is_said_and_never_hides_the_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = FileCheckpointStore(tmp_path)
    messages = history(3)
    saved = [checkpoint(str(number), messages[: 2 * number + 1]) for number in range(1, 4)]
    for one in saved:
        await store.save(one)
    path = store._path(saved[1].id)
    whole = path.read_bytes()
    for number, content in enumerate(torn(whole)):
        path.write_bytes(content)
        caplog.clear()
        store = FileCheckpointStore(tmp_path)
        with caplog.at_level(logging.WARNING):
            assert await store.list_all() == [saved[0], saved[2]], number
            assert await store.get(saved[1].id) is None
            assert await store.get_by_label('2') is None
        [problem] = store.problems
        assert str(path) in problem
        assert [record.getMessage() for record in caplog.records] == [
            f'Skipped among the checkpoints: {problem.replace(": ", " ", 1)}. The others are there.'
        ]
        assert path.read_bytes() == content, 'it may be all that is left of something'
    await store.save(saved[1])
    assert await store.list_all() == [saved[0], saved[2], saved[1]], 'its place was in the file'
    assert store.problems == []


async def test_a_foreign_file_is_said_and_left_alone(tmp_path: Path) -> None:
    store = FileCheckpointStore(tmp_path)
    saved = checkpoint('here', history(1))
    await store.save(saved)
    (tmp_path / 'notes.json').write_text('{}')
    (tmp_path / '.hidden').write_text('')
    (tmp_path / f'{"0" * 32}.json').mkdir()
    copied = tmp_path / f'{"1" * 32}.json'
    copied.write_bytes(store._path(saved.id).read_bytes())
    assert await store.list_all() == [saved]
    assert await store.count() == 1
    assert sorted(problem.split(': ')[0] for problem in store.problems) == sorted(
        str(path) for path in (tmp_path / 'notes.json', tmp_path / f'{"0" * 32}.json', copied)
    )
    assert copied.exists()


@pytest.mark.parametrize('content', [b'', b'{', b'{}', None], ids=['empty', 'cut', 'another', 'gone'])
async def test_a_torn_message_costs_only_those_that_hold_it(tmp_path: Path, content: bytes | None) -> None:
    store = FileCheckpointStore(tmp_path)
    messages = history(2)
    saved = [checkpoint('short', messages[:3]), checkpoint('long', messages)]
    for one in saved:
        await store.save(one)
    digest = store._path(saved[1].id).read_text().splitlines()[-1]
    path = tmp_path / 'messages' / f'{digest}.json'
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    store = FileCheckpointStore(tmp_path)
    assert await store.list_all() == [saved[0]]
    assert len(store.problems) == 1
    assert await store.remove_oldest() == saved[0]
    assert await store.remove_oldest() is None, 'what cannot be read is not removed either'
    await store.save(saved[1])
    assert await store.list_all() == [saved[1]]


async def refusal(store: Any, one: Checkpoint) -> str | None:
    """Return why a checkpoint could not be saved."""
    try:
        await store.save(one)
    except StoreError as error:
        return str(error)
    return None


class FailingDisk:
    """Lets `allowed` operations on the disk pass and refuses the rest, as a full disk does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, allowed: int) -> None:
        self.left = allowed
        real_open, real_fsync, real_replace, real_mkdir = os.open, os.fsync, Path.replace, Path.mkdir
        disk = self

        class File(io.FileIO):
            def write(self, data: Any) -> int:
                disk.use()
                return super().write(data)

        def opening(file: int, mode: str) -> io.BufferedWriter:
            return io.BufferedWriter(File(file, mode))

        def check(real: Any) -> Any:
            def checked(*args: Any, **options: Any) -> Any:
                disk.use()
                return real(*args, **options)

            return checked

        monkeypatch.setattr(files_module, 'open', opening, raising=False)
        monkeypatch.setattr(files_module.os, 'open', check(real_open))
        monkeypatch.setattr(files_module.os, 'fsync', check(real_fsync))
        monkeypatch.setattr(Path, 'replace', check(real_replace))
        monkeypatch.setattr(Path, 'mkdir', check(real_mkdir))

    def use(self) -> None:
        if not self.left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.left -= 1


async def test_a_full_disk_at_any_point_costs_nothing_earlier_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = history(2)
    earlier, later = checkpoint('earlier', messages[:3]), checkpoint('later', messages)
    for allowed in range(100):
        store = FileCheckpointStore(tmp_path / str(allowed))
        await store.save(earlier)
        with monkeypatch.context() as patch:
            disk = FailingDisk(patch, allowed)
            refused = await refusal(store, later)
            assert disk.left == 0
        if refused is None:
            break
        assert 'No space left' in refused
        assert await store.list_all() == [earlier]
        assert await FileCheckpointStore(store.directory).list_all() == [earlier]
        assert list(store.directory.rglob('*.tmp')) == []
        await store.save(later)
        assert await store.list_all() == [earlier, later]
        assert store.problems == []
    assert allowed == 1 + 3 * len(('open', 'write', 'fsync', 'replace')), 'two messages and the checkpoint'


async def test_a_full_disk_at_any_point_costs_nothing_earlier_in_the_session(tmp_path: Path) -> None:
    messages = history(1)
    earlier = checkpoint('earlier', messages)
    with opened('sqlite', tmp_path) as store:
        await store.save(earlier)
        messages += step('x' * 60_000, 'm')
        later = checkpoint('later', messages)
        [pages] = await store.session.database.run(
            lambda connection: connection.execute('PRAGMA page_count').fetchone()
        )
        for allowed in range(100):
            limit = f'PRAGMA max_page_count={pages + allowed}'
            await store.session.database.run(lambda connection, limit=limit: connection.execute(limit).fetchone())
            refused = await refusal(store, later)
            if refused is None:
                break
            assert 'full' in refused
            assert await store.list_all() == [earlier]
            assert await store.count() == 1
        assert allowed > 10, 'there are more points than that'
        assert await store.list_all() == [earlier, later]
    with opened('sqlite', tmp_path) as store:
        assert await store.list_all() == [earlier, later]


async def test_a_directory_that_cannot_be_used_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    store = FileCheckpointStore(tmp_path / 'file')
    with pytest.raises(StoreError, match='could not be used'):
        await store.save(checkpoint(str(uuid.uuid4()), history(1)))


async def test_where_nothing_can_be_written_checkpoints_last_as_long_as_the_session(tmp_path: Path) -> None:
    (tmp_path / '.deep').write_text('a file where the directory should be')
    saved = checkpoint('here', history(1))
    with opened('sqlite', tmp_path) as store:
        await store.save(saved)
        assert await store.list_all() == [saved]
        assert store.session.notice is not None

"""One SQLite file, used from one thread of its own, so that nothing here ever blocks the event loop.

The file is in WAL mode with `synchronous=NORMAL`: when the process is killed at any instant, the file is valid
and every committed transaction is there. (Only a power cut can take the last few transactions back with it,
never the file; `FULL` would pay a disk flush for each message to save those.) What someone asked to be kept is
written with `durable`: that transaction, and all before it, survive a power cut too.

Whatever is wrong with the file has one outcome: read-only → the session continues in memory; damaged → the file
is moved aside, never deleted; written by a newer version → left alone, in memory; a second process → told so by
`Database.owner`. Each outcome leaves one line for the person in `Database.notice`.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from deep_notebook.errors import StoreError

__all__ = ['Database', 'Migration']

T = TypeVar('T')

Migration: TypeAlias = Sequence[str]
"""The SQL statements that lead from one `user_version` to the next."""

_BUSY_SECONDS = 5.0
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_DISK_FULL = 'the disk is full; what it held is intact, so make room and go on'
_HELD_ELSEWHERE = frozenset({errno.EACCES, errno.EAGAIN})


class _NewerVersion(Exception):
    pass


class Database:
    """A SQLite file that opens itself on first use.

    Args:
        path: The file. Its directory is created; if that is (in) a `.deep` directory, version control is told
            to ignore it.
        migrations: The schema, one element a version; only ever append to it.
        prepare: Called on the database's thread, in a transaction, when the file has been opened.
    """

    def __init__(
        self, path: Path, migrations: Sequence[Migration], *, prepare: Callable[[sqlite3.Connection], None]
    ) -> None:
        self.path = path
        self.notice: str | None = None
        self.owner = True
        self.in_memory = False
        self._migrations = migrations
        self._prepare = prepare
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix='deep-notebook-store')
        self._connection: sqlite3.Connection | None = None
        self._lock: int | None = None
        self._closed = False

    async def run(
        self,
        work: Callable[[sqlite3.Connection], T],
        *,
        committed: Callable[[T], None] | None = None,
        durable: bool = False,
    ) -> T:
        """Run `work` in one transaction on the database's thread and return its result.

        The transaction is finished even when the task that waits for it is cancelled.

        Args:
            work: Reads and writes.
            committed: Called with the result, on the same thread, once the transaction is committed: what is
                remembered beside the file never runs ahead of it or falls behind.
            durable: Wait until the disk has it (`synchronous=FULL`).

        Raises:
            StoreError: SQLite refused (disk full, file damaged, locked); the transaction was rolled back.
        """
        return await asyncio.shield(asyncio.wrap_future(self._submit(work, committed, durable=durable)))

    def run_blocking(
        self,
        work: Callable[[sqlite3.Connection], T],
        *,
        committed: Callable[[T], None] | None = None,
        durable: bool = False,
    ) -> T:
        """Do what `run` does from a worker thread, which waits for it; raises as `run`."""
        return self._submit(work, committed, durable=durable).result()

    def _submit(
        self, work: Callable[[sqlite3.Connection], T], committed: Callable[[T], None] | None, *, durable: bool
    ) -> Future[T]:
        if self._closed:
            raise StoreError(f'The session file {self.path} is closed.')

        def job() -> T:
            try:
                connection = self._open()
                with _flushed(connection) if durable else nullcontext():
                    result = _in_transaction(connection, work)
            except sqlite3.Error as error:
                raise StoreError(f'The session file {self.path} could not be used: {_reason(error)}.') from error
            if committed is not None:
                committed(result)
            return result

        return self._thread.submit(job)

    def close(self) -> None:
        """Finish what is queued, close the file and let other processes have it. Closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        self._thread.submit(self._close)
        self._thread.shutdown(wait=True)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self.in_memory = False
            try:
                connection = self._open_file()
            except _NewerVersion:
                connection = self._open_memory('was written by a newer version of deep_notebook')
            except OSError as error:
                if error.errno in _FULL:
                    raise sqlite3.OperationalError(_DISK_FULL) from error
                connection = self._open_memory('cannot be written')
            except sqlite3.OperationalError as error:
                if not _is_unwritable(error):
                    raise
                connection = self._open_memory('cannot be written')
            except sqlite3.DatabaseError:
                connection = self._open_instead_of_damaged()
            try:
                _in_transaction(connection, self._prepare)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _open_file(self) -> sqlite3.Connection:
        _make_directory(self.path.parent)
        self._take_lock()
        # Whoever may read the notebook need not be allowed to read the conversation.
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = _connect(str(self.path))
        try:
            connection.execute('PRAGMA journal_mode=WAL')
            connection.execute('PRAGMA synchronous=NORMAL')
            if not _is_sound(connection):
                raise sqlite3.DatabaseError('quick_check failed')
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _open_instead_of_damaged(self) -> sqlite3.Connection:
        if not self.owner:
            return self._open_memory('is damaged and open in another kernel')
        try:
            self._move_aside()
            return self._open_file()
        except OSError:
            return self._open_memory('is damaged and cannot be moved aside')

    def _migrate(self, connection: sqlite3.Connection) -> None:
        while (version := _version(connection)) != len(self._migrations):
            if version > len(self._migrations):
                raise _NewerVersion
            _in_transaction(connection, partial(self._step, version))

    def _step(self, version: int, connection: sqlite3.Connection) -> None:
        if _version(connection) != version:  # another process was faster
            return
        for statement in self._migrations[version]:
            connection.execute(statement)
        connection.execute(f'PRAGMA user_version={version + 1}')

    def _open_memory(self, reason: str) -> sqlite3.Connection:
        self._release_lock()
        self.owner = True
        self.in_memory = True
        connection = _connect(':memory:')
        kept = _copy_readable(self.path, connection, at_most=len(self._migrations))
        self._migrate(connection)
        earlier = 'what it holds was read, but ' if kept else ''
        self.notice = f'{self.path} {reason}: {earlier}this session is kept in memory only and ends with the kernel.'
        return connection

    def _move_aside(self) -> None:
        aside = self.path.with_name(f'{self.path.name}.damaged-{time.strftime("%Y%m%d-%H%M%S")}')
        for suffix in ('', '-wal', '-shm'):
            part = self.path.with_name(self.path.name + suffix)
            if part.exists():
                part.rename(aside.with_name(aside.name + suffix))
        self.notice = f'{self.path} was damaged: it was moved to {aside.name} beside it, and a new session was started.'

    def _take_lock(self) -> None:
        # A lock of the process, which a forked child does not inherit, released by the system when the process dies.
        if self._lock is None:
            self._lock = os.open(self.path.with_suffix('.lock'), os.O_RDWR | os.O_CREAT, 0o600)
        self.owner = self.claim(0)

    def claim(self, part: int) -> bool:
        """Take a part of the lock, on the database's thread; return whether no other process has it.

        Part 0 is the ownership of the file, what the others are is for its users to say.
        """
        if self._lock is None:
            return True
        try:
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, part)
        except OSError as error:
            # A file system without locks (ENOLCK, ENOTSUP) cannot tell; then there is one owner too many.
            return error.errno not in _HELD_ELSEWHERE
        return True

    def release(self, part: int) -> None:
        """Let other processes take a part of the lock, on the database's thread."""
        if self._lock is not None:
            with suppress(OSError):
                fcntl.lockf(self._lock, fcntl.LOCK_UN, 1, part)

    def _release_lock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._release_lock()


def _connect(path: str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, uri=uri)


@contextmanager
def _flushed(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute('PRAGMA synchronous=FULL')
    try:
        yield
    finally:
        connection.execute('PRAGMA synchronous=NORMAL')


def _in_transaction(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    connection.execute('BEGIN IMMEDIATE')
    try:
        result = work(connection)
        connection.execute('COMMIT')
    finally:
        if connection.in_transaction:
            connection.execute('ROLLBACK')
    return result


def _version(connection: sqlite3.Connection) -> int:
    version = connection.execute('PRAGMA user_version').fetchone()[0]
    assert isinstance(version, int)
    return version


def _is_sound(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute('PRAGMA quick_check(1)').fetchone() == ('ok',))


def _reason(error: sqlite3.Error) -> str:
    """Return what is wrong and what to do, for one line."""
    match getattr(error, 'sqlite_errorcode', 0) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return _DISK_FULL
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f'another process has been writing to it for {_BUSY_SECONDS:g} s, so try again'
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return 'it is damaged; restart the kernel, which moves it aside and starts a new one'
        case _:
            return str(error)


def _is_unwritable(error: sqlite3.OperationalError) -> bool:
    return (error.sqlite_errorcode & 0xFF) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)


def _copy_readable(path: Path, into: sqlite3.Connection, *, at_most: int) -> bool:
    """Copy the database at `path` `into` memory if it can be read and its version is not newer than `at_most`."""
    # `immutable` also reads where SQLite may not create its shared memory file; then the last WAL frames are missing.
    for options in ('mode=ro', 'mode=ro&immutable=1'):
        try:
            with closing(_connect(f'{path.absolute().as_uri()}?{options}', uri=True)) as source:
                if _version(source) > at_most or not _is_sound(source):
                    return False
                source.backup(into)
                return True
        except sqlite3.DatabaseError:
            continue
    return False


def _make_directory(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    deep = next((parent for parent in (directory, *directory.parents) if parent.name == '.deep'), None)
    if deep is not None and not (deep / '.gitignore').exists():
        (deep / '.gitignore').write_text('*\n', encoding='utf-8')

"""The journal's side of the database: which line of it is ours, and its transactions, made from worker threads."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from .journal_tables import (
    Content,
    Entry,
    content_of,
    last_position,
    missing_contents,
    put_contents,
    put_entries,
)
from .session import SessionStore

__all__ = ['Ledger']

T = TypeVar('T')


class Ledger:
    """Writes and reads the journal of this kernel. Its methods block and belong into worker threads.

    The journal of a notebook is one line; another kernel on the same notebook, which has a branch of the conversation,
    writes a line of its own. Every method raises `StoreError` when SQLite cannot do what is asked.
    """

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._line: int | None = None
        self.here = 0
        """The id of the last entry, from the first use on."""

    def read(self, work: Callable[[sqlite3.Connection, int], T]) -> T:
        """Return what `work` finds, given the connection and the line."""
        line = self._open()
        return self._store.database.run_blocking(lambda connection: work(connection, line))

    def write(self, work: Callable[[sqlite3.Connection, int], T], *, durable: bool = False) -> T:
        """Do `work` in a transaction; with `durable`, wait until the disk has it."""
        line = self._open()

        def job(connection: sqlite3.Connection) -> tuple[T, int]:
            return work(connection, line), last_position(connection, line)

        def committed(result: tuple[T, int]) -> None:
            self.here = result[1]

        return self._store.database.run_blocking(job, committed=committed, durable=durable)[0]

    def record(self, entries: Sequence[Entry], contents: Mapping[str, bytes]) -> list[int]:
        """Write entries, with contents by digest; return their ids once the disk has them."""
        kept = [Content.of(digest, data) for digest, data in contents.items()]

        def work(connection: sqlite3.Connection, line: int) -> list[int]:
            put_contents(connection, kept)
            return put_entries(connection, line, entries)

        return self.write(work, durable=True)

    def save(self, contents: Mapping[str, bytes]) -> None:
        """Keep contents by digest."""
        missing = self.read(lambda connection, _: missing_contents(connection, contents))
        kept = [Content.of(digest, contents[digest]) for digest in missing]
        self.write(lambda connection, _: put_contents(connection, kept))

    def content(self, digest: str) -> bytes | None:
        """Return the contents with a digest, or `None` if they are not kept."""
        return self.read(lambda connection, _: content_of(connection, digest))

    def forget(self, ids: Collection[int]) -> None:
        """Take back entries of what did not happen."""
        self.write(
            lambda connection, _: connection.executemany('DELETE FROM journal WHERE id = ?', [(id,) for id in ids])
        )

    def _open(self) -> int:
        if self._line is not None:
            return self._line

        def work(connection: sqlite3.Connection) -> tuple[int, int]:
            line = self._store.lines.journal(connection)
            dead = connection.execute(
                'SELECT id, run, call, tool FROM journal_calls WHERE line = ? ORDER BY id', (line,)
            ).fetchall()
            for id, run, call, tool in dead:
                put_entries(connection, line, [Entry(kind='gap', path=_DIED.format(tool=tool), run=run, call=call)])
                connection.execute('DELETE FROM journal_calls WHERE id = ?', (id,))
            return line, last_position(connection, line)

        def committed(result: tuple[int, int]) -> None:
            self._line, self.here = result

        return self._store.database.run_blocking(work, committed=committed)[0]


_DIED = 'The kernel ended while {tool} was at work: what it did to files is not known.'

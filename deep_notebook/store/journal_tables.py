"""The journal's tables: contents once by digest, and what happened in the order in which it did."""

from __future__ import annotations

import json
import os
import sqlite3
import time
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .journal_types import NOTHING, FileChangeRecord, FileState, Gap, Source

__all__ = [
    'JOURNAL_SCHEMA',
    'Content',
    'Entry',
    'changes_in',
    'content_of',
    'directories_in',
    'drop_unused',
    'gaps_in',
    'last_position',
    'missing_contents',
    'put_call',
    'put_contents',
    'put_entries',
    'put_modes',
    'remove_calls',
    'runs_in',
]

JOURNAL_SCHEMA = (
    'CREATE TABLE file_contents (digest TEXT PRIMARY KEY, size INTEGER NOT NULL, body BLOB NOT NULL)',
    """
    CREATE TABLE journal (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        line INTEGER NOT NULL,
        kind TEXT NOT NULL,
        run INTEGER,
        call TEXT,
        source TEXT NOT NULL,
        path BLOB NOT NULL,
        before TEXT,
        before_mode INTEGER,
        before_link INTEGER NOT NULL,
        after TEXT,
        after_mode INTEGER,
        after_link INTEGER NOT NULL,
        at REAL NOT NULL
    )
    """,
    'CREATE INDEX journal_before ON journal (before) WHERE before IS NOT NULL',
    'CREATE INDEX journal_after ON journal (after) WHERE after IS NOT NULL',
    """
    CREATE TABLE journal_calls (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        line INTEGER NOT NULL,
        run INTEGER,
        call TEXT,
        tool TEXT NOT NULL
    )
    """,
)
"""`line` is 0, or the conversation with which a kernel's branch began. A `kind` is `file`, `directory` (then only the
modes count) or `gap` (then `path` is its text). `journal_calls` are calls in progress."""

_LEVEL = 1


@dataclass(frozen=True)
class Content:
    """Contents to keep, compressed."""

    digest: str
    size: int
    body: bytes

    @classmethod
    def of(cls, digest: str, data: bytes) -> Content:
        """Return `data`, whose SHA-256 is `digest`."""
        return cls(digest, len(data), zlib.compress(data, _LEVEL))


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line of the journal that is to be written."""

    kind: Literal['file', 'directory', 'gap']
    path: str
    before: FileState = NOTHING
    after: FileState = NOTHING
    source: Source = 'tool'
    run: int | None = None
    call: str | None = None


def put_contents(connection: sqlite3.Connection, contents: Iterable[Content]) -> None:
    """Keep contents; those that are there stay."""
    connection.executemany(
        'INSERT INTO file_contents (digest, size, body) VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING',
        [(content.digest, content.size, content.body) for content in contents],
    )


def missing_contents(connection: sqlite3.Connection, digests: Iterable[str]) -> list[str]:
    """Return which of `digests` are not kept."""
    query = 'SELECT value FROM json_each(?) WHERE value NOT IN (SELECT digest FROM file_contents)'
    return [digest for (digest,) in connection.execute(query, (json.dumps(list(digests)),))]


def content_of(connection: sqlite3.Connection, digest: str) -> bytes | None:
    """Return the contents with a digest, or `None` if they are not kept."""
    row = connection.execute('SELECT body FROM file_contents WHERE digest = ?', (digest,)).fetchone()
    return None if row is None else zlib.decompress(row[0])


def put_entries(connection: sqlite3.Connection, line: int, entries: Sequence[Entry]) -> list[int]:
    """Write `entries` and return their ids, in order."""
    ids = []
    for entry in entries:
        cursor = connection.execute(
            """
            INSERT INTO journal (line, kind, run, call, source, path,
                before, before_mode, before_link, after, after_mode, after_link, at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            (
                line,
                entry.kind,
                entry.run,
                entry.call,
                entry.source,
                os.fsencode(entry.path),
                *_columns(entry.before),
                *_columns(entry.after),
                time.time(),
            ),
        )
        assert cursor.lastrowid is not None
        ids.append(cursor.lastrowid)
    return ids


def put_call(connection: sqlite3.Connection, line: int, *, run: int | None, call: str | None, tool: str) -> int:
    """Note that a call is at work and return its row."""
    cursor = connection.execute(
        'INSERT INTO journal_calls (line, run, call, tool) VALUES (?, ?, ?, ?)', (line, run, call, tool)
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def remove_calls(connection: sqlite3.Connection, rows: Iterable[int | None]) -> None:
    """Note that calls are over."""
    connection.executemany('DELETE FROM journal_calls WHERE id = ?', [(row,) for row in rows])


def put_modes(connection: sqlite3.Connection, modes: Mapping[int, int]) -> None:
    """Complete entries, by id, with the mode that what is new has got."""
    connection.executemany('UPDATE journal SET after_mode = ? WHERE id = ?', [(mode, id) for id, mode in modes.items()])


def last_position(connection: sqlite3.Connection, line: int) -> int:
    """Return the id of the last entry of a line, or 0."""
    row: tuple[int] = connection.execute('SELECT coalesce(max(id), 0) FROM journal WHERE line = ?', (line,)).fetchone()
    return row[0]


def changes_in(
    connection: sqlite3.Connection, line: int, *, after: int, until: int | None, run: int | None = None
) -> list[FileChangeRecord]:
    """Return the changes of files of a line, oldest first."""
    rows = connection.execute(
        """
        SELECT journal.id, run, call, source, path, at,
            before, before_mode, before_link, before IS NULL OR old.digest IS NOT NULL,
            after, after_mode, after_link, after IS NULL OR new.digest IS NOT NULL
        FROM journal
            LEFT JOIN file_contents AS old ON old.digest = before
            LEFT JOIN file_contents AS new ON new.digest = after
        WHERE line = :line AND kind = 'file' AND id > :after AND (:until IS NULL OR id <= :until)
            AND (:run IS NULL OR run = :run)
        ORDER BY id
        """,
        {'line': line, 'after': after, 'until': until, 'run': run},
    )
    return [
        FileChangeRecord(
            id=id,
            run=of_run,
            call=call,
            source=source,
            path=os.fsdecode(path),
            before=_state(*columns[:4]),
            after=_state(*columns[4:]),
            at=at,
        )
        for id, of_run, call, source, path, at, *columns in rows
    ]


def directories_in(
    connection: sqlite3.Connection, line: int, *, after: int = 0, until: int | None = None
) -> list[tuple[str, int | None, int | None]]:
    """Return what happened to directories, oldest first: path, mode before, mode after (`None`: it was not there)."""
    rows = connection.execute(
        """
        SELECT path, before_mode, after_mode FROM journal
        WHERE line = :line AND kind = 'directory' AND id > :after AND (:until IS NULL OR id <= :until) ORDER BY id
        """,
        {'line': line, 'after': after, 'until': until},
    )
    return [(os.fsdecode(path), before, after) for path, before, after in rows]


def runs_in(connection: sqlite3.Connection, line: int) -> list[int]:
    """Return the runs of a line in which the agent changed a file, the latest first."""
    rows = connection.execute(
        """
        SELECT DISTINCT run FROM journal
        WHERE line = ? AND kind = 'file' AND run IS NOT NULL AND source IN ('tool', 'scan') ORDER BY run DESC
        """,
        (line,),
    )
    return [run for (run,) in rows]


def gaps_in(connection: sqlite3.Connection, line: int, *, after: int, run: int | None) -> list[Gap]:
    """Return the gaps of a line, oldest first."""
    rows = connection.execute(
        """
        SELECT id, run, call, path FROM journal
        WHERE line = :line AND kind = 'gap' AND id > :after AND (:run IS NULL OR run = :run) ORDER BY id
        """,
        {'line': line, 'after': after, 'run': run},
    )
    return [Gap(position=id, run=of_run, call=call, what=os.fsdecode(what)) for id, of_run, call, what in rows]


def drop_unused(connection: sqlite3.Connection, *, used: Collection[str], limit: int) -> None:
    """Forget contents that no change refers to, other than `used`, if all such are more than `limit` bytes."""
    unused = """
        FROM file_contents WHERE digest NOT IN (
            SELECT before FROM journal WHERE before IS NOT NULL UNION SELECT after FROM journal WHERE after IS NOT NULL
        )
        """
    size: int = connection.execute(f'SELECT coalesce(sum(size), 0) {unused}').fetchone()[0]
    if size > limit:
        connection.execute(
            f'DELETE {unused} AND digest NOT IN (SELECT value FROM json_each(?))', (json.dumps(sorted(used)),)
        )


def _columns(state: FileState) -> tuple[str | None, int | None, bool]:
    return state.digest, state.mode, state.link


def _state(digest: str | None, mode: int | None, link: int, kept: int) -> FileState:
    return FileState(digest=digest, mode=mode, kept=bool(kept), link=bool(link))

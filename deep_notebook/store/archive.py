"""Archives for agents that have no notebook: a `messages.json`, or the memory of this process."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import sqlite3
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from deep_notebook.errors import StoreError

from .messages import MESSAGES_SCHEMA, dump_message
from .search import SEARCH_SCHEMA, SearchHit, index_some, part_ids, search_index

__all__ = ['ConversationArchives', 'MessageArchive']

T = TypeVar('T')

_MAX_CONVERSATIONS = 64
"""Conversations that are remembered; what one needs is what compression took out of it."""
_BEGIN, _BETWEEN, _END = '[\n', ',\n', '\n]\n'
"""How the file is written: a JSON array, one message a line."""
_ONE_LINE = re.compile(r'\{.*\}')


class MessageArchive:
    """Messages in a file, or in memory, and a full-text index over them in memory.

    The file is a JSON array of messages that `ModelMessagesTypeAdapter` reads. It only ever grows, and is replaced in
    one step. Whoever else writes it is noticed at the next search.

    Args:
        path: The file; without one, everything ends with this object.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._version: tuple[int, int] | None = None
        self._kept: list[str] = []

    async def keep(self, history: Sequence[ModelMessage]) -> None:
        """Add the messages of `history` that are not in the archive.

        Raises:
            StoreError: The file could not be read or written; it is as it was.
        """
        messages = list(history)
        await self._work(lambda: self._keep(messages))

    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        context: int = 5,
        earlier: Sequence[ModelMessage] = (),
        current: Sequence[ModelMessage] = (),
    ) -> list[SearchHit]:
        """Return what matches `query`, the best first; nothing for a query without words.

        Args:
            query: Words in any script; signs have no meaning.
            limit: The most hits.
            context: Lines to show before and after each.
            earlier: Messages to search besides those of the archive.
            current: Messages that are not wanted, whether they are in the archive or not.

        Raises:
            StoreError: The file could not be read.
        """
        looked_at, skipped = list(earlier), list(current)

        def work() -> list[SearchHit]:
            connection = self._open()
            _insert(connection, map(dump_message, looked_at))
            ids = _insert(connection, map(dump_message, skipped))
            _index(connection)
            without = part_ids(connection, ids)
            return search_index(connection, query, limit=limit, context=context, without=without)

        return await self._work(work)

    async def _work(self, work: Callable[[], T]) -> T:
        def job() -> T:
            with self._lock:
                try:
                    return work()
                except (OSError, ValueError, sqlite3.Error) as error:
                    raise StoreError(f'The archive {self.path or "in memory"} could not be used: {error}.') from error

        return await asyncio.to_thread(job)

    def _keep(self, messages: Sequence[ModelMessage]) -> None:
        kept = self._kept if self.path is None else _read(self.path)
        known = set(kept)
        added = [body for body in dict.fromkeys(map(dump_message, messages)) if body not in known]
        if not added:
            return
        if self.path is None:
            kept.extend(added)
            if self._connection is not None:
                _insert(self._connection, added)
        else:
            _write(self.path, [*kept, *added])

    def _open(self) -> sqlite3.Connection:
        """Return the index, made anew when the file has changed."""
        version = _version(self.path)
        if self._connection is None or version != self._version:
            if self._connection is not None:
                self._connection.close()
            self._connection = _in_memory()
            _insert(self._connection, self._kept if self.path is None else _read(self.path))
            self._version = version
        return self._connection


class ConversationArchives:
    """Archives in memory, one a conversation; the least used of more than `_MAX_CONVERSATIONS` is forgotten."""

    def __init__(self) -> None:
        self._archives: OrderedDict[str | None, MessageArchive] = OrderedDict()

    def of(self, conversation: str | None) -> MessageArchive:
        """Return the archive of a conversation, by pydantic-ai's id of it."""
        archive = self._archives.setdefault(conversation, MessageArchive())
        self._archives.move_to_end(conversation)
        while len(self._archives) > _MAX_CONVERSATIONS:
            self._archives.popitem(last=False)
        return archive


def _in_memory() -> sqlite3.Connection:
    # Used from one thread at a time: the archive's lock sees to it.
    connection = sqlite3.connect(':memory:', isolation_level=None, check_same_thread=False)
    for statement in (*MESSAGES_SCHEMA, *SEARCH_SCHEMA):
        connection.execute(statement)
    return connection


def _index(connection: sqlite3.Connection) -> None:
    more = True
    while more:
        connection.execute('BEGIN')
        more = index_some(connection)
        connection.execute('COMMIT')


def _insert(connection: sqlite3.Connection, bodies: Sequence[str] | map[str]) -> list[int]:
    """Store messages that are not there and return the ids of all of them; the first message is number 0."""
    ids: list[int] = []
    connection.execute('BEGIN')
    for body in bodies:
        digest = hashlib.sha256(body.encode()).hexdigest()
        connection.execute(
            'INSERT INTO messages (id, hash, kind, body, created)'
            " VALUES ((SELECT coalesce(max(id) + 1, 0) FROM messages), ?, '', ?, 0) ON CONFLICT (hash) DO NOTHING",
            (digest, body),
        )
        ids += connection.execute('SELECT id FROM messages WHERE hash = ?', (digest,)).fetchone()
    connection.execute('COMMIT')
    return ids


def _version(path: Path | None) -> tuple[int, int] | None:
    if path is None or not path.exists():
        return None
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_size


def _read(path: Path) -> list[str]:
    """Return the messages in the file, as `dump_message` writes each."""
    try:
        text = path.read_text(encoding='utf-8')
    except FileNotFoundError:
        return []
    bodies = text.removeprefix(_BEGIN).removesuffix(_END).split(_BETWEEN)
    # In a file that something else has laid out anew, a line is not a message.
    if text.startswith(_BEGIN) and text.endswith(_END) and all(map(_ONE_LINE.fullmatch, bodies)):
        return bodies
    return list(map(dump_message, ModelMessagesTypeAdapter.validate_json(text)))


def _write(path: Path, bodies: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
    try:
        with os.fdopen(descriptor, 'w', encoding='utf-8') as file:
            file.write(_BEGIN + _BETWEEN.join(bodies) + _END)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise

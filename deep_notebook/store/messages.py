"""Messages: each stored once, by content; a conversation is a list of references to them.

No message is ever deleted. When a history is compressed or its tail is replaced, the entries of the
conversation change and what they pointed to before stays as the archive.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_core import PydanticSerializationError

from .plain_messages import read_plain, write_plain

__all__ = [
    'MESSAGES_SCHEMA',
    'UTF8_BODY',
    'Entry',
    'dump_message',
    'dump_whole',
    'load_entries',
    'load_message',
    'load_messages',
    'message_digest',
    'put_message',
    'sync_entries',
    'utf8',
]

MESSAGES_SCHEMA = (
    """
    CREATE TABLE conversations (
        id INTEGER PRIMARY KEY,
        created REAL NOT NULL,
        ended REAL,
        branch_of INTEGER REFERENCES conversations (id)
    )
    """,
    """
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        created REAL NOT NULL
    )
    """,
    """
    CREATE TABLE entries (
        conversation INTEGER NOT NULL REFERENCES conversations (id),
        position INTEGER NOT NULL,
        message INTEGER NOT NULL REFERENCES messages (id),
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID
    """,
)

UTF8_BODY = 'CAST(body AS BLOB)'
"""The body of a message as `load_messages` takes it: of a megabyte, two milliseconds of decoding are saved."""


@dataclass(frozen=True)
class Entry:
    """One place in a conversation, as it is stored: the object that was seen there and the hash of its content."""

    message: ModelMessage
    hash: str


def dump_message(message: ModelMessage) -> str:
    """Return `message` as JSON, as it is stored: without the fields that are `None`, where that loses nothing.

    What JSON cannot hold (any object that a tool returned) is kept as its `repr`.
    """
    return write_plain(message) or dump_whole(message)


def dump_whole(message: ModelMessage) -> str:
    """Return `message` as JSON with all its fields. What JSON cannot hold is kept as its `repr`."""
    try:
        body = ModelMessagesTypeAdapter.dump_json([message], fallback=repr).decode()
    except PydanticSerializationError:
        # Lone surrogates, as in names of files that are not UTF-8, have no place in UTF-8.
        dumped = ModelMessagesTypeAdapter.dump_python([message], mode='json', fallback=repr)
        body = json.dumps(dumped, ensure_ascii=False, separators=(',', ':')).encode('utf-8', 'replace').decode()
    return body[1:-1]


def load_message(body: str) -> ModelMessage:
    """Return the message that `dump_message` wrote."""
    return ModelMessagesTypeAdapter.validate_json(f'[{body}]')[0]


def load_messages(bodies: Iterable[bytes]) -> list[ModelMessage]:
    """Return the messages that `dump_message` wrote, each in UTF-8: much faster together than one by one."""
    given = list(bodies)
    plain = read_plain(_array(given))
    others = [body for body, message in zip(given, plain, strict=True) if message is None]
    read = iter(ModelMessagesTypeAdapter.validate_json(_array(others)))
    return [next(read) if message is None else message for message in plain]


def _array(bodies: Sequence[bytes]) -> bytes:
    return b'[%b]' % b','.join(bodies)


def message_digest(body: str) -> str:
    """Return what a message is stored under: the SHA-256 of its JSON."""
    return hashlib.sha256(body.encode()).hexdigest()


def utf8(text: str) -> str:
    """Return `text` without what UTF-8, and so SQLite, cannot hold: lone surrogates become question marks."""
    return text.encode('utf-8', 'replace').decode()


def put_message(connection: sqlite3.Connection, digest: str, kind: str, body: str) -> int:
    """Store a message unless it is there, and return its row id.

    Args:
        connection: In a transaction.
        digest: Its `message_digest`.
        kind: `request` or `response`.
        body: As `dump_message` wrote it.
    """
    cursor = connection.execute(
        'INSERT INTO messages (hash, kind, body, created) VALUES (?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING',
        (digest, kind, body, time.time()),
    )
    if cursor.rowcount and cursor.lastrowid is not None:
        return cursor.lastrowid
    row: tuple[int] = connection.execute('SELECT id FROM messages WHERE hash = ?', (digest,)).fetchone()
    return row[0]


def load_entries(connection: sqlite3.Connection, conversation: int) -> list[Entry]:
    """Return the entries of `conversation` in order."""
    rows = connection.execute(
        f'SELECT {UTF8_BODY}, hash FROM entries JOIN messages ON messages.id = entries.message'
        ' WHERE conversation = ? ORDER BY position',
        (conversation,),
    ).fetchall()
    return list(map(Entry, load_messages(body for body, _ in rows), (digest for _, digest in rows)))


def sync_entries(
    connection: sqlite3.Connection, conversation: int, known: Sequence[Entry], messages: Sequence[ModelMessage]
) -> list[Entry]:
    """Make `messages` the content of `conversation` and return its entries.

    Args:
        connection: In a transaction.
        conversation: The id of the conversation.
        known: What the conversation holds. Only what differs from it is written: an object that was there
            before, other than the last one, is taken as unchanged; everything else is compared by content.
        messages: The whole present history.
    """
    entries: list[Entry] = []
    for position, message in enumerate(messages):
        before = known[position] if position < len(known) else None
        may_have_grown = position == len(known) - 1
        if before is not None and before.message is message and not may_have_grown:
            entries.append(before)
            continue
        body = dump_message(message)
        entry = Entry(message, message_digest(body))
        if before is None or before.hash != entry.hash:
            _put(connection, conversation, position, entry.hash, message.kind, body)
        entries.append(entry)
    connection.execute('DELETE FROM entries WHERE conversation = ? AND position >= ?', (conversation, len(messages)))
    return entries


def _put(connection: sqlite3.Connection, conversation: int, position: int, digest: str, kind: str, body: str) -> None:
    connection.execute(
        'INSERT INTO entries (conversation, position, message) VALUES (?, ?, ?)'
        ' ON CONFLICT (conversation, position) DO UPDATE SET message = excluded.message',
        (conversation, position, put_message(connection, digest, kind, body)),
    )

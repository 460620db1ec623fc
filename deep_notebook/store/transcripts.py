"""What was said in a conversation from its beginning, also where a compression has put a summary in its place.

A compression is noted when it takes the place of the longer history: the summary's message, and the history that it
stands for, as a node of `histories`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    RetryPromptPart,
    ToolReturnPart,
    UserPromptPart,
)

from .histories import put_history, steps_to
from .messages import UTF8_BODY, Entry, load_messages

__all__ = [
    'COMPRESSIONS_SCHEMA',
    'ConversationRecord',
    'ToolResult',
    'find_conversations',
    'find_results',
    'load_transcript',
    'note_compression',
    'run_at',
]

COMPRESSIONS_SCHEMA = (
    'CREATE TABLE compressions (message INTEGER PRIMARY KEY REFERENCES messages (id), history INTEGER NOT NULL)',
)


@dataclass(frozen=True, kw_only=True)
class ConversationRecord:
    """One conversation of a notebook."""

    id: int
    created: float
    """Unix seconds."""
    ended: float | None
    """Unix seconds; `None` while it goes on."""
    branch_of: int | None
    """The conversation that it began with."""


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """What a tool returned, as it is stored."""

    tool: str
    text: str
    run: int | None
    """The run in which it was returned, if that is known."""
    created: float
    """When it was stored, in Unix seconds."""


def find_conversations(connection: sqlite3.Connection) -> list[ConversationRecord]:
    """Return all conversations, oldest first."""
    rows = connection.execute('SELECT id, created, ended, branch_of FROM conversations ORDER BY id')
    return [ConversationRecord(id=id, created=at, ended=ended, branch_of=of) for id, at, ended, of in rows]


def find_results(connection: sqlite3.Connection, beginning: str) -> list[ToolResult]:
    """Return the results of tools whose text begins with `beginning`, in the order in which they were first stored.

    Results that say the same are one.
    """
    rows = connection.execute(
        """
        SELECT tool, text, created FROM (
            SELECT m.id AS message, m.created AS created, p.key AS part, json_extract(p.value, '$.tool_name') AS tool,
                CASE json_type(p.value, '$.content') WHEN 'array' THEN json_extract(p.value, '$.content[0]')
                    ELSE json_extract(p.value, '$.content') END AS text
            FROM messages AS m, json_each(m.body, '$.parts') AS p
            WHERE instr(m.body, :beginning) AND json_extract(p.value, '$.part_kind') = 'tool-return'
        ) WHERE substr(text, 1, length(:beginning)) = :beginning
        GROUP BY tool, text ORDER BY min(message), part
        """,
        {'beginning': beginning},
    ).fetchall()
    return [
        ToolResult(tool=tool, text=text, run=run_at(connection, created), created=created)
        for tool, text, created in rows
    ]


def run_at(connection: sqlite3.Connection, moment: float) -> int | None:
    """Return the run that was in progress at `moment` (Unix seconds), or `None`."""
    row: tuple[int | None] = connection.execute(
        'SELECT max(id) FROM runs WHERE started <= :at AND (ended IS NULL OR ended >= :at)', {'at': moment}
    ).fetchone()
    return row[0]


def note_compression(connection: sqlite3.Connection, before: Sequence[Entry], after: Sequence[Entry]) -> None:
    """Note what the summary stands for if the entries `after`, which take the place of `before`, begin with a new one.

    Args:
        connection: In a transaction.
        before: What the conversation held.
        after: What it holds.
    """
    if not before or not after or before[0].hash == after[0].hash:
        return
    summary = _summary(after[0].message)
    if summary is None:
        return
    if _summary(before[0].message) == summary:
        # The same, whose message was merged with the next one.
        query, value = 'SELECT history FROM compressions JOIN messages ON id = message WHERE hash = ?', before[0].hash
        row = connection.execute(query, (value,)).fetchone()
        node = 0 if row is None else row[0]
    else:
        node = put_history(connection, (), [entry.message for entry in before]).node
    connection.execute(
        'INSERT INTO compressions (message, history) VALUES ((SELECT id FROM messages WHERE hash = ?), ?)'
        ' ON CONFLICT (message) DO NOTHING',
        (after[0].hash, node),
    )


def load_transcript(connection: sqlite3.Connection, conversation: int) -> list[ModelMessage]:
    """Return the messages of a conversation from its beginning; each summary stands where it was made."""
    rows = connection.execute(
        'SELECT message FROM entries WHERE conversation = ? ORDER BY position', (conversation,)
    ).fetchall()
    ids = _unfolded(connection, [id for (id,) in rows])
    found = dict(
        connection.execute(
            f'SELECT id, {UTF8_BODY} FROM messages WHERE id IN (SELECT value FROM json_each(?))', (json.dumps(ids),)
        ).fetchall()
    )
    told: list[ModelMessage] = []
    for message in load_messages(found[id] for id in ids):
        told.append(message if _summary(message) is None or not told else _alone(message, told))
    return told


def _alone(message: ModelMessage, before: Sequence[ModelMessage]) -> ModelMessage:
    """Return a summary's message without what was said `before` and is only repeated for the model."""
    if not isinstance(message, ModelRequest):
        return message
    said = [part for earlier in before for part in earlier.parts]
    parts = [
        part
        for part in message.parts
        if isinstance(part, CompactionPart)
        or (isinstance(part, UserPromptPart | ToolReturnPart | RetryPromptPart) and part not in said)
    ]
    return replace(message, parts=parts)


def _unfolded(connection: sqlite3.Connection, ids: list[int], seen: frozenset[int] = frozenset()) -> list[int]:
    """Return the messages `ids` with what the summary at their beginning, if there is one, stands for before it."""
    first = ids[0] if ids else -1
    row = connection.execute('SELECT history FROM compressions WHERE message = ?', (first,)).fetchone()
    if row is None or first in seen:
        return ids
    before = _unfolded(connection, [message for _, message in steps_to(connection, row[0])], seen | {first})
    known = set(before)
    # What follows the summary begins with what was kept, and maybe with the last prompt in a message of its own.
    kept = max((place for place, id in enumerate(ids) if id in known), default=0)
    return [*before, first, *ids[kept + 1 :]]


def _summary(message: ModelMessage) -> CompactionPart | None:
    return next((part for part in message.parts if isinstance(part, CompactionPart)), None)

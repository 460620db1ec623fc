"""Points of a conversation: checkpoints as places in its tree of histories, without any message being loaded.

What the notebook marks by itself (the beginning of a run, what a rewind left) and what the person saves is a row that
names a node; `SqliteCheckpointStore` reads it like any other checkpoint. These functions work within a transaction.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from .histories import put_node, steps_to
from .messages import utf8

__all__ = [
    'REWINDS_SCHEMA',
    'Moment',
    'Point',
    'conversation_moment',
    'find_points',
    'insert_point',
    'metadata_of',
    'put_conversation',
]


REWINDS_SCHEMA = (
    """
    CREATE TABLE rewinds (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation INTEGER NOT NULL REFERENCES conversations (id),
        kind TEXT NOT NULL,
        undoes INTEGER REFERENCES rewinds (id),
        at REAL NOT NULL,
        checkpoint TEXT,
        label TEXT NOT NULL,
        parts TEXT NOT NULL,
        last_run INTEGER NOT NULL,
        before TEXT NOT NULL,
        after TEXT NOT NULL,
        first_change INTEGER,
        last_change INTEGER,
        done INTEGER NOT NULL
    )
    """,
    'CREATE INDEX rewinds_of_conversation ON rewinds (conversation, id)',
    """
    CREATE TABLE variable_changes (
        id INTEGER PRIMARY KEY,
        kernel TEXT NOT NULL,
        run INTEGER NOT NULL,
        checkpoint INTEGER NOT NULL,
        names TEXT NOT NULL
    )
    """,
)
"""`before` and `after` are moments as JSON; `variable_changes.checkpoint` is the number of the latest point then."""

_NAMED = 20
"""Messages at the end of a history, one of which says what pydantic-ai calls the conversation, if any does."""


@dataclass(frozen=True, kw_only=True)
class Moment:
    """Where a conversation stands, and what belongs to it."""

    history: int
    """The node of its last message in the tree of histories; 0 is the empty history."""
    messages: int
    run: int | None = None
    """The last run that has a part in it."""
    journal: int | None = None
    """The position of the journal of files; `None` where that is not known, so that files cannot go back there."""
    todos: list[dict[str, Any]] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    """How the agent last saw each file (path → digest)."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A checkpoint as a place that one can go to."""

    number: int
    """Points count up in the order in which they were made, over the whole file."""
    id: str
    label: str
    turn: int
    at: float
    """Unix seconds."""
    moment: Moment
    kind: str | None = None
    """What the notebook marked it for: `run`, `rewind`, `undo` or `fork`; `None` if the agent or the person made it."""
    before_run: int | None = None
    """The run that began here."""
    tool: str | None = None
    """The tool after which it was taken."""
    automatic: bool = False
    """Whether it is forgotten when there are many."""

    @property
    def is_named(self) -> bool:
        """Whether the agent or the person asked for it."""
        return self.kind is None and not self.automatic

    @property
    def run(self) -> int | None:
        """The run that it belongs to, for the eye."""
        return self.before_run if self.before_run is not None else self.moment.run


def find_points(connection: sqlite3.Connection, condition: str, *parameters: object) -> list[Point]:
    """Return the points for which the SQL `condition` holds, oldest first."""
    rows = connection.execute(
        'SELECT number, id, label, turn, created, automatic, history, message_count, metadata FROM checkpoints'
        f' WHERE {condition} ORDER BY number',
        parameters,
    )
    return [_point(row) for row in rows]


def insert_point(
    connection: sqlite3.Connection,
    conversation: int,
    label: str,
    moment: Moment,
    *,
    kind: str | None = None,
    before_run: int | None = None,
) -> str:
    """Store a point that pruning spares, and return its id."""
    id = str(uuid.uuid4())
    turn, agents_name = _turn_and_name(connection, moment.history)
    metadata = {
        # Tools of an agent show the checkpoints of its own conversation, and those without any.
        'conversation': agents_name or f'notebook-{conversation}',
        'kind': kind,
        'before_run': before_run,
        **metadata_of(moment),
    }
    connection.execute(
        'INSERT INTO checkpoints (id, conversation, label, turn, history, message_count, created, automatic, metadata)'
        ' VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)',
        (
            id,
            conversation,
            utf8(label),
            turn,
            moment.history,
            moment.messages,
            datetime.now(UTC).isoformat(),
            _json({name: value for name, value in metadata.items() if value is not None}),
        ),
    )
    return id


def metadata_of(moment: Moment) -> dict[str, Any]:
    """Return what the metadata of a checkpoint says of its moment beside the history."""
    return {
        'run_number': moment.run,
        'journal': moment.journal,
        'todos': moment.todos,
        'read_digests': moment.digests,
    }


def conversation_moment(connection: sqlite3.Connection, conversation: int) -> tuple[int, int]:
    """Return the node of the last message of `conversation` as it is stored, and the number of its messages."""
    node, count = connection.execute(
        """
        WITH RECURSIVE known (node, count) AS (
            SELECT 0, 0
            UNION ALL
            SELECT histories.id, count + 1 FROM known
                JOIN entries ON conversation = ? AND position = count
                JOIN histories ON histories.parent = node AND histories.message = entries.message
        )
        SELECT node, count FROM known ORDER BY count DESC LIMIT 1
        """,
        (conversation,),
    ).fetchone()
    for (message,) in connection.execute(
        'SELECT message FROM entries WHERE conversation = ? AND position >= ? ORDER BY position', (conversation, count)
    ).fetchall():
        node, count = put_node(connection, node, message), count + 1
    return node, count


def put_conversation(connection: sqlite3.Connection, conversation: int, node: int) -> None:
    """Make the history that ends at `node` the content of `conversation`."""
    connection.execute('DELETE FROM entries WHERE conversation = ?', (conversation,))
    connection.executemany(
        'INSERT INTO entries (conversation, position, message) VALUES (?, ?, ?)',
        ((conversation, position, message) for position, (_, message) in enumerate(steps_to(connection, node))),
    )


def _turn_and_name(connection: sqlite3.Connection, node: int) -> tuple[int, str | None]:
    """Return how many responses a history has, and what pydantic-ai calls the conversation."""
    messages = [message for _, message in steps_to(connection, node)]
    turn: int = connection.execute(
        "SELECT count(*) FROM json_each(?) JOIN messages ON messages.id = value WHERE kind = 'response'",
        (json.dumps(messages),),
    ).fetchone()[0]
    row = connection.execute(
        "SELECT json_extract(body, '$.conversation_id') AS name FROM json_each(?) JOIN messages ON messages.id = value"
        ' WHERE name IS NOT NULL ORDER BY key DESC LIMIT 1',
        (json.dumps(messages[-_NAMED:]),),
    ).fetchone()
    return turn, None if row is None else row[0]


def _point(row: Sequence[Any]) -> Point:
    number, id, label, turn, created, automatic, history, messages, dumped = row
    known: Mapping[str, Any] = json.loads(dumped)
    return Point(
        number=number,
        id=id,
        label=label,
        turn=turn,
        at=datetime.fromisoformat(created).timestamp(),
        kind=known.get('kind'),
        before_run=known.get('before_run'),
        tool=known.get('last_tool'),
        automatic=bool(automatic),
        moment=Moment(
            history=history,
            messages=messages,
            run=known.get('run_number'),
            journal=known.get('journal'),
            todos=known.get('todos') or [],
            digests=known.get('read_digests') or {},
        ),
    )


def _json(value: Any) -> str:
    return utf8(json.dumps(value, ensure_ascii=False, default=repr))

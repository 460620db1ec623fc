"""Histories as a tree: each node is one message after the node of the message before it.

A history is known by the node of its last message, so to keep one more costs what is new in it: the messages that no
other history begins with. Checkpoints, branches and what a rewind leaves behind share what they have in common.
Nodes are never deleted; another process may be about to continue at any of them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import is_

from pydantic_ai.messages import ModelMessage

from .messages import dump_message, load_messages, message_digest, put_message

__all__ = ['HISTORIES_SCHEMA', 'History', 'load_histories', 'put_history', 'put_node']

HISTORIES_SCHEMA = (
    """
    CREATE TABLE histories (
        id INTEGER PRIMARY KEY,
        parent INTEGER NOT NULL,
        message INTEGER NOT NULL REFERENCES messages (id),
        UNIQUE (parent, message)
    )
    """,
    """
    CREATE TABLE checkpoints (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        conversation INTEGER NOT NULL REFERENCES conversations (id),
        label TEXT NOT NULL,
        turn INTEGER NOT NULL,
        history INTEGER NOT NULL,
        message_count INTEGER NOT NULL,
        created TEXT NOT NULL,
        automatic INTEGER NOT NULL,
        metadata TEXT NOT NULL
    )
    """,
    'CREATE INDEX automatic_checkpoints ON checkpoints (conversation, number) WHERE automatic',
    'CREATE INDEX checkpoints_by_label ON checkpoints (label)',
)
"""`histories.parent` and `checkpoints.history` are nodes; 0 is the empty history."""


@dataclass(frozen=True)
class History:
    """A history that is stored: the objects that were seen in it, and the node of each."""

    messages: list[ModelMessage] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)

    @property
    def node(self) -> int:
        """What it is known by: the node of its last message, or 0."""
        return self.nodes[-1] if self.nodes else 0

    def shared(self, messages: Sequence[ModelMessage]) -> int:
        """Return how many messages both begin with, as the same objects."""
        if all(map(is_, self.messages, messages)):
            return min(len(self.messages), len(messages))
        return next(place for place, pair in enumerate(zip(self.messages, messages, strict=False)) if not is_(*pair))


def put_history(connection: sqlite3.Connection, known: History, messages: Sequence[ModelMessage]) -> History:
    """Store the history `messages` and return it as it is stored.

    Args:
        connection: In a transaction.
        known: A history that is stored. An object that is in both at the same place, other than the last one of
            `known`, is taken as unchanged; everything else is compared by content.
        messages: The history.
    """
    shared = min(known.shared(messages), max(len(known.messages) - 1, 0))
    nodes = known.nodes[:shared]
    node = nodes[-1] if nodes else 0
    for message in messages[shared:]:
        body = dump_message(message)
        node = put_node(connection, node, put_message(connection, message_digest(body), message.kind, body))
        nodes.append(node)
    return History(list(messages), nodes)


def load_histories(
    connection: sqlite3.Connection, nodes: Iterable[int], known: Iterable[History] = ()
) -> dict[int, History]:
    """Return the history that ends at each of `nodes`; a message that several share is one object.

    Args:
        connection: In a transaction.
        nodes: Which.
        known: Histories that are stored; their objects, other than the last of each, are used instead of loading.
    """
    wanted = set(nodes) - {0}
    found: dict[int, tuple[int, int]] = {
        node: (parent, message)
        for node, parent, message in connection.execute(
            """
            WITH RECURSIVE reached (id, parent, message) AS (
                SELECT id, parent, message FROM histories WHERE id IN (SELECT value FROM json_each(?))
                UNION
                SELECT histories.id, histories.parent, histories.message
                FROM reached JOIN histories ON histories.id = reached.parent
            )
            SELECT id, parent, message FROM reached
            """,
            (json.dumps(sorted(wanted)),),
        )
    }
    seen = {
        node: message for history in known for node, message in zip(history.nodes[:-1], history.messages, strict=False)
    }
    messages = {found[node][1]: seen[node] for node in found.keys() & seen.keys()}
    missing = sorted({message for _, message in found.values()} - messages.keys())
    rows = connection.execute(
        'SELECT id, body FROM messages WHERE id IN (SELECT value FROM json_each(?))', (json.dumps(missing),)
    ).fetchall()
    messages.update(zip((id for id, _ in rows), load_messages(body for _, body in rows), strict=True))
    histories = {0: History()}
    for last in wanted:
        path = []
        node = last
        while node:
            path.append(node)
            node = found[node][0]
        path.reverse()
        histories[last] = History([messages[found[node][1]] for node in path], path)
    return histories


def put_node(connection: sqlite3.Connection, parent: int, message: int) -> int:
    """Return the node of `message` (its row id) after the node `parent`, stored unless it is there."""
    cursor = connection.execute(
        'INSERT INTO histories (parent, message) VALUES (?, ?) ON CONFLICT (parent, message) DO NOTHING',
        (parent, message),
    )
    if cursor.rowcount and cursor.lastrowid is not None:
        return cursor.lastrowid
    row: tuple[int] = connection.execute(
        'SELECT id FROM histories WHERE parent = ? AND message = ?', (parent, message)
    ).fetchone()
    return row[0]

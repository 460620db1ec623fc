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
from operator import is_, itemgetter

from pydantic_ai.messages import ModelMessage

from .messages import UTF8_BODY, dump_message, load_messages, message_digest, put_message

__all__ = ['HISTORIES_SCHEMA', 'History', 'load_histories', 'put_history', 'put_node', 'steps_to']

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
    last: str = ''
    """The digest of its last message, which may grow, when it was stored; empty where nobody looked."""

    @property
    def node(self) -> int:
        """What it is known by: the node of its last message, or 0."""
        return self.nodes[-1] if self.nodes else 0

    def shared(self, messages: Sequence[ModelMessage]) -> int:
        """Return how many messages both begin with, as the same objects."""
        if all(map(is_, self.messages, messages)):
            return min(len(self.messages), len(messages))
        return next(place for place, pair in enumerate(zip(self.messages, messages, strict=False)) if not is_(*pair))

    def continued_by(self, other: History) -> bool:
        """Return whether `other` begins with this history, whose last message may have grown there."""
        last = len(self.nodes) - 1
        if last < 0 or last >= len(other.nodes):
            return last < 0
        same_before = last == 0 or self.nodes[last - 1] == other.nodes[last - 1]
        return same_before and self.messages[last] is other.messages[last]


def put_history(connection: sqlite3.Connection, recent: Iterable[History], messages: Sequence[ModelMessage]) -> History:
    """Store the history `messages` and return it as it is stored.

    Args:
        connection: In a transaction.
        recent: Histories that are stored. An object that is in one at the same place, other than its last one, is
            taken as unchanged; everything else is compared by content.
        messages: The history.
    """
    shared, known = max(((one.shared(messages), one) for one in recent), key=itemgetter(0), default=(0, History()))
    settled = min(shared, max(len(known.messages) - 1, 0))
    nodes = known.nodes[:settled]
    digest = ''
    for place, message in enumerate(messages[settled:], settled):
        body = dump_message(message)
        digest = message_digest(body)
        if place < shared and digest == known.last:
            nodes.append(known.nodes[place])
        else:
            stored = put_message(connection, digest, message.kind, body)
            nodes.append(put_node(connection, nodes[-1] if nodes else 0, stored))
    return History(list(messages), nodes, digest)


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
        f'SELECT id, {UTF8_BODY} FROM messages WHERE id IN (SELECT value FROM json_each(?))', (json.dumps(missing),)
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


def steps_to(connection: sqlite3.Connection, node: int) -> list[tuple[int, int]]:
    """Return the nodes from the first message to `node`, each with its message (the row id)."""
    rows = connection.execute(
        """
        WITH RECURSIVE path (id, parent, message, back) AS (
            SELECT id, parent, message, 0 FROM histories WHERE id = ?
            UNION ALL
            SELECT histories.id, histories.parent, histories.message, back + 1
            FROM path JOIN histories ON histories.id = path.parent
        )
        SELECT id, message FROM path ORDER BY back DESC
        """,
        (node,),
    )
    return rows.fetchall()


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

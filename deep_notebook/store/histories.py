"""Histories as a tree: each node is one message after the node of the message before it.

A history is known by the node of its last message, so to keep one more costs what is new in it: the messages that no
other history begins with. Checkpoints, branches and what a rewind leaves behind share what they have in common.
Nodes are never deleted; another process may be about to continue at any of them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage

from .messages import dump_message, load_messages, message_digest, put_message

__all__ = ['HISTORIES_SCHEMA', 'Place', 'load_histories', 'put_history', 'shared_places']

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


class Place(NamedTuple):
    """One message of a history that is stored: the object that was seen there, and its node."""

    message: ModelMessage
    node: int


def shared_places(known: Sequence[Place], messages: Sequence[ModelMessage]) -> int:
    """Return how many messages both begin with, as the same objects."""
    count = 0
    for place, message in zip(known, messages, strict=False):
        if place.message is not message:
            break
        count += 1
    return count


def put_history(
    connection: sqlite3.Connection, known: Sequence[Place], messages: Sequence[ModelMessage]
) -> list[Place]:
    """Store the history `messages` and return its places; the node of the last is what it is known by.

    Args:
        connection: In a transaction.
        known: A history that is stored. An object that is in both at the same place, other than the last one of
            `known`, is taken as unchanged; everything else is compared by content.
        messages: The history.
    """
    shared = min(shared_places(known, messages), max(len(known) - 1, 0))
    places = list(known[:shared])
    node = places[-1].node if places else 0
    for message in messages[shared:]:
        body = dump_message(message)
        node = _put_node(connection, node, put_message(connection, message_digest(body), message.kind, body))
        places.append(Place(message, node))
    return places


def load_histories(connection: sqlite3.Connection, nodes: Iterable[int]) -> dict[int, list[Place]]:
    """Return the history that ends at each of `nodes`; a message that several share is one object."""
    wanted = set(nodes) - {0}
    rows = connection.execute(
        """
        WITH RECURSIVE reached (id, parent, message) AS (
            SELECT id, parent, message FROM histories WHERE id IN (SELECT value FROM json_each(?))
            UNION
            SELECT histories.id, histories.parent, histories.message
            FROM reached JOIN histories ON histories.id = reached.parent
        )
        SELECT reached.id, parent, message, body FROM reached JOIN messages ON messages.id = reached.message
        """,
        (json.dumps(sorted(wanted)),),
    ).fetchall()
    bodies = {message: body for _, _, message, body in rows}
    messages = dict(zip(bodies, load_messages(bodies.values()), strict=True))
    found = {node: (parent, Place(messages[message], node)) for node, parent, message, _ in rows}
    histories: dict[int, list[Place]] = {0: []}
    for last in wanted:
        backwards: list[Place] = []
        node = last
        while node:
            node, place = found[node]
            backwards.append(place)
        histories[last] = backwards[::-1]
    return histories


def _put_node(connection: sqlite3.Connection, parent: int, message: int) -> int:
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

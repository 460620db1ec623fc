"""Checkpoints in the notebook's own file, beside the conversation whose messages they share."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from .checkpoints import Checkpoint, CheckpointSummary
from .histories import Place, load_histories, put_history, shared_places
from .messages import utf8
from .session import SessionStore

__all__ = ['SqliteCheckpointStore']

T = TypeVar('T')

_SUMMARY = 'id, label, turn, message_count, created, metadata'
_REMEMBERED = 4
"""Histories whose objects are remembered: conversations that save to one store in turn."""


class SqliteCheckpointStore:
    """Keeps checkpoints in the file of a session, each message once.

    To save one costs what is new in its history since the last save, however many there are; what is saved survives
    a kill and a power cut. `list_all` loads every message of every checkpoint: `summaries` is for lists. Both are
    about the whole file, all its conversations and branches; `prune` is about the current conversation, so that two
    kernels on one notebook do not remove each other's.

    Messages must not be changed once they are saved, other than the last of a history.

    Every method raises `StoreError` when SQLite cannot do what is asked; what was stored before stays as it was.
    """

    def __init__(self, session: SessionStore) -> None:
        self.session = session
        self._recent: list[list[Place]] = []

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the checkpoints in the session file `path`; nothing is read or created before it is used."""
        return cls(SessionStore.open(path))

    def close(self) -> None:
        """Close the session. Closing twice is fine."""
        self.session.close()

    async def save(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint; one with the same id is replaced and keeps its place."""
        messages = list(checkpoint.messages)
        values = {
            'id': utf8(checkpoint.id),
            'label': utf8(checkpoint.label),
            'turn': checkpoint.turn,
            'message_count': len(messages),
            'created': checkpoint.created_at.isoformat(),
            'automatic': checkpoint.automatic,
            'metadata': utf8(json.dumps(checkpoint.metadata, ensure_ascii=False, default=repr)),
        }

        def work(connection: sqlite3.Connection) -> list[Place]:
            known = max(self._recent, key=lambda places: shared_places(places, messages), default=[])
            places = put_history(connection, known, messages)
            connection.execute(
                """
                INSERT INTO checkpoints
                    (id, conversation, label, turn, history, message_count, created, automatic, metadata)
                VALUES (:id, :conversation, :label, :turn, :history, :message_count, :created, :automatic, :metadata)
                ON CONFLICT (id) DO UPDATE SET label = excluded.label, turn = excluded.turn,
                    history = excluded.history, message_count = excluded.message_count, created = excluded.created,
                    automatic = excluded.automatic, metadata = excluded.metadata
                """,
                {
                    **values,
                    'conversation': self.session.current_conversation,
                    'history': places[-1].node if places else 0,
                },
            )
            return places

        await self.session.database.run(work, committed=self._remember, durable=True)

    async def get(self, checkpoint_id: str) -> Checkpoint | None:
        """Return the checkpoint with an id, or `None`."""
        return await self._first('id = ?', utf8(checkpoint_id))

    async def get_by_label(self, label: str) -> Checkpoint | None:
        """Return the latest checkpoint with exactly this label, or `None`."""
        return await self._first('label = ? ORDER BY number DESC', utf8(label))

    async def list_all(self) -> list[Checkpoint]:
        """Return all checkpoints with their messages, oldest first; `summaries` is much cheaper."""
        return await self._run(lambda connection: _load(connection, 'true ORDER BY number')[0])

    async def summaries(self) -> list[CheckpointSummary]:
        """Return all checkpoints without their messages, oldest first."""

        def work(connection: sqlite3.Connection) -> list[CheckpointSummary]:
            rows = connection.execute(f'SELECT {_SUMMARY} FROM checkpoints ORDER BY number')
            return [_summary(row) for row in rows]

        return await self._run(work)

    async def remove(self, checkpoint_id: str) -> None:
        """Forget a checkpoint, if it is there; its messages stay in the archive."""
        await self._run(
            lambda connection: connection.execute('DELETE FROM checkpoints WHERE id = ?', (utf8(checkpoint_id),))
        )

    async def remove_oldest(self) -> Checkpoint | None:
        """Forget the oldest checkpoint and return it, or `None` if there is none."""

        def work(connection: sqlite3.Connection) -> Checkpoint | None:
            found, _ = _load(connection, 'true ORDER BY number LIMIT 1')
            for checkpoint in found:
                connection.execute('DELETE FROM checkpoints WHERE id = ?', (checkpoint.id,))
            return found[0] if found else None

        return await self._run(work)

    async def prune(self, keep: int) -> None:
        """Forget all automatic checkpoints of the current conversation but the latest `keep`."""
        await self._run(
            lambda connection: connection.execute(
                """
                DELETE FROM checkpoints WHERE automatic AND conversation = :conversation AND number <= (
                    SELECT number FROM checkpoints WHERE automatic AND conversation = :conversation
                    ORDER BY number DESC LIMIT 1 OFFSET :keep
                )
                """,
                {'conversation': self.session.current_conversation, 'keep': keep},
            )
        )

    async def count(self) -> int:
        """Return how many there are."""

        def work(connection: sqlite3.Connection) -> int:
            row: tuple[int] = connection.execute('SELECT count(*) FROM checkpoints').fetchone()
            return row[0]

        return await self._run(work)

    async def clear(self) -> None:
        """Forget all, of every conversation in the file; their messages stay in the archive."""
        await self._run(lambda connection: connection.execute('DELETE FROM checkpoints'))

    async def _first(self, condition: str, parameter: str) -> Checkpoint | None:
        def work(connection: sqlite3.Connection) -> tuple[list[Checkpoint], list[list[Place]]]:
            return _load(connection, f'{condition} LIMIT 1', parameter)

        def committed(result: tuple[list[Checkpoint], list[list[Place]]]) -> None:
            # What continues from here is known by its objects, as if it had been saved from here.
            for places in result[1]:
                self._remember(places)

        found, _ = await self.session.database.run(work, committed=committed)
        return found[0] if found else None

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self.session.database.run(work)

    def _remember(self, places: list[Place]) -> None:
        """Remember a stored history; one that it continues is forgotten."""
        messages = [place.message for place in places]
        others = [known for known in self._recent if shared_places(known, messages) < len(known)]
        self._recent = [places, *others][:_REMEMBERED]


def _load(
    connection: sqlite3.Connection, condition: str, *parameters: Any
) -> tuple[list[Checkpoint], list[list[Place]]]:
    """Return the checkpoints for which the SQL `condition` holds, and the places of their messages."""
    query = f'SELECT {_SUMMARY}, history FROM checkpoints WHERE {condition}'
    rows = connection.execute(query, parameters).fetchall()
    histories = load_histories(connection, (row[-1] for row in rows))
    places = [histories[row[-1]] for row in rows]
    return [_checkpoint(row[:-1], found) for row, found in zip(rows, places, strict=True)], places


def _checkpoint(row: tuple[Any, ...], places: Sequence[Place]) -> Checkpoint:
    checkpoint, label, turn, message_count, created, metadata = row
    messages = [place.message for place in places]
    return Checkpoint(
        checkpoint, label, turn, messages, message_count, datetime.fromisoformat(created), json.loads(metadata)
    )


def _summary(row: tuple[Any, ...]) -> CheckpointSummary:
    checkpoint, label, turn, message_count, created, metadata = row
    return CheckpointSummary(
        checkpoint, label, turn, message_count, datetime.fromisoformat(created), json.loads(metadata)
    )

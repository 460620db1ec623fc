"""Checkpoints in the notebook's own file, beside the conversation whose messages they share."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic_ai.messages import ModelMessage

from .checkpoints import Checkpoint, CheckpointSummary
from .histories import History, load_histories, put_history
from .messages import utf8
from .session import SessionStore

__all__ = ['SqliteCheckpointStore']

T = TypeVar('T')

_SUMMARY = 'id, label, turn, message_count, created, metadata'
_REMEMBERED = 4
"""Histories whose objects are remembered: conversations that save to one store in turn."""


class SqliteCheckpointStore:
    """Keeps checkpoints in the file of a session, each message once.

    To save one costs what is new in its history since the last save, however many there are. What `save` kept
    survives a kill and a power cut. What `save_automatic` kept survives a kill; like the conversation itself, the
    last of it can be lost in a power cut, since a run does not wait for the disk at each step.

    `list_all` loads every message of every checkpoint: `summaries` is for lists. Both are about the whole file, all
    its conversations and branches; `save_automatic` counts and forgets those of the current conversation, so that
    two kernels on one notebook do not remove each other's.

    Messages must not be changed once they are saved, other than the last of a history.

    Every method raises `StoreError` when SQLite cannot do what is asked; what was stored before stays as it was.
    """

    def __init__(self, session: SessionStore) -> None:
        self.session = session
        self._recent: list[History] = []

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
        await self._save(lambda connection: self._put(connection, checkpoint, messages), durable=True)

    async def save_automatic(self, checkpoint: Checkpoint, keep: int) -> None:
        """Keep an automatic checkpoint, and forget all automatic ones of the conversation but the latest `keep`."""
        messages = list(checkpoint.messages)

        def work(connection: sqlite3.Connection) -> History:
            history = self._put(connection, checkpoint, messages)
            connection.execute(
                """
                DELETE FROM checkpoints WHERE automatic AND conversation = :conversation AND number <= (
                    SELECT number FROM checkpoints WHERE automatic AND conversation = :conversation
                    ORDER BY number DESC LIMIT 1 OFFSET :keep
                )
                """,
                {'conversation': self.session.current_conversation, 'keep': keep},
            )
            return history

        await self._save(work, durable=False)

    async def get(self, checkpoint_id: str) -> Checkpoint | None:
        """Return the checkpoint with an id, or `None`."""
        return await self._first('id = ?', utf8(checkpoint_id))

    async def get_by_label(self, label: str) -> Checkpoint | None:
        """Return the latest checkpoint with exactly this label, or `None`."""
        return await self._first('label = ? ORDER BY number DESC', utf8(label))

    async def list_all(self) -> list[Checkpoint]:
        """Return all checkpoints with their messages, oldest first; `summaries` is much cheaper."""
        return await self._run(lambda connection: self._load(connection, 'true ORDER BY number')[0])

    async def summaries(self) -> list[CheckpointSummary]:
        """Return all checkpoints without their messages, oldest first."""

        def work(connection: sqlite3.Connection) -> list[CheckpointSummary]:
            return _summaries(connection.execute(f'SELECT {_SUMMARY} FROM checkpoints ORDER BY number').fetchall())

        return await self._run(work)

    async def remove(self, checkpoint_id: str) -> None:
        """Forget a checkpoint, if it is there; its messages stay in the archive."""
        await self._run(
            lambda connection: connection.execute('DELETE FROM checkpoints WHERE id = ?', (utf8(checkpoint_id),))
        )

    async def remove_oldest(self) -> Checkpoint | None:
        """Forget the oldest checkpoint and return it, or `None` if there is none."""

        def work(connection: sqlite3.Connection) -> Checkpoint | None:
            found, _ = self._load(connection, 'true ORDER BY number LIMIT 1')
            for checkpoint in found:
                connection.execute('DELETE FROM checkpoints WHERE id = ?', (checkpoint.id,))
            return found[0] if found else None

        return await self._run(work)

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
        def work(connection: sqlite3.Connection) -> tuple[list[Checkpoint], list[History]]:
            return self._load(connection, f'{condition} LIMIT 1', parameter)

        def committed(result: tuple[list[Checkpoint], list[History]]) -> None:
            # What continues from here is known by its objects, as if it had been saved from here.
            for history in result[1]:
                self._remember(history)

        found, _ = await self.session.database.run(work, committed=committed)
        return found[0] if found else None

    async def _save(self, work: Callable[[sqlite3.Connection], History], *, durable: bool) -> None:
        await self.session.database.run(work, committed=self._remember, durable=durable)

    def _put(self, connection: sqlite3.Connection, checkpoint: Checkpoint, messages: list[ModelMessage]) -> History:
        history = put_history(connection, self._recent, messages)
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
                'id': utf8(checkpoint.id),
                'conversation': self.session.current_conversation,
                'label': utf8(checkpoint.label),
                'turn': checkpoint.turn,
                'history': history.node,
                'message_count': len(messages),
                'created': checkpoint.created_at.isoformat(),
                'automatic': checkpoint.automatic,
                'metadata': utf8(json.dumps(checkpoint.metadata, ensure_ascii=False, default=repr)),
            },
        )
        return history

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self.session.database.run(work)

    def _load(
        self, connection: sqlite3.Connection, condition: str, *parameters: Any
    ) -> tuple[list[Checkpoint], list[History]]:
        """Return the checkpoints for which the SQL `condition` holds, and their histories."""
        query = f'SELECT {_SUMMARY}, history FROM checkpoints WHERE {condition}'
        rows = connection.execute(query, parameters).fetchall()
        histories = load_histories(connection, (row[-1] for row in rows), self._recent)
        found = [histories[row[-1]] for row in rows]
        return list(map(_checkpoint, _summaries(rows), found)), found

    def _remember(self, history: History) -> None:
        """Remember a stored history; one that it continues is forgotten."""
        others = [known for known in self._recent if not known.continued_by(history)]
        self._recent = [history, *others][:_REMEMBERED]


def _checkpoint(summary: CheckpointSummary, history: History) -> Checkpoint:
    return Checkpoint(
        summary.id,
        summary.label,
        summary.turn,
        list(history.messages),
        summary.message_count,
        summary.created_at,
        summary.metadata,
    )


def _summaries(rows: Sequence[tuple[Any, ...]]) -> list[CheckpointSummary]:
    metadata = json.loads(f'[{",".join(row[5] for row in rows)}]')
    return [
        CheckpointSummary(id, label, turn, message_count, datetime.fromisoformat(created), known)
        for (id, label, turn, message_count, created, *_), known in zip(rows, metadata, strict=True)
    ]

"""Checkpoints: what a conversation was at one point, and where they are kept.

A `CheckpointStore` keeps them. Those of this package are also `SummarisingCheckpointStore`s: they list checkpoints
without loading messages, and keep a number of automatic ones in one step. `summaries_of` and `save_automatic` do the
same with any store.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from pydantic_ai.messages import ModelMessage, repair_messages

from deep_notebook.errors import UsageError

__all__ = [
    'Checkpoint',
    'CheckpointStore',
    'CheckpointSummary',
    'InMemoryCheckpointStore',
    'SummarisingCheckpointStore',
    'fork_from_checkpoint',
    'oldest_automatic',
    'restored_messages',
    'save_automatic',
    'summaries_of',
]

AUTOMATIC = 'automatic'
"""The key of `metadata` that is true in a checkpoint nobody asked for."""


class CheckpointSummary(NamedTuple):
    """A checkpoint without its messages."""

    id: str
    label: str
    turn: int
    message_count: int
    created_at: datetime
    metadata: dict[str, Any]

    @property
    def automatic(self) -> bool:
        """Whether nobody asked for it: only such are forgotten when there are many."""
        return self.metadata.get(AUTOMATIC) is True


@dataclass(frozen=True)
class Checkpoint:
    """Immutable snapshot of a conversation."""

    id: str
    """Unique in the store, such as a uuid4."""
    label: str
    """What people and models call it; the latest with a label is found by it."""
    turn: int
    """How many model requests it holds, counted over the conversation."""
    messages: list[ModelMessage]
    """The messages themselves are shared with the conversation: neither list nor messages may be changed."""
    message_count: int = -1
    """Counted when left out."""
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    metadata: dict[str, Any] = field(default_factory=dict)
    """What else to know of it, as JSON; `automatic` is true if nobody asked for it."""

    def __post_init__(self) -> None:
        if self.message_count < 0:
            object.__setattr__(self, 'message_count', len(self.messages))

    @property
    def automatic(self) -> bool:
        """Whether nobody asked for it: only such are forgotten when there are many."""
        return self.metadata.get(AUTOMATIC) is True

    def summary(self) -> CheckpointSummary:
        """Return it without its messages."""
        return CheckpointSummary(
            self.id, self.label, self.turn, self.message_count, self.created_at, dict(self.metadata)
        )


@runtime_checkable
class CheckpointStore(Protocol):
    """Keeps checkpoints in the order in which they were saved."""

    async def save(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint; one with the same id is replaced and keeps its place."""
        ...

    async def get(self, checkpoint_id: str) -> Checkpoint | None:
        """Return the checkpoint with an id, or `None`."""
        ...

    async def get_by_label(self, label: str) -> Checkpoint | None:
        """Return the latest checkpoint with exactly this label, or `None`."""
        ...

    async def list_all(self) -> list[Checkpoint]:
        """Return all checkpoints with their messages, oldest first."""
        ...

    async def remove(self, checkpoint_id: str) -> None:
        """Forget a checkpoint, if it is there."""
        ...

    async def remove_oldest(self) -> Checkpoint | None:
        """Forget the oldest checkpoint, whatever it is, and return it, or `None` if there is none."""
        ...

    async def count(self) -> int:
        """Return how many there are."""
        ...

    async def clear(self) -> None:
        """Forget all."""
        ...


@runtime_checkable
class SummarisingCheckpointStore(Protocol):
    """What a store does better than a caller could with `CheckpointStore` alone."""

    async def summaries(self) -> list[CheckpointSummary]:
        """Return all checkpoints without their messages, oldest first."""
        ...

    async def save_automatic(self, checkpoint: Checkpoint, keep: int) -> None:
        """Keep an automatic checkpoint, and forget all automatic ones but the latest `keep`, 1 or more."""
        ...


async def summaries_of(store: CheckpointStore) -> list[CheckpointSummary]:
    """Return the checkpoints of a store, oldest first, as cheaply as it can."""
    if isinstance(store, SummarisingCheckpointStore):
        return await store.summaries()
    return [checkpoint.summary() for checkpoint in await store.list_all()]


async def save_automatic(store: CheckpointStore, checkpoint: Checkpoint, keep: int) -> None:
    """Keep an automatic checkpoint, and forget all automatic ones but the latest `keep`, 1 or more.

    Checkpoints that someone asked for are spared and not counted.
    """
    if isinstance(store, SummarisingCheckpointStore):
        await store.save_automatic(checkpoint, keep)
        return
    await store.save(checkpoint)
    for old in oldest_automatic(await store.list_all(), keep):
        await store.remove(old.id)


async def fork_from_checkpoint(store: CheckpointStore, checkpoint_id: str) -> list[ModelMessage]:
    """Return the messages of a checkpoint as the beginning of another conversation, valid for any model.

    Pass them to a run as `message_history`; the checkpoint and other forks of it stay as they are.

    Raises:
        UsageError: There is no such checkpoint.
    """
    checkpoint = await store.get(checkpoint_id)
    if checkpoint is None:
        raise UsageError(f'There is no checkpoint {checkpoint_id!r}.')
    return restored_messages(checkpoint)


def restored_messages(checkpoint: Checkpoint) -> list[ModelMessage]:
    """Return what a run can continue from, valid for any model: a list of its own, whose last message is one too."""
    messages = repair_messages(checkpoint.messages)
    # A run without a prompt sends the last request again, and notes on that object what it sent.
    return [*messages[:-1], *(replace(message) for message in messages[-1:])]


class InMemoryCheckpointStore:
    """Keeps checkpoints as long as it lives."""

    def __init__(self) -> None:
        self._checkpoints: dict[str, Checkpoint] = {}

    async def save(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint; one with the same id is replaced and keeps its place."""
        self._checkpoints[checkpoint.id] = checkpoint

    async def get(self, checkpoint_id: str) -> Checkpoint | None:
        """Return the checkpoint with an id, or `None`."""
        return self._checkpoints.get(checkpoint_id)

    async def get_by_label(self, label: str) -> Checkpoint | None:
        """Return the latest checkpoint with exactly this label, or `None`."""
        return next((found for found in reversed(self._checkpoints.values()) if found.label == label), None)

    async def list_all(self) -> list[Checkpoint]:
        """Return all checkpoints, oldest first."""
        return list(self._checkpoints.values())

    async def summaries(self) -> list[CheckpointSummary]:
        """Return all checkpoints without their messages, oldest first."""
        return [checkpoint.summary() for checkpoint in self._checkpoints.values()]

    async def remove(self, checkpoint_id: str) -> None:
        """Forget a checkpoint, if it is there."""
        self._checkpoints.pop(checkpoint_id, None)

    async def remove_oldest(self) -> Checkpoint | None:
        """Forget the oldest checkpoint and return it, or `None` if there is none."""
        oldest = next(iter(self._checkpoints), None)
        return None if oldest is None else self._checkpoints.pop(oldest)

    async def save_automatic(self, checkpoint: Checkpoint, keep: int) -> None:
        """Keep an automatic checkpoint, and forget all automatic ones but the latest `keep`."""
        await self.save(checkpoint)
        for old in oldest_automatic(self._checkpoints.values(), keep):
            del self._checkpoints[old.id]

    async def count(self) -> int:
        """Return how many there are."""
        return len(self._checkpoints)

    async def clear(self) -> None:
        """Forget all."""
        self._checkpoints.clear()


_Kept = TypeVar('_Kept', Checkpoint, CheckpointSummary)


def oldest_automatic(checkpoints: Iterable[_Kept], keep: int) -> list[_Kept]:
    """Return the automatic ones among `checkpoints`, oldest first, without the last `keep`."""
    automatic = [checkpoint for checkpoint in checkpoints if checkpoint.automatic]
    return automatic[: max(len(automatic) - keep, 0)]

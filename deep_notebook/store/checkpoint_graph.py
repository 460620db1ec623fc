"""Checkpoints as nodes of a graph, each a snapshot of its conversation, each message a node that all of them share.

(checkpoint) -[SNAPSHOT_OF]-> (conversation)        a checkpoint lists the digests of its messages
(message)                                           known by its digest
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias, TypeVar

from pydantic_ai.messages import ModelMessage

from .checkpoints import Checkpoint, CheckpointStore, CheckpointSummary, oldest_automatic
from .graph import GraphEngine, GraphNode
from .messages import dump_message, load_messages, message_digest, utf8

__all__ = ['GraphCheckpointStore']

T = TypeVar('T')

# Within the class, `list` is a method.
Checkpoints: TypeAlias = list[Checkpoint]
Summaries: TypeAlias = list[CheckpointSummary]
Places: TypeAlias = 'list[_Known]'

_CHECKPOINT, _MESSAGE, _CONVERSATION = 'checkpoint', 'message', 'conversation'
_SNAPSHOT_OF = 'SNAPSHOT_OF'
_DIGEST = 32
"""Hexadecimal digits: 128 bits."""


class _Known(NamedTuple):
    """One message that is in the graph: the object, and the node of what it held."""

    message: ModelMessage
    node: str


class GraphCheckpointStore:
    """Keeps checkpoints in a graph, each message once; whoever opens the graph next finds them all.

    Messages of removed checkpoints stay in the graph, as other checkpoints may hold them. `save_automatic` counts and
    forgets those of one conversation.

    Messages must not be changed once they are saved, other than the last of a history.

    Every method raises `StoreError` when the graph or the backend cannot be used.

    Args:
        engine: The graph.
        backend: A store that is written first, and is what counts when the graph cannot be written. One that keeps
            its checkpoints in the same graph is not written a second time.
    """

    def __init__(self, engine: GraphEngine, backend: CheckpointStore | None = None) -> None:
        self.engine = engine
        in_the_graph = isinstance(backend, GraphCheckpointStore) and backend.engine is engine
        self.backend = None if in_the_graph else backend
        self._known: Places = []

    async def save(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint; one with the same id is replaced and keeps its place."""
        await _finished(self._save(checkpoint, list(checkpoint.messages)))

    async def save_automatic(self, checkpoint: Checkpoint, keep: int) -> None:
        """Keep an automatic checkpoint, and forget all automatic ones of its conversation but the latest `keep`."""

        async def work(messages: Sequence[ModelMessage]) -> None:
            await self._save(checkpoint, messages)
            for old in oldest_automatic(await self._of_conversation(checkpoint), keep):
                await self.remove(old.id)

        await _finished(work(list(checkpoint.messages)))

    async def get(self, checkpoint_id: str) -> Checkpoint | None:
        """Return the checkpoint with an id, or `None`."""
        node = (await self.engine.get_nodes([checkpoint_id])).get(utf8(checkpoint_id))
        return await self._first([node] if node is not None and node.node_type == _CHECKPOINT else [])

    async def get_by_label(self, label: str) -> Checkpoint | None:
        """Return the latest checkpoint with exactly this label, or `None`."""
        return await self._first(await self.engine.find_nodes(_CHECKPOINT, limit=1, label=utf8(label)))

    async def list(self, limit: int | None = None) -> Summaries:
        """Return the latest checkpoints without their messages, newest first, read from the graph alone.

        Args:
            limit: The most; all without one.
        """
        return [_summary(node) for node in await self.engine.find_nodes(_CHECKPOINT, limit=limit)]

    async def list_all(self) -> Checkpoints:
        """Return all checkpoints with their messages, oldest first; `summaries` is much cheaper."""
        return await self._loaded(reversed(await self.engine.find_nodes(_CHECKPOINT)))

    async def summaries(self) -> Summaries:
        """Return all checkpoints without their messages, oldest first."""
        return (await self.list())[::-1]

    async def remove(self, checkpoint_id: str) -> None:
        """Forget a checkpoint, if it is there; its messages stay in the graph."""
        if self.backend is not None:
            await self.backend.remove(checkpoint_id)
        nodes = await self.engine.get_nodes([checkpoint_id])
        for node in nodes.values():
            if node.node_type == _CHECKPOINT:
                await self.engine.remove_node(node.id)

    async def remove_oldest(self) -> Checkpoint | None:
        """Forget the oldest checkpoint and return it, or `None` if there is none."""
        oldest = await self._first((await self.engine.find_nodes(_CHECKPOINT))[-1:])
        if oldest is not None:
            await self.remove(oldest.id)
        return oldest

    async def count(self) -> int:
        """Return how many there are."""
        return len(await self.engine.find_nodes(_CHECKPOINT))

    async def clear(self) -> None:
        """Forget all; their messages stay in the graph."""
        if self.backend is not None:
            await self.backend.clear()
        for node in await self.engine.find_nodes(_CHECKPOINT):
            await self.engine.remove_node(node.id)

    async def _save(self, checkpoint: Checkpoint, messages: Sequence[ModelMessage]) -> None:
        if self.backend is not None:
            await self.backend.save(checkpoint)
        known = await self._put_messages(messages)
        conversation = f'conversation:{checkpoint.metadata.get("conversation") or ""}'
        await self.engine.add_node(conversation, node_type=_CONVERSATION)
        # After all that it stands on: one that is found is whole.
        await self.engine.add_node(
            checkpoint.id,
            node_type=_CHECKPOINT,
            label=checkpoint.label,
            turn=checkpoint.turn,
            message_count=len(messages),
            created_at=checkpoint.created_at.isoformat(),
            metadata=checkpoint.metadata,
            messages=[place.node for place in known],
        )
        await self.engine.add_edge(checkpoint.id, conversation, relationship=_SNAPSHOT_OF)
        self._known = known

    async def _put_messages(self, messages: Sequence[ModelMessage]) -> Places:
        """Add what is not in the graph yet of `messages`, and return each with its node."""
        places: Places = []
        # The last one may have grown.
        seen = self._known[:-1]
        for position, message in enumerate(messages):
            if position < len(seen) and seen[position].message is message:
                places.append(seen[position])
                continue
            body = dump_message(message)
            place = _Known(message, f'message:{message_digest(body)[:_DIGEST]}')
            await self.engine.add_node(place.node, node_type=_MESSAGE, kind=message.kind, body=body)
            places.append(place)
        return places

    async def _of_conversation(self, checkpoint: Checkpoint) -> Summaries:
        conversation = checkpoint.metadata.get('conversation')
        return [known for known in await self.summaries() if known.metadata.get('conversation') == conversation]

    async def _first(self, nodes: Sequence[GraphNode]) -> Checkpoint | None:
        for checkpoint, node in zip(await self._loaded(nodes[:1]), nodes, strict=False):
            # What continues from here is known by its objects, as if it had been saved from here.
            self._known = [*map(_Known, checkpoint.messages, node.properties['messages'])]
            return checkpoint
        return None

    async def _loaded(self, nodes: Iterable[GraphNode]) -> Checkpoints:
        """Return the checkpoints with their messages; a message that several share is one object."""
        found = list(nodes)
        wanted = dict.fromkeys(id for node in found for id in node.properties['messages'])
        bodies = await self.engine.get_nodes(wanted)
        loaded = load_messages(bodies[id].properties['body'].encode() for id in wanted)
        messages = dict(zip(wanted, loaded, strict=True))
        return [
            Checkpoint(
                summary.id,
                summary.label,
                summary.turn,
                [messages[id] for id in node.properties['messages']],
                summary.message_count,
                summary.created_at,
                summary.metadata,
            )
            for summary, node in zip(map(_summary, found), found, strict=True)
        ]


def _summary(node: GraphNode) -> CheckpointSummary:
    known = node.properties
    created = datetime.fromisoformat(known['created_at'])
    return CheckpointSummary(node.id, known['label'], known['turn'], known['message_count'], created, known['metadata'])


async def _finished(work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns; what is begun is finished, also when nobody waits for it any more."""
    return await asyncio.shield(asyncio.ensure_future(work))

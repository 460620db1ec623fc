"""pydantic-deep: its file store, and the search of its history toolset."""

from __future__ import annotations

import asyncio
import dataclasses
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import UsageLimits
from pydantic_deep.features.checkpointing import store as stores
from pydantic_deep.features.checkpointing.toolset import CheckpointMiddleware
from pydantic_deep.features.history_archive import create_history_search_toolset
from serve import serve, size

KEPT = 20
"""Checkpoints that it keeps by default; from then on each one more reads all of them."""


def load(path: str) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json(Path(path).read_bytes())


def checkpoints(messages: str, count: int) -> dict[str, float]:
    """Return the seconds of the first `KEPT` checkpoints, and of each of `count` more."""

    async def work(directory: str) -> list[float]:
        store = stores.FileCheckpointStore(directory)
        loaded = load(messages)
        taken = []
        for number in range(KEPT + count):
            began = time.perf_counter()
            one = stores._make_checkpoint(f'auto-{number}', number, loaded)
            await stores._save_and_prune(store, one, KEPT)
            taken.append(time.perf_counter() - began)
        return taken

    with tempfile.TemporaryDirectory() as directory:
        taken = asyncio.run(work(directory))
        return {
            'first': sum(taken[:KEPT]),
            'each': statistics.mean(taken[KEPT:]),
            'bytes_each': size(Path(directory)) / KEPT,
        }


@dataclasses.dataclass
class Timed(CheckpointMiddleware):
    taken: list[float] = dataclasses.field(default_factory=list)

    async def after_tool_execute(self, *args: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return await super().after_tool_execute(*args, **options)
        finally:
            self.taken.append((time.perf_counter() - began) * 1000)


def run(messages: str, steps: int, more: int) -> dict[str, float]:
    """Return the milliseconds that a step waits halfway through a run of `steps`, when `KEPT` checkpoints are there."""
    taken: list[float] = []

    def answer(history: list[ModelMessage], info: Any) -> ModelResponse:
        if len(taken) >= KEPT + more:
            return ModelResponse(parts=[TextPart('done')])
        return ModelResponse(parts=[ToolCallPart('read', {}, tool_call_id=str(len(history)))])

    def read() -> str:
        """Read."""
        return 'x' * 2_000

    with tempfile.TemporaryDirectory() as directory:
        timed = Timed(store=stores.FileCheckpointStore(directory), max_checkpoints=KEPT, taken=taken)
        agent = Agent(FunctionModel(answer), tools=[read], capabilities=[timed])
        halfway = load(messages)[: steps + 1]
        limits = UsageLimits(request_limit=None)
        asyncio.run(agent.run('go', message_history=halfway, usage_limits=limits))
        return {'waits': statistics.median(taken[KEPT:])}


def search(messages: str, query: str) -> dict[str, float]:
    """Return the milliseconds of a search in a file of messages; the event loop waits all that time."""
    found = create_history_search_toolset(messages).tools['search_conversation_history'].function
    began = time.perf_counter()
    text = asyncio.run(found(None, query))
    taken = (time.perf_counter() - began) * 1000
    assert text.startswith(('Found', 'No matches')), text
    return {'milliseconds': taken}


if __name__ == '__main__':
    serve({'checkpoints': checkpoints, 'run': run, 'search': search})

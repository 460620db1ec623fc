"""What the tests of checkpoint stores have in common."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from deep_notebook.store import (
    Checkpoint,
    FileCheckpointStore,
    GraphCheckpointStore,
    InMemoryCheckpointStore,
    SqliteCheckpointStore,
    SqliteGraph,
)

Kind: TypeAlias = Literal['memory', 'files', 'sqlite', 'graph']
Store: TypeAlias = InMemoryCheckpointStore | FileCheckpointStore | SqliteCheckpointStore | GraphCheckpointStore
KINDS: tuple[Kind, ...] = ('memory', 'files', 'sqlite', 'graph')
LASTING: tuple[Kind, ...] = ('files', 'sqlite', 'graph')
"""The kinds that outlive a process."""


@contextmanager
def opened(kind: Kind, directory: Path) -> Iterator[Any]:
    """A store in `directory`, the same one each time."""
    if kind == 'memory':
        yield InMemoryCheckpointStore()
    elif kind == 'files':
        yield FileCheckpointStore(directory / 'checkpoints')
    elif kind == 'graph':
        with closing(SqliteGraph.open(directory / '.deep' / 'graph.db')) as graph:
            yield GraphCheckpointStore(graph)
    else:
        store = SqliteCheckpointStore.open(directory / '.deep' / 'sales.ipynb' / 'session.db')
        try:
            yield store
        finally:
            store.close()


def history(steps: int, text: str = 'seen') -> list[ModelMessage]:
    """A prompt, then `steps` calls with their results."""
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart('go')])]
    for number in range(steps):
        messages += step(f'{text} {number}', str(number))
    return messages


def step(text: str, id: str) -> list[ModelMessage]:
    """One call and its result."""
    call = ModelResponse(parts=[ToolCallPart('look', {'at': text}, tool_call_id=id)])
    return [call, ModelRequest(parts=[ToolReturnPart('look', text, tool_call_id=id)])]


def checkpoint(label: str, messages: list[ModelMessage], *, automatic: bool = False, **fields: Any) -> Checkpoint:
    metadata = {'automatic': True} if automatic else {}
    fields = {'id': str(uuid.uuid4()), 'turn': len(messages) // 2, 'metadata': metadata, **fields}
    return Checkpoint(label=label, messages=list(messages), **fields)

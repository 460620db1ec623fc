"""The official harness, pydantic-ai-harness: its conversation search over its own SQLite store."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai_harness.conversation_search import SnapshotHistorySource
from pydantic_ai_harness.conversation_search._toolset import ConversationSearchToolset
from pydantic_ai_harness.step_persistence import SqliteStepStore
from pydantic_ai_harness.step_persistence._types import ContinuableSnapshot, RunRecord
from serve import serve

DIRECTORY = tempfile.TemporaryDirectory()
STORES: dict[str, Any] = {}


async def filled(messages: str) -> Any:
    store = SqliteStepStore(database=Path(DIRECTORY.name) / 'steps.db')
    await store.register_run(RunRecord(run_id='1', conversation_id='1'))
    loaded = ModelMessagesTypeAdapter.validate_json(Path(messages).read_bytes())
    await store.save_snapshot(ContinuableSnapshot(run_id='1', step_index=0, messages=loaded, conversation_id='1'))
    return store


def search(messages: str, query: str) -> dict[str, float]:
    """Return the milliseconds of a search in one snapshot of all messages; the event loop waits all that time."""

    async def work() -> float:
        if messages not in STORES:
            STORES[messages] = await filled(messages)
        toolset: Any = ConversationSearchToolset(
            SnapshotHistorySource(STORES[messages]),
            tool_id='search',
            max_matches=10,
            context_lines=5,
            bm25_k1=1.5,
            bm25_b=0.75,
            scope='conversation',
        )
        context: Any = SimpleNamespace(conversation_id='1')
        began = time.perf_counter()
        text = await toolset.search_conversation_history(context, query)
        taken = (time.perf_counter() - began) * 1000
        assert not text.startswith('No persisted'), text
        return taken

    return {'milliseconds': asyncio.run(work())}


if __name__ == '__main__':
    serve({'search': search})

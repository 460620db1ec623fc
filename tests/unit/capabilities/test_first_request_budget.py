"""What the tools cost in the first request, in characters / 4 of instructions and schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent

from deep_notebook.capabilities.checkpoints import CheckpointCapability, CheckpointMiddleware
from deep_notebook.capabilities.cost import CostTracking
from deep_notebook.capabilities.eviction import EvictionProcessor
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.history_search import HistorySearch
from deep_notebook.capabilities.memory import MemoryCapability
from deep_notebook.capabilities.patch_tool_calls import PatchToolCalls
from deep_notebook.capabilities.plan import PlanCapability
from deep_notebook.capabilities.python import PythonResult, RunPython
from deep_notebook.capabilities.todos import Todos
from deep_notebook.capabilities.web import WebFetchCapability, WebSearchCapability
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps
from harness.request_cost import first_request_cost

pytestmark = pytest.mark.anyio


class NoRunner:
    async def run(self, code: str, *, timeout: float | None) -> PythonResult:
        raise AssertionError


@pytest.mark.parametrize(
    ('capability', 'limit'),
    [
        (Filesystem(), 800),
        (Filesystem(edit_format='str_replace'), 750),
        (Todos(), 220),
        (RunPython(NoRunner()), 100),
        (MemoryCapability(), 190),
        (PlanCapability(), 370),
        (WebSearchCapability(), 55),
        (WebFetchCapability(), 50),
        (CostTracking(1), 0),
        (CheckpointCapability(), 180),
        (CheckpointMiddleware(), 0),
        (HistorySearch(), 75),
        (EvictionProcessor(), 0),
        (PatchToolCalls(), 0),
    ],
)
async def test_tools_cost_little(tmp_path: Path, capability: Any, limit: int) -> None:
    cost = await first_request_cost(Agent(capabilities=[capability]), Deps(KernelWorkspace(tmp_path)))
    assert cost.total <= limit

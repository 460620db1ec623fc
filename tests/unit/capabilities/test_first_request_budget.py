"""What the tools cost in the first request, in characters / 4 of instructions and schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from deep_notebook.capabilities.eviction import EvictionProcessor
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.history_search import HistorySearch
from deep_notebook.capabilities.memory import MemoryCapability
from deep_notebook.capabilities.patch_tool_calls import PatchToolCalls
from deep_notebook.capabilities.plan import PlanCapability
from deep_notebook.capabilities.python import PythonResult, RunPython
from deep_notebook.capabilities.todos import Todos
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps

pytestmark = pytest.mark.anyio


class NoRunner:
    async def run(self, code: str, *, timeout: float | None) -> PythonResult:
        raise AssertionError


async def tokens(tmp_path: Path, capability: Any) -> float:
    model = TestModel(call_tools=[])
    await Agent(model, capabilities=[capability]).run('x', deps=Deps(KernelWorkspace(tmp_path)))
    parameters = model.last_model_request_parameters
    assert parameters is not None
    schemas = [
        json.dumps([tool.name, tool.description, tool.parameters_json_schema], separators=(',', ':'))
        for tool in parameters.function_tools
    ]
    instructions = [part.content for part in parameters.instruction_parts or []]
    return sum(map(len, [*schemas, *instructions])) / 4


@pytest.mark.parametrize(
    ('capability', 'limit'),
    [
        (Filesystem(), 800),
        (Filesystem(edit_format='str_replace'), 750),
        (Todos(), 220),
        (RunPython(NoRunner()), 100),
        (MemoryCapability(), 190),
        (PlanCapability(), 370),
        (HistorySearch(), 75),
        (EvictionProcessor(), 0),
        (PatchToolCalls(), 0),
    ],
)
async def test_tools_cost_little(tmp_path: Path, capability: Any, limit: int) -> None:
    assert await tokens(tmp_path, capability) <= limit

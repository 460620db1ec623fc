"""The real weights under a real agent with real tools: they look, compute, write a file, and stop when told."""

from __future__ import annotations

import asyncio
import shutil
import signal
import time
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, PartStartEvent, ToolCallPart
from pydantic_ai.usage import UsageLimits

from benchmarks.embedded_prompts import DATA, InProcessPython
from deep_notebook.agent import create_deep_agent
from deep_notebook.capabilities.python import RunPython
from deep_notebook.deps import DeepAgentDeps
from deep_notebook.models import weights
from deep_notebook.models.embedded import MAX_REQUESTS, EmbeddedModel
from deep_notebook.workspaces import KernelWorkspace

pytestmark = [pytest.mark.embedded, pytest.mark.anyio]

PROMPT = (
    'Make a plan, then use iowa-electricity.csv to compute the total net_generation of each source, '
    'and write the totals to report.md.'
)
TOTALS = ('620129', '80103', '164220')
"""Fossil Fuels, Nuclear Energy, Renewables, 2001 to 2017."""


@pytest.fixture(autouse=True)
def pulled() -> None:
    if weights.installed() is None:
        pytest.skip('the embedded model is not here: run `make model`')


def called(messages: list[ModelMessage]) -> list[str]:
    responses = [message for message in messages if isinstance(message, ModelResponse)]
    return [part.tool_name for response in responses for part in response.parts if isinstance(part, ToolCallPart)]


async def test_it_plans_computes_and_writes_a_true_report(tmp_path: Path) -> None:
    shutil.copy(DATA / 'iowa-electricity.csv', tmp_path)
    deps = DeepAgentDeps(backend=KernelWorkspace(tmp_path))
    result = await create_deep_agent(interrupt_on={'run_python': False}).run(
        PROMPT,
        model=EmbeddedModel(),
        deps=deps,
        capabilities=[RunPython[DeepAgentDeps](runner=InProcessPython(tmp_path))],
        usage_limits=UsageLimits(request_limit=MAX_REQUESTS),
    )
    tools = called(result.all_messages())
    assert tools[0] == 'write_todos'
    assert {'run_python', 'write_file'} <= set(tools)
    assert {todo.status for todo in deps.todos} == {'completed'}
    report = (tmp_path / 'report.md').read_text(encoding='utf-8').replace(',', '')
    assert all(total in report for total in TOTALS)
    assert 'report.md' in result.output
    assert result.usage.output_tokens > 100
    assert result.usage.cost == 0


async def test_it_stops_when_told_and_answers_again() -> None:
    agent = Agent(EmbeddedModel())
    writing = asyncio.Event()

    async def tell() -> None:
        async with agent.run_stream_events('Tell a very long story about the sea.') as events:
            async for event in events:
                if isinstance(event, PartStartEvent):
                    writing.set()

    running = asyncio.create_task(tell())
    await writing.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    cancelled = time.monotonic()
    assert (await agent.run('Say yes.')).output
    assert time.monotonic() - cancelled < 20, 'the story (800 tokens, about 50 s) was told to its end'


async def test_loading_leaves_the_interrupt_to_python() -> None:
    await Agent(EmbeddedModel()).run('Say yes.')
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)

"""A traced run is traced whole: what its subagents ask and do is in the trace too."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings

from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.subagents import SubAgentCapability
from harness.cast import Cast
from harness.play import Deps

pytestmark = pytest.mark.anyio

CAST = {'go': [[('task', {'description': 'look'})], 'end'], 'look': [[('ls', {})], 'done']}
WHOLE = ['chat scripted', 'chat scripted', 'chat scripted', 'chat scripted']
WHOLE += ['execute_tool ls', 'execute_tool task', 'invoke_agent general', 'invoke_agent main']


@pytest.mark.parametrize('by', ['capability', 'attribute'])
async def test_subagents_are_in_the_trace(by: str) -> None:
    spans, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    settings = InstrumentationSettings(tracer_provider=provider)
    capabilities: list[Any] = [Filesystem(), SubAgentCapability()]
    if by == 'capability':
        capabilities.append(Instrumentation(settings))
    agent = Agent(Cast(CAST).model, capabilities=capabilities, name='main', deps_type=Deps)
    if by == 'attribute':
        agent.instrument = settings
    await agent.run('go', deps=Deps())
    assert sorted(span.name for span in spans.get_finished_spans()) == WHOLE

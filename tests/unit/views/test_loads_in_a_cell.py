"""A capability that is loaded reads as that in a cell, and as nothing that changed anything."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.capabilities import Capability

from deep_notebook.views.run_state import RunState, ToolStep, reduce
from harness.play import Call, play

pytestmark = pytest.mark.anyio


def count(text: str) -> int:
    """Count."""
    return len(text)


async def steps_of(*turns: list[Call]) -> list[ToolStep]:
    state = RunState()

    def show(event: object) -> None:
        nonlocal state
        state = reduce(state, event, now=1.0)

    counting: Capability[Any] = Capability(id='counting', tools=[count], defer_loading=True)
    await play(*turns, capabilities=[counting], on_event=show)
    return [step for step in state.steps if isinstance(step, ToolStep)]


async def test_a_load_reads_in_words() -> None:
    [step] = await steps_of([('load_capability', {'id': 'counting'})])
    assert (step.name, step.tool_class, step.status) == ('load_capability', 'read', 'ok')
    assert step.summary == 'loaded counting'
    assert step.result == "Capability 'counting' loaded. Its instructions, if any, follow."


async def test_a_load_that_failed_says_why() -> None:
    [step] = await steps_of([('load_capability', {'id': 'cooking'})])
    assert (step.status, step.summary) == ('failed', 'cooking')
    assert step.note == "No capability found with id 'cooking'."

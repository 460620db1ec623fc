"""A person who sees a shortened result knows where the rest is, and how to see it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.capabilities import Capability

from deep_notebook.capabilities.eviction import EvictionProcessor
from deep_notebook.views.run_state import RunState, ToolStep, from_json, reduce, to_json
from deep_notebook.views.static_html import render
from harness.play import Deps, play

pytestmark = pytest.mark.anyio


def fetch(rows: int) -> str:
    """Return rows."""
    return '\n'.join(f'row {number}' for number in range(1, rows + 1))


async def shown(rows: int) -> tuple[RunState, ToolStep]:
    state = RunState()

    def show(event: object) -> None:
        nonlocal state
        state = reduce(state, event, now=1.0)

    capabilities: list[Any] = [EvictionProcessor(token_limit=100), Capability(id='fetching', tools=[fetch])]
    await play([('fetch', {'rows': rows})], deps=Deps(), capabilities=capabilities, on_event=show)
    [step] = [step for step in state.steps if isinstance(step, ToolStep)]
    return state, step


async def test_the_step_says_where_the_rest_is_and_how_it_begins_and_ends() -> None:
    state, step = await shown(1_000)
    head, _, sample = step.result.partition('\n\n')
    id = head.rpartition(' ')[2]
    assert head == f'Too large for the conversation. The whole is in /large_tool_results/{id}: %deep evicted {id}'
    assert sample.splitlines()[::5] == ['row 1', '… 990 lines left out …', 'row 1000']
    assert 'read_file' not in step.result
    assert step.truncated
    html = render(from_json(to_json(state)))
    assert f'%deep evicted {id}' in html
    assert 'Result, shortened' in html


async def test_a_result_that_fits_says_nothing_of_it() -> None:
    _, step = await shown(10)
    assert (step.truncated, 'evicted' in step.result) == (False, False)

"""The page on capabilities says what they cost now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import Capability

from deep_notebook.capabilities.on_demand import LoadNamed
from harness.request_cost import Cost, first_request_cost

ROOT = Path(__file__).parents[2]
PAGE = ROOT / 'docs' / 'capabilities.md'


def test_the_page_says_what_each_capability_costs() -> None:
    script = ROOT / 'scripts' / 'capability_costs.py'
    measured = subprocess.run([sys.executable, script], capture_output=True, encoding='utf-8', check=True).stdout
    shown = PAGE.read_text(encoding='utf-8').partition('<!-- costs -->\n')[2].partition('<!-- /costs -->')[0]
    assert shown == measured, 'Run scripts/capability_costs.py --write.'


def pay(amount: int) -> str:
    """Pay out."""
    return str(amount)


@pytest.mark.anyio
async def test_tools_that_wait_cost_nothing_and_tools_that_were_loaded_cost_what_they_do() -> None:
    def agent(*, defer: bool) -> Agent[None, str]:
        refunds: Capability[None] = Capability(
            id='refunds', instructions='Pay ' * 400, tools=[pay], defer_loading=defer
        )
        return Agent(instructions='Help.', capabilities=[refunds, LoadNamed({'refunds': ['refund']})])

    eager = await first_request_cost(agent(defer=False), None)
    waiting = await first_request_cost(agent(defer=True), None)
    loaded = await first_request_cost(agent(defer=True), None, prompt='I want a refund.')
    assert eager.tools == {'pay': 30}
    assert eager.instructions == 402
    assert set(waiting.tools) == {'load_capability'}
    assert waiting.instructions < 100
    assert set(loaded.tools) == {'load_capability', 'pay'}
    assert loaded.instructions > waiting.instructions + 400
    assert (loaded - waiting).tools == {'pay': 30}


def test_a_difference_of_costs_says_what_is_gone_too() -> None:
    assert Cost(5, {'a': 1, 'b': 2, 'c': 3}) - Cost(7, {'b': 2, 'c': 5, 'd': 4}) == Cost(-2, {'a': 1, 'c': -2, 'd': -4})
    assert Cost(5, {'a': 1}).total == 6

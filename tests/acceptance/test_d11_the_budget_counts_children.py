"""D11 (TradingAgents#515, claude-code#73447), children: a budget stops before the next request, whoever makes it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai import Agent, UsageLimits
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RunUsage

from deep_notebook.capabilities.subagents import SubAgentCapability
from harness.cast import Cast
from harness.play import Deps

pytestmark = pytest.mark.anyio

BUDGET = UsageLimits(cost_limit=Decimal('0.05'), request_limit=None)
PRICE = Decimal('0.01')


class Priced(WrapperModel):
    """A model of which every request costs one cent."""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        response = await super().request(messages, model_settings, model_request_parameters)
        response.usage.cost = PRICE
        return response


@dataclass(frozen=True)
class Looping:
    who: str
    scripts: dict[str, Any]


LOOK = [('ls', {})]
FOREGROUND = [('task', {'description': 'loop'})]
BACKGROUND = [('task', {'description': 'loop', 'background': True})]
MANY = [('task', {'description': f'loop {number}', 'background': number % 2 == 1}) for number in range(4)]

CASES = [
    Looping('a child', {'go': [FOREGROUND], 'loop': [LOOK]}),
    Looping('a child in the background', {'go': [BACKGROUND, 'hm'], 'loop': [LOOK]}),
    Looping('parent and child', {'go': [BACKGROUND, [('check_subagent', {})]], 'loop': [LOOK]}),
    Looping('a parent that gives out tasks', {'go': [FOREGROUND], 'loop': ['done']}),
]


async def spend(scripts: dict[str, Any], *, depth: int = 1) -> tuple[Cast, RunUsage]:
    """Run into the budget; return the model and what was used."""
    cast = Cast(scripts)
    model: Model[Any] = Priced(cast.model)
    usage = RunUsage()
    agent = Agent(model, capabilities=[SubAgentCapability(max_nesting_depth=depth)])
    async with asyncio.timeout(20):
        with pytest.raises(UsageLimitExceeded, match=r'cost_limit.*0\.05'):
            await agent.run('go', deps=Deps(), usage=usage, usage_limits=BUDGET)
    return cast, usage


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.who)
async def test_a_looping_model_stops_before_the_request_after_the_budget(case: Looping) -> None:
    cast, usage = await spend(case.scripts)
    assert len(cast.requests) == 6
    assert usage.cost == Decimal('0.06')
    assert usage.requests == 6


async def test_it_stops_the_children_of_children() -> None:
    scripts = {'go': [FOREGROUND], 'loop': [[('task', {'description': 'deeper'})]], 'deeper': [LOOK]}
    cast, usage = await spend(scripts, depth=2)
    assert len(cast.requests) == 6
    assert cast.requests[-1].who == 'deeper'
    assert usage.cost == Decimal('0.06')


async def test_children_at_once_make_no_request_after_the_budget_is_used_up() -> None:
    """Requests that are under way cannot be taken back, but each that begins later is stopped."""
    before = asyncio.all_tasks()
    cast, usage = await spend({'go': [MANY], **{f'loop {number}': [LOOK] for number in range(4)}})
    assert len(cast.requests) <= 6 + 3
    assert usage.cost == PRICE * usage.requests
    assert asyncio.all_tasks() == before

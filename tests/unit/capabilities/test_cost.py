"""What a run costs is counted as it arises; a budget stops before the next request; an unknown price is never $0."""

from __future__ import annotations

import asyncio
import logging
import pickle
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.models import Model, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.usage import RunUsage

from deep_notebook.capabilities.cost import BudgetExceededError, CostInfo, CostTracking, UnpricedModelWarning
from deep_notebook.capabilities.events import NoticeEvent
from deep_notebook.capabilities.subagents import SubAgentCapability
from deep_notebook.capabilities.todos import Todos
from deep_notebook.errors import DeepNotebookError
from deep_notebook.kernel.run import explain
from deep_notebook.views.run_state import RunState
from harness.cast import Cast, perform
from harness.play import Deps

pytestmark = pytest.mark.anyio

CENT = Decimal('0.01')
LOOK = [('read_todos', {})]


class Priced(WrapperModel):
    """A model of which every request costs one cent."""

    async def request(self, *args: Any) -> Any:
        response = await super().request(*args)
        response.usage.cost = CENT
        return response

    @asynccontextmanager
    async def request_stream(self, *args: Any) -> AsyncGenerator[StreamedResponse]:
        async with super().request_stream(*args) as stream:
            yield stream
            stream._usage.cost = CENT


class Unpriced(Model):
    """A model of some provider whose prices nobody knows."""

    def __init__(self, cast: Cast, name: str = 'mystery-1') -> None:
        super().__init__()
        self._answers, self._name = cast.model, name

    @property
    def model_name(self) -> str:
        return self._name

    @property
    def system(self) -> str:
        return 'nobody'

    async def request(self, *args: Any) -> Any:
        response = await self._answers.request(*args)
        response.model_name = self._name
        return response

    @asynccontextmanager
    async def request_stream(self, *args: Any) -> AsyncGenerator[StreamedResponse]:
        async with self._answers.request_stream(*args) as stream:
            stream._model_name = self._name  # type: ignore[attr-defined]
            yield stream


def loop() -> Cast:
    return Cast({'go': [LOOK]})


async def run(model: Model[Any], *capabilities: Any, usage: RunUsage | None = None, **options: Any) -> Any:
    async with asyncio.timeout(20):
        return await Agent(model, capabilities=[Todos(), *capabilities]).run('go', deps=Deps(), usage=usage, **options)


async def watched(agent: Agent[Any, Any]) -> list[Any]:
    async with asyncio.timeout(20), agent.run_stream_events('go', deps=Deps()) as stream:
        return [event async for event in stream]


def named(infos: list[CostInfo]) -> list[tuple[Decimal | None, Decimal | None, bool]]:
    return [(info.request_cost, info.total_cost, info.priced) for info in infos]


async def test_no_request_follows_once_the_budget_is_spent() -> None:
    cast, usage = loop(), RunUsage()
    line = 'Stopped before the next request: $0.03 spent of a budget of $0.03. A larger one goes on.'
    with pytest.raises(BudgetExceededError, match=f'^{re.escape(line)}$') as it:
        await run(Priced(cast.model), CostTracking(0.03), usage=usage)
    assert len(cast.requests) == 3
    assert (it.value.spent, it.value.budget) == (Decimal('0.03'), Decimal('0.03'))
    assert isinstance(it.value, UsageLimitExceeded)
    assert isinstance(it.value, DeepNotebookError)


async def test_what_an_earlier_part_of_the_run_spent_counts() -> None:
    cast = loop()
    with pytest.raises(BudgetExceededError):
        await run(Priced(cast.model), CostTracking(0.03), usage=RunUsage(cost=Decimal('0.03')))
    assert cast.requests == []


async def test_an_answer_that_is_paid_for_is_given() -> None:
    result = await run(Priced(Cast({'go': ['the answer']}).model), CostTracking(0.001))
    assert result.output == 'the answer'


def delegating(number: int, *, background: bool) -> list[Any]:
    return [('task', {'description': f'loop {index}', 'background': background}) for index in range(number)]


@pytest.mark.parametrize('background', [False, True])
@pytest.mark.parametrize('number', [1, 4])
async def test_subagents_stop_at_their_parents_budget(number: int, background: bool) -> None:
    cast = Cast(
        {
            'go': [delegating(number, background=background), 'hm'],
            **{f'loop {index}': [LOOK] for index in range(number)},
        }
    )
    before, usage = asyncio.all_tasks(), RunUsage()
    with pytest.raises(BudgetExceededError):
        await run(Priced(cast.model), SubAgentCapability(), CostTracking(0.05), usage=usage)
    assert len(cast.requests) <= 5 + number - 1
    assert usage.cost == CENT * len(cast.requests)
    assert asyncio.all_tasks() == before


async def test_a_given_agent_stops_at_its_parents_budget_even_if_it_has_a_larger_one() -> None:
    cast = Cast({'go': [[('task', {'description': 'loop', 'subagent_type': 'own'})]], 'loop': [LOOK]})
    model = Priced(cast.model)
    own = Agent(model, capabilities=[CostTracking(5)])
    own.tool_plain(lambda: 'a', name='read_todos')
    subagents = SubAgentCapability[Any]([{'name': 'own', 'description': 'own', 'agent': own}])
    with pytest.raises(BudgetExceededError, match=r'\$0\.05 spent of a budget of \$0\.05\.'):
        await run(model, subagents, CostTracking(0.05))
    assert len(cast.requests) == 5


async def test_two_runs_have_a_budget_each() -> None:
    cast = Cast({'go': [LOOK, LOOK, 'end']})
    agent = Agent(Priced(cast.model), capabilities=[CostTracking(0.03), Todos()])
    first, second = await asyncio.gather(agent.run('go', deps=Deps()), agent.run('go', deps=Deps()))
    assert (first.output, second.output) == ('end', 'end')
    assert first.usage.cost == second.usage.cost == Decimal('0.03')


@pytest.mark.parametrize('streamed', [False, True])
@pytest.mark.parametrize('asynchronous', [False, True])
async def test_each_request_is_told_with_its_cost_and_the_sum(asynchronous: bool, streamed: bool) -> None:
    infos: list[CostInfo] = []

    async def later(info: CostInfo) -> None:
        await asyncio.sleep(0)
        infos.append(info)

    cast = Cast({'go': [LOOK, 'end']})
    tracking = CostTracking[Any](on_cost_update=later if asynchronous else infos.append)
    cast_model = Priced(cast.model)
    agent = Agent(cast_model, capabilities=[tracking, Todos()])
    if streamed:
        await watched(agent)
    else:
        await agent.run('go', deps=Deps())
    assert named(infos) == [(CENT, CENT, True), (CENT, 2 * CENT, True)]
    [one, two] = infos
    assert one.request_input_tokens > 0
    assert two.total_input_tokens == one.request_input_tokens + two.request_input_tokens
    assert two.total_output_tokens == one.request_output_tokens + two.request_output_tokens
    assert one.model == 'scripted'


async def test_what_subagents_spend_is_told_as_part_of_the_sum() -> None:
    infos: list[CostInfo] = []
    cast = Cast({'go': [delegating(1, background=False), 'end'], 'loop 0': ['done']})
    await run(Priced(cast.model), SubAgentCapability(), CostTracking(on_cost_update=infos.append))
    assert [info.total_cost for info in infos] == [CENT, 2 * CENT, 3 * CENT]


async def test_a_callback_that_fails_is_logged_and_ends_no_run(caplog: pytest.LogCaptureFixture) -> None:
    def broken(info: CostInfo) -> None:
        raise RuntimeError('disk full')

    with caplog.at_level(logging.ERROR):
        result = await run(Priced(Cast({'go': ['end']}).model), CostTracking(on_cost_update=broken))
    assert result.output == 'end'
    assert 'disk full' in caplog.text


async def test_an_unknown_price_is_not_zero_and_the_person_is_told_that_the_budget_cannot_stop_it() -> None:
    infos: list[CostInfo] = []
    cast = Cast({'go': [LOOK, 'end']})
    agent = Agent(Unpriced(cast), capabilities=[CostTracking(0.01, infos.append), Todos()])
    with pytest.warns(UnpricedModelWarning, match='mystery-1'):
        events = await watched(agent)
    assert named(infos) == [(None, None, False), (None, None, False)]
    notices = [event.text for event in events if isinstance(event, NoticeEvent)]
    assert notices == ['The price of mystery-1 is unknown, so the budget of $0.01 cannot stop it.']


async def test_without_a_budget_an_unknown_price_is_nobodys_trouble() -> None:
    cast = Cast({'go': ['end']})
    played = await perform(cast, CostTracking())
    assert played.events_of(NoticeEvent) == []
    await run(Unpriced(cast), CostTracking())


@pytest.mark.parametrize('background', [False, True])
async def test_a_subagents_unknown_price_is_told_in_the_parents_stream(background: bool) -> None:
    child = Cast({'look': ['done']})
    own: Agent[Any, str] = Agent(Unpriced(child, 'mystery-2'))
    subagents = SubAgentCapability[Any]([{'name': 'own', 'description': 'own', 'agent': own}])
    task = ('task', {'description': 'look', 'subagent_type': 'own', 'background': background})
    parent = Agent(
        Priced(Cast({'go': [[task], 'end']}).model), capabilities=[CostTracking(1), subagents], deps_type=Deps
    )
    with pytest.warns(UnpricedModelWarning, match='mystery-2'):
        events = await watched(parent)
    assert sum(isinstance(event, NoticeEvent) for event in events) == 1


async def test_what_answers_on_this_computer_costs_nothing() -> None:
    infos: list[CostInfo] = []
    result = await run(Cast({'go': [LOOK, 'end']}).model, CostTracking(0.01, infos.append))
    assert result.output == 'end'
    assert named(infos) == [(Decimal(0), Decimal(0), True)] * 2


@pytest.mark.parametrize('budget', [0, -1, float('nan'), float('inf'), Decimal('-0.01')])
def test_a_budget_that_makes_no_sense_is_refused(budget: Any) -> None:
    with pytest.raises(ValueError, match='budget_usd'):
        CostTracking(budget)


def test_the_error_survives_the_way_between_processes() -> None:
    error = pickle.loads(pickle.dumps(BudgetExceededError(Decimal('0.2'), Decimal('0.1'))))
    assert (error.spent, error.budget) == (Decimal('0.2'), Decimal('0.1'))


def test_the_person_reads_one_line_about_a_spent_budget() -> None:
    given: Any = None
    line = explain(BudgetExceededError(Decimal('0.2'), Decimal('0.1')), given, RunState())
    assert line == 'Stopped before the next request: $0.2 spent of a budget of $0.1. A larger one goes on.'

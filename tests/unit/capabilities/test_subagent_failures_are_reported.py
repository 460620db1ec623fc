"""A crash in a child is a result; what concerns the whole run, and cancellation, goes through; nothing is left over."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import dataclass
from typing import Any

import pytest
from dirty_equals import IsStr
from pydantic_ai import Agent, RunContext
from pydantic_ai.exceptions import ModelHTTPError, RunCancelled, UsageLimitExceeded, UserError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.toolsets import FunctionToolset

from deep_notebook.capabilities.events import SubagentEndedEvent
from deep_notebook.capabilities.subagents import SubAgentCapability, SubAgentConfig, create_subagent_toolset
from deep_notebook.errors import RecordingMissError, RunControl, UsageError
from harness.cast import Cast, perform, texts_of, user_texts
from harness.play import Played

pytestmark = pytest.mark.anyio


class Rewind(RunControl):
    """What a rewind would raise."""


def raising(error: BaseException) -> FunctionToolset[Any]:
    async def fail() -> str:
        raise error

    return FunctionToolset([fail])


def fails_with(error: BaseException) -> SubAgentConfig:
    return {'name': 'helper', 'description': 'Helps.', 'toolsets': [raising(error)]}


def cast(**task: Any) -> Cast:
    call = ('task', {'description': 'try', 'subagent_type': 'helper', **task})
    return Cast({'go': [[call], 'so I heard', 'end'], 'try': [[('fail', {})], 'fine']})


@dataclass(frozen=True)
class Crash:
    error: Exception
    said: str


CRASHES = [
    Crash(ValueError('bad\nmore'), 'ValueError: bad'),
    Crash(RuntimeError(), 'RuntimeError: no further word'),
    Crash(ModelHTTPError(500, 'm', {'message': 'overloaded'}), 'ModelHTTPError: status_code: 500.*'),
    Crash(KeyError('sk-proj-abcdefghijklmnop1234567890'), "KeyError: 'sk-…\\[masked\\]'"),
]


@pytest.mark.parametrize('case', CRASHES, ids=lambda case: type(case.error).__name__)
async def test_a_crash_is_a_failed_result_with_its_type_and_one_line(case: Crash) -> None:
    played = await perform(cast(), SubAgentCapability([fails_with(case.error)]))
    [returned] = played.returns
    assert returned.outcome == 'failed'
    assert played.texts == [IsStr(regex=f"The subagent 'helper' failed before it was done. {case.said}")]
    assert '\n' not in played.texts[0]
    assert played.output == 'so I heard'
    [ended] = played.events_of(SubagentEndedEvent)
    assert ended.status == 'failed'


@pytest.mark.parametrize('case', CRASHES, ids=lambda case: type(case.error).__name__)
async def test_a_crash_in_the_background_is_reported_at_the_end(case: Crash) -> None:
    played = await perform(cast(background=True), SubAgentCapability([fails_with(case.error)]))
    assert played.output == 'end'
    assert user_texts(played.messages)[-1] == IsStr(regex=rf'(?s).*t1 has ended \(failed\).*\n{case.said}\n.*')


NEVER_SWALLOWED = [
    UsageLimitExceeded('enough'),
    UserError('no such model'),
    UsageError('set a key'),
    RecordingMissError('not in the recording'),
    Rewind('to the start'),
]


@pytest.mark.parametrize('background', [False, True])
@pytest.mark.parametrize('error', NEVER_SWALLOWED, ids=lambda error: type(error).__name__)
async def test_what_concerns_the_whole_run_is_never_swallowed(error: Exception, background: bool) -> None:
    with pytest.raises(type(error), match=str(error)):
        await perform(cast(background=background), SubAgentCapability([fails_with(error)]))


async def test_what_concerns_the_whole_run_stops_the_parent_before_its_next_request() -> None:
    async def look() -> str:
        [job] = [job for job in asyncio.all_tasks() if job.get_name() == 'subagent t1 helper']
        await asyncio.wait([job])
        return 'seen'

    script = cast(background=True)
    script.scripts['go'] = [[script.scripts['go'][0][0], ('look', {})], [('look', {})], 'end']
    with pytest.raises(Rewind):
        await perform(script, SubAgentCapability([fails_with(Rewind('back'))]), toolsets=[FunctionToolset([look])])
    assert len(script.requests_of('go')) == 1


async def test_check_subagent_raises_what_concerns_the_whole_run() -> None:
    script = cast(background=True)
    script.scripts['go'] = [script.scripts['go'][0], [('check_subagent', {'wait': 60})], 'end']
    async with asyncio.timeout(10):
        with pytest.raises(Rewind):
            await perform(script, toolsets=[create_subagent_toolset([fails_with(Rewind('back'))])])


async def test_a_toolset_alone_raises_it_at_the_end_of_the_run() -> None:
    failed = asyncio.Event()

    async def fail() -> str:
        failed.set()
        raise Rewind('back')

    async def end(messages: list[ModelMessage]) -> str:
        await failed.wait()
        [job] = [job for job in asyncio.all_tasks() if job.get_name() == 'subagent t1 helper']
        await asyncio.wait([job])
        return 'end'

    config: SubAgentConfig = {'name': 'helper', 'description': 'Helps.', 'toolsets': [FunctionToolset([fail])]}
    script = cast(background=True)
    script.scripts['go'] = [script.scripts['go'][0], end]
    with pytest.raises(Rewind):
        await perform(script, toolsets=[create_subagent_toolset([config])])


async def test_a_child_whose_settings_are_wrong_stops_the_run() -> None:
    config: SubAgentConfig = {'name': 'helper', 'description': 'Helps.', 'model': 'nonsense:model'}
    with pytest.raises(UserError, match='nonsense'):
        await perform(cast(), SubAgentCapability([config]))


async def test_an_unknown_subagent_is_a_failed_result_with_the_closest_name() -> None:
    script = Cast({'go': [[('task', {'description': 'x', 'subagent_type': 'reserch'})] * 3, 'end']})
    played = await perform(script, SubAgentCapability())
    assert [part.outcome for part in played.returns] == ['failed'] * 3
    assert played.texts[0] == (
        "There is no subagent 'reserch'. Did you mean 'research'? There are: general, research, planner."
    )


@dataclass
class Hanging:
    """A tool that hangs until it is cancelled, and tells."""

    begun: asyncio.Event
    cancelled: bool = False

    def subagent(self) -> SubAgentConfig:
        async def fail() -> str:
            self.begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
            return ''

        return {'name': 'helper', 'description': 'Helps.', 'toolsets': [FunctionToolset([fail])]}


@pytest.fixture
def hanging() -> Hanging:
    return Hanging(asyncio.Event())


def other_tasks() -> set[asyncio.Task[Any]]:
    current = asyncio.current_task()
    return {task for task in asyncio.all_tasks() if task is not current}


@pytest.mark.parametrize('background', [False, True])
@pytest.mark.parametrize('alone', [False, True])
async def test_a_child_is_cancelled_with_its_parent(hanging: Hanging, background: bool, alone: bool) -> None:
    before = other_tasks()
    script = cast(background=background)
    if background:
        script.scripts['go'] = [script.scripts['go'][0], [('check_subagent', {'task_id': 't1', 'wait': 60})]]
    subagents = [hanging.subagent()]
    agent = (
        Agent(script.model, toolsets=[create_subagent_toolset(subagents)])
        if alone
        else Agent(script.model, capabilities=[SubAgentCapability(subagents)])
    )
    run = asyncio.create_task(agent.run('go'))
    async with asyncio.timeout(10):
        await hanging.begun.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
    assert hanging.cancelled
    assert other_tasks() == before


async def test_a_child_is_cancelled_when_the_run_waits_for_it_before_its_end(hanging: Hanging) -> None:
    before = other_tasks()
    agent = Agent(cast(background=True).model, capabilities=[SubAgentCapability([hanging.subagent()])])

    async def run() -> None:
        async with asyncio.timeout(10), agent.run_stream_events('go') as stream:
            async for _ in stream:
                if hanging.begun.is_set():
                    stream.cancel()

    with pytest.raises(RunCancelled):
        await run()
    assert hanging.cancelled
    assert other_tasks() == before


async def test_a_child_is_cancelled_when_its_parent_fails(hanging: Hanging) -> None:
    before = other_tasks()

    async def crash(messages: list[ModelMessage]) -> str:
        await hanging.begun.wait()
        raise ValueError('parent')

    script = cast(background=True)
    script.scripts['go'] = [script.scripts['go'][0], crash]
    with pytest.raises(ValueError, match='parent'):
        await perform(script, SubAgentCapability([hanging.subagent()]))
    assert hanging.cancelled
    assert other_tasks() == before


async def test_a_toolset_alone_leaves_no_task_behind(hanging: Hanging) -> None:
    before = other_tasks()

    async def end(messages: list[ModelMessage]) -> str:
        await hanging.begun.wait()
        return 'end'

    script = cast(background=True)
    script.scripts['go'] = [script.scripts['go'][0], end]
    await perform(script, toolsets=[create_subagent_toolset([hanging.subagent()])])
    assert hanging.cancelled
    assert other_tasks() == before


async def test_a_failed_sibling_cancels_what_stops_the_run(hanging: Hanging) -> None:
    def both(messages: list[ModelMessage]) -> Any:
        return [
            ('task', {'description': 'try', 'subagent_type': 'helper'}),
            ('task', {'description': 'stop', 'subagent_type': 'stopper'}),
        ]

    async def stop() -> str:
        await hanging.begun.wait()
        raise UsageLimitExceeded('enough')

    stopper: SubAgentConfig = {'name': 'stopper', 'description': 'Stops.', 'toolsets': [FunctionToolset([stop])]}
    script = Cast({'go': [both], 'try': [[('fail', {})]], 'stop': [[('stop', {})]]})
    with pytest.raises(UsageLimitExceeded):
        await perform(script, SubAgentCapability([hanging.subagent(), stopper]))
    assert hanging.cancelled


async def test_nobody_is_told_that_a_task_exception_was_never_retrieved(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Rewind):
        await perform(cast(background=True), SubAgentCapability([fails_with(Rewind('back'))]))
    gc.collect()
    await asyncio.sleep(0)
    assert 'never retrieved' not in caplog.text


async def test_a_child_that_cancels_itself_does_not_end_its_parent() -> None:
    async def fail(ctx: RunContext[Any]) -> str:
        ctx.cancel()
        await asyncio.sleep(0)
        return 'unreached'

    config: SubAgentConfig = {'name': 'helper', 'description': 'Helps.', 'toolsets': [FunctionToolset([fail])]}
    played: Played = await perform(cast(), SubAgentCapability([config]))
    assert played.output == 'so I heard'
    assert texts_of(played.messages) == [IsStr(regex='.*RunCancelled.*')]

"""Hooks run at their event, for their tools, are told what happened, and change what they may change."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsPartialDict
from inline_snapshot import snapshot
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext
from pydantic_ai.agent.spec import AgentSpec
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import BinaryContent, ToolReturn
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import FunctionToolset

from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.hooks import Hook, HookEvent, HookInput, HookResult, HooksCapability
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, names, play

pytestmark = pytest.mark.anyio

TOOL_EVENTS = [HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE, HookEvent.POST_TOOL_USE_FAILURE]


class Place(BaseModel):
    x: int


@dataclass(eq=False)
class Recorder:
    """Remembers what it was told, and answers."""

    answer: HookResult = field(default_factory=HookResult)
    told: list[HookInput] = field(default_factory=list)

    async def __call__(self, given: HookInput) -> HookResult:
        self.told.append(given)
        return self.answer

    @property
    def events(self) -> list[str]:
        return [given.event for given in self.told]

    def at(self, *events: HookEvent, **options: Any) -> list[Hook]:
        return [Hook(event, handler=self, **options) for event in events or HookEvent]


@pytest.fixture
def deps(tmp_path: Path) -> Deps:
    (tmp_path / 'a.txt').write_text('one\n')
    return Deps(KernelWorkspace(tmp_path))


def returning(value: Any) -> FunctionToolset[Any]:
    tools: FunctionToolset[Any] = FunctionToolset()

    async def look() -> Any:
        """Look."""
        if isinstance(value, Exception):
            raise value
        return value

    tools.add_function(look)
    return tools


async def look(value: Any, *hooks: Hook, turns: int = 1) -> Any:
    turn = [('look', {})]
    return await play(*[turn] * turns, capabilities=[HooksCapability(hooks)], toolsets=[returning(value)])


async def test_each_event_comes_in_its_place() -> None:
    recorder = Recorder()
    await look('seen', *recorder.at())
    assert recorder.events == snapshot(
        [
            'before_run',
            'before_model_request',
            'after_model_request',
            'pre_tool_use',
            'post_tool_use',
            'before_model_request',
            'after_model_request',
            'after_run',
        ]
    )
    run, _, _, pre, post, _, answered, end = recorder.told
    assert run.tool_input == {'prompt': 'go'}
    assert (pre.tool_name, pre.tool_input, pre.tool_result, pre.tool_error) == ('look', {}, None, None)
    assert (post.tool_result, answered.tool_result, end.tool_result) == ('seen', 'done', 'done')


async def test_a_failed_run_is_an_error_and_no_end() -> None:
    recorder = Recorder()
    with pytest.raises(RuntimeError, match='broken'):
        await look(RuntimeError('broken'), *recorder.at())
    assert recorder.events[-2:] == ['post_tool_use_failure', 'run_error']
    assert [given.tool_error for given in recorder.told[-2:]] == ['broken', 'broken']


@pytest.mark.parametrize(
    ('error', 'outcome'), [(ToolFailed('no such thing'), 'failed'), (ModelRetry('no such thing'), 'retried')]
)
async def test_what_a_tool_tells_the_model_went_wrong_is_a_failure_too(error: Exception, outcome: str) -> None:
    recorder = Recorder()
    played = await look(error, *recorder.at(*TOOL_EVENTS))
    assert recorder.events == ['pre_tool_use', 'post_tool_use_failure']
    assert recorder.told[1].tool_error == 'no such thing'
    assert played.returns[0].outcome == outcome


async def test_an_error_that_steers_the_run_goes_on_unchanged() -> None:
    class Rewind(Exception):
        pass

    recorder = Recorder(HookResult(modified_result='swallowed'))
    rewind = Rewind()
    with pytest.raises(Rewind) as caught:
        await look(rewind, *recorder.at())
    assert caught.value is rewind


async def test_cancelling_a_run_is_no_error_of_it() -> None:
    recorder = Recorder()
    waiting = asyncio.Event()
    tools: FunctionToolset[Any] = FunctionToolset()

    @tools.tool_plain
    async def wait() -> str:
        """Wait."""
        waiting.set()
        await asyncio.Event().wait()
        raise AssertionError

    task = asyncio.create_task(play([('wait', {})], capabilities=[HooksCapability(recorder.at())], toolsets=[tools]))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert recorder.events[-1] == 'pre_tool_use'


@pytest.mark.parametrize(
    ('matcher', 'matched'),
    [
        (None, ['ls', 'glob', 'read_file']),
        ('ls', ['ls']),
        ('ls|glob', ['ls', 'glob']),
        ('file', ['read_file']),
        ('^file', []),
        ('.*', ['ls', 'glob', 'read_file']),
    ],
)
async def test_a_matcher_chooses_tools_by_name(deps: Deps, matcher: str | None, matched: list[str]) -> None:
    recorder = Recorder()
    await play(
        [('ls', {})],
        [('glob', {'pattern': '*'})],
        [('read_file', {'path': 'a.txt'})],
        capabilities=[Filesystem(), HooksCapability(recorder.at(HookEvent.PRE_TOOL_USE, matcher=matcher))],
        deps=deps,
    )
    assert [given.tool_name for given in recorder.told] == matched


async def test_a_policy_denies_with_its_reason_and_the_tool_does_not_run(tmp_path: Path, deps: Deps) -> None:
    policy = Recorder(HookResult(allow=False, reason='not on Fridays'))
    observer = Recorder()
    hooks = [*policy.at(HookEvent.PRE_TOOL_USE), *observer.at(*TOOL_EVENTS)]
    played = await play(
        [('write_file', {'path': 'b.txt', 'content': 'x'})],
        capabilities=[Filesystem(), HooksCapability(hooks)],
        deps=deps,
    )
    assert names(tmp_path) == ['a.txt']
    assert (played.returns[0].outcome, played.texts[0]) == ('denied', 'A hook said no: not on Fridays')
    assert observer.events == []


async def test_a_background_hook_sees_also_what_is_denied() -> None:
    policy = Recorder(HookResult(allow=False))
    audit = Recorder()
    played = await look('x', *policy.at(HookEvent.PRE_TOOL_USE), *audit.at(HookEvent.PRE_TOOL_USE, background=True))
    assert (played.returns[0].outcome, audit.events) == ('denied', ['pre_tool_use'])


async def test_a_hook_can_change_arguments_and_the_next_one_sees_them(tmp_path: Path, deps: Deps) -> None:
    into = Recorder(HookResult(modified_args={'path': 'sandbox/b.txt', 'content': 'x'}))
    after = Recorder()
    played = await play(
        [('write_file', {'path': 'b.txt', 'content': 'x'})],
        capabilities=[
            Filesystem(),
            HooksCapability([*into.at(HookEvent.PRE_TOOL_USE), *after.at(*TOOL_EVENTS)]),
        ],
        deps=deps,
    )
    assert played.returns[0].outcome == 'success'
    assert (tmp_path / 'sandbox/b.txt').read_text() == 'x'
    assert [given.tool_input['path'] for given in after.told] == ['sandbox/b.txt', 'sandbox/b.txt']


async def test_a_failed_call_is_reported_with_the_arguments_it_ran_with(deps: Deps) -> None:
    other = Recorder(HookResult(modified_args={'path': 'nowhere'}))
    after = Recorder()
    hooks = [*other.at(HookEvent.PRE_TOOL_USE), *after.at(HookEvent.POST_TOOL_USE_FAILURE)]
    await play([('read_file', {'path': 'a.txt'})], capabilities=[Filesystem(), HooksCapability(hooks)], deps=deps)
    assert after.told[0].tool_input['path'] == 'nowhere'


async def test_what_a_hook_does_to_its_copy_of_the_arguments_changes_nothing(deps: Deps) -> None:
    async def meddle(given: HookInput) -> HookResult:
        given.tool_input['path'] = 'elsewhere'
        given.tool_input.setdefault('more', {})
        return HookResult()

    seen = Recorder()
    hooks = [Hook(HookEvent.PRE_TOOL_USE, handler=meddle), *seen.at(HookEvent.PRE_TOOL_USE)]
    played = await play(
        [('read_file', {'path': 'a.txt'})], capabilities=[Filesystem(), HooksCapability(hooks)], deps=deps
    )
    assert 'one' in played.texts[0]
    assert seen.told[0].tool_input == IsPartialDict(path='a.txt') & ~IsPartialDict(more={})


async def test_arguments_that_a_hook_gives_become_what_the_tool_takes() -> None:
    tools: FunctionToolset[Any] = FunctionToolset()
    went: list[Place] = []

    @tools.tool_plain
    async def go(place: Place) -> str:
        """Go."""
        went.append(place)
        return 'there'

    recorder = Recorder(HookResult(modified_args={'place': {'x': 2}}))
    await play(
        [('go', {'place': {'x': 1}})],
        capabilities=[HooksCapability(recorder.at(HookEvent.PRE_TOOL_USE))],
        toolsets=[tools],
    )
    assert went == [Place(x=2)]
    assert recorder.told[0].tool_input == {'place': {'x': 1}}


async def test_a_policy_sees_what_other_capabilities_made_of_the_arguments(deps: Deps) -> None:
    @dataclass
    class Redirect(AbstractCapability[Any]):
        async def before_tool_execute(self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any) -> Any:
            return {**args, 'path': 'b.txt'}

    recorder = Recorder()
    await play(
        [('read_file', {'path': 'a.txt'})],
        capabilities=[HooksCapability(recorder.at(HookEvent.PRE_TOOL_USE)), Filesystem(), Redirect()],
        deps=deps,
    )
    assert recorder.told[0].tool_input['path'] == 'b.txt'


@dataclass(frozen=True)
class Result:
    value: Any
    text: str
    changed: Any


PICTURE = BinaryContent(b'png', media_type='image/png')


@pytest.mark.parametrize(
    'case',
    [
        Result('plain', 'plain', 'new'),
        Result({'a': 1}, '{"a":1}', 'new'),
        Result(None, '', 'new'),
        Result(['x', PICTURE], 'x', ['new', PICTURE]),
        Result(['x', 'y'], '["x","y"]', 'new'),
    ],
    ids=lambda case: repr(case.value)[:12],
)
async def test_a_changed_result_keeps_what_is_no_text(case: Result) -> None:
    recorder = Recorder(HookResult(modified_result='new'))
    wrapped = ToolReturn(case.value, content=['look here'], metadata={'summary': 's'})
    played = await look(wrapped, *recorder.at(HookEvent.POST_TOOL_USE))
    assert recorder.told[0].tool_result == case.text
    assert played.returns[0].content == case.changed
    assert played.returns[0].metadata == {'summary': 's'}
    assert any('look here' in str(message) for message in played.messages)


async def test_hooks_change_a_result_one_after_the_other() -> None:
    def more(text: str) -> Hook:
        return Hook(
            HookEvent.POST_TOOL_USE, handler=lambda given: HookResult(modified_result=f'{given.tool_result}{text}')
        )

    played = await look('a', more('b'), more('c'))
    assert played.texts == ['abc']


async def test_the_result_of_an_observed_run_cannot_be_changed() -> None:
    recorder = Recorder(HookResult(allow=False, modified_result='new'))
    events = [event for event in HookEvent if event not in (HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE)]
    played = await look('a', *recorder.at(*events), *recorder.at(*events))
    assert (played.output, played.texts) == ('done', ['a'])
    assert {given.tool_result for given in recorder.told} == {None, 'done'}


async def test_a_result_of_fixed_form_stays_as_it_is() -> None:
    @dataclass
    class Extra(AbstractCapability[Any]):
        def get_instructions(self) -> str:
            return 'extra instructions'

    recorder = Recorder(HookResult(modified_result='new'))
    played = await play(
        [('load_capability', {'id': 'extra'})],
        capabilities=[
            Extra(id='extra', defer_loading=True),
            HooksCapability(recorder.at(HookEvent.POST_TOOL_USE)),
        ],
    )
    assert recorder.told[0].tool_name == 'load_capability'
    assert 'new' not in played.texts


def one_of_each(answer: Callable[[HookInput], HookResult]) -> list[Any]:
    async def coroutine(given: HookInput) -> HookResult:
        await asyncio.sleep(0)
        return answer(given)

    class Sync:
        def __call__(self, given: HookInput) -> HookResult:
            return answer(given)

    class Async:
        async def __call__(self, given: HookInput) -> HookResult:
            return answer(given)

    return [answer, coroutine, lambda given: coroutine(given), Sync(), Async()]


@pytest.mark.parametrize('kind', range(5))
async def test_every_kind_of_callable_can_be_a_handler(kind: int) -> None:
    handler = one_of_each(lambda given: HookResult(allow=False, reason='no'))[kind]
    played = await look('x', Hook(HookEvent.PRE_TOOL_USE, handler=handler))
    assert played.texts == ['A hook said no: no']


async def test_background_hooks_are_held_until_they_are_done() -> None:
    go = asyncio.Event()
    done: list[str] = []

    async def slow(given: HookInput) -> HookResult:
        await go.wait()
        done.append(given.event)
        return HookResult()

    class Collecting:
        async def __call__(self, given: HookInput) -> HookResult:
            gc.collect()
            go.set()
            return HookResult()

    await look(
        'x',
        Hook(HookEvent.PRE_TOOL_USE, handler=slow, background=True),
        Hook(HookEvent.AFTER_RUN, handler=Collecting()),
        Hook(HookEvent.AFTER_RUN, handler=slow, background=True),
    )
    assert done == ['pre_tool_use', 'after_run']


async def test_the_background_hooks_of_a_run_that_fails_are_held_too() -> None:
    done: list[str] = []

    async def slow(given: HookInput) -> HookResult:
        for _ in range(100):
            await asyncio.sleep(0)
        done.append(given.event)
        return HookResult()

    with pytest.raises(RuntimeError, match='broken'):
        await look(RuntimeError('broken'), Hook(HookEvent.RUN_ERROR, handler=slow, background=True))
    assert done == ['run_error']


async def test_a_handler_that_takes_too_long_is_ended_then_and_not_later() -> None:
    seen: list[str] = []

    async def slow(given: HookInput) -> HookResult:
        try:
            await asyncio.Event().wait()
        finally:
            seen.append('ended')
        raise AssertionError

    async def after(given: HookInput) -> HookResult:
        seen.append(given.event)
        return HookResult()

    await look(
        'x',
        Hook(HookEvent.POST_TOOL_USE, handler=slow, timeout=0.02),
        Hook(HookEvent.AFTER_RUN, handler=after),
    )
    assert seen == ['ended', 'after_run']


async def test_a_background_hook_delays_the_end_of_a_run_only_so_long(caplog: pytest.LogCaptureFixture) -> None:
    ended = asyncio.Event()

    async def never(given: HookInput) -> HookResult:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    hooks = HooksCapability[Any]([Hook(HookEvent.BEFORE_RUN, handler=never, background=True)], background_wait=0.05)
    played = await play([], capabilities=[hooks])
    assert played.output == 'done'
    assert ended.is_set()
    assert 'still ran 0.05 s' in caplog.text


async def test_a_cancelled_run_ends_its_background_hooks_at_once() -> None:
    in_tool, ended = asyncio.Event(), asyncio.Event()
    tools: FunctionToolset[Any] = FunctionToolset()

    @tools.tool_plain
    async def wait() -> str:
        """Wait."""
        in_tool.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def never(given: HookInput) -> HookResult:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    hooks = HooksCapability[Any]([Hook(HookEvent.BEFORE_RUN, handler=never, background=True)], background_wait=60)
    task = asyncio.create_task(play([('wait', {})], capabilities=[hooks], toolsets=[tools]))
    await in_tool.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(5):
            await task
    assert ended.is_set()


async def test_two_runs_of_one_capability_share_nothing() -> None:
    both = asyncio.Barrier(2)
    done: list[str] = []

    async def meet(given: HookInput) -> HookResult:
        await both.wait()
        done.append(given.event)
        return HookResult()

    runs: list[Any] = []

    class Hooks(HooksCapability[Any]):
        async def for_run(self, ctx: RunContext[Any]) -> Any:
            runs.append(await super().for_run(ctx))
            return runs[-1]

    hooks = Hooks([Hook(HookEvent.PRE_TOOL_USE, handler=meet)])
    turn = [('look', {})]
    await asyncio.gather(*(play(turn, capabilities=[hooks], toolsets=[returning('x')]) for _ in range(2)))
    assert len(done) == 2
    assert runs[0] is not runs[1]
    assert [(run._passed, run._tasks) for run in (hooks, *runs)] == [({}, set())] * 3


async def test_hooks_given_twice_all_run() -> None:
    first, second = Recorder(), Recorder()
    await play(
        [('look', {})],
        capabilities=[
            HooksCapability(first.at(HookEvent.PRE_TOOL_USE)),
            HooksCapability(second.at(HookEvent.PRE_TOOL_USE)),
        ],
        toolsets=[returning('x')],
    )
    assert (first.events, second.events) == (['pre_tool_use'], ['pre_tool_use'])


async def test_the_list_that_was_given_is_not_kept() -> None:
    given: list[Hook] = []
    hooks = HooksCapability[Any](given)
    given.append(Hook(HookEvent.BEFORE_RUN, command='true'))
    assert hooks.hooks == []


async def test_hooks_cost_the_model_nothing() -> None:
    model = TestModel(call_tools=[])
    await Agent(model, capabilities=[HooksCapability(Recorder().at())]).run('x')
    parameters = model.last_model_request_parameters
    assert parameters is not None
    assert (parameters.function_tools, parameters.instruction_parts) == ([], None)


async def test_a_spec_file_can_hold_command_hooks(tmp_path: Path, deps: Deps) -> None:
    spec = {
        'model': 'test',
        'capabilities': [
            {'HooksCapability': {'hooks': [{'event': 'after_run', 'command': 'cat > told.json', 'timeout': 5}]}}
        ],
    }
    agent: Any = Agent.from_spec(
        spec, custom_capability_types=[HooksCapability], model=TestModel(), capabilities=[Filesystem()]
    )
    with agent.override(model=TestModel(call_tools=[])):
        await agent.run('x', deps=deps)
    assert json.loads((tmp_path / 'told.json').read_text())['event'] == 'after_run'
    schema = json.dumps(AgentSpec.model_json_schema_with_capabilities([HooksCapability]))
    assert 'matcher' in schema
    assert 'handler' not in schema


@pytest.mark.parametrize(
    ('hook', 'message'),
    [
        (
            {'event': 'pre_tool_us', 'command': 'x'},
            "there is no hook event 'pre_tool_us'. Did you mean 'pre_tool_use'?",
        ),
        ({'event': 'before_run', 'comand': 'x'}, "a hook has no 'comand'. Did you mean 'command'?"),
        ({'event': 'before_run'}, 'a hook has either a command or a handler'),
        ({'event': 'before_run', 'command': ' '}, "a hook's command is empty"),
        (
            {'event': 'before_run', 'command': 'x', 'timeout': 0},
            "a hook's timeout is a number of seconds above 0, not 0",
        ),
        ({'event': 'before_run', 'command': 'x', 'matcher': 'x'}, 'before_run is no event of a tool'),
        ({'event': 'pre_tool_use', 'command': 'x', 'matcher': '('}, "'(' is not a regular expression"),
    ],
)
def test_a_hook_that_is_none_is_refused_when_it_is_made(hook: Any, message: str) -> None:
    with pytest.raises(ValueError, match='^' + re.escape(message)):
        HooksCapability.from_spec(hooks=[hook])


def test_a_hook_is_a_command_or_a_handler_not_both() -> None:
    with pytest.raises(ValueError, match='either'):
        Hook(HookEvent.BEFORE_RUN, command='true', handler=Recorder())


def test_the_defaults_are_those_of_the_data_classes() -> None:
    hook = Hook(HookEvent.BEFORE_RUN, 'true')
    assert (hook.command, hook.handler, hook.matcher, hook.timeout, hook.background) == ('true', None, None, 30, False)
    assert HookResult() == HookResult(allow=True, reason=None, modified_args=None, modified_result=None)
    assert [event.name for event in HookEvent] == snapshot(
        [
            'PRE_TOOL_USE',
            'POST_TOOL_USE',
            'POST_TOOL_USE_FAILURE',
            'BEFORE_RUN',
            'AFTER_RUN',
            'RUN_ERROR',
            'BEFORE_MODEL_REQUEST',
            'AFTER_MODEL_REQUEST',
        ]
    )


async def test_a_hook_that_fails_is_in_the_log_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    def broken(given: HookInput) -> HookResult:
        raise RuntimeError('the disk is full')

    with caplog.at_level(logging.WARNING, logger='deep_notebook.capabilities.hooks'):
        played = await look('x', Hook(HookEvent.POST_TOOL_USE, handler=broken))
    assert played.texts == ['x']
    assert 'broken' in caplog.text
    assert 'the disk is full' in caplog.text
    assert 'Traceback' in caplog.text

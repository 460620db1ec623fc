"""A child has its parent's model, usage, limits, workspace, hooks and depth, and nothing of another run's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsPartialDict, IsStr
from pydantic_ai import Agent, RunContext, UsageLimits
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from deep_notebook.capabilities.events import SubagentEndedEvent, SubagentProgressEvent, SubagentStartedEvent
from deep_notebook.capabilities.eviction import EvictionProcessor
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.hooks import Hook, HookEvent, HookInput, HookResult, HooksCapability
from deep_notebook.capabilities.python import PythonResult, RunPython
from deep_notebook.capabilities.subagents import (
    DynamicAgentRegistry,
    SubAgentCapability,
    SubAgentConfig,
    create_subagent_toolset,
)
from deep_notebook.capabilities.todos import Todo
from deep_notebook.workspaces import KernelWorkspace
from harness.cast import Cast, perform, texts_of, user_texts
from harness.play import Deps

pytestmark = pytest.mark.anyio


def task(description: str, subagent_type: str = 'general', **args: Any) -> tuple[str, dict[str, Any]]:
    return 'task', {'description': description, 'subagent_type': subagent_type, **args}


def helper(**config: Any) -> SubAgentConfig:
    return {'name': 'helper', 'description': 'Helps.', **config}  # type: ignore[typeddict-item]


async def test_a_child_sees_its_task_alone_and_its_answer_is_the_result() -> None:
    cast = Cast({'go': [[task('count')], 'so it is'], 'count': ['three']})
    played = await perform(cast, SubAgentCapability())
    assert played.texts == ['three']
    assert played.returns[0].metadata == {'summary': IsStr(regex=r'general · \d+ s'), 'files': []}
    [child] = cast.requests_of('count')
    assert user_texts(child.messages) == ['count']
    assert 'nothing of your work but your last message' in child.instructions


async def test_tasks_in_one_response_run_at_once() -> None:
    both = asyncio.Barrier(2)

    async def meet(messages: list[ModelMessage]) -> str:
        async with asyncio.timeout(5):
            await both.wait()
        return 'met'

    played = await perform(
        Cast({'go': [[task('a'), task('b')], 'end'], 'a': [meet], 'b': [meet]}), SubAgentCapability()
    )
    assert played.texts == ['met', 'met']


@pytest.mark.parametrize('definition', ['own', 'default', 'parent'])
async def test_who_answers_a_child(definition: str) -> None:
    own, default = Cast({'say': ['own']}), Cast({'say': ['default']})
    cast = Cast({'go': [[task('say', 'helper')], 'end'], 'say': ['parent']})
    config = helper(model=own.model) if definition == 'own' else helper()
    model = None if definition == 'parent' else default.model
    played = await perform(cast, SubAgentCapability([config], default_model=model))
    assert played.texts == [definition]


async def test_the_model_of_the_run_answers_children_not_the_one_of_the_agent() -> None:
    cast = Cast({'go': [[task('say')], 'end'], 'say': ['from the run']})
    agent = Agent(FunctionModel(_never), capabilities=[SubAgentCapability()])
    result = await agent.run('go', model=cast.model)
    assert texts_of(result.all_messages()) == ['from the run']


def _never(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    raise AssertionError('the agent of another model was asked')


async def test_a_given_agent_answers_with_its_own_model_tools_and_instructions() -> None:
    own = Cast({'say': [[('look', {})], 'own']})
    tools = FunctionToolset([_look])
    agent = Agent(own.model, toolsets=[tools], instructions='Be brief.')
    cast = Cast({'go': [[task('say', 'helper')], 'end']})
    played = await perform(cast, SubAgentCapability([helper(agent=agent)]))
    assert played.texts == ['own']
    assert own.requests[0].tools == ['look']
    assert own.requests[0].instructions == 'Be brief.'


def _look() -> str:
    return 'seen'


_look.__name__ = 'look'


async def test_a_given_agent_without_a_model_gets_one_from_its_parent() -> None:
    cast = Cast({'go': [[task('say', 'helper')], 'end'], 'say': ['parent']})
    played = await perform(cast, SubAgentCapability([helper(agent=Agent())]))
    assert played.texts == ['parent']


async def test_a_factory_is_told_the_model_and_all_tools() -> None:
    seen: list[SubAgentConfig] = []

    def factory(config: SubAgentConfig) -> Agent[Any, str]:
        seen.append(config)
        return Agent(config['model'], toolsets=config['toolsets'])

    own, extra = FunctionToolset(id='own'), FunctionToolset(id='extra')
    cast = Cast({'go': [[task('say', 'helper')], 'end'], 'say': ['made']})
    config = helper(toolsets=[own])
    played = await perform(cast, SubAgentCapability([config], agent_factory=factory, subagent_extra_toolsets=[extra]))
    assert played.texts == ['made']
    assert seen == [IsPartialDict(name='helper', toolsets=[own, extra])]
    assert config == helper(toolsets=[own])


async def test_structured_answers_are_given_as_json() -> None:
    agent = Agent(Cast({'say': [[('final_result', {'response': [1, 2]})]]}).model, output_type=list[int])
    played = await perform(Cast({'go': [[task('say', 'helper')], 'end']}), SubAgentCapability([helper(agent=agent)]))
    assert played.texts == ['[\n  1,\n  2\n]']


async def test_children_count_towards_the_parents_usage_and_requests() -> None:
    cast = Cast({'go': [[task('work')], 'end'], 'work': [[('ls', {})], [('ls', {})], 'done']})
    agent = Agent(cast.model, capabilities=[SubAgentCapability()])
    result = await agent.run('go', deps=Deps())
    assert result.usage.requests == 5
    assert result.usage.tool_calls == 3


async def test_the_limit_of_requests_stops_a_looping_child_and_the_run() -> None:
    cast = Cast({'go': [[task('work')], 'end'], 'work': [[('ls', {})]]})
    agent = Agent(cast.model, capabilities=[SubAgentCapability()])
    with pytest.raises(UsageLimitExceeded):
        await agent.run('go', deps=Deps(), usage_limits=UsageLimits(request_limit=4))
    assert len(cast.requests) == 4


async def test_a_child_works_on_its_parents_files(tmp_path: Path) -> None:
    cast = Cast(
        {'go': [[task('write')], 'end'], 'write': [[('write_file', {'path': 'a.txt', 'content': 'x\n'})], 'ok']}
    )
    agent = Agent(cast.model, capabilities=[SubAgentCapability()])
    result = await agent.run('go', workspace=KernelWorkspace(tmp_path))
    assert (tmp_path / 'a.txt').read_text() == 'x\n'
    [returned] = [
        part for message in result.all_messages() for part in message.parts if part.part_kind == 'tool-return'
    ]
    assert returned.metadata['files'] == [IsPartialDict(path='a.txt', added=1)]


@pytest.mark.parametrize('id', ['eviction', 'mine'])
async def test_large_results_of_a_child_are_moved_as_its_parents_are(tmp_path: Path, id: str) -> None:
    (tmp_path / 'long.txt').write_text('word\n' * 1_000)
    cast = Cast({'go': [[task('read')], 'end'], 'read': [[('read_file', {'path': 'long.txt'})], 'done']})
    eviction: EvictionProcessor[Any] = EvictionProcessor(token_limit=100, id=id)
    await perform(cast, SubAgentCapability(), eviction, deps=Deps(KernelWorkspace(tmp_path)))
    assert list((tmp_path / '.deep/large_tool_results').iterdir()) != []


async def test_hooks_hold_for_children_and_given_agents_too(tmp_path: Path) -> None:
    def refuse(call: HookInput) -> HookResult:
        return HookResult(allow=call.tool_name != 'read_file', reason='not for you')

    (tmp_path / 'key.pem').write_text('secret')
    read = [[('read_file', {'path': 'key.pem'})], 'end']
    own = Cast({'peek': read})
    given = helper(agent=Agent(own.model, capabilities=[Filesystem()]))
    cast = Cast({'go': [[task('look'), task('peek', 'helper')], 'end'], 'look': read})
    hooks = HooksCapability[Any]([Hook(HookEvent.PRE_TOOL_USE, handler=refuse)])
    await perform(cast, SubAgentCapability([given]), hooks, deps=Deps(KernelWorkspace(tmp_path)))
    for requests in (cast.requests_of('look'), own.requests_of('peek')):
        assert texts_of(requests[-1].messages) == [IsStr(regex='.*not for you.*')]


async def test_hooks_of_a_given_agents_own_hold_beside_its_parents() -> None:
    seen: list[str] = []

    def watch(who: str) -> HooksCapability[Any]:
        def see(call: HookInput) -> HookResult:
            seen.append(who)
            return HookResult()

        return HooksCapability([Hook(HookEvent.PRE_TOOL_USE, handler=see, matcher='look')])

    own = Cast({'peek': [[('look', {})], 'end']})
    agent = Agent(own.model, toolsets=[FunctionToolset([_look])], capabilities=[watch('own')])
    cast = Cast({'go': [[task('peek', 'helper')], 'end']})
    await perform(cast, SubAgentCapability([helper(agent=agent)]), watch('parent'))
    assert sorted(seen) == ['own', 'parent']


async def test_hooks_that_a_factory_gave_too_run_once() -> None:
    seen: list[str] = []

    def see(call: HookInput) -> HookResult:
        seen.append(call.tool_name or '')
        return HookResult()

    hooks = [Hook(HookEvent.PRE_TOOL_USE, handler=see, matcher='look')]

    def factory(config: SubAgentConfig) -> Agent[Any, str]:
        return Agent(config['model'], toolsets=[FunctionToolset([_look])], capabilities=[HooksCapability(hooks)])

    cast = Cast({'go': [[task('peek', 'helper')], 'end'], 'peek': [[('look', {})], 'end']})
    await perform(cast, SubAgentCapability([helper(agent_factory=factory)]), HooksCapability[Any](hooks))
    assert seen == ['look']


async def test_the_tools_of_the_kernel_are_for_agents_that_are_made_here() -> None:
    class Runner:
        async def run(self, code: str, *, timeout: float | None) -> PythonResult:
            return PythonResult(text='ran')

    own = Cast({'peek': ['end']})
    cast = Cast({'go': [[task('make'), task('peek', 'helper')], 'end'], 'make': ['end']})
    python = RunPython[Any](Runner())
    await perform(cast, SubAgentCapability([helper(agent=Agent(own.model))]), python, deps=Deps())
    assert 'run_python' in cast.requests_of('make')[0].tools
    assert own.requests[0].tools == []


async def test_a_given_agent_gives_out_tasks_only_if_it_was_made_so() -> None:
    own = Cast({'peek': ['end']})
    cast = Cast({'go': [[task('peek', 'helper')], 'end']})
    await perform(cast, SubAgentCapability([helper(agent=Agent(own.model))], max_nesting_depth=3))
    assert own.requests[0].tools == []


async def test_a_task_without_words_is_a_failed_result() -> None:
    played = await perform(Cast({'go': [[task(' ')], 'end']}), SubAgentCapability())
    assert played.returns[0].outcome == 'failed'


@dataclass
class CloningDeps(Deps):
    subagents: dict[str, Any] = field(default_factory=dict)
    ask_user: Any = None
    cloned: list[int] = field(default_factory=list)

    def clone_for_subagent(self, max_depth: int = 0) -> CloningDeps:
        self.cloned.append(max_depth)
        return CloningDeps(backend=self.backend, subagents=self.subagents if max_depth else {})


async def test_deps_say_what_a_child_shares() -> None:
    deps = CloningDeps(todos=[Todo(content='mine')])
    todos = {'todos': [{'content': 'theirs', 'status': 'pending'}]}
    cast = Cast({'go': [[task('plan')], 'end'], 'plan': [[('write_todos', todos)], 'ok']})
    played = await perform(cast, SubAgentCapability(), deps=deps)
    assert deps.cloned == [0]
    assert [todo.content for todo in deps.todos] == ['mine']
    told = [event.todos for event in played.events_of(SubagentProgressEvent) if event.todos]
    assert told == [[{'id': '1', 'content': 'theirs', 'status': 'pending'}]]


async def test_deps_may_hold_agents() -> None:
    own = Cast({'say': ['held']})
    deps = CloningDeps(subagents={'poet': Agent(own.model, description='Writes verse.')})
    cast = Cast({'go': [[task('say', 'poet')], 'end']})
    played = await perform(cast, SubAgentCapability(), deps=deps)
    assert played.texts == ['held']
    assert '- poet: Writes verse.' in cast.requests[0].instructions


def deeper(levels: int) -> Cast:
    """Every agent gives its task to the next one, as long as it can."""

    def pass_on(depth: int) -> Any:
        return [[task(f'level {depth}')], f'{depth - 1} saw it']

    scripts: dict[str, Sequence[Any]] = {'go': pass_on(1)}
    for depth in range(1, levels + 1):
        scripts[f'level {depth}'] = pass_on(depth + 1)
    return Cast(scripts)


@pytest.mark.parametrize('depth', [1, 2, 3])
async def test_nesting_ends_at_the_depth_that_was_set(depth: int) -> None:
    cast = deeper(6)
    await perform(cast, SubAgentCapability(max_nesting_depth=depth))
    reached = [request.who for request in cast.requests if len(request.messages) == 1]
    assert reached == ['go', *(f'level {number}' for number in range(1, depth + 1))]
    assert 'task' not in cast.requests_of(f'level {depth}')[0].tools
    assert 'Subagents:' not in cast.requests_of(f'level {depth}')[0].instructions


async def test_without_depth_there_are_no_subagents() -> None:
    cast = Cast({'go': ['end']})
    await perform(cast, SubAgentCapability(max_nesting_depth=0))
    assert cast.requests[0].tools == []


@pytest.mark.parametrize('own', [SubAgentCapability(max_nesting_depth=9), None])
async def test_a_factory_that_gives_subagents_to_subagents_does_not_undo_the_depth(own: Any) -> None:
    def factory(config: SubAgentConfig) -> Agent[Any, str]:
        if own is not None:
            return Agent(config['model'], capabilities=[own])
        return Agent(config['model'], toolsets=[create_subagent_toolset(max_nesting_depth=9)])

    cast = deeper(6)
    await perform(cast, SubAgentCapability(agent_factory=factory, max_nesting_depth=1))
    assert {request.who for request in cast.requests} == {'go', 'level 1'}


async def test_two_runs_of_one_agent_share_no_tasks() -> None:
    met = asyncio.Barrier(2)

    async def check(messages: list[ModelMessage]) -> Any:
        async with asyncio.timeout(5):
            await met.wait()
        return [('check_subagent', {})]

    cast = Cast({'go': [[task('work', background=True)], check, 'end', 'end'], 'work': ['done']})
    agent = Agent(cast.model, capabilities=[SubAgentCapability()])
    first, second = await asyncio.gather(agent.run('go'), agent.run('go'))
    for result in (first, second):
        started, listed = texts_of(result.all_messages())
        assert started.startswith('Task t1 ')
        assert listed.splitlines() == [IsStr(regex='t1 general · .*')]


def plain_model() -> FunctionModel:
    """A model that cannot stream."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if user_texts(messages)[0] == 'go' and len(messages) == 1:
            return ModelResponse([ToolCallPart('task', {'description': 'work'})])
        return ModelResponse([TextPart('end')])

    return FunctionModel(answer)


@pytest.mark.parametrize('alone', [False, True])
async def test_a_model_that_cannot_stream_is_not_asked_to(alone: bool) -> None:
    agent = (
        Agent(plain_model(), toolsets=[create_subagent_toolset()])
        if alone
        else Agent(plain_model(), capabilities=[SubAgentCapability()])
    )
    assert texts_of((await agent.run('go')).all_messages()) == ['end']


async def test_a_model_that_can_only_stream_is_only_asked_to_stream() -> None:
    cast = Cast({'go': [[task('work')], 'end'], 'work': ['done']})
    model = FunctionModel(stream_function=cast.model.stream_function)
    agent = Agent(model, capabilities=[SubAgentCapability()])
    async with agent.run_stream_events('go') as run:
        async for _ in run:
            pass
        assert texts_of(run.all_messages()) == ['done']


async def test_the_stream_shows_what_a_child_does_under_its_call(tmp_path: Path) -> None:
    (tmp_path / 'sales.csv').write_text('a\nb\n')
    cast = Cast(
        {'go': [[task('read\nsales')], 'end'], 'read\nsales': [[('read_file', {'path': 'sales.csv'})], '3 rows']}
    )
    played = await perform(cast, SubAgentCapability(), deps=Deps(KernelWorkspace(tmp_path)))
    [started] = played.events_of(SubagentStartedEvent)
    [ended] = played.events_of(SubagentEndedEvent)
    assert (started.task, started.name, started.prompt, started.background) == ('t1', 'general', 'read', False)
    lines = [event.line for event in played.events_of(SubagentProgressEvent)]
    assert lines == ['read_file · sales.csv', 'read_file · sales.csv · 2 lines']
    assert (ended.status, ended.line, ended.files) == ('done', '3 rows', [])
    events = [started, ended, *played.events_of(SubagentProgressEvent)]
    assert {event.tool_call_id for event in events} == {'1.1'}


async def test_secrets_are_masked_in_what_the_stream_shows() -> None:
    key = 'sk-proj-abcdefghijklmnop1234567890'
    cast = Cast({'go': [[task(f'use {key}')], 'end'], f'use {key}': [[('grep', {'pattern': key})], f'is {key}']})
    played = await perform(cast, SubAgentCapability(), deps=Deps())
    events = [SubagentStartedEvent, SubagentProgressEvent, SubagentEndedEvent]
    shown = ''.join(str(event) for kind in events for event in played.events_of(kind))
    assert 'abcdefghijklmnop' not in shown


async def test_a_subagent_registered_during_the_run_can_be_used() -> None:
    registry = DynamicAgentRegistry()

    def register(messages: list[ModelMessage]) -> Any:
        registry.register(helper())
        return [('check_subagent', {})]

    cast = Cast({'go': [register, [task('say', 'helper')], 'end'], 'say': ['here']})
    played = await perform(cast, SubAgentCapability(subagent_registry=registry))
    assert played.texts[-1] == 'here'
    assert '- helper: Helps.' not in cast.requests[0].instructions
    assert '- helper: Helps.' in cast.requests_of('go')[1].instructions


async def test_delegate_task_is_the_same_tool_by_option() -> None:
    cast = Cast({'go': [[('delegate_task', {'description': 'say'})], 'end'], 'say': ['said']})
    played = await perform(cast, SubAgentCapability(tool_name='delegate_task'))
    assert played.texts == ['said']
    assert cast.requests[0].tools == ['delegate_task', 'check_subagent']
    toolset = create_subagent_toolset()
    assert toolset.delegate_task.__func__ is toolset.task.__func__


async def test_it_works_when_it_is_loaded_on_demand() -> None:
    cast = Cast(
        {
            'go': [
                [('load_capability', {'id': 'subagents'})],
                [task('say'), task('later', background=True)],
                'hm',
                'end',
            ],
            'say': ['said'],
            'later': ['done later'],
        }
    )
    played = await perform(cast, SubAgentCapability(defer_loading=True))
    assert 'There are: general, research, planner.' in cast.requests[0].instructions
    assert played.texts[1] == 'said'
    assert 'done later' in user_texts(played.messages)[-1]


def uses_deps(ctx: RunContext[Any]) -> str:
    return type(ctx.deps).__name__


async def test_other_deps_are_handed_on_as_they_are() -> None:
    tools = FunctionToolset([uses_deps])
    cast = Cast({'go': [[task('say', 'helper')], 'end'], 'say': [[('uses_deps', {})], 'end']})
    await perform(cast, SubAgentCapability([helper(toolsets=[tools])]), deps=3)
    assert texts_of(cast.requests_of('say')[-1].messages) == ['int']

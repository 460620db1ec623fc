"""What most turns can do without waits, is there when it is wanted, and stays for the conversation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic_ai import Agent, ModelMessagesTypeAdapter, RunContext
from pydantic_ai.capabilities import AbstractCapability, Capability, CombinedCapability, Toolset, WebSearch
from pydantic_ai.messages import (
    CapabilityLoadDeltaPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolAvailabilityDeltaPart,
    repair_messages,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset

from deep_notebook.capabilities import CAPABILITIES
from deep_notebook.capabilities.approvals import ApprovalGate
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.hooks import Hook, HookEvent, HookInput, HookResult, HooksCapability
from deep_notebook.capabilities.memory import MemoryCapability
from deep_notebook.capabilities.on_demand import AUTO_DEFERRED, LoadNamed, deferred
from deep_notebook.capabilities.plan import PlanCapability
from deep_notebook.capabilities.python import PythonResult, RunPython
from deep_notebook.capabilities.security_hooks import SecurityHooks
from deep_notebook.capabilities.skills import SkillsCapability
from deep_notebook.capabilities.subagents import SubAgentCapability
from deep_notebook.capabilities.todos import Todos
from deep_notebook.capabilities.tool_classes import tool_class
from deep_notebook.errors import UsageError
from deep_notebook.store import SessionStore
from deep_notebook.workspaces import KernelWorkspace
from harness.cast import Cast, perform
from harness.play import Call, Deps, Turn, play

pytestmark = pytest.mark.anyio

SKILL_TOOLS = ['list_skills', 'load_skill', 'read_skill_resource', 'run_skill_script']
PLAN_TOOLS = ['ask_user', 'save_plan']


def ids(capabilities: Sequence[AbstractCapability[Any]]) -> dict[str | None, bool]:
    """Return the id of each capability and whether it waits."""
    return {capability.id: capability.defer_loading for capability in capabilities}


def look_up(name: str) -> str:
    """Look up."""
    return name


def server(id: str | None, **options: Any) -> Capability[Any]:
    return Capability(id=id, tools=[look_up], **options)


@dataclass
class Person:
    """Somebody who asks one thing after the other; each prompt is answered at once."""

    capabilities: Callable[[], Sequence[AbstractCapability[Any]]]
    """Makes those of an agent, anew for each prompt."""
    deps: Deps
    history: list[ModelMessage] = field(default_factory=list)
    new: list[ModelMessage] = field(default_factory=list)
    instructions: str = ''

    async def ask(self, prompt: str | Sequence[Any] | None) -> list[str]:
        """Ask, and return the tools of the first request, without `load_capability`."""
        offered: list[list[str]] = []

        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            offered.append([tool.name for tool in info.function_tools if tool.name != 'load_capability'])
            self.instructions = '\n'.join(
                [
                    info.instructions or '',
                    *(str(part.content) for part in messages[-1].parts if hasattr(part, 'content')),
                ]
            )
            return ModelResponse(parts=[TextPart('Done.')])

        agent: Agent[Any, str] = Agent(FunctionModel(answer), capabilities=list(self.capabilities()))
        result = await agent.run(prompt, deps=self.deps, message_history=self.history)
        self.history, self.new = result.all_messages(), result.new_messages()
        return offered[0]


def person(tmp_path: Path, *capabilities: AbstractCapability[Any]) -> Person:
    chosen = capabilities or (SkillsCapability(), PlanCapability())
    return Person(lambda: [*deferred(chosen), LoadNamed()], Deps(KernelWorkspace(tmp_path)))


def loads(messages: Sequence[ModelMessage]) -> list[str]:
    parts = [part for message in messages for part in message.parts]
    return [id for part in parts if isinstance(part, CapabilityLoadDeltaPart) for id in part.loaded]


# What waits


def test_by_default_waits_what_most_turns_can_do_without() -> None:
    given = [
        *(Todos(), Filesystem(), MemoryCapability(), SubAgentCapability(), SkillsCapability(), PlanCapability()),
        *(SecurityHooks(), HooksCapability(), ApprovalGate(), server('mcp_github'), server('mcp'), server('mine')),
    ]
    assert {id for id, waits in ids(deferred(given)).items() if waits} == {'skills', 'plan', 'mcp_github'}


def test_the_callers_list_is_unchanged() -> None:
    given = [SkillsCapability(), server('mcp_github'), CombinedCapability([PlanCapability()])]
    before = list(given)
    after = deferred(given)
    assert given == before
    assert all(one is other for one, other in zip(given, before, strict=True))
    visited: list[AbstractCapability[Any]] = []
    for each in given:
        each.apply(visited.append)
    assert not any(ids(visited).values())
    assert [type(each) for each in after] == [type(each) for each in given]


def test_named_ones_wait_and_only_those() -> None:
    given = [SkillsCapability(), MemoryCapability(), PlanCapability(defer_loading=True)]
    assert ids(deferred(given, {'memory'})) == {'skills': False, 'memory': True, 'plan': True}
    assert ids(deferred(given, ())) == {'skills': False, 'memory': False, 'plan': True}


def test_what_has_no_id_stays_as_it_is() -> None:
    given = [server(None), replace(SkillsCapability(), id=None)]
    assert deferred(given) == given


def test_what_a_group_or_a_wrapper_holds_waits_too() -> None:
    group = CombinedCapability([Todos(), SkillsCapability()])
    wrapped = server('mcp_github').prefix_tools('github')
    found: list[AbstractCapability[Any]] = []
    for each in deferred([group, wrapped]):
        each.apply(found.append)
    assert ids(found) == {'todos': False, 'skills': True, 'mcp_github': True}


async def test_a_group_that_waits_already_is_left_as_it_is(tmp_path: Path) -> None:
    group = CombinedCapability([Todos(), PlanCapability()], id='planning', defer_loading=True)
    assert deferred([group]) == [group]
    assert await person(tmp_path, group).ask('Hello') == []


def test_a_wrapped_server_can_be_named() -> None:
    assert ids(deferred([server('mine').prefix_tools('x')], {'mine'})) == {'mine': True}


async def test_a_wrapped_server_is_hidden_and_loads_under_its_own_tool_names(tmp_path: Path) -> None:
    asking = person(tmp_path, server('mcp_github').prefix_tools('github'))
    assert await asking.ask('Hello') == []
    assert await asking.ask('What is new on github?') == ['github_look_up']


@dataclass(init=False)
class ByHand(AbstractCapability[Any]):
    """A capability of somebody else, which keeps other things than it is given."""

    number: int

    def __init__(self, text: str, *, id: str = 'by_hand') -> None:
        self.id = id
        self.number = int(text)

    def get_toolset(self) -> FunctionToolset[Any]:
        return FunctionToolset([look_up], id=self.id)


class Undecorated(AbstractCapability[Any]):
    id = 'undecorated'

    def get_instructions(self) -> str:
        return 'Do.'


def test_capabilities_of_others_are_copied_as_they_are() -> None:
    given = [ByHand('3'), Undecorated(), Toolset(FunctionToolset([look_up], id='x'), id='toolset')]
    copied = deferred(given, {'by_hand', 'undecorated', 'toolset'})
    assert ids(copied) == {'by_hand': True, 'undecorated': True, 'toolset': True}
    assert copied[0].number == 3  # type: ignore[attr-defined]
    assert not any(each.defer_loading for each in given)


# What cannot wait


@pytest.mark.parametrize(
    'capability',
    [
        HooksCapability(),
        HooksCapability([Hook(HookEvent.PRE_TOOL_USE, handler=lambda given: HookResult())], id='mine'),
        SecurityHooks(),
        SecurityHooks(id='other'),
        ApprovalGate(id='gate'),
        LoadNamed(),
        Filesystem(),
        HooksCapability(id='wrapped').prefix_tools('x'),
    ],
    ids=lambda capability: f'{type(capability).__name__}-{capability.id}',
)
def test_what_guards_the_run_cannot_wait_until_the_model_wants_it(capability: AbstractCapability[Any]) -> None:
    with pytest.raises(UsageError, match='cannot be loaded on demand: it has to work whether or not'):
        deferred([SkillsCapability(), capability], {'skills', str(capability.id)})


@dataclass
class Watcher(AbstractCapability[Any]):
    id: str | None = field(default='watcher', kw_only=True)

    async def before_run(self, ctx: RunContext[Any]) -> None:
        pass


@pytest.mark.parametrize('id', ['watcher', 'cost', 'approvals'])
def test_what_only_watches_cannot_wait_also_when_it_is_not_there(id: str) -> None:
    with pytest.raises(UsageError, match=f"'{id}' cannot be loaded on demand"):
        deferred([Watcher()], [id])


def test_a_wrong_id_is_answered_with_the_closest_and_with_those_that_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        deferred([SkillsCapability(), Todos(), ApprovalGate(), server(None)], {'skils'})
    assert str(caught.value) == (
        "There is no capability 'skils' to defer. Did you mean 'skills'? There are: skills, todos. "
        'What has no id of its own cannot be deferred.'
    )


def test_one_id_alone_is_no_list() -> None:
    with pytest.raises(UsageError, match=r"defer is 'auto' or a list of ids: write \['skills'\]"):
        deferred([SkillsCapability()], 'skills')


def test_an_id_of_what_is_switched_off_is_no_mistake() -> None:
    assert ids(deferred([Todos()], {'skills', 'web_search'})) == {'todos': False}


def test_load_named_itself_does_not_wait() -> None:
    with pytest.raises(ValueError, match='cannot be loaded on demand'):
        LoadNamed(defer_loading=True)


HOOKS = frozenset(
    name
    for name in vars(AbstractCapability)
    if name.startswith(('before_', 'after_', 'wrap_', 'on_', 'handle_', 'prepare_')) or name == 'get_wrapper_toolset'
)


def test_nothing_that_waits_by_default_has_to_work_unasked() -> None:
    """Hooks of what is not loaded do not run: what needs them is a capability of its own, which does not wait."""
    waiting = {id: CAPABILITIES[id] for id in AUTO_DEFERRED & CAPABILITIES.keys()}
    silenced = {
        id: [name for name in HOOKS if getattr(kind, name) is not getattr(AbstractCapability, name)]
        for id, kind in waiting.items()
    }
    assert {id: names for id, names in silenced.items() if names} == {}


# What a prompt names


@pytest.mark.parametrize(
    ('prompt', 'tools'),
    [
        ('Use a skill', SKILL_TOOLS),
        ('Clean it as data-cleaning says', SKILL_TOOLS),
        ('Save a plan first', PLAN_TOOLS),
        ('Ask me which format', PLAN_TOOLS),
        ('Let a planner look at it', PLAN_TOOLS),
        ('Ask me which of the skills to use', [*SKILL_TOOLS, *PLAN_TOOLS]),
        ('Hello', []),
        ("Don't ask me anything", []),
        ('Never ask me', []),
        ('Plan the week', []),
        ('Mend this:\n```\nskill = plan\n```', []),
        ('Read skills.csv and tell me what it says', []),
    ],
)
async def test_a_capability_that_the_prompt_names_is_there_in_the_first_request(
    tmp_path: Path, prompt: str, tools: list[str]
) -> None:
    assert await person(tmp_path).ask(prompt) == tools


NAMED = {
    'checkpoints': ['Make a checkpoint', 'rewind to the first one', 'Which checkpoints are there?'],
    'history_search': [
        'What did we decide in an earlier conversation?',
        'Search our conversation for the name',
        'It is in the chat history',
    ],
    'teams': ['Give it to a team of agents', 'Spawn a team for this'],
    'web_search': ['Search the web for prices', 'search online', 'Do a web search', 'Look it up online'],
    'web_fetch': ['Summarise https://example.org/a', 'Fetch this page'],
    'mcp_github': ['List my issues on GitHub', '用github查'],
    'mcp_my-server': ['Ask my_server', 'Ask my server'],
    'mcp_time': ['Ask the time server', 'Use the MCP time'],
    'memory': ['What do your notes say?', 'Remember that I use tabs'],
    'subagents': ['Use subagents', 'Give it to a sub-agent'],
    'todos': ['Show the to-do list'],
    'refund_policy': ['What does the refund policy say?'],
}
NOT_NAMED = {
    'checkpoints': ['Load the model checkpoint', 'Open checkpoint.pt', 'Mend `checkpoint`'],
    'history_search': ['Plot the history', 'Search the table', 'Write a conversation'],
    'teams': ['Compare the sales of the teams'],
    'web_search': ['Search the table for prices', 'The web site is slow'],
    'web_fetch': ['Fetch the rows'],
    'mcp_github': ['Clone https://github.com/a/b', 'What is githubusercontent?'],
    'mcp_time': ['What time is it?', 'Plot it over time'],
    'refunds': ['How many refunds were there?'],
}


@pytest.mark.parametrize(('id', 'prompt'), [(id, prompt) for id, prompts in NAMED.items() for prompt in prompts])
async def test_what_is_named_is_loaded(tmp_path: Path, id: str, prompt: str) -> None:
    assert await person(tmp_path, server(id, defer_loading=True)).ask(prompt) == ['look_up']


@pytest.mark.parametrize(('id', 'prompt'), [(id, prompt) for id, prompts in NOT_NAMED.items() for prompt in prompts])
async def test_what_only_looks_like_a_name_loads_nothing(tmp_path: Path, id: str, prompt: str) -> None:
    assert await person(tmp_path, server(id, defer_loading=True)).ask(prompt) == []


async def test_a_name_of_ones_own_counts(tmp_path: Path) -> None:
    waiting = server('refunds', defer_loading=True)
    asking = Person(lambda: [waiting, LoadNamed({'refunds': ['money back']})], Deps(KernelWorkspace(tmp_path)))
    assert await asking.ask('I want my money back') == ['look_up']


async def test_a_skill_of_the_workspace_is_known_by_its_name(tmp_path: Path) -> None:
    folder = tmp_path / '.deep' / 'skills' / 'tax-return'
    folder.mkdir(parents=True)
    (folder / 'SKILL.md').write_text('---\nname: tax-return\ndescription: Taxes.\n---\nDo.')
    assert await person(tmp_path).ask('Help me with my tax return') == SKILL_TOOLS


async def test_only_the_latest_prompt_counts(tmp_path: Path) -> None:
    asking = person(tmp_path)
    asking.history = [*_exchange('Use a skill'), *_exchange('Hello')]
    assert await asking.ask('And now?') == []


async def test_all_texts_of_a_prompt_count(tmp_path: Path) -> None:
    assert await person(tmp_path).ask(['Look.', 'Then use a skill.']) == SKILL_TOOLS


async def test_a_run_that_goes_on_without_a_prompt_loads_nothing(tmp_path: Path) -> None:
    asking = person(tmp_path)
    asking.history = _exchange('Use a skill')[:1]
    assert await asking.ask(None) == []


async def test_its_instructions_come_with_it(tmp_path: Path) -> None:
    asking = person(tmp_path)
    await asking.ask('Hello')
    assert 'load it with load_skill' not in asking.instructions
    await asking.ask('Use a skill')
    assert 'load it with load_skill' in asking.instructions


def _exchange(prompt: str) -> list[ModelMessage]:
    return [ModelRequest.user_text_prompt(prompt), ModelResponse(parts=[TextPart('Done.')])]


async def test_what_the_provider_does_itself_waits_too(tmp_path: Path) -> None:
    native: list[list[str]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        native.append([tool.kind for tool in info.model_request_parameters.native_tools])
        return ModelResponse(parts=[TextPart('Done.')])

    agent: Agent[Any, str] = Agent(FunctionModel(answer), capabilities=[*deferred([WebSearch()]), LoadNamed()])
    for prompt in ('Hello', 'Search the web'):
        await agent.run(prompt, deps=Deps(KernelWorkspace(tmp_path)))
    assert native == [[], ['web_search']]


class StartsLate(FunctionToolset[Any]):
    """A server that is only asked for its tools once it is loaded."""

    started = False

    async def get_tools(self, ctx: RunContext[Any]) -> Any:
        if 'mcp_late' not in ctx.loaded_capability_ids:
            return {}
        self.started = True
        return await super().get_tools(ctx)


@pytest.mark.parametrize('prompt', ['Ask late', 'Hello'])
async def test_a_server_that_starts_when_it_is_loaded_has_its_tools_in_the_next_request(
    tmp_path: Path, prompt: str
) -> None:
    toolset = StartsLate([look_up], id='late')
    cast = Cast({prompt: [[('load_capability', {'id': 'mcp_late'})] if prompt == 'Hello' else 'end', 'end']})
    given = [*deferred([Toolset(toolset, id='mcp_late')]), LoadNamed()]
    await perform(cast, *given, prompt=prompt, deps=Deps(KernelWorkspace(tmp_path)))
    assert cast.requests[-1].tools == ['load_capability', 'look_up']
    assert prompt == 'Ask late' or cast.requests[0].tools == ['load_capability']


# What stays


async def test_a_load_is_recorded_once(tmp_path: Path) -> None:
    asking = person(tmp_path)
    await asking.ask('Use a skill')
    await asking.ask('Use a skill again')
    assert loads(asking.history) == ['skills']
    assert loads(asking.new) == []
    revealed = [
        part for message in asking.history for part in message.parts if isinstance(part, ToolAvailabilityDeltaPart)
    ]
    assert [part.tools_added for part in revealed] == [SKILL_TOOLS]


async def test_two_runs_do_not_share_loads(tmp_path: Path) -> None:
    offered: dict[str, list[str]] = {}
    both = asyncio.Barrier(2)

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await both.wait()
        offered[str(messages[0].parts[0].content)] = [tool.name for tool in info.function_tools]  # type: ignore[union-attr]
        return ModelResponse(parts=[TextPart('Done.')])

    agent: Agent[Any, str] = Agent(
        FunctionModel(answer), capabilities=[*deferred([SkillsCapability(), PlanCapability()]), LoadNamed()]
    )
    deps = Deps(KernelWorkspace(tmp_path))
    await asyncio.gather(agent.run('Use a skill', deps=deps), agent.run('Ask me', deps=deps))
    assert offered == {
        'Use a skill': ['load_capability', *SKILL_TOOLS],
        'Ask me': ['load_capability', *PLAN_TOOLS],
    }
    assert await person(tmp_path).ask('Hello') == []


@pytest.mark.parametrize('way', ['model', 'prompt'])
async def test_a_reloaded_conversation_has_its_tools_at_once(tmp_path: Path, way: Literal['model', 'prompt']) -> None:
    asking = person(tmp_path)
    if way == 'prompt':
        await asking.ask('Use a skill')
    else:
        asking.history = (await _load('skills', tmp_path)).messages
    stored = ModelMessagesTypeAdapter.dump_json(repair_messages(asking.history))
    asking.history = ModelMessagesTypeAdapter.validate_json(stored)
    assert repair_messages(asking.history) == asking.history
    assert await asking.ask('Hello') == SKILL_TOOLS
    assert 'load it with load_skill' not in asking.instructions, 'instructions are not said twice'


@pytest.mark.parametrize('way', ['model', 'prompt'])
async def test_the_session_file_keeps_loads(tmp_path: Path, way: Literal['model', 'prompt']) -> None:
    """Stored after each event, as in a cell: messages grow while they are stored."""
    capabilities = [*deferred([SkillsCapability()]), LoadNamed()]
    turns: list[Turn] = [[('load_capability', {'id': 'skills'})]] if way == 'model' else []
    turns.append([('list_skills', {})])
    agent: Agent[Any, str] = Agent(_calling(*turns), capabilities=capabilities)
    path = tmp_path / 'session.db'
    with SessionStore.open(path) as store:
        async with agent.run_stream_events(
            'Use a skill' if way == 'prompt' else 'Hello', deps=Deps(KernelWorkspace(tmp_path))
        ) as run:
            async for _ in run:
                await store.sync(run.all_messages())
            assert run.result is not None
            messages = run.all_messages()
        await store.sync(messages)
    with SessionStore.open(path) as store:
        history = await store.history()
    assert history == messages
    asking = replace(person(tmp_path), history=history)
    assert await asking.ask('Hello') == SKILL_TOOLS


def _calling(*turns: Any) -> FunctionModel:
    left = list(turns)

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> Any:
        if not left:
            yield 'Done.'
            return
        for index, (name, args) in enumerate(left.pop(0)):
            yield {index: _call(name, args)}

    return FunctionModel(stream_function=stream)


def _call(name: str, args: dict[str, Any]) -> Any:
    from pydantic_ai.models.function import DeltaToolCall

    return DeltaToolCall(name=name, json_args=json.dumps(args))


async def _load(id: str, tmp_path: Path, *more: AbstractCapability[Any]) -> Any:
    given = [*deferred([SkillsCapability(), PlanCapability(), MemoryCapability()]), LoadNamed(), *more]
    return await play([('load_capability', {'id': id})], capabilities=given, deps=Deps(KernelWorkspace(tmp_path)))


# What guards a load


@pytest.mark.parametrize('mode', ['ask', 'deny', 'auto'])
async def test_loading_is_never_asked_about(tmp_path: Path, mode: Any) -> None:
    played = await _load('skills', tmp_path, ApprovalGate(mode))
    assert played.output == 'done'
    assert played.texts[0].startswith('{"message":"Capability \'skills\' loaded.')


def test_tools_that_only_make_others_known_change_nothing() -> None:
    classes = [tool_class(ToolDefinition(name=name)) for name in ('load_capability', 'search_tools', 'load_cargo')]
    assert classes == ['read', 'read', 'write']


async def test_tools_that_were_loaded_are_asked_about_like_any(tmp_path: Path) -> None:
    played = await play(
        [('load_capability', {'id': 'mcp_files'})],
        [('look_up', {'name': 'a'})],
        capabilities=[*deferred([server('mcp_files')]), ApprovalGate('deny')],
        deps=Deps(KernelWorkspace(tmp_path)),
    )
    assert played.returns[1].outcome == 'denied'


async def test_hooks_hold_for_tools_that_were_loaded(tmp_path: Path) -> None:
    seen: list[str] = []

    def policy(given: HookInput) -> HookResult:
        seen.append(given.tool_name)
        return HookResult(allow=given.tool_name != 'look_up', reason='No.')

    hooks: HooksCapability[Any] = HooksCapability([Hook(HookEvent.PRE_TOOL_USE, handler=policy)])
    played = await play(
        [('load_capability', {'id': 'mcp_files'})],
        [('look_up', {'name': 'a'})],
        capabilities=[*deferred([server('mcp_files'), hooks])],
        deps=Deps(KernelWorkspace(tmp_path)),
    )
    assert seen == ['load_capability', 'look_up']
    assert played.returns[1].outcome == 'denied'


# What children get


class Runner:
    async def run(self, code: str, *, timeout: float | None) -> PythonResult:
        return PythonResult(text='ran')


def task(description: str) -> Call:
    return 'task', {'description': description, 'subagent_type': 'general'}


async def test_children_of_an_agent_whose_capabilities_wait_have_theirs_and_its_hooks(tmp_path: Path) -> None:
    seen: list[str] = []

    def policy(given: HookInput) -> HookResult:
        seen.append(given.tool_name)
        return HookResult()

    load_python: Call = ('load_capability', {'id': 'python'})
    load_subagents: Call = ('load_capability', {'id': 'subagents'})
    cast = Cast(
        {
            'Use a subagent': [[task('child')], 'end'],
            'child': [[load_python, load_subagents], [('run_python', {'code': '1'}), task('grandchild')], 'end'],
            'grandchild': [[load_python], [('run_python', {'code': '2'})], 'end'],
        }
    )
    given = [
        *(SubAgentCapability(max_nesting_depth=2), RunPython(Runner())),
        *(HooksCapability([Hook(HookEvent.PRE_TOOL_USE, handler=policy)]), ApprovalGate('auto')),
    ]
    waiting = [*deferred(given, {'subagents', 'python'}), LoadNamed()]
    played = await perform(cast, *waiting, prompt='Use a subagent', deps=Deps(KernelWorkspace(tmp_path)))
    assert cast.requests_of('Use a subagent')[0].tools == ['load_capability', 'task', 'check_subagent']
    assert ['run_python' in request.tools for request in cast.requests_of('grandchild')] == [False, True, True]
    assert seen == ['task', 'load_capability', 'load_capability', 'run_python', 'task', 'load_capability', 'run_python']
    assert played.texts == ['end']


def test_every_capability_on_demand_has_a_line_for_the_model() -> None:
    for id in AUTO_DEFERRED & CAPABILITIES.keys():
        described = {each.name: each.default for each in fields(CAPABILITIES[id])}  # type: ignore[arg-type]
        assert described['description']

"""What a deep agent in a script is made of, and what its run does."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import Contains, IsStr
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.capabilities import AbstractCapability, Capability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel

from deep_notebook import (
    BudgetExceededError,
    CostInfo,
    DeepAgentDeps,
    Hook,
    HookEvent,
    HookInput,
    HookResult,
    KernelWorkspace,
    LoadNamed,
    OutputStyle,
    Skill,
    SkillsCapability,
    UsageError,
    create_deep_agent,
    create_default_deps,
)
from deep_notebook.capabilities.approvals import ApprovalDecision, ApprovalRequest
from harness.scripted import call, prompts, returns, script

pytestmark = pytest.mark.anyio


class Person:
    """Answers every question in one way and remembers them."""

    def __init__(self, decision: ApprovalDecision | None) -> None:
        self.decision = decision
        self.asked: list[ApprovalRequest] = []

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
        self.asked.append(request)
        return self.decision


YES = ApprovalDecision(verdict='approve')


def here(tmp_path: Path) -> DeepAgentDeps:
    return create_default_deps(KernelWorkspace(tmp_path))


async def tools_of(agent: Agent[DeepAgentDeps, Any], deps: DeepAgentDeps) -> set[str]:
    model = TestModel(call_tools=[])
    await agent.run('Hi', deps=deps, model=model)
    assert model.last_model_request_parameters is not None
    return {tool.name for tool in model.last_model_request_parameters.function_tools}


async def instructions_of(agent: Agent[DeepAgentDeps, Any], deps: DeepAgentDeps) -> str:
    model = TestModel(call_tools=[])
    await agent.run('Hi', deps=deps, model=model)
    assert model.last_model_request_parameters is not None
    return '\n\n'.join(part.content for part in model.last_model_request_parameters.instruction_parts or [])


async def test_a_command_in_a_script_is_denied_when_nobody_can_allow_it(tmp_path: Path) -> None:
    model = script(call('execute', command='touch made'), lambda messages: str(returns(messages)[-1].content))
    output = (await create_deep_agent(model).run('Go.', deps=here(tmp_path))).output
    assert 'execute needs an approval that nobody can give in this run, so nothing was done' in output
    assert 'interrupt_on=' in output
    assert not (tmp_path / 'made').exists()


async def test_an_approver_is_asked_and_its_yes_counts(tmp_path: Path) -> None:
    person = Person(YES)
    model = script(call('execute', command='touch made'), 'Done.')
    await create_deep_agent(model, approver=person, name='worker').run('Go.', deps=here(tmp_path))
    assert (tmp_path / 'made').exists()
    assert [(each.tool, each.asked_by) for each in person.asked] == [('execute', 'worker')]


async def test_an_approver_that_cannot_say_denies_instead_of_hanging(tmp_path: Path) -> None:
    model = script(call('execute', command='touch made'), lambda messages: returns(messages)[-1].outcome)
    output = (await create_deep_agent(model, approver=Person(None)).run('Go.', deps=here(tmp_path))).output
    assert output.strip() == 'denied'
    assert not (tmp_path / 'made').exists()


async def test_a_run_that_may_be_deferred_hands_the_question_to_the_program(tmp_path: Path) -> None:
    model = script(call('execute', 'c1', command='touch made'), 'Done.')
    agent = create_deep_agent(model, output_type=[str, DeferredToolRequests])
    deps = here(tmp_path)
    result = await agent.run('Go.', deps=deps)
    assert isinstance(result.output, DeferredToolRequests)
    resumed = await agent.run(
        message_history=result.all_messages(),
        deps=deps,
        deferred_tool_results=DeferredToolResults(approvals={'c1': True}),
    )
    assert resumed.output.strip() == 'Done.'
    assert (tmp_path / 'made').exists()


async def test_interrupt_on_adds_and_takes_away_questions(tmp_path: Path) -> None:
    person = Person(YES)
    model = script(
        [call('execute', command='touch made'), call('write_file', path='a.txt', content='a'), call('ls')], 'Done.'
    )
    agent = create_deep_agent(model, approver=person, interrupt_on={'execute': False, 'write_file': True, 'ls': True})
    await agent.run('Go.', deps=here(tmp_path))
    assert sorted(each.tool for each in person.asked) == ['ls', 'write_file']
    assert {path.name for path in tmp_path.iterdir()} >= {'made', 'a.txt'}


async def test_files_are_written_in_a_script_without_a_question(tmp_path: Path) -> None:
    model = script(call('write_file', path='a.txt', content='a'), 'Done.')
    await create_deep_agent(model).run('Go.', deps=here(tmp_path))
    assert (tmp_path / 'a.txt').read_text() == 'a'


async def test_the_factory_backend_counts_where_deps_name_none(tmp_path: Path) -> None:
    model = script(call('write_file', path='a.txt', content='a'), 'Done.')
    agent: Any = create_deep_agent(model, backend=KernelWorkspace(tmp_path))
    await agent.run('Go.', deps=None)
    assert (tmp_path / 'a.txt').read_text() == 'a'


async def test_hooks_deny_and_middleware_sees_every_request(tmp_path: Path) -> None:
    seen: list[int] = []

    class Watch(AbstractCapability[Any]):
        async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
            seen.append(ctx.run_step)
            return request_context

    async def deny(given: HookInput) -> HookResult:
        return HookResult(allow=False, reason='not today')

    model = script(call('write_file', path='a.txt', content='a'), lambda messages: str(returns(messages)[-1].content))
    agent = create_deep_agent(
        model, hooks=[Hook(HookEvent.PRE_TOOL_USE, handler=deny, matcher='write_file')], middleware=[Watch()]
    )
    assert 'not today' in (await agent.run('Go.', deps=here(tmp_path))).output
    assert seen == [1, 2]
    assert not (tmp_path / 'a.txt').exists()


async def test_history_processors_change_what_is_sent(tmp_path: Path) -> None:
    seen: list[list[ModelMessage]] = []

    def last_only(messages: list[ModelMessage]) -> list[ModelMessage]:
        return messages[-1:]

    agent = create_deep_agent(script('Hello.', seen=seen), history_processors=[last_only])
    first = await agent.run('One.', deps=here(tmp_path))
    await agent.run(
        'Two.', deps=here(tmp_path), message_history=first.all_messages(), workspace=KernelWorkspace(tmp_path)
    )
    assert prompts(seen[1]) == ['Two.']


async def test_flags_take_tools_away(tmp_path: Path) -> None:
    nothing = create_deep_agent(
        include_todo=False,
        include_filesystem=False,
        include_subagents=False,
        include_skills=False,
        include_memory=False,
        include_plan=False,
        context_manager=False,
    )
    assert await tools_of(nothing, here(tmp_path)) == set()
    assert 'execute' not in await tools_of(create_deep_agent(include_execute=False), here(tmp_path))


async def test_style_and_uploads_are_in_the_instructions(tmp_path: Path) -> None:
    deps = here(tmp_path)
    agent = create_deep_agent(output_style=OutputStyle('mine', 'Mine.', 'Rhyme everything.'), instructions=['A.', 'B.'])
    await deps.upload_file('sales.csv', b'a\n1\n')
    text = await instructions_of(agent, deps)
    assert text.index('A.\n\nB.') < text.index('Rhyme everything.') < text.index('`.deep/uploads/sales.csv`')
    with pytest.raises(UsageError, match="There is no output style 'concize'"):
        create_deep_agent(output_style='concize')


async def test_context_files_are_read_where_asked_for(tmp_path: Path) -> None:
    (tmp_path / 'AGENTS.md').write_text('Use tabs.')
    assert 'Use tabs.' not in await instructions_of(create_deep_agent(), here(tmp_path))
    assert 'Use tabs.' in await instructions_of(create_deep_agent(context_discovery=True), here(tmp_path))


async def test_thinking_is_a_setting_of_the_request(tmp_path: Path) -> None:
    levels: list[Any] = []

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        levels.append(info.model_request_parameters.thinking)
        return ModelResponse(parts=[TextPart('Hi.')])

    model = FunctionModel(answer, profile={'supports_thinking': True})
    await create_deep_agent(model, thinking='high').run('Hi', deps=here(tmp_path))
    await create_deep_agent(model).run('Hi', deps=here(tmp_path))
    assert levels == ['high', None]


async def subagent_tools(name: str, deps: DeepAgentDeps, **options: Any) -> set[str]:
    """The tools that a subagent is given by its parent."""
    seen: list[set[str]] = []

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append({tool.name for tool in info.function_tools})
        if len(seen) == 1:
            return ModelResponse(parts=[ToolCallPart('task', {'description': 'Do it.', 'subagent_type': name})])
        return ModelResponse(parts=[TextPart('Done.')])

    await create_deep_agent(FunctionModel(answer), **options).run('Go.', deps=deps)
    return seen[1]


async def test_a_subagent_has_fewer_features_and_cannot_delegate(tmp_path: Path) -> None:
    tools = await subagent_tools('general', here(tmp_path))
    assert {'write_todos', 'read_file', 'write_file', 'edit_file', 'execute', 'read_memory'} <= tools
    assert not tools & {'task', 'load_skill', 'load_capability', 'ask_user'}


@pytest.mark.parametrize('name', ['planner', 'research'])
async def test_who_changes_nothing_cannot(tmp_path: Path, name: str) -> None:
    tools = await subagent_tools(name, here(tmp_path))
    assert {'ls', 'read_file', 'grep'} <= tools
    assert not tools & {'write_file', 'edit_file', 'execute', 'run_python'}
    assert ('save_plan' in tools) == (name == 'planner')


async def test_own_words_load_an_own_capability(tmp_path: Path) -> None:
    refunds = Capability[Any](id='refunds', description='Refunds.', instructions='Pay at once.', defer_loading=True)
    agent = create_deep_agent(capabilities=[refunds, LoadNamed({'refunds': ['money back']})])
    seen: list[list[ModelMessage]] = []
    await agent.run('I want my money back.', deps=here(tmp_path), model=script('Yes.', seen=seen))
    assert 'Pay at once.' in str(seen[0])
    await agent.run('Use a skill.', deps=here(tmp_path), model=script('Yes.', seen=seen))
    assert 'Pay at once.' not in str(seen[1])
    assert '- plotting: ' in str(seen[1])


async def test_what_a_parent_defers_and_its_subagents_lack_is_no_fault_of_theirs(tmp_path: Path) -> None:
    refunds = Capability[Any](id='refunds', description='Refunds.', instructions='Pay.')
    tools = await subagent_tools('general', here(tmp_path), capabilities=[refunds], defer=['refunds', 'skills'])
    assert 'read_file' in tools


async def test_nesting_is_bounded_by_its_depth(tmp_path: Path) -> None:
    assert 'task' in await subagent_tools('general', here(tmp_path), max_nesting_depth=2)


async def test_a_subagents_command_is_asked_about_like_its_parents(tmp_path: Path) -> None:
    person = Person(YES)
    model = script(
        call('task', description='Make it.', subagent_type='general'),
        [call('execute', command='touch made'), call('write_file', path='b.txt', content='b')],
        'Made.',
        'Done.',
    )
    await create_deep_agent(model, approver=person).run('Go.', deps=here(tmp_path))
    assert [(each.tool, each.asked_by) for each in person.asked] == [('execute', 'general')]
    assert {'made', 'b.txt'} <= {path.name for path in tmp_path.iterdir()}


async def test_own_subagents_are_there_beside_the_built_in_ones(tmp_path: Path) -> None:
    agent = create_deep_agent(subagents=[{'name': 'critic', 'description': 'Finds faults.'}])
    text = await instructions_of(agent, here(tmp_path))
    assert text == Contains('- critic: Finds faults.', '- general: ', '- research: ', '- planner: ')


async def test_each_agent_keeps_notes_of_its_own(tmp_path: Path) -> None:
    model = script(
        [call('write_memory', content='main note'), call('task', description='Note it.', subagent_type='general')],
        call('write_memory', content='child note'),
        'Noted.',
        'Done.',
    )
    await create_deep_agent(model, name='boss').run('Go.', deps=here(tmp_path))
    notes = {path.parent.name: path.read_text() for path in tmp_path.glob('.deep/memory/*/MEMORY.md')}
    assert notes == {'boss': 'main note\n', 'general': 'child note\n'}


async def test_concurrent_runs_of_one_agent_share_nothing(tmp_path: Path) -> None:
    ready = asyncio.Barrier(2)

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        number = prompts(messages)[0]
        if not returns(messages):
            await ready.wait()
            args = {'todos': [{'content': f'step {number}', 'status': 'pending'}]}
            return ModelResponse(
                parts=[ToolCallPart('write_todos', args), ToolCallPart('write_memory', {'content': number})]
            )
        return ModelResponse(parts=[TextPart(number)])

    agent = create_deep_agent(FunctionModel(answer))
    first, second = create_default_deps(), create_default_deps()
    outputs = await asyncio.gather(agent.run('1', deps=first), agent.run('2', deps=second))
    assert [each.output for each in outputs] == ['1', '2']
    assert [todo.content for todo in first.todos + second.todos] == ['step 1', 'step 2']
    assert first.files['/.deep/memory/main/MEMORY.md'] == b'1\n'
    assert second.files['/.deep/memory/main/MEMORY.md'] == b'2\n'


async def test_a_budget_stops_the_agent_and_its_subagents_together(tmp_path: Path) -> None:
    """Each request costs one cent: the parent's first, then the child's; the third is not made."""
    costs: list[CostInfo] = []
    model = Priced(
        script(
            call('task', description='Look around.', subagent_type='general'),
            call('ls'),
            'Nothing here.',
            'Done.',
        )
    )
    agent = create_deep_agent(model, cost_budget_usd=0.02, on_cost_update=costs.append)
    with pytest.raises(BudgetExceededError) as caught:
        await agent.run('Go.', deps=here(tmp_path))
    assert (caught.value.spent, caught.value.budget) == (Decimal('0.02'), Decimal('0.02'))
    assert [each.total_cost for each in costs][-1] == Decimal('0.02')


class Priced(WrapperModel):
    """A model of which every request costs one cent."""

    async def request(self, *args: Any) -> Any:
        response = await super().request(*args)
        response.usage.cost = Decimal('0.01')
        return response


async def test_runs_are_traced_when_asked_for_and_not_otherwise(tmp_path: Path) -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    settings = InstrumentationSettings(tracer_provider=provider)
    await create_deep_agent(script(call('ls'), 'Done.'), instrument=settings).run('Go.', deps=here(tmp_path))
    assert any('ls' in span.name for span in spans.get_finished_spans())
    before = len(spans.get_finished_spans())
    await create_deep_agent(script(call('ls'), 'Done.'), instrument=False).run('Go.', deps=here(tmp_path))
    assert len(spans.get_finished_spans()) == before


async def test_a_large_result_goes_into_a_file_and_its_preview_stays(tmp_path: Path) -> None:
    evicted: list[str] = []
    lines = '\n'.join(f'line {number}' for number in range(20_000))

    def produce() -> str:
        """Return much."""
        return lines

    def model() -> FunctionModel:
        return script(call('produce'), lambda messages: str(returns(messages)[-1].content)[:60])

    def on_eviction(tool: str, path: str, before: int, after: int) -> None:
        evicted.append(path)

    agent = create_deep_agent(model(), tools=[produce], on_eviction=on_eviction)
    output = (await agent.run('Go.', deps=here(tmp_path))).output
    assert output.startswith('Tool result too large, saved to: .deep/large_tool_results/')
    assert (tmp_path / evicted[0]).read_text() == lines
    kept = create_deep_agent(model(), tools=[produce], eviction_token_limit=None)
    assert not (await kept.run('Go.', deps=here(tmp_path))).output.startswith('Tool result too large')


async def test_what_was_said_is_found_again(tmp_path: Path) -> None:
    model = script('The password of the printer is 7.', call('search_conversation_history', query='printer'), 'Found.')
    agent = create_deep_agent(model, defer=None, history_messages_path=tmp_path / 'messages.json')
    deps = here(tmp_path)
    await agent.run('Remember the printer.', deps=deps)
    result = await agent.run('Which password has it?', deps=deps)
    assert 'The password of the printer is 7.' in str(returns(result.all_messages())[-1].content)


async def test_names_of_models_that_only_we_know_are_resolved_when_a_run_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    monkeypatch.setattr('deep_notebook.models.weights.installed', lambda: None)
    agent = create_deep_agent('embedded')
    with pytest.raises(UsageError, match='deep-notebook model pull'):
        await agent.run('Hi', deps=here(tmp_path))
    monkeypatch.delenv('ANTHROPIC_API_KEY', raising=False)
    with pytest.raises(UsageError, match=r'needs ANTHROPIC_API_KEY: set it in the environment or in \.env'):
        await create_deep_agent().run('Hi', deps=here(tmp_path))


async def test_skills_of_a_directory_come_before_those_that_are_bundled(tmp_path: Path) -> None:
    own = tmp_path / 'own' / 'data-cleaning'
    own.mkdir(parents=True)
    (own / 'SKILL.md').write_text('---\nname: data-cleaning\ndescription: My way.\n---\nDo it my way.\n')
    agent = create_deep_agent(skill_directories=[tmp_path / 'own'], defer=None)
    text = await instructions_of(agent, here(tmp_path))
    assert text == Contains('- data-cleaning: My way.', '- plotting: ')
    assert IsStr(regex='(?s).*- data-cleaning: My way.*') == text
    assert text.count('- data-cleaning: ') == 1


async def test_a_capability_of_the_callers_joins_the_others(tmp_path: Path) -> None:
    skill = Skill(name='tea', description='Make tea.', content='Boil water.')
    own = SkillsCapability[Any](skills=[skill], directories=[])
    agent = create_deep_agent(include_skills=False, capabilities=[own], defer=None)
    assert '- tea: Make tea.' in await instructions_of(agent, here(tmp_path))

"""Hooks and the approval gate together: the person sees what the hooks left, and exactly that runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.tools import DeferredToolRequests, RunContext
from pydantic_ai.toolsets import FunctionToolset

from deep_notebook.capabilities.approvals import (
    ApprovalDecision,
    ApprovalGate,
    ApprovalRequest,
    requests_of,
    results_of,
)
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.hooks import Hook, HookEvent, HookInput, HookResult, HooksCapability
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, Played, names, play
from harness.scripted import call, script

pytestmark = pytest.mark.anyio

YES = ApprovalDecision(verdict='approve', channel='widget')
WRITE = ('write_file', {'path': 'a', 'content': 'x\n'})


@dataclass
class Person:
    """Answers each question with the next decision; the last one repeats."""

    decisions: list[ApprovalDecision | None] = field(default_factory=lambda: [YES])
    asked: list[ApprovalRequest] = field(default_factory=list)

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
        self.asked.append(request)
        return self.decisions.pop(0) if len(self.decisions) > 1 else self.decisions[0]


@pytest.fixture
def deps(tmp_path: Path) -> Deps:
    return Deps(KernelWorkspace(tmp_path))


def policy(change: Callable[[dict[str, Any]], dict[str, Any] | None], calls: list[Any] | None = None) -> Hook:
    async def hook(given: HookInput) -> HookResult:
        if calls is not None:
            calls.append(given.tool_input)
        return HookResult(modified_args=change(given.tool_input))

    return Hook(HookEvent.PRE_TOOL_USE, handler=hook)


def into_sandbox(args: dict[str, Any]) -> dict[str, Any]:
    return {**args, 'path': f'sandbox/{args["path"]}'}


async def run(deps: Deps, *turns: Any, hooks: list[Hook], gate: ApprovalGate[Any], **options: Any) -> Played:
    return await play(*turns, capabilities=[Filesystem(), HooksCapability(hooks), gate], deps=deps, **options)


ORDERS = list(itertools.permutations(['files', 'hooks', 'gate']))


@pytest.mark.parametrize('order', ORDERS, ids='-'.join)
async def test_the_person_is_shown_the_arguments_that_run_wherever_the_hooks_are_listed(
    tmp_path: Path, deps: Deps, order: tuple[str, ...]
) -> None:
    person, calls = Person(), list[Any]()
    of: dict[str, AbstractCapability[Any]] = {
        'files': Filesystem(),
        'hooks': HooksCapability([policy(into_sandbox, calls)]),
        'gate': ApprovalGate(approver=person),
    }
    played = await play([WRITE], capabilities=[of[name] for name in order], deps=deps)
    [request] = person.asked
    assert (request.path, request.args['path']) == ('sandbox/a', 'sandbox/a')
    assert played.returns[0].outcome == 'success'
    assert names(tmp_path) == ['sandbox']
    assert len(calls) == 1


async def test_hooks_of_the_agent_come_before_a_gate_of_the_run(tmp_path: Path, deps: Deps) -> None:
    person = Person()
    agent: Agent[Any, str] = Agent(
        script(call('write_file', path='a', content='x\n'), 'done'),
        capabilities=[Filesystem(), HooksCapability([policy(into_sandbox)])],
    )
    async with agent.run_stream_events('go', deps=deps, capabilities=[ApprovalGate(approver=person)]) as stream:
        async for _ in stream:
            pass
    assert [request.path for request in person.asked] == ['sandbox/a']
    assert names(tmp_path) == ['sandbox']


async def test_nobody_is_asked_about_what_a_policy_denies(tmp_path: Path, deps: Deps) -> None:
    person = Person()
    deny = Hook(HookEvent.PRE_TOOL_USE, handler=lambda given: HookResult(allow=False, reason='no'))
    played = await run(deps, [WRITE], hooks=[deny], gate=ApprovalGate(approver=person))
    assert (person.asked, played.returns[0].outcome, names(tmp_path)) == ([], 'denied', [])


async def test_a_policy_holds_also_where_everything_is_approved(tmp_path: Path, deps: Deps) -> None:
    deny = Hook(HookEvent.PRE_TOOL_USE, handler=lambda given: HookResult(allow=False, reason='no'))
    played = await run(deps, [WRITE], hooks=[deny], gate=ApprovalGate('auto'))
    assert (played.returns[0].outcome, names(tmp_path)) == ('denied', [])


async def test_hooks_run_once_for_a_call_that_is_asked_about(deps: Deps) -> None:
    calls: list[str] = []

    async def count(given: HookInput) -> HookResult:
        calls.append(given.event)
        return HookResult()

    hooks = [Hook(event, handler=count) for event in HookEvent if '_tool_' in event]
    await run(deps, [WRITE], hooks=hooks, gate=ApprovalGate(approver=Person()))
    assert calls == ['pre_tool_use', 'post_tool_use']


async def test_what_a_hook_makes_up_anew_each_time_is_shown_and_run_alike(tmp_path: Path, deps: Deps) -> None:
    numbers = itertools.count()
    person = Person()
    hook = policy(lambda args: {**args, 'path': f'a{next(numbers)}'})
    await run(deps, [WRITE, WRITE], hooks=[hook], gate=ApprovalGate(approver=person))
    assert sorted(request.path or '' for request in person.asked) == names(tmp_path) == ['a0', 'a1']


async def test_the_text_that_the_person_wrote_is_looked_at_by_the_policies_too(tmp_path: Path, deps: Deps) -> None:
    def no_gold(given: HookInput) -> HookResult:
        return HookResult(allow='gold' not in given.tool_input['content'], reason='no gold')

    edited = ApprovalDecision(verdict='approve', edited='gold\n')
    hooks = [Hook(HookEvent.PRE_TOOL_USE, handler=no_gold)]
    played = await run(deps, [WRITE], hooks=hooks, gate=ApprovalGate(approver=Person([edited])))
    assert (played.texts, names(tmp_path)) == (['A hook said no: no gold'], [])


async def test_the_text_that_the_person_wrote_runs_with_the_other_arguments_as_they_were_shown(
    tmp_path: Path, deps: Deps
) -> None:
    edited = ApprovalDecision(verdict='approve', edited='theirs\n')
    played = await run(deps, [WRITE], hooks=[policy(into_sandbox)], gate=ApprovalGate(approver=Person([edited])))
    assert played.returns[0].outcome == 'success'
    assert (tmp_path / 'sandbox/a').read_text() == 'theirs\n'
    assert names(tmp_path) == ['sandbox']


async def test_a_hook_that_would_change_the_text_of_the_person_runs_nothing(tmp_path: Path, deps: Deps) -> None:
    edited = ApprovalDecision(verdict='approve', edited='theirs\n')
    hook = policy(lambda args: {**args, 'content': f'# header\n{args["content"]}'})
    played = await run(deps, [WRITE], hooks=[hook], gate=ApprovalGate(approver=Person([edited])))
    assert 'not those that were approved' in played.texts[0]
    assert names(tmp_path) == []


async def test_a_hook_that_leaves_its_own_work_alone_works_with_edited_text(tmp_path: Path, deps: Deps) -> None:
    def header(args: dict[str, Any]) -> dict[str, Any]:
        return {**args, 'content': '# header\n' + args['content'].removeprefix('# header\n')}

    edited = ApprovalDecision(verdict='approve', edited='# header\ntheirs\n')
    person = Person([edited])
    await run(deps, [WRITE], hooks=[policy(header)], gate=ApprovalGate(approver=person))
    assert person.asked[0].args['content'] == '# header\nx\n'
    assert (tmp_path / 'a').read_text() == '# header\ntheirs\n'


def stored(played: Played) -> tuple[list[Any], DeferredToolRequests]:
    messages = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(played.messages))
    adapter = TypeAdapter(DeferredToolRequests)
    return messages, adapter.validate_json(adapter.dump_json(played.output))


async def resume(deps: Deps, played: Played, hooks: list[Hook], decision: ApprovalDecision | None = YES) -> Played:
    history, requests = stored(played)
    [request] = requests_of(requests)
    results = results_of(requests, {} if decision is None else {request.id: decision})
    return await run(deps, hooks=hooks, gate=ApprovalGate(), history=history, results=results)


async def test_a_suspended_call_runs_as_it_was_shown(tmp_path: Path, deps: Deps) -> None:
    played = await run(deps, [WRITE], hooks=[policy(into_sandbox)], gate=ApprovalGate())
    resumed = await resume(deps, played, [policy(into_sandbox)])
    assert resumed.output == 'done'
    assert names(tmp_path) == ['sandbox']


@pytest.mark.parametrize(
    'later',
    [[], [policy(lambda args: {**args, 'path': 'elsewhere'})], [policy(into_sandbox), policy(into_sandbox)]],
    ids=['gone', 'another', 'twice'],
)
async def test_a_suspended_call_does_not_run_with_other_hooks_than_it_was_shown_with(
    tmp_path: Path, deps: Deps, later: list[Hook]
) -> None:
    played = await run(deps, [WRITE], hooks=[policy(into_sandbox)], gate=ApprovalGate())
    resumed = await resume(deps, played, later)
    assert 'not those that were approved' in resumed.texts[0]
    assert names(tmp_path) == []


async def test_a_suspended_call_is_denied_by_a_policy_that_came_since(tmp_path: Path, deps: Deps) -> None:
    played = await run(deps, [WRITE], hooks=[], gate=ApprovalGate())
    deny = Hook(HookEvent.PRE_TOOL_USE, handler=lambda given: HookResult(allow=False, reason='not any more'))
    resumed = await resume(deps, played, [deny])
    assert resumed.texts == ['A hook said no: not any more']
    assert names(tmp_path) == []


async def test_a_suspended_call_that_is_asked_about_again_is_shown_as_the_hooks_leave_it(
    tmp_path: Path, deps: Deps
) -> None:
    played = await run(deps, [WRITE], hooks=[policy(into_sandbox)], gate=ApprovalGate())
    again = await resume(deps, played, [policy(into_sandbox)], decision=None)
    assert names(tmp_path) == []
    [request] = requests_of(stored(again)[1])
    assert request.path == 'sandbox/a'
    final = await resume(deps, again, [policy(into_sandbox)])
    assert (final.output, names(tmp_path)) == ('done', ['sandbox'])


def launching(*, raising: bool) -> tuple[FunctionToolset[Any], list[str]]:
    """Tools that ask for approval by themselves, so that nobody sees what hooks make of the arguments."""
    tools: FunctionToolset[Any] = FunctionToolset()
    launched: list[str] = []

    async def launch(ctx: RunContext[Any], name: str) -> str:
        """Launch."""
        if raising and not ctx.tool_call_approved:
            raise ApprovalRequired
        launched.append(name)
        return 'launched'

    tools.add_function(launch, requires_approval=not raising)
    return tools, launched


@pytest.mark.parametrize('raising', [False, True])
@pytest.mark.parametrize('gated', [False, True])
async def test_changed_arguments_that_nobody_saw_do_not_run(raising: bool, gated: bool) -> None:
    tools, launched = launching(raising=raising)
    change = policy(lambda args: {'name': 'other'})

    async def approve(ctx: RunContext[Any], requests: DeferredToolRequests) -> Any:
        return requests.build_results(approve_all=True)

    handler: AbstractCapability[Any] = (
        ApprovalGate(approver=Person()) if gated and not raising else HandleDeferredToolCalls(approve)
    )
    played = await play(
        [('launch', {'name': 'x'})], capabilities=[HooksCapability([change]), handler], toolsets=[tools]
    )
    assert launched == []
    assert played.returns[0].outcome == 'denied'
    assert 'others were approved' in played.texts[0]


@pytest.mark.parametrize('raising', [False, True])
async def test_unchanged_arguments_of_a_tool_that_asks_by_itself_run(raising: bool) -> None:
    tools, launched = launching(raising=raising)
    calls: list[Any] = []

    async def approve(ctx: RunContext[Any], requests: DeferredToolRequests) -> Any:
        return requests.build_results(approve_all=True)

    await play(
        [('launch', {'name': 'x'})],
        capabilities=[HooksCapability([policy(lambda args: None, calls)]), HandleDeferredToolCalls(approve)],
        toolsets=[tools],
    )
    assert launched == ['x']
    assert calls == [{'name': 'x'}]


async def test_a_tool_without_a_gate_runs_with_what_its_hook_gave(tmp_path: Path, deps: Deps) -> None:
    await play([WRITE], capabilities=[Filesystem(), HooksCapability([policy(into_sandbox)])], deps=deps)
    assert names(tmp_path) == ['sandbox']

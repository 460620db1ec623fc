"""A child asks at its parent's door: under its own name, never twice under one id, and never without an end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsStr
from pydantic_ai import Agent
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
from pydantic_ai.messages import ModelMessage
from pydantic_ai.toolsets import FunctionToolset

from deep_notebook.capabilities.approvals import ApprovalDecision, ApprovalGate, ApprovalRequest
from deep_notebook.capabilities.events import ApprovalAskedEvent, ApprovalDecidedEvent
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.subagents import SubAgentCapability, SubAgentConfig, create_subagent_toolset
from deep_notebook.workspaces import KernelWorkspace
from harness.cast import Cast, perform, texts_of
from harness.play import Deps, names

pytestmark = pytest.mark.anyio

YES = ApprovalDecision(verdict='approve', channel='widget')
REST = ApprovalDecision(verdict='approve', scope='tool', channel='widget')


@dataclass
class Person:
    """Answers every question, or as a function of it says."""

    answer: Callable[[ApprovalRequest], ApprovalDecision | None] = lambda request: YES
    asked: list[ApprovalRequest] = field(default_factory=list)

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
        self.asked.append(request)
        await asyncio.sleep(0)
        return self.answer(request)


def write(path: str) -> list[Any]:
    return [('write_file', {'path': path, 'content': 'x\n'})]


def give(*descriptions: str, **args: Any) -> list[Any]:
    return [('task', {'description': description, **args}) for description in descriptions]


async def test_children_that_call_by_the_same_id_are_asked_about_apart(tmp_path: Path) -> None:
    """Call ids are only unique within one run: the answer to one child must not become the answer to another."""
    person = Person(lambda request: YES if request.path == 'a' else ApprovalDecision(verdict='deny', reason='not b'))
    cast = Cast({'go': [give('a', 'b'), 'end'], 'a': [write('a'), 'a done'], 'b': [write('b'), 'b done']})
    await perform(cast, SubAgentCapability(), ApprovalGate(approver=person), deps=Deps(KernelWorkspace(tmp_path)))
    assert sorted(request.id for request in person.asked) == ['t1:1.1', 't2:1.1']
    assert names(tmp_path) == ['a']


async def test_the_question_and_its_answer_are_in_the_parents_stream_under_its_call(tmp_path: Path) -> None:
    cast = Cast({'go': [give('a'), 'end'], 'a': [write('a'), 'done']})
    played = await perform(
        cast, SubAgentCapability(), ApprovalGate(approver=Person()), deps=Deps(KernelWorkspace(tmp_path))
    )
    [asked], [decided] = played.events_of(ApprovalAskedEvent), played.events_of(ApprovalDecidedEvent)
    assert (asked.tool_call_id, asked.request.id, asked.request.asked_by) == ('1.1', 't1:1.1', 'general')
    assert (decided.request, decided.decision) == (asked.request, YES)


@pytest.mark.parametrize('first', ['parent', 'child'])
async def test_a_yes_to_the_rest_of_the_run_holds_for_all_of_its_agents(tmp_path: Path, first: str) -> None:
    own = write('own')
    turns = [own, give('a'), give('b'), 'end'] if first == 'parent' else [give('a'), give('b'), own, 'end']
    person = Person(lambda request: REST)
    cast = Cast({'go': turns, 'a': [write('a'), 'done'], 'b': [write('b'), 'done']})
    deps = Deps(KernelWorkspace(tmp_path))
    await perform(cast, Filesystem(), SubAgentCapability(), ApprovalGate(approver=person), deps=deps)
    assert [request.asked_by for request in person.asked] == ['main' if first == 'parent' else 'general']
    assert names(tmp_path) == ['a', 'b', 'own']


async def test_a_yes_to_the_rest_ends_with_the_run(tmp_path: Path) -> None:
    person = Person(lambda request: REST)
    gate = ApprovalGate[Any](approver=person)
    for path in ('a', 'b'):
        cast = Cast({'go': [give('a'), 'end'], 'a': [write(path), 'done']})
        await perform(cast, SubAgentCapability(), gate, deps=Deps(KernelWorkspace(tmp_path)))
    assert len(person.asked) == 2


async def test_a_question_that_an_earlier_yes_answers_is_closed_in_the_stream(tmp_path: Path) -> None:
    both_asked = asyncio.Event()

    class Slow(Person):
        async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
            self.asked.append(request)
            if len(self.asked) == 2:
                both_asked.set()
            await both_asked.wait()
            if request.path == 'b':
                await asyncio.Event().wait()
            return REST

    cast = Cast({'go': [give('both'), 'end'], 'both': [[*write('a'), *write('b')], 'done']})
    played = await perform(
        cast, SubAgentCapability(), ApprovalGate(approver=Slow()), deps=Deps(KernelWorkspace(tmp_path))
    )
    assert names(tmp_path) == ['a', 'b']
    closed = {event.request.path: event.decision for event in played.events_of(ApprovalDecidedEvent)}
    assert closed['a'] == REST
    assert closed['b'].channel == 'earlier'


async def test_the_question_of_a_cancelled_child_is_closed_in_the_stream(tmp_path: Path) -> None:
    asked = asyncio.Event()

    class Nobody(Person):
        async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
            asked.set()
            await asyncio.Event().wait()
            return None

    async def cancel(messages: list[ModelMessage]) -> Any:
        await asked.wait()
        return [('check_subagent', {'task_id': 't1', 'cancel': True})]

    cast = Cast({'go': [give('a', background=True), cancel, 'end'], 'a': [write('a')]})
    deps = Deps(KernelWorkspace(tmp_path))
    played = await perform(cast, SubAgentCapability(), ApprovalGate(approver=Nobody()), deps=deps)
    [decided] = played.events_of(ApprovalDecidedEvent)
    assert (decided.decision.verdict, decided.decision.reason) == ('deny', 'the subagent was stopped')
    assert names(tmp_path) == []


async def test_nested_children_ask_under_their_own_name_and_id(tmp_path: Path) -> None:
    person = Person()
    helper: SubAgentConfig = {'name': 'helper', 'description': 'Helps.'}
    cast = Cast({'go': [give('a'), 'end'], 'a': [give('b', subagent_type='helper'), 'done'], 'b': [write('b'), 'ok']})
    played = await perform(
        cast,
        SubAgentCapability([helper], max_nesting_depth=2),
        ApprovalGate(approver=person),
        deps=Deps(KernelWorkspace(tmp_path)),
    )
    assert [(request.id, request.asked_by) for request in person.asked] == [('t1:t1:1.1', 'helper')]
    [asked] = played.events_of(ApprovalAskedEvent)
    assert asked.request == person.asked[0]
    assert names(tmp_path) == ['b']


async def test_auto_asks_nobody(tmp_path: Path) -> None:
    person = Person()
    cast = Cast({'go': [give('a'), 'end'], 'a': [write('a'), 'done']})
    await perform(cast, SubAgentCapability(), ApprovalGate('auto', person), deps=Deps(KernelWorkspace(tmp_path)))
    assert (person.asked, names(tmp_path)) == ([], ['a'])


async def test_a_toolset_alone_asks_too(tmp_path: Path) -> None:
    person = Person()
    cast = Cast({'go': [give('a'), 'end'], 'a': [write('a'), 'done']})
    deps = Deps(KernelWorkspace(tmp_path))
    await perform(cast, ApprovalGate(approver=person), toolsets=[create_subagent_toolset()], deps=deps)
    assert [request.asked_by for request in person.asked] == ['general']


async def test_a_parent_that_is_not_asked_about_has_children_that_are_not(tmp_path: Path) -> None:
    cast = Cast({'go': [give('a'), 'end'], 'a': [write('a'), 'done']})
    await perform(cast, SubAgentCapability(), deps=Deps(KernelWorkspace(tmp_path)))
    assert names(tmp_path) == ['a']


async def needs_a_yes() -> str:
    raise ApprovalRequired


async def comes_from_outside() -> str:
    raise CallDeferred


@pytest.mark.parametrize(
    ('tool', 'said'), [(needs_a_yes, 'denied: nobody is here to approve'), (comes_from_outside, 'which a subagent')]
)
@pytest.mark.parametrize('gate', [[], [ApprovalGate[Any]()]], ids=['no gate', 'gate'])
async def test_a_tool_that_defers_its_calls_does_not_hang_or_break_a_child(tool: Any, said: str, gate: Any) -> None:
    tools = FunctionToolset([tool], metadata={'deep_notebook.tool_class': 'read'})
    given = Agent(Cast({'a': [[(tool.__name__, {})], lambda messages: texts_of(messages)[-1]]}).model, toolsets=[tools])
    helper: SubAgentConfig = {'name': 'helper', 'description': 'Helps.', 'agent': given}
    cast = Cast({'go': [give('a', subagent_type='helper'), 'end']})
    played = await perform(cast, SubAgentCapability([helper]), *gate)
    assert played.texts == [IsStr(regex=f'.*{said}.*')]


async def test_nobody_there_is_shown_as_denied_in_the_parents_stream(tmp_path: Path) -> None:
    cast = Cast({'go': [give('a'), 'end'], 'a': [write('a'), 'done']})
    for approver in (None, Person(lambda request: None)):
        played = await perform(
            cast, SubAgentCapability(), ApprovalGate(approver=approver), deps=Deps(KernelWorkspace(tmp_path))
        )
        [decided] = played.events_of(ApprovalDecidedEvent)
        assert (decided.decision.verdict, decided.decision.channel) == ('deny', 'policy')


@pytest.mark.parametrize('levels', [1, 2])
async def test_what_is_denied_without_a_question_is_shown_in_the_parents_stream(tmp_path: Path, levels: int) -> None:
    """The step that gave the task went well, and a report need not mention what was refused."""
    helper: SubAgentConfig = {'name': 'helper', 'description': 'Helps.'}
    turns = {'a': [write('a'), 'done']}
    if levels == 2:
        turns = {'a': [give('b', subagent_type='helper'), 'done'], 'b': [write('b'), 'done']}
    person = Person()
    played = await perform(
        Cast({'go': [give('a'), 'end'], **turns}),
        SubAgentCapability([helper], max_nesting_depth=2),
        ApprovalGate('deny', person),
        deps=Deps(KernelWorkspace(tmp_path)),
    )
    [asked], [decided] = played.events_of(ApprovalAskedEvent), played.events_of(ApprovalDecidedEvent)
    assert (asked.tool_call_id, asked.request.asked_by) == ('1.1', ['general', 'helper'][levels - 1])
    assert (decided.request, decided.decision) == (asked.request, ApprovalDecision(verdict='deny', channel='policy'))
    assert (person.asked, names(tmp_path)) == ([], [])


@dataclass(frozen=True)
class Modes:
    parent: Any
    own: Any
    holds: str


@pytest.mark.parametrize(
    'case',
    [
        Modes('auto', 'deny', 'denied'),
        Modes('deny', 'auto', 'denied'),
        Modes('auto', 'ask', 'asked'),
        Modes('ask', 'auto', 'asked'),
        Modes('auto', 'auto', 'written'),
    ],
    ids=str,
)
async def test_a_gate_of_a_given_agents_own_is_not_opened_by_its_parent(tmp_path: Path, case: Modes) -> None:
    person = Person(lambda request: ApprovalDecision(verdict='deny', reason='asked'))
    own = ApprovalGate[Any](case.own, Person())
    script = Cast({'a': [write('a'), lambda messages: texts_of(messages)[-1]]})
    given = Agent(script.model, capabilities=[Filesystem(), own])
    helper: SubAgentConfig = {'name': 'helper', 'description': 'Helps.', 'agent': given}
    played = await perform(
        Cast({'go': [give('a', subagent_type='helper'), 'end']}),
        SubAgentCapability([helper]),
        ApprovalGate(case.parent, person),
        deps=Deps(KernelWorkspace(tmp_path)),
    )
    assert (names(tmp_path) == ['a']) == (case.holds == 'written')
    assert (len(person.asked) == 1) == (case.holds == 'asked')
    assert ('an approval that nobody can give' in played.texts[0]) == (case.holds == 'denied')


async def test_changed_text_that_cannot_be_used_is_shown_as_denied(tmp_path: Path) -> None:
    key = 'API_KEY=sk-proj-abcdefghijklmnop1234567890'
    person = Person(lambda request: ApprovalDecision(verdict='approve', edited='other', channel='widget'))
    cast = Cast({'go': [give('a'), 'end'], 'a': [[('write_file', {'path': 'a', 'content': key})], 'done']})
    deps = Deps(KernelWorkspace(tmp_path))
    played = await perform(cast, SubAgentCapability(), ApprovalGate(approver=person), deps=deps)
    [decided] = played.events_of(ApprovalDecidedEvent)
    assert decided.decision.verdict == 'deny'
    assert names(tmp_path) == []


async def test_the_person_may_change_what_a_child_writes(tmp_path: Path) -> None:
    person = Person(lambda request: ApprovalDecision(verdict='approve', edited='theirs\n', channel='widget'))
    cast = Cast({'go': [give('a'), 'end'], 'a': [write('a'), 'done']})
    deps = Deps(KernelWorkspace(tmp_path))
    await perform(cast, SubAgentCapability(), ApprovalGate(approver=person), deps=deps)
    assert (tmp_path / 'a').read_text() == 'theirs\n'
    assert 'changed `content` before approving' in texts_of(cast.requests_of('a')[-1].messages)[0]

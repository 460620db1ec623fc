"""What subagents do is shown below the call that gave them their task, and counted once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import FunctionToolCallEvent, FunctionToolResultEvent, ToolCallPart, ToolReturnPart

from deep_notebook.capabilities.approvals import ApprovalDecision, ApprovalGate, ApprovalRequest
from deep_notebook.capabilities.events import (
    ApprovalAskedEvent,
    ApprovalDecidedEvent,
    SubagentEndedEvent,
    SubagentProgressEvent,
    SubagentStartedEvent,
)
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.subagents import SubAgentCapability
from deep_notebook.capabilities.todos import Todos
from deep_notebook.views import from_json, reduce, to_json
from deep_notebook.views.driver_events import RunFinished, RunStarted
from deep_notebook.views.run_shape import FileChange, ModelInfo, RunState, Subagent, Todo, ToolStep
from deep_notebook.workspaces import KernelWorkspace
from harness.cast import Cast, perform
from harness.play import Deps

pytestmark = pytest.mark.anyio

FILE = {'path': 'a.md', 'added': 2, 'removed': 1, 'diff': '--- a.md\n+++ a.md\n@@ -1 +1,2 @@\n-x\n+y\n+z\n'}
SECRET = 'sk-ant-api03-' + 'a1B2' * 22


def fold(events: Sequence[object], state: RunState | None = None) -> RunState:
    state = state or reduce(RunState(), RunStarted(run='1', prompt='go', model=ModelInfo(), at=100), now=100)
    for event in events:
        state = reduce(state, event, now=101)
    return state


def steps(state: RunState) -> list[ToolStep]:
    return [step for step in state.steps if isinstance(step, ToolStep)]


def child(state: RunState) -> Subagent:
    [step] = steps(state)
    [child] = step.subagents
    return child


def began(background: bool = False, prompt: str = 'find gaps') -> list[object]:
    call = ToolCallPart('task', {'description': prompt}, tool_call_id='c1')
    return [
        FunctionToolCallEvent(part=call),
        SubagentStartedEvent(task='t1', name='research', prompt=prompt, background=background, tool_call_id='c1'),
    ]


def does(line: str, todos: list[dict[str, str]] | None = None) -> SubagentProgressEvent:
    return SubagentProgressEvent(task='t1', name='research', line=line, todos=todos, tool_call_id='c1')


def ends(status: Any = 'done', line: str = 'None.', files: Sequence[dict[str, Any]] = ()) -> SubagentEndedEvent:
    return SubagentEndedEvent(
        task='t1', name='research', status=status, line=line, seconds=2.5, files=list(files), tool_call_id='c1'
    )


def returns(outcome: Any = 'success', **metadata: Any) -> FunctionToolResultEvent:
    part = ToolReturnPart('task', 'None.', tool_call_id='c1', metadata=metadata, outcome=outcome)
    return FunctionToolResultEvent(part=part)


def test_a_task_is_followed_from_its_start_to_its_end() -> None:
    events = began()
    assert child(fold(events)) == Subagent(id='t1', name='research', prompt='find gaps')
    events.append(does('read_file · a.csv', [{'id': '1', 'content': 'Read', 'status': 'in_progress'}]))
    working = child(fold(events))
    assert (working.line, working.todos) == (
        'read_file · a.csv',
        (Todo(id='1', content='Read', status='in_progress'),),
    )
    events += [does('read_file · a.csv · 3 lines'), ends(files=[FILE])]
    assert child(fold(events)) == replace(
        working, status='done', line='None.', seconds=2.5, files=(FileChange(path='a.md', added=2, removed=1),)
    )


def test_the_step_keeps_what_the_subagent_was_told() -> None:
    state = fold([*began(), ends(), returns(summary='research · 3 s')])
    [step] = steps(state)
    assert (step.summary, step.status) == ('find gaps', 'ok')


@dataclass(frozen=True)
class Counted:
    name: str
    events: list[object]
    files: int = 1


COUNTED = [
    Counted('a foreground task reports its files twice', [*began(), ends(files=[FILE]), returns(files=[FILE])]),
    Counted('a background task reports once', [*began(background=True), returns(), ends(files=[FILE])]),
    Counted('a failed task did what it did', [*began(), ends('failed', files=[FILE]), returns('failed')]),
    Counted('a tool without events of its subagent', [began()[0], returns(files=[FILE])]),
    Counted('a failed tool', [began()[0], returns('failed', files=[FILE])], files=0),
]


@pytest.mark.parametrize('case', COUNTED, ids=lambda case: case.name)
def test_changes_of_files_are_counted_once(case: Counted) -> None:
    files = fold(case.events).files
    assert [(file.path, file.added, file.removed, file.diff) for file in files] == [
        ('a.md', 2, 1, FILE['diff'])
    ] * case.files


def test_a_background_task_lives_on_below_the_step_that_returned() -> None:
    state = fold([*began(background=True), returns(), does('grep · gap')])
    [step] = steps(state)
    assert (step.status, child(state).status, child(state).line) == ('ok', 'running', 'grep · gap')
    assert child(fold([ends()], state)).status == 'done'


def test_nothing_looks_alive_when_the_run_has_ended() -> None:
    for phase in ('stopped', 'suspended', 'done'):
        state = fold([*began(background=True), returns(), does('grep · gap'), RunFinished(phase=phase)])  # type: ignore[arg-type]
        assert (child(state).status, child(state).line) == ('cancelled', 'stopped before it was done')


def test_a_failure_is_told_once() -> None:
    state = fold([*began(), ends('failed', 'ValueError: no'), returns('failed')])
    [step] = steps(state)
    assert (step.status, step.note, child(state).line) == ('failed', None, 'ValueError: no')


def test_secrets_of_a_subagent_are_masked() -> None:
    plan = [{'id': '1', 'content': SECRET, 'status': 'pending'}]
    events = [*began(prompt=SECRET), does(SECRET, plan)]
    assert SECRET not in str(to_json(fold(events)))
    assert SECRET not in str(to_json(fold([*events, ends(line=SECRET, files=[{**FILE, 'diff': f'+{SECRET}'}])])))


def test_events_of_a_call_that_is_not_shown_still_count_the_files() -> None:
    state = fold([began()[1], does('x'), ends(files=[FILE])])
    assert (state.steps, len(state.files)) == ((), 1)


def question(id: str = 't1:c9') -> ApprovalRequest:
    return ApprovalRequest(
        id=id, tool='write_file', tool_class='write', title='Write a.md?', path='a.md', asked_by='research'
    )


def test_a_question_of_a_subagent_stands_below_its_step_and_makes_none() -> None:
    state = fold([*began(), ApprovalAskedEvent(request=question(), tool_call_id='c1')])
    [approval] = state.pending
    assert (state.phase, approval.step, approval.asked_by) == ('waiting', 'c1', 'research')
    assert [(step.id, step.status) for step in steps(state)] == [('c1', 'running')]
    yes = ApprovalDecision(verdict='approve', channel='widget')
    state = fold([ApprovalDecidedEvent(request=question(), decision=yes)], state)
    assert (state.phase, state.approvals[0].state) == ('running', 'approved')
    assert [step.id for step in steps(state)] == ['c1']


def test_a_question_of_the_agent_itself_keeps_its_own_step() -> None:
    state = fold([ApprovalAskedEvent(request=question('c1'), tool_call_id='c1')])
    assert state.approvals[0].step is None
    assert [(step.id, step.status) for step in steps(state)] == [('c1', 'waiting')]


def test_a_stored_run_from_before_there_were_subagents_is_read() -> None:
    data = to_json(fold(began()))
    for step in data['steps']:  # type: ignore[union-attr]
        del step['subagents']  # type: ignore[union-attr, call-overload, arg-type]
    assert steps(from_json(data))[0].subagents == ()


class Person:
    async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
        return ApprovalDecision(verdict='approve', channel='widget')


async def test_real_runs_of_two_children_at_once_and_one_in_the_background(tmp_path: Path) -> None:
    """The events as the agent really emits them, in their order."""
    plan = ('write_todos', {'todos': [{'content': 'Write it', 'status': 'in_progress'}]})

    def write(path: str) -> tuple[str, dict[str, Any]]:
        return ('write_file', {'path': path, 'content': 'x\n'})

    def give(name: str, **more: Any) -> tuple[str, dict[str, Any]]:
        return ('task', {'description': name, **more})

    cast = Cast(
        {
            'go': [[give('one'), give('two')], [give('three', background=True)], 'hm', 'end'],
            'one': [[write('one.md')], 'One is done.'],
            'two': [[write('two.md')], 'Two is done.'],
            'three': [[plan], [write('three.md')], 'Three is done.'],
        }
    )
    seen: list[RunState] = [fold([])]
    on_event: Callable[[Any], None] = lambda event: seen.append(fold([event], seen[-1]))  # noqa: E731
    async with asyncio.timeout(20):
        await perform(
            cast,
            Filesystem(),
            Todos(),
            SubAgentCapability(include_plan=False),
            ApprovalGate(approver=Person()),
            deps=Deps(KernelWorkspace(tmp_path)),
            on_event=on_event,
        )
    last = seen[-1]
    assert [(step.name, step.summary, step.status) for step in steps(last)] == [
        ('task', 'one', 'ok'),
        ('task', 'two', 'ok'),
        ('task', 'three', 'ok'),
    ]
    children = [step.subagents[0] for step in steps(last)]
    assert [(child.name, child.status, child.line, len(child.files), child.background) for child in children] == [
        ('general', 'done', 'One is done.', 1, False),
        ('general', 'done', 'Two is done.', 1, False),
        ('general', 'done', 'Three is done.', 1, True),
    ]
    assert sorted((file.path, file.added) for file in last.files) == [('one.md', 1), ('three.md', 1), ('two.md', 1)]
    assert {(approval.step, approval.state) for approval in last.approvals} == {
        (step.id, 'approved') for step in steps(last)
    }
    assert [todo.content for todo in children[2].todos] == ['Write it']
    lines = {step.subagents[0].line for state in seen for step in steps(state) if step.subagents}
    assert 'write_file · one.md' in lines

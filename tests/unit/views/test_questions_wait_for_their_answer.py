"""What the person is asked to decide: the run waits, and the question stays with its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai.messages import FunctionToolCallEvent, FunctionToolResultEvent, ToolCallPart, ToolReturnPart

from deep_notebook.capabilities.approvals import ApprovalDecision, ApprovalRequest
from deep_notebook.capabilities.events import (
    ApprovalAskedEvent,
    ApprovalDecidedEvent,
    QuestionAnsweredEvent,
    QuestionAskedEvent,
    SubagentStartedEvent,
)
from deep_notebook.views import from_json, reduce, to_json
from deep_notebook.views.driver_events import QuestionSuperseded, RunFinished, RunStarted
from deep_notebook.views.run_shape import Choice, ModelInfo, RunState, ToolStep

OPTIONS: list[dict[str, Any]] = [
    {'label': '9090', 'description': 'free', 'recommended': True},
    {'label': '8081', 'description': '', 'recommended': False},
]
SECRET = 'sk-ant-api03-' + 'a1B2' * 22


def fold(events: Sequence[object], state: RunState | None = None, *, now: float = 101) -> RunState:
    state = state or reduce(RunState(), RunStarted(run='1', prompt='go', model=ModelInfo(), at=100), now=100)
    for event in events:
        state = reduce(state, event, now=now)
    return state


def call(name: str = 'ask_user', **args: Any) -> FunctionToolCallEvent:
    return FunctionToolCallEvent(part=ToolCallPart(name, args or {'question': 'Which port?'}, tool_call_id='c1'))


def asks(name: str = 'main', *, id: str = 'q1', question: str = 'Which port?', call: str | None = 'c1') -> object:
    event = QuestionAskedEvent(id=id, question=question, options=OPTIONS, asked_by=name)
    event.tool_call_id = call
    return event


def step(state: RunState) -> ToolStep:
    [step] = [step for step in state.steps if isinstance(step, ToolStep)]
    return step


def test_the_run_and_the_step_wait_until_there_is_an_answer() -> None:
    state = fold([call(), asks()])
    [question] = state.questions
    assert (state.phase, step(state).status, question.state) == ('waiting', 'waiting', 'pending')
    assert question.choices == (Choice(label='9090', description='free', recommended=True), Choice(label='8081'))
    state = fold([QuestionAnsweredEvent(id='q1', answer='8081')], state)
    assert (state.phase, step(state).status) == ('running', 'running')
    assert (state.questions[0].state, state.questions[0].answer) == ('answered', '8081')


def test_the_time_that_a_question_waits_is_not_the_tools() -> None:
    state = fold([QuestionAnsweredEvent(id='q1', answer='8081')], fold([call(), asks()]), now=160)
    part = ToolReturnPart('ask_user', 'ok', tool_call_id='c1')
    assert step(fold([FunctionToolResultEvent(part=part)], state, now=160.2)).seconds == pytest.approx(0.2)


def test_a_question_that_is_asked_elsewhere_still_waits() -> None:
    state = fold([call(), asks(), QuestionSuperseded(id='q1')])
    assert (state.phase, state.questions[0].state) == ('waiting', 'superseded')


def test_a_run_waits_as_long_as_anything_does() -> None:
    request = ApprovalRequest(id='c2', tool='write_file', tool_class='write', title='Write?')
    yes = ApprovalDecision(verdict='approve', channel='widget')
    state = fold([call(), asks(), ApprovalAskedEvent(request=request)])
    assert fold([ApprovalDecidedEvent(request=request, decision=yes)], state).phase == 'waiting'
    state = fold([QuestionAnsweredEvent(id='q1', answer=None)], state)
    assert state.phase == 'waiting'
    assert fold([ApprovalDecidedEvent(request=request, decision=yes)], state).phase == 'running'


def test_a_question_of_a_subagent_stands_below_its_step() -> None:
    began = SubagentStartedEvent(task='t1', name='planner', prompt='plan', background=False, tool_call_id='c1')
    state = fold([call('task', description='plan'), began, asks('planner')])
    assert (state.phase, step(state).status) == ('waiting', 'running')
    assert (state.questions[0].step, state.questions[0].asked_by) == ('c1', 'planner')


def test_a_question_without_a_step_is_still_asked() -> None:
    state = fold([asks(call='gone')])
    assert (state.phase, state.questions[0].step, state.steps) == ('waiting', None, ())


@pytest.mark.parametrize('phase', ['stopped', 'failed', 'suspended'])
def test_a_question_ends_with_its_run(phase: Any) -> None:
    state = fold([call(), asks(), RunFinished(phase=phase)])
    assert (state.questions[0].state, state.phase) == ('unanswered', phase)


def test_secrets_in_questions_and_answers_are_masked() -> None:
    state = fold([call(question=SECRET), asks(question=SECRET), QuestionAnsweredEvent(id='q1', answer=SECRET)])
    assert SECRET not in str(to_json(state))


def test_a_stored_run_from_before_there_were_questions_is_read() -> None:
    data = to_json(fold([call()]))
    del data['questions']
    assert from_json(data).questions == ()

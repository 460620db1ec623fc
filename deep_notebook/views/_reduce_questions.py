"""The part of the reducer that follows what the person is asked to decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from deep_notebook.capabilities.events import QuestionAskedEvent

from . import _reduce_tools as tools
from ._tool_text import mask_and_clip, one_line
from .run_shape import Choice, Question, RunState, ToolStep

__all__ = ['answered', 'asked', 'superseded']

TEXT_LIMIT = 4_000
LABEL_LIMIT = 200
DESCRIPTION_LIMIT = 1_000
"""Characters."""


def asked(state: RunState, event: QuestionAskedEvent) -> RunState:
    """Show a question; the run waits, and so does the step that asks itself."""
    question = Question(
        id=event.id,
        text=mask_and_clip(event.question.strip(), TEXT_LIMIT)[0],
        choices=tuple(map(_choice, event.options)),
        asked_by=one_line(event.asked_by),
        step=event.tool_call_id if tools.has_step(state, event.tool_call_id) else None,
    )
    state = replace(state, questions=(*state.questions, question))
    return _settled(_with_status(state, question, 'waiting'))


def _choice(option: Mapping[str, Any]) -> Choice:
    return Choice(
        label=one_line(str(option.get('label', '')), limit=LABEL_LIMIT),
        description=mask_and_clip(str(option.get('description') or '').strip(), DESCRIPTION_LIMIT)[0],
        recommended=option.get('recommended') is True,
    )


def superseded(state: RunState, id: str) -> RunState:
    """Take the buttons from a question that is asked elsewhere now; the run still waits."""
    return _with_question(state, id, lambda question: replace(question, state='superseded'))


def answered(state: RunState, id: str, answer: str | None, now: float) -> RunState:
    """Show the answer to a question, or that there is none. The time that it waited was not the step's."""
    text = None if answer is None else mask_and_clip(answer.strip(), TEXT_LIMIT)[0]

    def change(question: Question) -> Question:
        return replace(question, state='unanswered' if text is None else 'answered', answer=text)

    state = _with_question(state, id, change)
    question = next((question for question in state.questions if question.id == id), None)
    return state if question is None else _with_status(state, question, 'running', now)


def _with_question(state: RunState, id: str, change: Callable[[Question], Question]) -> RunState:
    questions = tuple(change(question) if question.id == id else question for question in state.questions)
    return _settled(replace(state, questions=questions))


def _settled(state: RunState) -> RunState:
    return replace(state, phase='waiting' if state.waits else 'running')


def _with_status(
    state: RunState, question: Question, status: Literal['running', 'waiting'], started: float | None = None
) -> RunState:
    """Give a status to the step that asks, unless a subagent of it does."""

    def change(step: ToolStep) -> ToolStep:
        asks_itself = step.status in ('running', 'waiting') and not step.subagents
        return replace(step, status=status, started=started) if asks_itself else step

    return tools.with_step(state, question.step, change)

"""All views say the same words: this table is also checked against the live widget."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deep_notebook.views import from_json
from deep_notebook.views.run_state import Approval, Choice, Question, RunState, Subagent, Todo, ToolStep, Usage
from deep_notebook.views.wording import (
    approval_words,
    asked_words,
    cost_words,
    elapsed_words,
    files_words,
    meta_words,
    own_plan_words,
    phase_words,
    plan_words,
    question_words,
    seconds_words,
    subagent_words,
    tokens_words,
    work_words,
)

FIXTURES = Path(__file__).parents[2] / 'fixtures'
TABLE: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / 'wording.json').read_text(encoding='utf-8'))


def state(name: str) -> RunState:
    return from_json(json.loads((FIXTURES / 'run_states' / f'{name}.json').read_text(encoding='utf-8')))


def cost(case: dict[str, Any]) -> str:
    usage = Usage(cost=case['cost'], priced=case['priced'], budget=case['budget'])
    return cost_words(usage, local=case['local'])


WORDS: dict[str, Callable[[Any], str]] = {
    'elapsed': elapsed_words,
    'seconds': seconds_words,
    'tokens': tokens_words,
    'cost': cost,
    'phase': lambda case: phase_words(case['phase'], error=case['error']),
    'plan': lambda case: plan_words(*case),
    'work': lambda case: work_words(*case),
    'files': files_words,
    'approval': lambda case: approval_words(
        Approval(id='1', tool='write_file', tool_class='write', title='Write?', **case)
    ),
    'asked': lambda case: asked_words(Approval(id='1', tool='write_file', tool_class='write', **case)),
    'subagent': lambda case: subagent_words(
        Subagent(name='research', **case[0]), ToolStep(id='1', name='task', tool_class='read', summary=case[1])
    ),
    'own_plan': lambda case: own_plan_words([Todo(**todo) for todo in case]),
    'question': lambda case: question_words(
        Question(id='1', text='Which?', **{**case, 'choices': tuple(Choice(**choice) for choice in case['choices'])})
    ),
    'meta': lambda name: meta_words(state(name)),
}


@pytest.mark.parametrize(
    ('kind', 'case'), [(kind, case) for kind, cases in TABLE.items() for case in cases], ids=lambda value: str(value)
)
def test_words(kind: str, case: dict[str, Any]) -> None:
    assert WORDS[kind](case['input']) == case['text']

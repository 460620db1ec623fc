"""Which tools the embedded model may name next: a table of turns."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from deep_notebook.models.embedded_tools import Catalogue
from deep_notebook.models.embedded_turn import MAX_REQUESTS, Turn

ARGUMENTS = {'write_todos': 'todos', 'ls': 'path', 'read_file': 'path', 'run_python': 'code'}
CATALOGUE = Catalogue(
    [
        ToolDefinition(
            name=name,
            parameters_json_schema={'type': 'object', 'properties': {key: {}}, 'required': [key]},
        )
        for name, key in ARGUMENTS.items()
    ]
    + [
        ToolDefinition(
            name='write_file',
            parameters_json_schema={
                'type': 'object',
                'properties': {'path': {}, 'content': {}},
                'required': ['path', 'content'],
            },
        )
    ]
)
EVERY = frozenset({*ARGUMENTS, 'write_file', 'answer'})
TRACEBACK = 'Traceback (most recent call last):\n  File "x", line 1\nKeyError: \'people\''


@dataclass(frozen=True)
class Call:
    name: str
    result: str = 'fine'
    outcome: str = 'success'


@dataclass(frozen=True)
class Case:
    what: str
    prompt: str
    calls: tuple[Call, ...]
    may: frozenset[str]


def turn(prompt: str, calls: tuple[Call, ...]) -> Turn:
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(prompt)])]
    for number, call in enumerate(calls):
        identifier = str(number)
        messages += [
            ModelResponse(parts=[ToolCallPart(call.name, {'n': number}, tool_call_id=identifier)]),
            ModelRequest(
                parts=[ToolReturnPart(call.name, call.result, tool_call_id=identifier, outcome=call.outcome)]  # type: ignore[arg-type]
            ),
        ]
    return Turn.of(messages)


LOOKS = frozenset({'ls', 'read_file', 'run_python'})
PLAN, READ, FAILED = Call('write_todos'), Call('read_file'), Call('run_python', TRACEBACK)
CASES = [
    Case('a wish to write', 'Write a poem to poem.txt', (), EVERY - {'write_todos'}),
    Case('a question', 'Which is larger?', (), EVERY - {'write_todos', 'write_file'}),
    Case('a wish in German', 'Schreib ein Gedicht', (), EVERY - {'write_todos'}),
    Case('a question about data', 'How many rows has a.csv?', (), LOOKS),
    Case('data and a file, before looking', 'Write the rows of a.csv to b.md', (), LOOKS),
    Case('data and a file, after looking', 'Write the rows of a.csv to b.md', (READ,), EVERY - {'write_todos'}),
    Case('a plan is wanted', 'Make a plan and write a poem', (), EVERY),
    Case('a plan was just written', 'Make a plan and write a poem', (PLAN,), EVERY - {'write_todos'}),
    Case('a plan is being followed', 'Make a plan and write a poem', (PLAN, READ), EVERY),
    Case('code failed', 'Write the sum to sum.md', (FAILED,), LOOKS),
    Case('code failed, then it looked', 'Write the sum to sum.md', (FAILED, READ), frozenset({'run_python'})),
    Case('code was mended', 'Write the sum to sum.md', (FAILED, Call('run_python', '6')), EVERY - {'write_todos'}),
    Case('code failed three times', 'Write the sum to sum.md', (FAILED,) * 3, frozenset({'answer'})),
    Case(
        'a write failed',
        'Write a poem to poem.txt',
        (Call('write_file', 'No such directory.', 'failed'),),
        LOOKS | {'write_file'},
    ),
    Case('arguments were wrong', 'Write a poem to poem.txt', (Call('ls', 'No.', 'retried'),), LOOKS | {'write_file'}),
    Case(
        'the person said no',
        'Write a poem to poem.txt',
        (Call('write_file', 'Denied.', 'denied'),),
        EVERY - {'write_todos', 'write_file'},
    ),
    Case(
        'code printed the word Error',
        'Count',
        (Call('run_python', 'Errors: 3'),),
        EVERY - {'write_todos', 'write_file'},
    ),
    Case('one request is left', 'Make a plan and write', (READ,) * (MAX_REQUESTS - 1), frozenset({'answer'})),
]


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.what)
def test_what_may_come_next(case: Case) -> None:
    assert EVERY - turn(case.prompt, case.calls).barred(CATALOGUE) == case.may


def test_an_answer_is_left_where_everything_else_is_barred() -> None:
    catalogue = Catalogue([ToolDefinition(name='write_todos')])
    assert turn('How many rows has a.csv?', ()).barred(catalogue) == {'write_todos'}


def test_only_the_turn_under_way_counts() -> None:
    earlier = [ModelRequest(parts=[UserPromptPart('Make a plan')]), ModelResponse(parts=[ToolCallPart('ls', {})])]
    now = Turn.of([*earlier, ModelRequest(parts=[UserPromptPart('Thanks')])])
    assert (now.prompt, now.requests, list(now.calls)) == ('Thanks', 0, [])


def test_a_call_repeats_if_it_is_one_of_the_last_two() -> None:
    now = turn('Go', (Call('ls'), READ, FAILED))
    assert not now.repeats('ls', {'n': 0})
    assert now.repeats('read_file', {'n': 1})
    assert not now.repeats('read_file', {'n': 9})

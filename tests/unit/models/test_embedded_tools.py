"""What the embedded model sees of an agent's tools, and what its replies mean."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest
from inline_snapshot import snapshot
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition

from deep_notebook.agent import create_deep_agent
from deep_notebook.capabilities.python import RunPython
from deep_notebook.deps import DeepAgentDeps
from deep_notebook.models.embedded_tools import Catalogue, UnreadableReply


def tool(name: str, *required: str, optional: tuple[str, ...] = (), description: str = '') -> ToolDefinition:
    return ToolDefinition(
        name=name,
        description=description,
        parameters_json_schema={
            'type': 'object',
            'properties': {key: {'type': 'string'} for key in (*required, *optional)},
            'required': list(required),
        },
    )


def names(catalogue: Catalogue) -> list[str]:
    return [tool.name for tool in catalogue.tools]


class NoKernel:
    async def run(self, code: str, *, timeout: float | None) -> Any:
        raise NotImplementedError


@pytest.mark.anyio
async def test_the_tools_of_the_deep_agent_fit_the_hand_written_ones() -> None:
    model = TestModel(call_tools=[])
    await create_deep_agent(model, capabilities=[RunPython[DeepAgentDeps](runner=NoKernel())]).run(
        'Hi', deps=DeepAgentDeps()
    )
    assert model.last_model_request_parameters is not None
    catalogue = Catalogue(model.last_model_request_parameters.declared_function_tools)
    assert names(catalogue) == snapshot(['write_todos', 'ls', 'read_file', 'write_file', 'run_python', 'answer'])
    assert [tool.line for tool in catalogue.tools] == snapshot(
        [
            '{"tool": "write_todos", "todos": [{"content": "...", "status": "pending"}]} keeps the plan',
            '{"tool": "ls", "path": "."} lists a directory',
            '{"tool": "read_file", "path": "..."} shows a text file',
            '{"tool": "write_file", "path": "..."} writes a file; its text follows between <content> and </content>',
            '{"tool": "run_python"} runs Python; a ```python block follows. Read CSV with csv.DictReader',
            '{"tool": "answer"} ends the task; your words to the user follow',
        ]
    )


def test_own_tools_are_shown_by_their_first_sentence_and_required_arguments() -> None:
    weather = tool(
        'get_weather', 'city', optional=('units',), description='Say how the weather is. Then much more.\nAnd more.'
    )
    catalogue = Catalogue([weather])
    assert [tool.line for tool in catalogue.tools][:-1] == [
        '{"tool": "get_weather", "city": "..."} Say how the weather is.'
    ]
    reply = catalogue.parse('{"tool": "get_weather", "city": "Bern"}')
    assert reply.call_arguments() == {'city': 'Bern'}


def test_a_known_name_with_other_arguments_is_shown_as_it_is() -> None:
    catalogue = Catalogue([tool('read_file', 'path', 'encoding', description='Read it.')])
    assert catalogue.tools[0].line == '{"tool": "read_file", "path": "...", "encoding": "..."} Read it.'


def test_tools_beyond_the_bound_are_left_out_those_of_features_first() -> None:
    feature = ToolDefinition(name='remember', capability_id='memory')
    own = [tool(f'own_{number}') for number in range(4)]
    assert names(Catalogue([feature, *own, tool('grep', 'pattern')])) == ['own_0', 'own_1', 'own_2', 'own_3', 'answer']


class Colour(Enum):
    RED = 'red'
    BLUE = 'blue'


class Point(BaseModel):
    x: float
    y: float


class Node(BaseModel):
    """A type that contains itself."""

    children: list[Node]


@pytest.mark.anyio
async def test_references_in_a_foreign_schema_are_resolved() -> None:
    model = TestModel(call_tools=[])
    agent = Agent(model)

    @agent.tool_plain
    def paint(colour: Colour, at: list[Point]) -> str:
        """Paint."""
        return ''

    @agent.tool_plain
    def grow(node: Node) -> str:
        """Grow."""
        return ''

    await agent.run('Hi')
    assert model.last_model_request_parameters is not None
    schema = json.dumps(Catalogue(model.last_model_request_parameters.function_tools).schema())
    assert '$ref' not in schema
    assert '"enum": ["red", "blue"]' in schema


@dataclass(frozen=True)
class Case:
    what: str
    text: str


@pytest.mark.parametrize(
    'case',
    [
        Case('cut off', '{"tool": "read_file", "pa'),
        Case('no object', '["read_file"]'),
        Case('a tool that is not there', '{"tool": "delete_everything"}'),
        Case('an argument missing', '{"tool": "read_file"}'),
        Case('an argument too many', '{"tool": "read_file", "path": "a", "content": "b"}'),
        Case('nothing', ''),
    ],
    ids=lambda case: case.what,
)
def test_what_is_no_whole_call_is_unreadable(case: Case) -> None:
    with pytest.raises(UnreadableReply):
        Catalogue([tool('read_file', 'path')]).parse(case.text)


def todos_tool(*, item_fields: list[str]) -> ToolDefinition:
    item = {'type': 'object', 'properties': {key: {'type': 'string'} for key in item_fields}, 'required': item_fields}
    return ToolDefinition(
        name='write_todos',
        parameters_json_schema={
            '$defs': {'Todo': item},
            'type': 'object',
            'properties': {'todos': {'type': 'array', 'items': {'$ref': '#/$defs/Todo'}}},
            'required': ['todos'],
        },
    )


def test_todos_get_the_fields_that_the_agents_own_tool_requires() -> None:
    catalogue = Catalogue([todos_tool(item_fields=['content', 'status', 'id', 'active_form'])])
    reply = catalogue.parse('{"tool": "write_todos", "todos": [{"content": "Read", "status": "pending"}]}')
    assert reply.call_arguments() == {
        'todos': [{'content': 'Read', 'status': 'pending', 'id': '1', 'active_form': 'Read'}]
    }


def test_an_earlier_call_is_written_as_the_model_would_have_written_it() -> None:
    catalogue = Catalogue(
        [todos_tool(item_fields=['content', 'status']), tool('write_file', 'path', 'content', optional=('mode',))]
    )
    assert catalogue.head('write_file', {'path': 'ä.md', 'content': 'text', 'mode': 'x'}) == (
        '{"tool": "write_file", "path": "ä.md"}',
        'text',
    )
    todos = [{'content': 'Read', 'status': 'pending', 'id': '1'}]
    assert catalogue.head('write_todos', {'todos': todos})[0] == (
        '{"tool": "write_todos", "todos": [{"content": "Read", "status": "pending"}]}'
    )


def test_barred_tools_are_not_in_the_schema() -> None:
    catalogue = Catalogue([tool('ls', 'path'), tool('read_file', 'path')])
    schema = catalogue.schema(without=frozenset({'ls'}))
    assert [option['properties']['tool']['const'] for option in schema['oneOf']] == ['read_file', 'answer']

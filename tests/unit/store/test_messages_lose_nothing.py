"""A message is stored without what says nothing, and comes back as if all of it had been stored."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pydantic import BaseModel
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from deep_notebook.store.messages import dump_message, dump_whole, load_message, load_messages


class Model(BaseModel):
    value: int | None = None


@dataclass
class Row:
    value: int | None = None


VALUES: list[object] = [
    None,
    '',
    {'value': None},
    [None, {'value': [None]}],
    (None, 1),
    Model(),
    {'deep': [Model()]},
    Row(),
    [Row()],
    {1: None},
    b'\xff',
    object,
]


def same(message: ModelMessage) -> None:
    """Whatever way it is stored and read, it is as if pydantic-ai had stored and read all of it."""
    whole = ModelMessagesTypeAdapter.validate_json(f'[{dump_whole(message)}]')
    body = dump_message(message)
    assert load_message(body) == whole[0]
    read = load_messages([body.encode()])
    assert read == whole
    assert list(map(type, read[0].parts)) == list(map(type, whole[0].parts))
    assert dump_message(read[0]) == dump_message(whole[0])


@pytest.mark.parametrize('value', VALUES, ids=repr)
def test_what_a_tool_returned(value: object) -> None:
    same(ModelRequest(parts=[ToolReturnPart('look', value, 'call')]))
    same(ModelRequest(parts=[ToolReturnPart('look', 'seen', 'call', metadata=value)]))
    same(ModelResponse(parts=[NativeToolReturnPart('look', value, 'call')]))
    same(ModelRequest(parts=[ToolReturnPart('look', 'seen', 'call')], metadata={'value': value}))


@pytest.mark.parametrize('value', VALUES, ids=repr)
def test_what_a_tool_was_called_with(value: object) -> None:
    same(ModelResponse(parts=[ToolCallPart('look', {'value': value}, 'call')]))
    same(ModelResponse(parts=[TextPart('Look.', provider_details={'value': value})]))
    same(ModelResponse(parts=[ThinkingPart('Hm.', signature='s')], provider_details={'value': value}))


@pytest.mark.parametrize(
    'content', ['Look.', ['Look.', ImageUrl('https://localhost/a')], [BinaryContent(b'1', media_type='image/png')]]
)
def test_what_a_person_said(content: str) -> None:
    same(ModelRequest(parts=[UserPromptPart(content)], instructions='Be kind.'))


def test_what_went_wrong() -> None:
    same(ModelRequest(parts=[ToolReturnPart('look', 'no', 'call', outcome='retried')]))
    same(ModelRequest(parts=[RetryFeedbackPart('no', retry=RetryInfo(cause='no_output'))]))


def test_what_says_nothing_is_not_stored() -> None:
    call = ModelResponse(
        parts=[TextPart('I look.'), ToolCallPart('look', {'at': 'a'}, 'call')], usage=RequestUsage(input_tokens=3)
    )
    result = ModelRequest(parts=[ToolReturnPart('look', {'found': ['a']}, 'call')])
    bodies = [dump_message(message) for message in (call, result)]
    assert not any('null' in body for body in bodies)
    assert load_messages(body.encode() for body in bodies) == [call, result]


def test_what_a_tool_is_stays_known() -> None:
    call = ToolCallPart('search_tools', {'queries': ['a']}, 'call', tool_kind='tool-search')
    same(ModelResponse(parts=[call]))
    same(
        ModelRequest(parts=[ToolReturnPart('search_tools', {'discovered_tools': []}, 'call', tool_kind='tool-search')])
    )
    same(ModelRequest(parts=[ToolReturnPart('own', 'seen', 'call', tool_kind='own')]))


def test_each_keeps_its_place() -> None:
    looked: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(['Look.', ImageUrl('https://localhost/a')])]),
        ModelResponse(parts=[ToolCallPart('look', '{}', 'call')]),
        ModelRequest(parts=[ToolReturnPart('look', None, 'call')]),
        ModelResponse(parts=[TextPart('Seen.')]),
    ]
    assert load_messages(dump_message(message).encode() for message in looked) == looked

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


def whole(message: ModelMessage) -> tuple[ModelMessage, list[type]]:
    """A message as pydantic-ai stores all of it and reads it, and the types of its parts."""
    (read,) = ModelMessagesTypeAdapter.validate_json(f'[{dump_whole(message)}]')
    return read, list(map(type, read.parts))


def kept(message: ModelMessage) -> tuple[ModelMessage, list[type]]:
    """The same from our store: read alone or with others, and stored again, it is one message."""
    body = dump_message(message)
    (read,) = load_messages([body.encode()])
    assert load_message(body) == read
    assert dump_message(read) == dump_message(whole(message)[0])
    return read, list(map(type, read.parts))


@pytest.mark.parametrize('value', VALUES, ids=repr)
def test_what_a_tool_returned_comes_back(value: object) -> None:
    message = ModelRequest(parts=[ToolReturnPart('look', value, 'call')])
    assert kept(message) == whole(message)
    message = ModelRequest(parts=[ToolReturnPart('look', 'seen', 'call', metadata=value)])
    assert kept(message) == whole(message)
    message = ModelResponse(parts=[NativeToolReturnPart('look', value, 'call')])
    assert kept(message) == whole(message)
    message = ModelRequest(parts=[ToolReturnPart('look', 'seen', 'call')], metadata={'value': value})
    assert kept(message) == whole(message)


@pytest.mark.parametrize('value', VALUES, ids=repr)
def test_what_a_tool_was_called_with_comes_back(value: object) -> None:
    message = ModelResponse(parts=[ToolCallPart('look', {'value': value}, 'call')])
    assert kept(message) == whole(message)
    message = ModelResponse(parts=[TextPart('Look.', provider_details={'value': value})])
    assert kept(message) == whole(message)
    message = ModelResponse(parts=[ThinkingPart('Hm.', signature='s')], provider_details={'value': value})
    assert kept(message) == whole(message)


@pytest.mark.parametrize(
    'content', ['Look.', ['Look.', ImageUrl('https://localhost/a')], [BinaryContent(b'1', media_type='image/png')]]
)
def test_what_a_person_said_comes_back(content: str) -> None:
    message = ModelRequest(parts=[UserPromptPart(content)], instructions='Be kind.')
    assert kept(message) == whole(message)


def test_what_went_wrong_comes_back() -> None:
    message = ModelRequest(parts=[ToolReturnPart('look', 'no', 'call', outcome='retried')])
    assert kept(message) == whole(message)
    message = ModelRequest(parts=[RetryFeedbackPart('no', retry=RetryInfo(cause='no_output'))])
    assert kept(message) == whole(message)


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
    message = ModelResponse(parts=[call])
    assert kept(message) == whole(message)
    message = ModelRequest(
        parts=[ToolReturnPart('search_tools', {'discovered_tools': []}, 'call', tool_kind='tool-search')]
    )
    assert kept(message) == whole(message)
    message = ModelRequest(parts=[ToolReturnPart('own', 'seen', 'call', tool_kind='own')])
    assert kept(message) == whole(message)


def test_each_keeps_its_place() -> None:
    looked: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(['Look.', ImageUrl('https://localhost/a')])]),
        ModelResponse(parts=[ToolCallPart('look', '{}', 'call')]),
        ModelRequest(parts=[ToolReturnPart('look', None, 'call')]),
        ModelResponse(parts=[TextPart('Seen.')]),
    ]
    assert load_messages(dump_message(message).encode() for message in looked) == looked

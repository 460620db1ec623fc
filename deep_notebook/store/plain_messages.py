"""Plain messages: texts, calls and results that hold nothing but JSON, as nearly all do.

They are written without the fields that are `None`, and read without validation, since `write_plain` wrote them: both
in two thirds of the time of pydantic-ai's adapter. Whatever else there is, today or in a later version of
pydantic-ai, is none of them and goes through that adapter.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage
from pydantic_core import PydanticSerializationError, from_json

__all__ = ['read_plain', 'write_plain']

_PARTS: dict[str, Any] = {
    'system-prompt': SystemPromptPart,
    'user-prompt': UserPromptPart,
    'text': TextPart,
    'thinking': ThinkingPart,
    'tool-call': ToolCallPart,
    'tool-return': ToolReturnPart,
}
_SCALARS = frozenset({str, int, float, bool, datetime, type(None)})
_APART = frozenset({'parts', 'usage'})
"""Fields of a message that are looked at on their own."""
_ANY_JSON = frozenset({'args', 'metadata', 'provider_details'})
"""Fields that hold whatever JSON they are given; all other fields of what is read are texts."""


class _NotPlain(Exception):
    pass


def write_plain(message: ModelMessage) -> str | None:
    """Return a message as JSON, or `None` if it is not plain."""
    if not _is_plain(message):
        return None
    try:
        return _adapter(message.kind).dump_json(message, exclude_none=True).decode()
    except PydanticSerializationError:
        return None


def read_plain(array: bytes) -> list[ModelMessage | None]:
    """Return the messages in a JSON array, with `None` in place of each that is not plain.

    Raises:
        ValueError: It is no JSON.
    """
    return [_message(fields) for fields in from_json(array)]


@cache
def _adapter(kind: Literal['request', 'response']) -> TypeAdapter[Any]:
    """Return what writes messages of one kind: in half the time of the adapter that first looks which kind it is."""
    return TypeAdapter(ModelRequest if kind == 'request' else ModelResponse)


def _is_plain(message: ModelMessage) -> bool:
    """Return whether no `None` in `message` says anything: the objects of tools may have fields of their own."""
    for part in message.parts:
        fields = vars(part)
        if part.part_kind not in _PARTS or fields.get('content', '') is None or not _is_json(fields):
            return False
    return all(_is_json(value) for name, value in vars(message).items() if name not in _APART)


def _is_json(value: object) -> bool:
    kind = type(value)
    if kind in _SCALARS:
        return True
    if isinstance(value, dict):
        return all(map(_is_json, value.values()))
    return isinstance(value, list) and all(map(_is_json, value))


def _message(fields: dict[str, Any]) -> ModelMessage | None:
    try:
        parts = [_part(part) for part in fields.pop('parts')]
        usage = fields.pop('usage', None)
        _read_texts(fields)
        if fields['kind'] == 'request':
            return ModelRequest(parts, **fields)
        if 'cost' in usage:
            return None
        return ModelResponse(parts, usage=RequestUsage(**usage), **fields)
    except (_NotPlain, LookupError, TypeError, ValueError):
        return None


def _part(fields: dict[str, Any]) -> Any:
    if 'tool_kind' in fields:
        raise _NotPlain
    _read_texts(fields)
    return _PARTS[fields['part_kind']](**fields)


def _read_texts(fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        if name == 'timestamp':
            fields[name] = datetime.fromisoformat(value)
        elif type(value) is not str and name not in _ANY_JSON:
            raise _NotPlain

"""What a strict provider makes of a history."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart

__all__ = ['called', 'problems', 'real']


def problems(messages: Sequence[ModelMessage]) -> list[str]:
    """What a strict provider would refuse in a history."""
    found: list[str] = []
    ids: set[str] = set()
    calls: list[str] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            found += [f'{id} has no result' for id in calls]
            calls = [part.tool_call_id for part in message.tool_calls]
            found += [f'{id} is used twice' for id in calls if id in ids or calls.count(id) > 1]
            ids.update(calls)
            continue
        returned = [part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)]
        found += [f'{id} answers nothing' for id in returned if id not in calls]
        found += [f'{id} is answered twice' for id in returned if returned.count(id) > 1]
        found += [f'{id} has no result' for id in calls if id not in returned]
        kinds = [isinstance(part, ToolReturnPart) for part in message.parts]
        found += ['a result after what the user says'] if kinds != sorted(kinds, reverse=True) else []
        calls = []
    return found + [f'{id} has no result' for id in calls]


def real(messages: Sequence[ModelMessage]) -> set[str]:
    """The contents of all results that a tool gave."""
    parts = [part for message in messages for part in message.parts]
    return {str(part.content) for part in parts if isinstance(part, ToolReturnPart) and part.outcome == 'success'}


def called(messages: Sequence[ModelMessage]) -> set[str]:
    """The ids of all calls."""
    return {part.tool_call_id for message in messages for part in message.parts if isinstance(part, ToolCallPart)}

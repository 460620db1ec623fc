"""Models that follow a script, importable in kernels too: `from harness.scripted import script, call`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

__all__ = ['Call', 'Turn', 'call', 'prompts', 'returns', 'script']


@dataclass(frozen=True)
class Call:
    """A tool call that the script makes."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


def call(name: str, id: str | None = None, **args: Any) -> Call:
    """A tool call of the script."""
    return Call(name, args, id)


Answer: TypeAlias = 'str | Call | Sequence[Call]'
Turn: TypeAlias = 'Answer | Callable[[list[ModelMessage]], Answer]'


def script(*turns: Turn, pause: float = 0.0, seen: list[list[ModelMessage]] | None = None) -> FunctionModel:
    """A model that answers each request with the next turn; the last turn repeats.

    A string is streamed word by word, with `pause` seconds between the words; calls come at once. A function gets the
    messages and returns either. `seen` collects the messages of each request.
    """
    position = 0

    def turn(messages: list[ModelMessage]) -> str | list[tuple[str, Call]]:
        """Return the next answer: a text, or calls with their ids."""
        nonlocal position
        number, position = position, position + 1
        if seen is not None:
            seen.append(list(messages))
        answer = turns[min(number, len(turns) - 1)]
        if callable(answer):
            answer = answer(messages)
        if isinstance(answer, str):
            return answer
        calls = [answer] if isinstance(answer, Call) else answer
        return [(made.id or f'call_{number + 1}_{index + 1}', made) for index, made in enumerate(calls)]

    async def whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        answer = turn(messages)
        if isinstance(answer, str):
            return ModelResponse(parts=[TextPart(answer)])
        return ModelResponse(parts=[ToolCallPart(made.name, made.args, tool_call_id=id) for id, made in answer])

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        answer = turn(messages)
        if isinstance(answer, str):
            for word in answer.split(' '):
                yield f'{word} '
                if pause:
                    await asyncio.sleep(pause)
            return
        for index, (id, made) in enumerate(answer):
            yield {index: DeltaToolCall(name=made.name, json_args=json.dumps(made.args), tool_call_id=id)}

    return FunctionModel(whole, stream_function=stream, model_name='scripted')


def prompts(messages: Sequence[ModelMessage]) -> list[str]:
    """The texts of all user prompts, in order."""
    texts: list[str] = []
    for message in messages:
        if isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, UserPromptPart):
                    texts.extend([part.content] if isinstance(part.content, str) else map(str, part.content))
    return texts


def returns(messages: Sequence[ModelMessage]) -> list[ToolReturnPart]:
    """All tool results, in order."""
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    return [part for request in requests for part in request.parts if isinstance(part, ToolReturnPart)]

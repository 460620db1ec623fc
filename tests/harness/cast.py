"""One model that plays several agents: each is told apart by its first prompt, and follows a script of its own."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic_ai import Agent, UsageLimits
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from harness.play import Call, Played, tool_returns

Answer: TypeAlias = 'str | Sequence[Call]'
Turn: TypeAlias = 'Answer | Callable[[list[ModelMessage]], Answer | Awaitable[Answer]]'


@dataclass
class Request:
    """What one of the agents asked the model."""

    who: str
    messages: list[ModelMessage]
    tools: list[str]
    instructions: str


@dataclass
class Cast:
    """A model in which every agent finds its script by its first prompt; the last turn of a script repeats."""

    scripts: dict[str, Sequence[Turn]]
    name: str = 'scripted'
    requests: list[Request] = field(default_factory=list)

    @property
    def model(self) -> FunctionModel:
        return FunctionModel(self._answer, stream_function=self._stream, model_name=self.name)

    def requests_of(self, who: str) -> list[Request]:
        return [request for request in self.requests if request.who == who]

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        answer, number = await self._turn(messages, info)
        if isinstance(answer, str):
            return ModelResponse([TextPart(answer)])
        parts: list[ModelResponsePart] = [
            ToolCallPart(name, args, tool_call_id=f'{number}.{index}') for index, (name, args) in enumerate(answer, 1)
        ]
        return ModelResponse(parts)

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        answer, number = await self._turn(messages, info)
        if isinstance(answer, str):
            yield answer
            return
        for index, (name, args) in enumerate(answer):
            id = f'{number}.{index + 1}'
            yield {index: DeltaToolCall(name=name, json_args=json.dumps(args), tool_call_id=id)}

    async def _turn(self, messages: list[ModelMessage], info: AgentInfo) -> tuple[Answer, int]:
        who = user_texts(messages)[0]
        number = sum(isinstance(message, ModelResponse) for message in messages) + 1
        tools = [tool.name for tool in info.function_tools]
        self.requests.append(Request(who, list(messages), tools, info.instructions or ''))
        script = self.scripts[who]
        turn = script[min(number, len(script)) - 1]
        answer = turn(messages) if callable(turn) else turn
        return (await answer if inspect.isawaitable(answer) else answer), number


def user_texts(messages: Sequence[ModelMessage]) -> list[str]:
    """The texts of all user prompts, in order."""
    return [
        str(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]


async def perform(
    cast: Cast,
    *capabilities: AbstractCapability[Any],
    prompt: str = 'go',
    deps: Any = None,
    toolsets: Sequence[Any] = (),
    limits: UsageLimits | None = None,
    on_event: Callable[[Any], None] | None = None,
    **options: Any,
) -> Played:
    """Run the agent whose first prompt is `prompt`, streamed, and return what it did."""
    agent: Agent[Any, Any] = Agent(cast.model, capabilities=capabilities, toolsets=toolsets, name='main')
    events: list[Any] = []
    stream: Any = agent.run_stream_events(prompt, deps=deps, usage_limits=limits, **options)
    async with stream as run:
        async for event in run:
            events.append(event)
            if on_event is not None:
                on_event(event)
        assert run.result is not None
        return Played(run.result.output, run.all_messages(), events)


def texts_of(messages: Sequence[ModelMessage]) -> list[str]:
    """What each tool call so far returned, as text."""
    return [part.model_response_str(wrap_if_error=False) for part in tool_returns(messages)]

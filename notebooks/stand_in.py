"""A stand-in for a model, so that the examples need no key. It is no language model: it says what it was told to say.

What it is sent, and what happens to its tool calls, is what would happen with a real model. It counts that.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from textwrap import fill
from typing import Any

from pydantic_ai import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.run import AgentRunResult


def call(tool: str, **arguments: Any) -> ToolCallPart:
    """Return a call of a tool, as an answer of the stand-in."""
    return ToolCallPart(tool, arguments)


class StandIn(FunctionModel):
    """Gives `answers` in order, one a request: texts, and tool calls made with `call`."""

    def __init__(self, *answers: str | ToolCallPart) -> None:
        super().__init__(self._answer, profile=ModelProfile(supported_native_tools=frozenset()))
        self._answers = list(answers)
        self.requests: list[tuple[list[str], int]] = []
        """The names of the tools that each request offered, and about how many tokens they and the instructions are."""

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        tools = {tool.name: [tool.description, tool.parameters_json_schema] for tool in info.function_tools}
        characters = len(info.instructions or '') + sum(len(name + json.dumps(tools[name])) for name in tools)
        self.requests.append((sorted(tools), characters // 4))
        answer = self._answers[len(self.requests) - 1]
        return ModelResponse(parts=[TextPart(answer) if isinstance(answer, str) else answer])

    def show(self) -> None:
        """Print what each request held: the tools, and of later requests only what is new."""
        known: Sequence[str] = ()
        for number, (tools, tokens) in enumerate(self.requests, start=1):
            print(f'Request {number}: {len(tools)} tools, about {tokens:,} tokens before the conversation')
            new = ', '.join(name for name in tools if name not in known) or 'nothing'
            print(fill(f'new: {new}' if known else new, 100, initial_indent='  ', subsequent_indent='  '))
            known = tools


def returned(result: AgentRunResult[Any]) -> None:
    """Print what the tools of a run returned to the model."""
    for message in result.all_messages():
        for part in message.parts if isinstance(message, ModelRequest) else ():
            if isinstance(part, ToolReturnPart):
                print(f'{part.tool_name} → {part.model_response_str()}')

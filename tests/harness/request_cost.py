"""What the first request of an agent costs, in characters / 4 of what a provider is sent.

The provider is one that cannot keep tools hidden itself, so what is on demand is not sent to it at all, and one that
has no tools of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability, Capability
from pydantic_ai.messages import ModelMessage, ModelResponse, SystemPromptPart, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.tools import ToolDefinition

from deep_notebook.capabilities.on_demand import deferred

__all__ = ['Cost', 'MakeAgent', 'cost_of_loading', 'eager_cost', 'first_request_cost', 'on_demand_cost', 'tokens']

MakeAgent: TypeAlias = Callable[[Sequence[AbstractCapability[Any]]], Agent[Any, Any]]
"""Makes an agent with these capabilities beside those that it always has."""


@dataclass(frozen=True)
class Cost:
    """Tokens of a request, as estimated; subtract two to see what one has beside the other."""

    instructions: int
    """Of the instructions, and of whatever else the application says beside the prompt."""
    tools: dict[str, int]
    """Of the name, the description and the JSON schema of each tool."""

    @property
    def total(self) -> int:
        """All of it."""
        return self.instructions + sum(self.tools.values())

    def __sub__(self, other: Cost) -> Cost:
        changed = {name: cost - other.tools.get(name, 0) for name, cost in self.tools.items()}
        gone = {name: -cost for name, cost in other.tools.items() if name not in self.tools}
        tools = {name: cost for name, cost in {**changed, **gone}.items() if cost}
        return Cost(self.instructions - other.instructions, tools)


_NO_TOOLS_OF_ITS_OWN = ModelProfile(supported_native_tools=frozenset())


async def first_request_cost(agent: Agent[Any, Any], deps: Any, prompt: str = 'Hi') -> Cost:
    """Return what the first request of a run on `prompt` costs, without the prompt."""
    requests: list[Cost] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        said = [info.instructions or '', *_said_beside(prompt, messages)]
        requests.append(Cost(tokens(''.join(said)), {tool.name: _tool_tokens(tool) for tool in info.function_tools}))
        return ModelResponse(parts=[TextPart('Hello.')])

    await agent.run(prompt, deps=deps, model=FunctionModel(answer, profile=_NO_TOOLS_OF_ITS_OWN))
    return requests[0]


async def eager_cost(make: MakeAgent, capability: AbstractCapability[Any], deps: Any) -> Cost:
    """Return what `capability` adds to the first request of an agent."""
    return await first_request_cost(make([capability]), deps) - await first_request_cost(make([]), deps)


async def on_demand_cost(make: MakeAgent, capability: AbstractCapability[Any], deps: Any) -> Cost:
    """Return what `capability` adds on demand, beside `cost_of_loading`, which is there once."""
    before = await first_request_cost(make([_OTHER]), deps)
    return await first_request_cost(make([_OTHER, *deferred([capability], {str(capability.id)})]), deps) - before


async def cost_of_loading(make: MakeAgent, deps: Any) -> Cost:
    """Return what it adds that there are capabilities on demand at all."""
    return await first_request_cost(make([_OTHER]), deps) - await first_request_cost(make([]), deps)


_OTHER: Capability[Any] = Capability(id='other', defer_loading=True)


def tokens(text: str) -> int:
    """Return the estimated tokens of `text`."""
    return round(len(text) / 4)


def _tool_tokens(tool: ToolDefinition) -> int:
    schema = json.dumps(tool.parameters_json_schema, ensure_ascii=False, separators=(',', ':'))
    return tokens(f'{tool.name}{tool.description or ""}{schema}')


def _said_beside(prompt: str, messages: Sequence[ModelMessage]) -> list[str]:
    parts = [part for message in messages for part in message.parts]
    system = [part.content for part in parts if isinstance(part, SystemPromptPart)]
    user = [str(part.content) for part in parts if isinstance(part, UserPromptPart) and part.content != prompt]
    return system + user

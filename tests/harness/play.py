"""Play a script of tool calls through a real agent run and look at what came back."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults

from deep_notebook.capabilities.todos import Todo
from deep_notebook.workspaces import StateBackend

Call: TypeAlias = tuple[str, dict[str, Any]]
Returns: TypeAlias = list[ToolReturnPart]
Turn: TypeAlias = Sequence[Call] | Callable[[Returns], Sequence[Call]]


@dataclass
class Played:
    """What a run did."""

    output: Any
    messages: list[ModelMessage]
    events: list[Any] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    """The names of the tools that the model was offered first."""

    @property
    def returns(self) -> Returns:
        return tool_returns(self.messages)

    @property
    def texts(self) -> list[str]:
        """What each call returned, as text."""
        return [part.model_response_str(wrap_if_error=False) for part in self.returns]

    def events_of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def tool_returns(messages: Sequence[ModelMessage]) -> Returns:
    return [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


async def play(
    *turns: Turn,
    capabilities: Sequence[AbstractCapability[Any]],
    deps: Any = None,
    history: Sequence[ModelMessage] = (),
    results: DeferredToolResults | None = None,
    toolsets: Sequence[Any] = (),
    on_event: Callable[[Any], None] | None = None,
    model_name: str = 'scripted',
    profile: ModelProfile | None = None,
) -> Played:
    """Run an agent whose model makes the calls of one turn after the other and then says `done`.

    Args:
        turns: The calls of each response, or a function from all returns so far to them; no calls end the run.
        capabilities: The agent's.
        deps: The run's.
        history: The messages before.
        results: The answers to calls that a former run was suspended with.
        toolsets: The agent's.
        on_event: Called with every event as it comes.
        model_name: What the model is called.
        profile: What the model can do.
    """
    pending = list(turns)
    offered: list[str] = []

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if not offered:
            offered.extend(tool.name for tool in info.function_tools)
        turn = pending.pop(0) if pending else []
        calls = turn(tool_returns(messages)) if callable(turn) else turn
        if not calls:
            yield 'done'
        for index, (name, args) in enumerate(calls):
            call_id = f'{len(turns) - len(pending)}.{index + 1}'
            yield {index: DeltaToolCall(name=name, json_args=json.dumps(args), tool_call_id=call_id)}

    agent = Agent(
        FunctionModel(stream_function=answer, model_name=model_name, profile=profile),
        capabilities=capabilities,
        toolsets=toolsets,
    )
    events: list[Any] = []
    stream: Any = agent.run_stream_events(
        None if results is not None else 'go',
        deps=deps,
        message_history=list(history),
        deferred_tool_results=results,
        output_type=[str, DeferredToolRequests],
    )
    async with stream as run:
        async for event in run:
            events.append(event)
            if on_event is not None:
                on_event(event)
        assert run.result is not None
        return Played(run.result.output, run.all_messages(), events, offered)


@dataclass
class Deps:
    """The least that the tools ask of deps."""

    backend: Any = field(default_factory=StateBackend)
    todos: list[Todo] = field(default_factory=list)
    read_digests: dict[str, str] = field(default_factory=dict)


def anchors(text: str) -> list[str]:
    """Return the anchors in what `read_file` showed, in order."""
    return re.findall(r'^(\d+:[0-9a-f]{2})\|', text, re.MULTILINE)


def names(directory: Path) -> list[str]:
    """Return the names in a directory, sorted."""
    return sorted(path.name for path in directory.iterdir())

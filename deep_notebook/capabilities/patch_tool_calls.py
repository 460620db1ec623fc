"""Mend histories in which tool calls and their results have come apart.

pydantic-ai closes calls that were never answered and drops results whose call is gone, before every request. What it
does not do is done here first: a result that is in the wrong place goes back behind its call, where pydantic-ai would
drop it, or a provider refuse it; and what is in the history twice stays once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeGuard

from pydantic_ai import RunContext, UserPromptNode
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import AgentDepsT

__all__ = ['PatchToolCalls', 'patch_tool_calls_processor']

_CANCELLED = 'Tool call was cancelled.'
"""What pydantic-deep puts in the place of a result, in histories that it repaired."""

_Spot: TypeAlias = tuple[int, int]
"""Where a part is in a history: the index of its message, and its own in that."""


def patch_tool_calls_processor(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Return `messages` as every provider accepts them: each tool call with one result, right after it.

    A call without a result gets pydantic-ai's "interrupted" one; a result without a call goes. A result that is
    elsewhere in the history moves to its call, and takes the place of an "interrupted" one. Copies of a response or
    of a result stay once; a call whose id an earlier call has gets a new one, with its result. Messages that need
    nothing are the same objects, and patching twice changes nothing.

    Args:
        messages: A whole history; neither the list nor the messages are changed.
    """
    return _patched(messages)


@dataclass
class PatchToolCalls(AbstractCapability[AgentDepsT]):
    """`patch_tool_calls_processor` on the history that a run begins with, and before each request, for good.

    The calls at the end of a history are closed when the run has a new prompt. They stay open where they can still be
    answered: when the run is resumed without a prompt, or with the results of deferred calls.
    """

    id: str | None = field(default='patch_tool_calls', kw_only=True)
    description: str | None = field(default='Mend tool calls that an interrupted run left open.', kw_only=True)

    async def before_node_run(self, ctx: RunContext[AgentDepsT], *, node: Any) -> Any:
        """Mend the history that the run was given, before pydantic-ai drops what it cannot place."""
        if isinstance(node, UserPromptNode) and ctx.messages:
            suspended = isinstance(last := ctx.messages[-1], ModelResponse) and last.state == 'suspended'
            abandoned = node.user_prompt is not None and node.deferred_tool_results is None and not suspended
            ctx.messages[:] = _patched(ctx.messages, repair_last_response=abandoned)
        return node

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Mend what the run itself, or another capability, took apart."""
        sent = list(request_context.messages)
        if sent and isinstance(sent[-1], ModelRequest) and not _are_same(patched := _patched(sent), sent):
            request_context.messages = patched
            ctx.messages[:] = _patched(ctx.messages)
        return request_context


@dataclass(eq=False)
class _Call:
    """A call in a history and the result that answers it."""

    spot: _Spot
    part: ToolCallPart
    result: ToolReturnPart | None = None
    result_spot: _Spot = (-1, -1)
    dropped: bool = False
    """Whether it is a copy of another call in its response."""

    @property
    def in_place(self) -> bool:
        """Whether the result is in the message right after the call."""
        return self.result_spot[0] == self.spot[0] + 1

    def is_open_for(self, result: ToolReturnPart) -> bool:
        """Return whether `result` is better than what answers the call so far."""
        return self.result is None or (_is_placeholder(self.result) and not _is_placeholder(result))


def _patched(messages: Sequence[ModelMessage], *, repair_last_response: bool = True) -> list[ModelMessage]:
    single = _without_copies(messages)
    calls = _paired(single)
    last = max((call.spot[0] for call in calls), default=-1)
    _give_own_ids([call for call in calls if repair_last_response or call.spot[0] < last])
    return repair_messages(_in_place(single, calls), repair_last_response=repair_last_response)


def _without_copies(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Return `messages` without responses with tool calls that were there before, equal to the timestamp."""
    seen: defaultdict[str, list[ModelResponse]] = defaultdict(list)
    kept: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelResponse) and message.tool_calls:
            alike = seen[message.tool_calls[0].tool_call_id]
            if message in alike:
                continue
            alike.append(message)
        kept.append(message)
    return kept


def _paired(messages: Sequence[ModelMessage]) -> list[_Call]:
    """Return the calls in `messages` with their results, wherever those are.

    A result answers a call before it, the latest one that is open; the calls of one response are answered in order.
    Only a result with no such call before it answers one that comes after.
    """
    calls: list[_Call] = []
    by_id: defaultdict[str, list[_Call]] = defaultdict(list)
    early: list[tuple[_Spot, ToolReturnPart]] = []
    for index, message in enumerate(messages):
        for number, part in enumerate(message.parts):
            if isinstance(part, ToolCallPart):
                call = _Call((index, number), part)
                calls.append(call)
                by_id[part.tool_call_id].append(call)
            elif _is_result(part):
                if not by_id[part.tool_call_id]:
                    early.append(((index, number), part))
                    continue
                open_calls = [call for call in by_id[part.tool_call_id] if call.is_open_for(part)]
                _answer([call for call in open_calls if call.spot[0] == open_calls[-1].spot[0]], part, (index, number))
    for spot, result in early:
        _answer([call for call in by_id[result.tool_call_id] if call.is_open_for(result)], result, spot)
    return calls


def _answer(calls: Sequence[_Call], result: ToolReturnPart, spot: _Spot) -> None:
    if calls:
        calls[0].result, calls[0].result_spot = result, spot


def _give_own_ids(calls: Sequence[_Call]) -> None:
    """Give each call an id that no call before it has, and drop copies that nothing answers."""
    used: set[str] = set()
    in_response: defaultdict[tuple[int, str], list[_Call]] = defaultdict(list)
    for call in calls:
        original = call.part.tool_call_id
        twins = in_response[call.spot[0], original]
        if call.result is None and any(_is_same_call(call.part, twin.part) for twin in twins):
            call.dropped = True
            continue
        twins.append(call)
        id, number = original, 1
        while id in used:
            number += 1
            id = f'{original}_{number}'
        used.add(id)
        if id != original:
            call.part = replace(call.part, tool_call_id=id)
            call.result = None if call.result is None else replace(call.result, tool_call_id=id)


def _in_place(messages: Sequence[ModelMessage], calls: Sequence[_Call]) -> list[ModelMessage]:
    """Return `messages` with each result in the request right after its call; results without a call are gone."""
    by_spot = {call.spot: call for call in calls}
    results = {call.result_spot: call.result for call in calls if call.result is not None and call.in_place}
    moving: defaultdict[int, list[ModelRequestPart]] = defaultdict(list)
    for call in calls:
        if call.result is not None and not call.in_place:
            moving[call.spot[0]].append(call.result)

    placed: list[ModelMessage] = []
    for index, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            placed.append(_with_calls(message, index, by_spot))
            if moving[index] and not _is_request_at(messages, index + 1):
                placed.append(ModelRequest(parts=moving[index]))
            continue
        parts = [
            results.get((index, number), part)
            for number, part in enumerate(message.parts)
            if not _is_result(part) or (index, number) in results
        ]
        parts = _results_first([*parts, *moving[index - 1]])
        if parts or not message.parts or index == len(messages) - 1:
            placed.append(message if _are_same(parts, message.parts) else replace(message, parts=parts))
    return placed


def _with_calls(message: ModelResponse, index: int, by_spot: Mapping[_Spot, _Call]) -> ModelResponse:
    parts: list[ModelResponsePart] = []
    for number, part in enumerate(message.parts):
        call = by_spot.get((index, number))
        if call is None:
            parts.append(part)
        elif not call.dropped:
            parts.append(call.part)
    return message if _are_same(parts, message.parts) else replace(message, parts=parts)


def _results_first(parts: list[ModelRequestPart]) -> list[ModelRequestPart]:
    """Return `parts` with the results before what the user says, as providers want it."""
    said = next((number for number, part in enumerate(parts) if isinstance(part, UserPromptPart)), len(parts))
    return sorted(parts, key=lambda part: not _is_result(part)) if any(map(_is_result, parts[said:])) else parts


def _is_request_at(messages: Sequence[ModelMessage], index: int) -> bool:
    return index < len(messages) and isinstance(messages[index], ModelRequest)


def _is_result(part: ModelRequestPart | ModelResponsePart) -> TypeGuard[ToolReturnPart]:
    # The deprecated retry prompt of a tool answers its call too, in histories made by hand.
    return isinstance(part, ToolReturnPart) or (part.part_kind == 'retry-prompt' and part.tool_name is not None)


def _is_placeholder(result: ToolReturnPart) -> bool:
    return isinstance(result, ToolReturnPart) and (result.outcome == 'interrupted' or result.content == _CANCELLED)


def _is_same_call(call: ToolCallPart, other: ToolCallPart) -> bool:
    return call.tool_name == other.tool_name and call.args == other.args


def _are_same(parts: Sequence[object], others: Sequence[object]) -> bool:
    return len(parts) == len(others) and all(part is other for part, other in zip(parts, others, strict=True))

"""Whatever happened to a history: each call has one result, right after it, and no real result is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import DeferredToolResults

import deep_notebook
from deep_notebook.capabilities.patch_tool_calls import PatchToolCalls, patch_tool_calls_processor
from harness.histories import called, problems, real

pytestmark = pytest.mark.anyio

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def ask(text: str = 'go') -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text, timestamp=BEGAN)])


def say(text: str = 'done', at: int = 0) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)], timestamp=BEGAN + timedelta(seconds=at))


def call(*ids: str, at: int = 0, **args: Any) -> ModelResponse:
    parts = [ToolCallPart('fetch', args or {'for': id}, id) for id in ids]
    return ModelResponse(parts=parts, timestamp=BEGAN + timedelta(seconds=at))


def result(id: str, content: str | None = None, **options: Any) -> ToolReturnPart:
    return ToolReturnPart('fetch', f'result of {id}' if content is None else content, id, timestamp=BEGAN, **options)


def results(*ids: str) -> ModelRequest:
    return ModelRequest(parts=[result(id) for id in ids])


CANCELLED = result('a', 'The tool call was interrupted.', outcome='interrupted')


def happened(pick: Callable[[int, int], int]) -> list[ModelMessage]:
    """A conversation to which something happened; `pick` chooses a number between two."""
    messages: list[ModelMessage] = []
    for turn in range(pick(1, 4)):
        messages.append(ask(f'prompt {turn}'))
        for step in range(pick(0, 2)):
            ids = [f'{turn}.{step}.{number}' for number in range(pick(1, 3))]
            messages += [call(*ids, at=len(messages)), results(*ids)]
        messages.append(say(f'answer {turn}', at=len(messages)))
    for _ in range(pick(0, 4)):
        accident = ACCIDENTS[pick(0, len(ACCIDENTS) - 1)]
        messages = accident(messages, pick(0, len(messages)), pick(0, len(messages)))
    return messages


@st.composite
def histories(draw: st.DrawFn) -> list[ModelMessage]:
    return happened(lambda low, high: draw(st.integers(low, high)))


def cut_off(messages: list[ModelMessage], at: int, other: int) -> list[ModelMessage]:
    return messages[:at]


def lose(messages: list[ModelMessage], at: int, other: int) -> list[ModelMessage]:
    return messages[:at] + messages[at + 1 :]


def lose_a_part(messages: list[ModelMessage], at: int, other: int) -> list[ModelMessage]:
    return [
        replace(message, parts=message.parts[1:]) if index == at and len(message.parts) > 1 else message
        for index, message in enumerate(messages)
    ]


def move(messages: list[ModelMessage], at: int, other: int) -> list[ModelMessage]:
    rest = messages[:at] + messages[at + 1 :]
    return rest[:other] + messages[at : at + 1] + rest[other:]


def copy(messages: list[ModelMessage], at: int, other: int) -> list[ModelMessage]:
    return messages[:other] + messages[at : at + 1] + messages[other:]


def append_again(messages: list[ModelMessage], at: int, other: int) -> list[ModelMessage]:
    return [*messages, *messages[min(at, other) : max(at, other)]]


def merge(messages: list[ModelMessage], at: int, other: int) -> list[ModelMessage]:
    """Put the parts of a request behind those of another one."""
    pair = messages[at : at + 1] + messages[other : other + 1]
    if at == other or len(pair) < 2 or not all(isinstance(message, ModelRequest) for message in pair):
        return messages
    both = [*pair[1].parts, *pair[0].parts]
    return [
        replace(message, parts=both) if index == other else message  # type: ignore[arg-type]
        for index, message in enumerate(messages)
        if index != at
    ]


def cancel(messages: list[ModelMessage], at: int, other: int) -> list[ModelMessage]:
    """Close a call as a repair would have while its result was still on its way."""
    if not isinstance(message := (messages[at : at + 1] or [ask()])[0], ModelResponse) or not message.tool_calls:
        return messages
    closing = [replace(CANCELLED, tool_call_id=part.tool_call_id) for part in message.tool_calls]
    return [*messages[: at + 1], ModelRequest(parts=closing), *messages[at + 1 :]]


ACCIDENTS = (cut_off, lose, lose_a_part, move, copy, append_again, merge, cancel)


def check(messages: list[ModelMessage]) -> None:
    patched = patch_tool_calls_processor(messages)
    answerable = {f'result of {id}' for id in called(messages)}
    assert problems(patched) == []
    assert real(patched) == real(messages) & answerable
    assert patch_tool_calls_processor(patched) == patched


def test_ten_thousand_histories_are_valid_and_lose_no_real_result() -> None:
    for seed in range(10_000):
        check(happened(Random(seed).randint))


@settings(max_examples=100)
@given(histories())
def test_any_history_is_valid_and_loses_no_real_result(messages: list[ModelMessage]) -> None:
    before = ModelMessagesTypeAdapter.dump_json(messages)
    check(messages)
    assert ModelMessagesTypeAdapter.dump_json(messages) == before


@settings(max_examples=100)
@given(histories())
def test_what_is_sent_is_valid_and_no_real_result_is_lost(messages: list[ModelMessage]) -> None:
    sent: list[ModelMessage] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        sent.extend(messages)
        return say()

    mended = Agent(FunctionModel(answer), capabilities=[PatchToolCalls()])
    result = asyncio.run(mended.run('on', message_history=messages))
    answerable = {f'result of {id}' for id in called(messages)}
    for history in (sent, result.all_messages()):
        assert problems(history) == []
        assert real(history) == real(messages) & answerable


def test_healthy_messages_are_the_same_objects() -> None:
    messages = [ask(), call('a', 'b'), results('a', 'b'), say()]
    assert [id(message) for message in patch_tool_calls_processor(messages)] == [id(message) for message in messages]


@pytest.mark.parametrize('cancelled', [CANCELLED, result('a', 'Tool call was cancelled.')])
def test_a_late_result_takes_the_place_of_cancelled(cancelled: ToolReturnPart) -> None:
    messages = [ask(), call('a'), ModelRequest(parts=[cancelled]), say(), ModelRequest(parts=[result('a')])]
    assert problems(repair_messages(messages)) != []
    assert patch_tool_calls_processor(messages)[:3] == [ask(), call('a'), results('a')]


def test_a_result_before_its_call_is_put_after_it() -> None:
    assert patch_tool_calls_processor([ask(), results('a'), call('a'), ask('and?')]) == [
        ask(),
        call('a'),
        ModelRequest(parts=[result('a'), *ask('and?').parts], timestamp=None),
    ]


def test_a_result_after_what_the_user_says_goes_first() -> None:
    messages = [ask(), call('a'), ModelRequest(parts=[*ask('quick').parts, result('a')])]
    assert patch_tool_calls_processor(messages)[-1].parts == [result('a'), *ask('quick').parts]


def test_an_id_that_comes_again_keeps_its_own_results() -> None:
    """Local model servers count their calls anew in each response; Anthropic refuses an id that comes twice."""
    second = ModelRequest(parts=[result('call_0', 'second')])
    messages = [ask(), call('call_0', at=1), results('call_0'), call('call_0', at=2), second]
    patched = patch_tool_calls_processor(messages)
    assert problems(patched) == []
    assert [
        (part.tool_call_id, part.content)
        for message in patched
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ] == [
        ('call_0', 'result of call_0'),
        ('call_0_2', 'second'),
    ]


def test_an_interrupted_call_does_not_get_the_result_of_a_later_one_with_its_id() -> None:
    messages = [ask(), call('call_0', at=1), ask('again'), call('call_0', at=2), results('call_0')]
    patched = patch_tool_calls_processor(messages)
    assert [part.outcome for message in patched for part in message.parts if isinstance(part, ToolReturnPart)] == [
        'interrupted',
        'success',
    ]


def test_copies_are_dropped_and_not_cancelled() -> None:
    messages = [ask(), call('a'), results('a'), say()]
    assert patch_tool_calls_processor([*messages, *messages]) == [*messages, ask(), say()]
    assert patch_tool_calls_processor([ask(), call('a', 'a'), results('a')]) == [ask(), call('a'), results('a')]


def test_native_tool_calls_are_left_alone() -> None:
    messages: list[ModelMessage] = [
        ask(),
        ModelResponse(parts=[NativeToolCallPart('web_search', {}, 'n'), TextPart('x')]),
    ]
    assert patch_tool_calls_processor(messages) == messages


def agent(**options: Any) -> Agent[None, Any]:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert problems(messages) == []
        return say()

    return Agent(FunctionModel(answer), **options)


def fetch(**options: Any) -> str:
    return 'fetched'


async def test_a_new_prompt_after_calls_that_nobody_answered() -> None:
    """pydantic-ai refuses it with a `UserError`."""
    result = await agent(capabilities=[PatchToolCalls()]).run('hi', message_history=[ask(), call('a')])
    assert result.output == 'done'


async def test_calls_that_can_still_be_answered_stay_open() -> None:
    deferring = agent(capabilities=[PatchToolCalls()], output_type=[str, DeferredToolRequests])
    deferring.tool_plain(requires_approval=True)(fetch)
    answers = DeferredToolResults(approvals={'a': True})
    for prompt in (None, 'and'):
        result = await deferring.run(prompt, message_history=[ask(), call('a')], deferred_tool_results=answers)
        assert real(result.all_messages()) == {'fetched'}


async def test_an_open_call_keeps_the_id_that_its_answer_names() -> None:
    deferring = agent(capabilities=[PatchToolCalls()], output_type=[str, DeferredToolRequests])
    deferring.tool_plain(requires_approval=True)(fetch)
    history: list[ModelMessage] = [ask(), call('a', at=1), results('a'), call('a', at=2)]
    answers = DeferredToolResults(approvals={'a': True})
    result = await deferring.run(message_history=history, deferred_tool_results=answers)
    assert real(result.all_messages()) == {'result of a', 'fetched'}


async def test_what_is_mended_stays_mended() -> None:
    messages: list[ModelMessage] = [ask(), results('a'), call('a'), ask('and?'), say()]
    result = await agent(capabilities=[PatchToolCalls()]).run('on', message_history=messages)
    assert problems(result.all_messages()) == []
    assert real(result.all_messages()) == {'result of a'}


async def test_it_is_a_history_processor_too() -> None:
    processed = agent(capabilities=[ProcessHistory(deep_notebook.patch_tool_calls_processor)])
    assert (await processed.run('on', message_history=[ask(), call('a'), results('a'), results('a')])).output == 'done'

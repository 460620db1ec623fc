"""A conversation can be told from its beginning, however often it was compressed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)

from deep_notebook.store import SessionStore

pytestmark = pytest.mark.anyio


def ask(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def answer(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def summary(text: str) -> ModelRequest:
    return ModelRequest(parts=[CompactionPart(text)])


def told(messages: list[ModelMessage]) -> list[str]:
    return [str(getattr(part, 'content', '')) for message in messages for part in message.parts]


async def transcript(store: SessionStore) -> list[str]:
    return told(await store.transcript(await store.conversation()))


async def test_what_a_summary_stands_for_comes_before_it(store: SessionStore) -> None:
    first = [ask('q1'), answer('a1'), ask('q2'), answer('a2'), ask('q3')]
    await store.sync(first)
    after = [summary('s1'), *first[3:]]
    await store.sync(after)
    await store.sync([*after, answer('a3')])
    assert told(await store.history()) == ['s1', 'a2', 'q3', 'a3']
    assert await transcript(store) == ['q1', 'a1', 'q2', 'a2', 'q3', 's1', 'a3']


async def test_a_second_compression_and_a_restart_lose_nothing(path: Path) -> None:
    with SessionStore.open(path) as store:
        history: list[ModelMessage] = [ask('q1'), answer('a1'), ask('q2')]
        await store.sync(history)
        history = [summary('s1'), ask('q2 '), history[2], answer('a2'), ask('q3')]
        await store.sync(history)
    with SessionStore.open(path) as store:
        history = await store.history()
        await store.sync([summary('s2'), *history[-1:], answer('a3')])
        assert await transcript(store) == ['q1', 'a1', 'q2', 's1', 'a2', 'q3', 's2', 'a3']


async def test_a_summary_that_was_merged_with_what_follows_is_told_once(store: SessionStore) -> None:
    history: list[ModelMessage] = [ask('q1'), answer('a1'), ask('q2'), answer('a2')]
    await store.sync(history)
    compressed: list[ModelMessage] = [summary('s1'), history[2], history[3]]
    await store.sync(compressed)
    assert [len(message.parts) for message in await store.history()] == [2, 1]
    await store.sync([*await store.history(), ask('q3'), answer('a3')])
    assert await transcript(store) == ['q1', 'a1', 'q2', 'a2', 's1', 'q3', 'a3']
    merged = ModelRequest(parts=[*compressed[0].parts, *history[2].parts, UserPromptPart('q4')])
    await store.sync([merged])
    assert (await transcript(store))[-2:] == ['s1', 'q4']


async def test_a_conversation_without_summaries_is_what_it_holds(store: SessionStore) -> None:
    assert await transcript(store) == []
    await store.sync([ask('q1'), answer('a1')])
    await store.sync([ask('q1'), answer('a1 and more')])
    assert await transcript(store) == ['q1', 'a1 and more']


async def test_branches_and_ended_conversations_are_listed(path: Path) -> None:
    with SessionStore.open(path) as store, SessionStore.open(path) as other:
        await store.sync([ask('q1'), answer('a1'), ask('q2')])
        await store.sync([summary('s1'), ask('q2')])
        await store.new_conversation()
        await store.sync([ask('q3')])
        found = await store.conversations()
        assert [(record.id, record.ended is None, record.branch_of) for record in found] == [
            (1, False, None),
            (2, True, None),
        ]
        assert told(await store.transcript(1)) == ['q1', 'a1', 'q2', 's1', 'q2']
        assert told(await other.transcript(2)) == ['q3']


async def test_results_are_found_by_how_they_begin_and_each_once(store: SessionStore) -> None:
    moved = ModelRequest(parts=[ToolReturnPart('fetch', 'Moved: x', 'a'), ToolReturnPart('fetch', 'Not Moved: y', 'b')])
    grown = ModelRequest(parts=[*moved.parts, ToolReturnPart('ls', ['Moved: z', {'more': 1}], 'c')])
    run = await store.start_run(prompt='Go', model='m')
    await store.sync([ask('Moved: no'), moved])
    await store.sync([ask('Moved: no'), grown])
    found = await store.results('Moved: ')
    assert [(result.tool, result.text, result.run) for result in found] == [
        ('fetch', 'Moved: x', run),
        ('ls', 'Moved: z', run),
    ]

"""`%deep compact` makes a conversation shorter, and nothing that was said is lost by it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import DeferredToolRequests

from deep_notebook.errors import UsageError
from deep_notebook.kernel.compacting import compact
from deep_notebook.kernel.session import NotebookSession
from deep_notebook.models.embedded import EmbeddedModel
from harness.scripted import script
from harness.scripted_completion import ScriptedCompletion

pytestmark = pytest.mark.anyio

TALK: list[ModelMessage] = [
    message
    for number in range(10)
    for message in (
        ModelRequest(parts=[UserPromptPart(f'Question {number} about the heron{number}.' + ' Please.' * 30)]),
        ModelResponse(parts=[ToolCallPart('ls', {}, f'c{number}')]),
        ModelRequest(parts=[ToolReturnPart('ls', 'a file\n' * 20, f'c{number}')]),
        ModelResponse(parts=[TextPart(f'Answer {number}. ' + 'It is so. ' * 30)]),
    )
]


async def session(root: Path, *turns: Any, seen: list[list[ModelMessage]] | None = None, talk: Any = TALK) -> Any:
    notebook = NotebookSession(
        directory=root, notebook=None, database=root / 'session.db', namespace={'model': script(*turns, seen=seen)}
    )
    await (await notebook.store()).sync(list(talk))
    return notebook


def said(messages: list[ModelMessage]) -> str:
    return '\n'.join(str(getattr(part, 'content', '')) for message in messages for part in message.parts)


async def test_a_summary_takes_the_place_of_all_but_the_last_turn(tmp_path: Path) -> None:
    seen: list[list[ModelMessage]] = []
    notebook = await session(tmp_path, 'They spoke of herons.', seen=seen)
    told = await compact(notebook, notebook.resolve('model'), 'the herons')

    store = await notebook.store()
    history = await store.history()
    parts = [type(part) for message in history for part in message.parts]
    assert parts == [CompactionPart, UserPromptPart, TextPart]
    assert 'They spoke of herons.' in said(history)
    assert 'Question 9' in said(history)
    assert 'Above all keep what concerns: the herons' in said(seen[0])
    assert told.startswith('The conversation has about ')
    assert 'now, 1,790 before. The summary took ' in told
    await notebook.close()

    notebook = await session(tmp_path, 'x', talk=history)
    store = await notebook.store()
    assert [hit.speaker for hit in await store.search('heron3')] == ['User']
    assert said(await store.transcript(await store.conversation())).startswith(said(TALK))
    await notebook.close()


async def test_a_short_conversation_is_left_alone(tmp_path: Path) -> None:
    notebook = await session(tmp_path, 'x', talk=TALK[:4])
    told = await compact(notebook, notebook.resolve('model'), None)
    assert told == 'There is nothing to compress yet: the conversation has about 179 tokens.'
    await notebook.close()


async def test_a_summary_that_is_no_shorter_or_fails_changes_nothing(tmp_path: Path) -> None:
    def fail(messages: list[ModelMessage]) -> str:
        raise ConnectionError('no network, api_key="hunter2hunter2"\nmore')

    notebook = await session(tmp_path, 'long ' * 8_000, fail, '')
    who = notebook.resolve('model')
    told = await compact(notebook, who, None)
    assert told.startswith('The conversation is as it was: its summary would not be shorter. The summary took ')
    for reason in ('ConnectionError: no network, api_key="…[masked]"', ''):
        with pytest.raises(UsageError) as raised:
            await compact(notebook, who, None)
        told = str(raised.value)
        assert told.startswith(f'The conversation is as it was, since it could not be summarised: {reason}')
        assert '\n' not in told
    assert said(await (await notebook.store()).history()) == said(TALK)
    await notebook.close()


async def test_what_is_going_on_or_waits_is_not_pulled_away(tmp_path: Path) -> None:
    notebook = await session(tmp_path, 'short')
    who = notebook.resolve('model')
    async with notebook.one_run:
        with pytest.raises(UsageError, match='A run is going on'):
            await compact(notebook, who, None)
    store = await notebook.store()
    run = await store.start_run(prompt='Go', model='model')
    requests = DeferredToolRequests(approvals=[ToolCallPart('write_file', {}, 'w')])
    await store.save_run(run, phase='suspended', suspended=requests)
    with pytest.raises(UsageError, match=f'Run {run} waits for your answer'):
        await compact(notebook, who, None)
    await notebook.close()


async def test_the_embedded_model_summarises_what_it_can_read(tmp_path: Path) -> None:
    figures = '\n'.join(f'2026-01-{day:02},{day * 1234567}' for day in range(1, 29))
    talk = [
        message
        for number in range(12)
        for message in (
            ModelRequest(parts=[UserPromptPart(f'Sum {number}: {figures}')]),
            ModelResponse(parts=[TextPart(f'It is {number}.')]),
        )
    ]
    complete = ScriptedCompletion(['They summed figures.'])
    notebook = await session(tmp_path, 'unused', talk=talk)
    notebook.namespace['local'] = EmbeddedModel(complete=complete)
    told = await compact(notebook, notebook.resolve('local'), None)
    assert 'They summed figures.' in said(await (await notebook.store()).history())
    assert told.splitlines()[0].endswith('no cost.')
    assert 'Sum 0: ' in complete.requests[0].prompt
    await notebook.close()


async def test_an_agent_of_the_persons_is_asked_through_its_model(tmp_path: Path) -> None:
    notebook = await session(tmp_path, 'unused')
    notebook.namespace['own'] = Agent(script('Summed up.'))
    await compact(notebook, notebook.resolve('own'), None)
    assert 'Summed up.' in said(await (await notebook.store()).history())
    await notebook.close()


async def test_a_run_that_starts_meanwhile_waits(tmp_path: Path) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def slow(*args: Any) -> Any:
        asked.set()
        await go_on.wait()
        return ModelResponse(parts=[TextPart('Short.')])

    notebook = await session(tmp_path, 'unused')
    notebook.namespace['model'].function = slow
    work = asyncio.create_task(compact(notebook, notebook.resolve('model'), None))
    await asked.wait()
    assert notebook.one_run.locked()
    go_on.set()
    await work
    assert not notebook.one_run.locked()
    await notebook.close()

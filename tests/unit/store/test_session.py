"""One notebook remembers its conversation and its runs."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import DeferredToolRequests
from pydantic_ai.messages import (
    BinaryImage,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from deep_notebook.store import SessionStore, session_path

pytestmark = pytest.mark.anyio


def ask(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def answer(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def call(*ids: str) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart('ls', {}, tool_call_id=id) for id in ids])


def count(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        found: int = connection.execute(f'SELECT count(*) FROM {table}').fetchone()[0]
        return found


def test_the_file_lies_in_a_directory_of_the_notebook() -> None:
    assert session_path(Path('/home/me/sales 2026.ipynb')) == Path('/home/me/.deep/sales 2026.ipynb/session.db')


def test_opening_creates_nothing(path: Path, tmp_path: Path) -> None:
    SessionStore.open(path).close()
    assert list(tmp_path.iterdir()) == []


async def test_the_directory_hides_itself_from_version_control(store: SessionStore, tmp_path: Path) -> None:
    await store.conversation()
    assert (tmp_path / '.deep' / '.gitignore').read_text() == '*\n'


async def test_others_cannot_read_the_file(store: SessionStore, path: Path) -> None:
    await store.conversation()
    assert os.stat(path).st_mode & 0o077 == 0


async def test_a_conversation_is_found_again_after_a_restart(path: Path) -> None:
    messages: list[ModelMessage] = [ask('Which colour?'), answer('Teal.')]
    with SessionStore.open(path) as store:
        await store.sync(messages)
        conversation = await store.conversation()
    with SessionStore.open(path) as store:
        assert await store.history() == messages
        assert await store.conversation() == conversation
        assert store.notice is None


async def test_a_reset_begins_anew_and_keeps_the_old_messages(path: Path) -> None:
    with SessionStore.open(path) as store:
        await store.append([ask('one')])
        first = await store.conversation()
        second = await store.new_conversation()
        assert second != first
        assert await store.history() == []
        await store.append([ask('two')])
    with SessionStore.open(path) as store:
        assert await store.conversation() == second
        assert [message.parts[0].content for message in await store.history()] == ['two']  # type: ignore[union-attr]
    assert count(path, 'messages') == 2


async def test_a_message_is_stored_once(store: SessionStore, path: Path) -> None:
    messages: list[ModelMessage] = [ask('one'), answer('two')]
    await store.sync(messages)
    await store.new_conversation()
    await store.sync(messages)
    await store.sync(messages)
    assert (count(path, 'messages'), count(path, 'entries')) == (2, 4)


async def test_only_what_is_new_is_looked_at(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    from deep_notebook.store import messages as module

    history: list[ModelMessage] = [ask(str(number)) for number in range(50)]
    await store.sync(history)
    dumped: list[ModelMessage] = []
    monkeypatch.setattr(module, 'dump_message', lambda message: dumped.append(message) or '{}')
    history.append(ask('new'))
    await store.sync(history)
    assert dumped == history[-2:]


async def test_a_last_message_that_grew_takes_its_place(store: SessionStore) -> None:
    request = ModelRequest(parts=[ToolReturnPart('ls', 'a', tool_call_id='1')])
    history: list[ModelMessage] = [ask('go'), call('1', '2'), request]
    await store.sync(history)
    request.parts = [*request.parts, ToolReturnPart('ls', 'b', tool_call_id='2')]
    await store.sync(history)
    assert await store.history() == history


async def test_a_history_that_lost_its_tail_loses_it_in_the_file(store: SessionStore) -> None:
    history: list[ModelMessage] = [ask('one'), answer('two'), ask('three')]
    await store.sync(history)
    await store.sync(history[:2])
    assert await store.history() == history[:2]


async def test_what_compression_replaced_stays_in_the_archive(store: SessionStore, path: Path) -> None:
    history: list[ModelMessage] = [ask('one'), answer('two'), ask('three'), answer('four')]
    await store.sync(history)
    await store.sync([ask('summary'), history[-1]])
    assert [type(message) for message in await store.history()] == [ModelRequest, ModelResponse]
    assert count(path, 'messages') == 5


async def test_a_cancelled_write_is_still_written(store: SessionStore) -> None:
    history: list[ModelMessage] = [ask('one')]
    await store.sync(history)
    history += [answer('two'), ask('three')]
    task = asyncio.ensure_future(store.sync(history))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await store.history() == history
    await store.sync(history[:2])
    assert await store.history() == history[:2]


async def test_a_history_that_ends_in_open_calls_is_repaired(store: SessionStore) -> None:
    await store.sync([ask('go'), call('1')])
    *_, last = await store.history()
    assert isinstance(last.parts[0], ToolReturnPart)
    assert last.parts[0].outcome == 'interrupted'


async def test_open_calls_stay_open_while_a_run_is_suspended(path: Path) -> None:
    pending = call('1')
    requests = DeferredToolRequests(
        approvals=[part for part in pending.parts if isinstance(part, ToolCallPart)],
        metadata={'1': {'title': 'Write report.md?'}},
    )
    with SessionStore.open(path) as store:
        run = await store.start_run(prompt='go', model='embedded')
        await store.sync([ask('go'), pending])
        await store.save_run(run, phase='suspended', suspended=requests)
    with SessionStore.open(path) as store:
        suspended = await store.suspended_run()
        assert suspended is not None
        assert (suspended.id, suspended.suspended, suspended.ended) == (run, requests, None)
        assert (await store.history())[-1] == pending
        await store.save_run(run, phase='running')
        assert await store.suspended_run() is None


async def test_a_run_can_be_drawn_again(path: Path) -> None:
    state: dict[str, Any] = {'run': '1', 'phase': 'done', 'answer': 'Grüße \ud800'}
    with SessionStore.open(path) as store:
        run = await store.start_run(prompt='Say hello', model='embedded')
        await store.save_run(run, phase='running')
        await store.save_run(run, phase='done', state=state, usage={'requests': 2})
    with SessionStore.open(path) as store:
        record = await store.run(run)
        assert record is not None
        assert (record.prompt, record.model, record.phase) == ('Say hello', 'embedded', 'done')
        assert record.state == {'run': '1', 'phase': 'done', 'answer': 'Grüße ?'}
        assert record.usage == {'requests': 2}
        assert record.ended is not None
        assert await store.last_run() == record


async def test_the_last_run_is_the_one_of_this_conversation(store: SessionStore) -> None:
    first = await store.start_run(prompt='one', model='m')
    await store.new_conversation()
    earlier = await store.last_run()
    assert earlier is not None
    assert earlier.id == first
    second = await store.start_run(prompt='two', model='m')
    latest = await store.last_run()
    assert latest is not None
    assert latest.id == second


async def test_an_unknown_run_is_none_to_read_and_an_error_to_write(store: SessionStore) -> None:
    assert await store.run(7) is None
    assert await store.last_run() is None
    with pytest.raises(KeyError):
        await store.save_run(7, phase='done')


class Odd:
    def __repr__(self) -> str:
        return 'Odd()'


async def test_messages_keep_whatever_a_tool_returned(path: Path) -> None:
    picture = BinaryImage(bytes(range(256)), media_type='image/png')
    with SessionStore.open(path) as store:
        await store.sync(
            [
                ask('go'),
                call('1', '2', '3'),
                ModelRequest(
                    parts=[
                        ToolReturnPart('ls', {'object': Odd(), 'bytes': b'\x00\xff'}, tool_call_id='1'),
                        ToolReturnPart('ls', 'name-\udcff', tool_call_id='2'),
                        ToolReturnPart('ls', ['see', picture], tool_call_id='3'),
                    ]
                ),
            ]
        )
    with SessionStore.open(path) as store:
        odd, name, seen = (part.content for part in (await store.history())[-1].parts)  # type: ignore[union-attr]
        assert odd == {'object': 'Odd()', 'bytes': 'AP8='}
        assert name == 'name-?'
        assert seen == ['see', picture]


async def test_states_are_json_in_the_file(store: SessionStore, path: Path) -> None:
    run = await store.start_run(prompt='p', model='m')
    await store.save_run(run, state={'phase': 'running'})
    with closing(sqlite3.connect(path)) as connection:
        assert json.loads(connection.execute('SELECT state FROM runs').fetchone()[0]) == {'phase': 'running'}

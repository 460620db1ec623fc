"""An archive without a notebook keeps every message, in a file that is whole at any moment."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)

from deep_notebook.errors import StoreError
from deep_notebook.store import ConversationArchives, MessageArchive
from deep_notebook.store.archive import _MAX_CONVERSATIONS

pytestmark = pytest.mark.anyio


def ask(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def say(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / 'archive' / 'messages.json'


async def test_the_file_is_what_pydantic_ai_reads(path: Path) -> None:
    messages: list[ModelMessage] = [ask('one,\n["two"]'), say('日本')]
    await MessageArchive(path).keep(messages)
    assert ModelMessagesTypeAdapter.validate_json(path.read_bytes()) == messages


async def test_it_grows_by_what_is_new(path: Path) -> None:
    messages: list[ModelMessage] = [ask('one'), say('two'), ask('three')]
    await MessageArchive(path).keep(messages[:2])
    archive = MessageArchive(path)
    await archive.keep([ask('summary'), *messages[1:]])
    assert [part.content for message in loaded(path) for part in message.parts] == ['one', 'two', 'summary', 'three']  # type: ignore[union-attr]
    before = path.stat().st_mtime_ns
    await archive.keep(messages)
    assert path.stat().st_mtime_ns == before


def loaded(path: Path) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json(path.read_bytes())


async def test_a_file_of_somebody_else_is_continued(path: Path) -> None:
    path.parent.mkdir()
    first = ask('teal')
    path.write_text(json.dumps(json.loads(ModelMessagesTypeAdapter.dump_json([first])), indent=2))
    archive = MessageArchive(path)
    await archive.keep([first, say('lilac')])
    assert len(loaded(path)) == 2
    assert [hit.message for hit in await archive.search('lilac')] == [1]


@pytest.mark.parametrize('indent', [0, 2])
async def test_a_file_that_was_laid_out_anew_is_read_and_continued(path: Path, indent: int) -> None:
    messages: list[ModelMessage] = [ask('one zebra'), say('two'), ask('three')]
    await MessageArchive(path).keep(messages[:2])
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=indent) + '\n', encoding='utf-8')
    assert len(await MessageArchive(path).search('zebra')) == 1
    await MessageArchive(path).keep(messages)
    assert loaded(path) == messages


async def test_an_empty_list_is_continued(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('[\n]\n', encoding='utf-8')
    await MessageArchive(path).keep([ask('one')])
    assert len(loaded(path)) == 1


async def test_a_change_of_the_file_is_noticed(path: Path) -> None:
    archive, writer = MessageArchive(path), MessageArchive(path)
    assert await archive.search('teal') == []
    await writer.keep([ask('teal')])
    assert len(await archive.search('teal')) == 1
    path.unlink()
    assert await archive.search('teal') == []


@pytest.mark.parametrize('torn', ['[\n{"parts":[{"content', '{}', '[\n{"parts":\n]\n', 'x'])
async def test_a_torn_file_is_reported_and_left_alone(path: Path, torn: str) -> None:
    path.parent.mkdir()
    path.write_text(torn)
    with pytest.raises(StoreError, match=r'messages\.json could not be used'):
        await MessageArchive(path).search('teal')
    assert path.read_text() == torn


async def test_a_failed_write_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = MessageArchive(path)
    await archive.keep([ask('one')])
    before = path.read_bytes()

    def full(descriptor: Any) -> None:
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(os, 'fsync', full)
    with pytest.raises(StoreError, match='No space left'):
        await archive.keep([ask('two')])
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ['messages.json']


async def test_current_messages_are_not_found_and_earlier_ones_are() -> None:
    archive = MessageArchive()
    await archive.keep([ask('teal, kept')])
    hits = await archive.search('teal', earlier=[ask('teal, earlier')], current=[ask('teal, now')])
    assert {hit.snippet for hit in hits} == {'teal, kept', 'teal, earlier'}


async def test_what_is_kept_while_it_is_searched_is_found() -> None:
    archive = MessageArchive()
    await archive.keep([ask('teal one')])
    await archive.search('teal')
    await archive.keep([ask('teal two')])
    assert len(await archive.search('teal')) == 2


async def test_conversations_do_not_find_each_other() -> None:
    archives = ConversationArchives()
    await archives.of('a').keep([ask('teal')])
    assert len(await archives.of('a').search('teal')) == 1
    assert await archives.of('b').search('teal') == []
    for number in range(_MAX_CONVERSATIONS):
        archives.of(str(number))
    assert await archives.of('a').search('teal') == []

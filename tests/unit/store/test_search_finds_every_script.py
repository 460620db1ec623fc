"""What was said is found again, in every script, and a query is words and nothing else."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic_ai import BinaryContent
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from deep_notebook.store import MessageArchive, SearchHit, SessionStore, session
from deep_notebook.store.search import REINDEXED_SCHEMA
from deep_notebook.store.session import MIGRATIONS

pytestmark = pytest.mark.anyio


def ask(*texts: Any) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text) for text in texts])


def say(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def returned(content: Any, tool: str = 'read_file', id: str = 'c1') -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart(tool, content, id)])


async def found(messages: Sequence[ModelMessage], query: str, **options: Any) -> list[str]:
    archive = MessageArchive()
    await archive.keep(messages)
    return [hit.snippet for hit in await archive.search(query, **options)]


def marked(hit: SearchHit) -> list[str]:
    return [hit.snippet[start:end] for start, end in hit.matches]


@dataclass(frozen=True)
class Case:
    text: str
    query: str
    marked: str


@pytest.mark.parametrize(
    'case',
    [
        Case('The TEAL one, please.', 'teal', 'TEAL'),
        Case('Crème brûlée', 'creme', 'Crème'),
        Case('creme', 'Crème', 'creme'),
        Case('Das Straßenfest', 'straßenfest', 'Straßenfest'),
        Case('我们在东京开会', '东京', '东京'),
        Case('昨日は東京で会議をした', '会議', '会議'),
        Case('カタカナのテスト', 'テスト', 'テスト'),
        Case('서울에서 만나요', '서울', '서울'),
        Case('ประเทศไทยสวยมาก', 'ไทย', 'ไทย'),
        Case('Встреча в Москве', 'москве', 'Москве'),
        Case('القاهرة عاصمة مصر', 'مصر', 'مصر'),
        Case('שלום עולם', 'עולם', 'עולם'),
        Case('दिल्ली में बैठक', 'बैठक', 'बैठक'),
        Case('Αθήνα και Πάτρα', 'πατρα', 'Πάτρα'),
        Case('done 🎉 at last', '🎉', '🎉'),
        Case('ＡＢＣ wide', 'abc', 'ＡＢＣ'),
        Case('cafe\u0301 noir', 'café', 'cafe'),
        Case('call read_file now', 'read_file', 'read_file'),
        Case('see data/sales-2026.csv there', 'sales-2026.csv', 'sales-2026.csv'),
        Case('configuration of it', 'config', 'config'),
        Case('東京 in 2026', '東京 2026', '東京'),
    ],
    ids=lambda case: case.query,
)
async def test_words_of_every_script_are_found(case: Case) -> None:
    archive = MessageArchive()
    await archive.keep([ask('something else'), ask(case.text), say('nothing of it')])
    [hit] = await archive.search(case.query)
    assert (hit.snippet, marked(hit)[0]) == (case.text, case.marked)


@pytest.mark.parametrize(
    'query',
    [
        '"teal',
        'teal"',
        "teal' OR 1=1; DROP TABLE messages; --",
        'teal AND',
        'NOT teal',
        'teal*',
        '^teal',
        'text: teal',
        '(teal',
        'NEAR(teal, 2)',
        'teal + teal',
        'teal\0',
        '{teal} : teal',
        '-teal',
    ],
)
async def test_signs_and_operators_mean_nothing(query: str) -> None:
    archive = MessageArchive()
    await archive.keep([ask('the teal one')])
    assert [hit.snippet for hit in await archive.search(query)] == ['the teal one']
    assert await found([ask('NOT a drop')], 'NOT') == ['NOT a drop']


@pytest.mark.parametrize('query', ['', '   ', '"', '*', '-- ;', '()', '\0', '___', '\u0301'])
async def test_a_query_without_words_finds_nothing(query: str) -> None:
    assert await found([ask('the teal one')], query) == []


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.text(max_size=40), st.text(max_size=20))
def test_no_query_breaks_it(text: str, query: str) -> None:
    async def look() -> None:
        archive = MessageArchive()
        await archive.keep([ask(text)])
        for hit in await archive.search(query):
            assert all(0 <= start < end <= len(hit.snippet) for start, end in hit.matches)

    asyncio.run(look())


async def test_a_very_long_query_is_cut() -> None:
    assert await found([ask('teal')], 'teal ' * 10_000) == ['teal']


async def test_all_words_come_before_some_and_the_newest_of_equals_first() -> None:
    messages = [ask('red chair one'), ask('blue chair two'), ask('red table'), ask('blue chair red three')]
    assert set(await found(messages, 'chair red')) == {'blue chair red three', 'red chair one'}
    assert set(await found(messages, 'red sofa')) == {'red chair one', 'red table', 'blue chair red three'}
    assert await found([ask('same words'), say('same words')], 'same', limit=1) == ['same words']
    archive = MessageArchive()
    await archive.keep([ask('same words'), say('same words')])
    assert [hit.speaker for hit in await archive.search('same')] == ['Assistant', 'User']


async def test_the_rare_word_counts_more() -> None:
    messages = [ask(f'chair number {number}') for number in range(30)] + [ask('teal sofa')] + [ask('chair')]
    assert (await found(messages, 'chair teal lamp'))[0] == 'teal sofa'


async def test_a_frequent_word_costs_no_more_than_the_newest() -> None:
    messages = [ask(f'the {number}') for number in range(1000)]
    assert len(await found(messages, 'the')) == 10


async def test_who_spoke_is_told() -> None:
    messages: list[ModelMessage] = [
        ModelRequest(parts=[SystemPromptPart('teal system'), UserPromptPart('teal user')]),
        ModelResponse(
            parts=[
                ThinkingPart('teal thought'),
                TextPart('teal answer'),
                ToolCallPart('grep', {'pattern': 'teal call'}, 'c1'),
            ]
        ),
        returned('teal result', 'grep'),
        ModelRequest(parts=[CompactionPart('teal summary')]),
    ]
    archive = MessageArchive()
    await archive.keep(messages)
    assert {hit.speaker: hit.snippet for hit in await archive.search('teal')} == snapshot(
        {
            'Assistant': 'teal answer',
            'Tool Call [grep]': '{"pattern":"teal call"}',
            'Tool [grep]': 'teal result',
            'System': 'teal system',
            'User': 'teal user',
            '[Compression summary]': 'teal summary',
        }
    )


async def test_five_lines_around_each_match() -> None:
    text = '\n'.join(f'line {number}' for number in range(20)).replace('line 10', 'the teal line')
    archive = MessageArchive()
    await archive.keep([ask('before'), returned(text), say('after')])
    [hit] = await archive.search('teal')
    assert (hit.before, hit.snippet, hit.after) == (
        ('line 5', 'line 6', 'line 7', 'line 8', 'line 9'),
        'the teal line',
        ('line 11', 'line 12', 'line 13', 'line 14', 'line 15'),
    )


async def test_lines_of_other_messages_are_around_a_short_one() -> None:
    archive = MessageArchive()
    await archive.keep([ask('one\ntwo'), ask('teal'), say('three'), returned('x' * 600)])
    [hit] = await archive.search('teal')
    assert hit.before == ('[0] User: one', 'two')
    assert hit.after == ('[2] Assistant: three', '[3] Tool [read_file]: ' + 'x' * 278 + '…')
    [shorter] = await archive.search('teal', context=1)
    assert (shorter.before, shorter.after) == (('two',), ('[2] Assistant: three',))


async def test_a_long_line_is_shown_around_its_match() -> None:
    archive = MessageArchive()
    await archive.keep([returned('a ' * 5000 + 'teal' + ' b' * 5000)])
    [hit] = await archive.search('teal')
    assert (len(hit.snippet), marked(hit)) == (302, ['teal'])


async def test_what_is_far_into_a_result_is_found() -> None:
    assert await found([returned('row\n' * 20_000 + 'needle')], 'needle') == ['needle']


async def test_structured_results_are_found_and_pictures_are_not() -> None:
    picture = BinaryContent(data=b'tealtealteal', media_type='image/png')
    messages = [
        returned({'rows': [{'colour': 'teal'}]}),
        ask(['look:', picture]),
        returned([picture, 'lilac'], id='c2'),
    ]
    assert await found(messages, 'teal') == ['{"rows":[{"colour":"teal"}]}']
    assert await found(messages, 'colour') == ['{"rows":[{"colour":"teal"}]}']
    assert await found(messages, 'lilac') == ['lilac']
    assert await found(messages, picture.base64[:8]) == []


@pytest.mark.parametrize('as_text', [False, True])
@pytest.mark.parametrize('word', ['first', 'teal', 'lilac', '北京', '🎉'])
async def test_each_word_of_code_that_ran_is_found(word: str, as_text: bool) -> None:
    args = {'code': 'first = 1\nteal = 2\n\tlilac("C:\\new")\n北京 = "🎉"\n'}
    call = ModelResponse(parts=[ToolCallPart('run_python', json.dumps(args) if as_text else args, 'c1')])
    [snippet] = await found([call], word)
    assert word in snippet
    assert '\n' not in snippet


async def test_signs_of_plain_results_stay_as_they_are() -> None:
    assert await found([returned(r'C:\new\teal')], 'teal') == [r'C:\new\teal']


async def test_a_search_does_not_find_searches() -> None:
    messages: list[ModelMessage] = [
        ask('teal'),
        ModelResponse(parts=[ToolCallPart('search_conversation_history', {'query': 'teal'}, 's1')]),
        returned('> [0] User: teal', 'search_conversation_history', 's1'),
    ]
    assert await found(messages, 'teal') == ['teal']


async def test_a_message_that_grew_or_was_merged_is_found_once(store: SessionStore) -> None:
    prompt, result, other = ask('go'), returned('teal', id='a'), returned('lilac', id='b')
    call = ModelResponse(parts=[ToolCallPart('read_file', {}, 'a'), ToolCallPart('read_file', {}, 'b')])
    await store.sync([prompt, call, result])
    await store.sync([prompt, call, ModelRequest(parts=[*result.parts, *other.parts])])
    merged = ModelRequest(parts=[*result.parts, *other.parts, *ask('and?').parts], instructions='x')
    await store.sync([prompt, call, merged])
    assert [hit.snippet for hit in await store.search('teal')] == ['teal']
    assert [hit.snippet for hit in await store.search('lilac')] == ['lilac']


async def test_what_compression_removed_is_found(store: SessionStore) -> None:
    await store.sync([ask('my colour is teal'), say('noted'), ask('more'), say('ok')])
    await store.sync([ModelRequest(parts=[CompactionPart('They spoke.')]), ask('more'), say('ok')])
    assert [hit.snippet for hit in await store.search('teal')] == ['my colour is teal']


async def test_other_conversations_and_branches_are_found(path: Path) -> None:
    with SessionStore.open(path) as store, SessionStore.open(path) as other:
        await store.sync([ask('teal here')])
        await other.history()
        await other.sync([ask('teal on the branch')])
        await store.new_conversation()
        await store.sync([ask('teal again')])
        for archive in (store, other):
            assert {hit.snippet for hit in await archive.search('teal')} == {
                'teal here',
                'teal on the branch',
                'teal again',
            }


async def test_the_run_is_told(store: SessionStore) -> None:
    for number, text in enumerate(['teal chair', 'lilac chair'], 1):
        run = await store.start_run(prompt=text, model='m')
        await store.sync([*await store.history(), ask(text)])
        await store.save_run(run, phase='done')
        assert run == number
    assert [(hit.run, hit.snippet) for hit in await store.search('chair')] == [(2, 'lilac chair'), (1, 'teal chair')]
    assert (await store.search('chair'))[0].created is not None


async def test_the_run_in_progress_does_not_find_its_own_words(store: SessionStore) -> None:
    await store.start_run(prompt='x', model='m')
    before = [ask('my colour is teal'), say('noted')]
    await store.sync(before)
    await store.save_run(1, phase='done')
    await store.start_run(prompt='y', model='m')
    now = [*before, ask('which colour, teal?'), say('teal, I think')]
    await store.sync(now)
    assert [hit.snippet for hit in await store.search('teal')] == ['my colour is teal']
    await store.sync([ModelRequest(parts=[CompactionPart('Summary.')]), now[-1]])
    assert {hit.snippet for hit in await store.search('teal')} == {'my colour is teal', 'which colour, teal?'}
    await store.save_run(2, phase='done')
    assert len(await store.search('teal')) == 3


async def test_new_messages_are_found_and_nothing_is_indexed_twice(store: SessionStore, path: Path) -> None:
    messages: list[ModelMessage] = []
    for number in range(3):
        messages.append(ask(f'teal {number}'))
        await store.sync(messages)
        assert len(await store.search('teal')) == number + 1
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute('SELECT count(*) FROM search_parts').fetchone() == (3,)


async def test_many_messages_are_indexed_a_batch_at_a_time(store: SessionStore) -> None:
    await store.sync([ask(f'number {number}') for number in range(450)])
    assert [hit.snippet for hit in await store.search('449')] == ['number 449']


async def test_a_file_from_before_the_index_is_searched(path: Path) -> None:
    path.parent.mkdir(parents=True)
    run(path, [statement for migration in MIGRATIONS[:4] for statement in migration], version=4)
    run(
        path,
        [
            'INSERT INTO conversations (id, created) VALUES (1, 1)',
            "INSERT INTO messages VALUES (1, 'h', 'request', "
            """'{"parts":[{"content":"old teal","part_kind":"user-prompt"}],"kind":"request"}', 1)""",
        ],
        version=4,
    )
    with SessionStore.open(path) as store:
        assert [hit.snippet for hit in await store.search('teal')] == ['old teal']


def run(path: Path, statements: Iterable[str], *, version: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.execute(f'PRAGMA user_version={version}')
        connection.commit()


async def test_an_index_of_an_older_version_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(session, 'MIGRATIONS', MIGRATIONS[: MIGRATIONS.index(REINDEXED_SCHEMA)])
        store = SessionStore.open(tmp_path / 'session.db')
        await store.sync([ModelResponse(parts=[ToolCallPart('run_python', {'code': 'first\nteal'}, 'c1')])])
        assert len(await store.search('teal')) == 1
        store.close()
    with closing(sqlite3.connect(tmp_path / 'session.db')) as database, database:
        database.execute("INSERT INTO search_words (search_words) VALUES ('delete-all')")
    store = SessionStore.open(tmp_path / 'session.db')
    assert len(await store.search('teal')) == 1
    store.close()

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolReturnPart, UserPromptPart

from deep_notebook.capabilities.history_search import HistorySearch, HistorySearchToolset, create_history_search_toolset
from deep_notebook.capabilities.tool_classes import tool_class
from deep_notebook.store import ConversationArchives, MessageArchive, SearchHit, SessionStore, session_path
from harness.play import Deps, Played, play

pytestmark = pytest.mark.anyio


def ask(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)], conversation_id='c')


def say(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)], conversation_id='c')


TALK: Sequence[ModelMessage] = [
    ask('Which colour should the chart have?'),
    say('I suggest teal.\nIt reads well in print.'),
    ask('Good. Make it so.'),
    ModelRequest(parts=[ToolReturnPart('write_file', 'Wrote chart.py', 'w1')]),
    say('Done.'),
]


async def search(archive: Any, query: str, **options: Any) -> Played:
    return await play(
        [('search_conversation_history', {'query': query})],
        capabilities=[HistorySearch(archive=archive)],
        deps=Deps(),
        **options,
    )


async def test_a_match_is_shown_among_the_lines_around_it(tmp_path: Path) -> None:
    path = tmp_path / 'messages.json'
    await MessageArchive(path).keep(TALK)
    played = await search(str(path), 'teal')
    assert played.texts == snapshot(
        [
            """\
  [0] User: Which colour should the chart have?
> [1] Assistant: I suggest teal.
  It reads well in print.
  [2] User: Good. Make it so.
  [3] Tool [write_file]: Wrote chart.py
  [4] Assistant: Done.\
"""
        ]
    )
    assert played.returns[0].metadata == {'summary': 'teal · 1 match'}


async def test_a_notebooks_store_is_an_archive(tmp_path: Path) -> None:
    with SessionStore.open(session_path(tmp_path / 'n.ipynb')) as store:
        await store.start_run(prompt='x', model='m')
        await store.sync(TALK)
        await store.save_run(1, phase='done')
        assert (await search(store, 'print')).texts == snapshot(
            [
                """\
run 1:
  [1] User: Which colour should the chart have?
  [2] Assistant: I suggest teal.
> [2] Assistant: It reads well in print.
  [3] User: Good. Make it so.
  [4] Tool [write_file]: Wrote chart.py
  [5] Assistant: Done.\
"""
            ]
        )


@pytest.mark.parametrize('query', ['', '  ', '"*"'])
async def test_an_empty_query_says_what_to_do(query: str) -> None:
    played = await search(MessageArchive(), query)
    assert (played.texts, played.returns[0].outcome) == (
        ['There is no word in the query: give words that were used then.'],
        'failed',
    )


async def test_nothing_found_says_so() -> None:
    assert (await search(MessageArchive(), 'teal')).texts == [
        'Nothing was found. Other words may have been used: try fewer, or one.'
    ]


async def test_an_unreadable_archive_is_an_answer(tmp_path: Path) -> None:
    (tmp_path / 'messages.json').write_text('[{')
    played = await search(tmp_path / 'messages.json', 'teal')
    assert (played.returns[0].outcome, 'could not be used' in played.texts[0]) == ('failed', True)


async def test_the_history_of_the_run_is_searched_and_the_run_itself_is_not() -> None:
    history = [ask('my colour is lilac'), say('noted')]
    played = await search(ConversationArchives(), 'lilac go', history=history)
    assert '> [0] User: my colour is lilac' in played.texts[0]
    assert 'User: go' not in played.texts[0]


async def test_conversations_do_not_find_each_other() -> None:
    archives = ConversationArchives()
    await archives.of('c').keep([ask('teal')])
    here, elsewhere = await asyncio.gather(
        search(archives, 'teal', history=[ask('x'), say('y')]), search(archives, 'teal')
    )
    assert ('teal' in here.texts[0], 'teal' in elsewhere.texts[0]) == (True, False)


@pytest.mark.parametrize('make', [HistorySearchToolset, create_history_search_toolset])
async def test_it_is_a_toolset_too(make: Any, tmp_path: Path) -> None:
    path = tmp_path / 'messages.json'
    await MessageArchive(path).keep(TALK)
    played = await play(
        [('search_conversation_history', {'query': 'TEAL'})], capabilities=[], toolsets=[make(messages_path=str(path))]
    )
    assert '> [1] Assistant: I suggest teal.' in played.texts[0]


async def test_a_result_is_bounded() -> None:
    archive = MessageArchive()
    await archive.keep([say('\n'.join(['teal ' + 'x' * 280] * 8) + str(number)) for number in range(30)])
    text = (await search(archive, 'teal')).texts[0]
    assert len(text) < 12_200
    assert text.endswith('more matches: search for less common words.')


async def test_the_best_ten_are_shown() -> None:
    archive = MessageArchive()
    await archive.keep([say(f'teal {number}') for number in range(30)])
    text = (await search(archive, 'teal')).texts[0]
    assert text.count('> [') == 10


async def test_searching_is_reading() -> None:
    toolset = HistorySearch[Any](archive=MessageArchive()).get_toolset()
    assert [tool_class(tool.tool_def) for tool in toolset.tools.values()] == ['read']


def test_hits_can_be_drawn() -> None:
    hit = SearchHit(message=1, speaker='User', snippet='a teal b', matches=((2, 6),), run=3)
    assert (hit.snippet[2:6], hit.run, hit.before, hit.after) == ('teal', 3, (), ())

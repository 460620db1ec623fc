"""What is saved comes back as it was, in order, each message kept once, whatever it is called."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolReturnPart, UserPromptPart

from deep_notebook.errors import UsageError
from deep_notebook.store import (
    Checkpoint,
    CheckpointStore,
    FileCheckpointStore,
    InMemoryCheckpointStore,
    SessionStore,
    SqliteCheckpointStore,
    SummarisingCheckpointStore,
    fork_from_checkpoint,
    save_automatic,
    session_path,
    summaries_of,
)
from deep_notebook.store import checkpoint_files as files_module
from deep_notebook.store import checkpoint_graph as graph_module
from deep_notebook.store import histories as histories_module
from deep_notebook.store.database import Database
from deep_notebook.store.messages import sync_entries
from deep_notebook.store.session import MIGRATIONS
from harness.checkpoints import KINDS, LASTING, Kind, checkpoint, history, opened, step

pytestmark = pytest.mark.anyio

THAT_DUMP = (files_module, graph_module, histories_module)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture
def store(kind: Kind, tmp_path: Path) -> Iterator[Any]:
    with opened(kind, tmp_path) as store:
        yield store


async def labels(store: CheckpointStore) -> list[str]:
    return [checkpoint.label for checkpoint in await store.list_all()]


def rows(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        found: int = connection.execute(f'SELECT count(*) FROM {table}').fetchone()[0]
        return found


def test_a_checkpoint_counts_its_messages_and_knows_its_time() -> None:
    made = Checkpoint(id='cp_3', label='step_3', turn=3, messages=history(1))
    assert (made.message_count, made.metadata) == (3, {})
    assert datetime.now(UTC) - made.created_at < timedelta(minutes=1)


def test_every_store_is_a_checkpoint_store(store: Any) -> None:
    assert isinstance(store, CheckpointStore)
    assert isinstance(store, SummarisingCheckpointStore)


async def test_what_was_saved_comes_back(store: Any) -> None:
    saved = Checkpoint(
        id='3f2a',
        label='vor dem Umbau',
        turn=7,
        messages=history(3),
        created_at=datetime(2026, 5, 4, 12, 30, 1, 999, tzinfo=timezone(timedelta(hours=2))),
        metadata={'last_tool': 'write_file', 'nested': {'a': [1, None]}},
    )
    await store.save(saved)
    assert await store.get('3f2a') == saved
    assert await store.get_by_label('vor dem Umbau') == saved
    assert await store.list_all() == [saved]
    assert await store.summaries() == [saved.summary()]
    assert await store.count() == 1


async def test_what_is_not_there_is_none(store: Any) -> None:
    assert await store.get('x') is None
    assert await store.get_by_label('x') is None
    assert await store.remove_oldest() is None
    assert await store.list_all() == await store.summaries() == []
    assert await store.count() == 0
    await store.remove('x')
    await store.clear()


async def test_an_empty_history_is_one_too(store: Any) -> None:
    saved = checkpoint('nothing yet', [])
    await store.save(saved)
    assert await store.get(saved.id) == saved


async def test_they_are_listed_in_the_order_in_which_they_were_saved(store: Any) -> None:
    messages = history(4)
    saved = [checkpoint(label, messages[:count]) for label, count in (('b', 3), ('a', 5), ('c', 1))]
    for one in saved:
        await store.save(one)
    await store.save(replace(saved[0], label='b again'))
    assert await labels(store) == ['b again', 'a', 'c']
    assert [summary.label for summary in await store.summaries()] == ['b again', 'a', 'c']
    assert await store.remove_oldest() == replace(saved[0], label='b again')
    await store.remove(saved[2].id)
    assert await labels(store) == ['a']
    await store.clear()
    assert await store.count() == 0


async def test_the_latest_with_a_label_is_found(store: Any) -> None:
    messages = history(2)
    first, second = checkpoint('same', messages[:3]), checkpoint('same', messages)
    await store.save(first)
    await store.save(second)
    assert await store.get_by_label('same') == second
    await store.remove(second.id)
    assert await store.get_by_label('same') == first


async def test_many_automatic_ones_never_cost_a_named_one(store: Any) -> None:
    messages = history(8)
    await store.save(checkpoint('mine', messages[:1]))
    for number in range(6):
        await store.save_automatic(checkpoint(f'auto-{number}', messages[: 2 * number + 3], automatic=True), 2)
        if number == 3:
            await store.save(checkpoint('mine too', messages))
    assert await labels(store) == ['mine', 'mine too', 'auto-4', 'auto-5']


class Plain:
    """A store that knows nothing but the protocol."""

    def __init__(self) -> None:
        inner = InMemoryCheckpointStore()
        self.save, self.get, self.get_by_label = inner.save, inner.get, inner.get_by_label
        self.list_all, self.remove, self.remove_oldest = inner.list_all, inner.remove, inner.remove_oldest
        self.count, self.clear = inner.count, inner.clear


async def test_a_store_of_someone_else_is_pruned_and_listed_too() -> None:
    store: CheckpointStore = Plain()
    assert not isinstance(store, SummarisingCheckpointStore)
    await store.save(checkpoint('mine', history(1)))
    for number in range(4):
        await save_automatic(store, checkpoint(f'auto-{number}', history(1), automatic=True), 2)
    assert [summary.label for summary in await summaries_of(store)] == ['mine', 'auto-2', 'auto-3']


NAMES = [
    '../../evil',
    '/etc/passwd',
    'a/b',
    '.',
    '',
    'x' * 5_000,
    'nul\0',
    'CON',
    'Größe',
    '数据',
    '👩‍🚀',
    'a\nb',
    '%2e%2e',
]


@pytest.mark.parametrize('name', NAMES)
async def test_ids_and_labels_are_never_paths(store: Any, name: str, tmp_path: Path) -> None:
    saved = Checkpoint(id=name, label=name, turn=0, messages=history(1))
    await store.save(saved)
    assert await store.get(name) == saved
    assert await store.get_by_label(name) == saved
    assert {path.name for path in tmp_path.iterdir()} <= {'checkpoints', '.deep'}
    await store.remove(name)
    assert await store.count() == 0


@pytest.mark.parametrize('kind', LASTING, indirect=True)
async def test_what_utf8_cannot_hold_is_kept_as_well_as_it_can(store: Any) -> None:
    odd = Checkpoint(
        id='name-\udcff',
        label='name-\udcff',
        turn=0,
        messages=[ModelRequest(parts=[UserPromptPart('name-\udcff')])],
        metadata={'file': 'name-\udcff', 'object': object},
    )
    await store.save(odd)
    found = await store.get_by_label('name-\udcff')
    assert found is not None
    assert found.label == 'name-?'
    assert found.metadata == {'file': 'name-?', 'object': "<class 'object'>"}
    assert await store.get('name-\udcff') == found


async def test_a_checkpoint_stays_as_it_was_while_the_conversation_goes_on(store: Any) -> None:
    messages = history(2)
    first = checkpoint('first', messages)
    await store.save(first)
    messages += step('more', 'm')
    await store.save(checkpoint('second', messages))
    del messages[3:]
    messages += step('another way', 'a')
    await store.save(checkpoint('third', messages))
    assert [found.message_count for found in await store.list_all()] == [5, 7, 5]
    assert await store.get(first.id) == first
    third = await store.get_by_label('third')
    assert third is not None
    assert third.messages == messages


@pytest.mark.parametrize('kind', LASTING, indirect=True)
async def test_a_last_message_that_grew_is_seen(store: Any) -> None:
    messages = history(1)
    await store.save(checkpoint('before', messages))
    last = messages[-1]
    assert isinstance(last, ModelRequest)
    last.parts = [*last.parts, UserPromptPart('and this')]
    found = await store.get_by_label('before')
    assert len(found.messages[-1].parts) == 1
    await store.save(checkpoint('after', messages))
    before, after = await store.list_all()
    assert [len(found.messages[-1].parts) for found in (before, after)] == [1, 2]
    assert after.messages == messages


@pytest.mark.parametrize('kind', LASTING, indirect=True)
async def test_conversations_that_take_turns_are_not_mixed(store: Any) -> None:
    one, other = history(1, 'one'), history(1, 'other')
    for number in range(5):
        for name, messages in (('one', one), ('other', other)):
            messages += step(f'{name} {number}', f'{name}.{number}')
            await store.save(checkpoint(name, messages))
    assert (await store.get_by_label('one')).messages == one
    assert (await store.get_by_label('other')).messages == other


@pytest.mark.parametrize('kind', LASTING)
async def test_another_process_finds_them_all(kind: Kind, tmp_path: Path) -> None:
    messages = history(3)
    saved = [checkpoint(str(count), messages[:count]) for count in (1, 3, 7)]
    with opened(kind, tmp_path) as store:
        for one in saved:
            await store.save(one)
    with opened(kind, tmp_path) as store:
        assert await store.list_all() == saved
        assert await store.get(saved[1].id) == saved[1]
        assert await store.get(saved[2].id) == saved[2]


@pytest.mark.parametrize('kind', LASTING)
async def test_a_message_is_kept_once_also_after_a_restart(kind: Kind, tmp_path: Path) -> None:
    messages = history(50)
    for _ in range(2):
        with opened(kind, tmp_path) as store:
            for count in (1, 31, 101, 101):
                await store.save(checkpoint(str(count), messages[:count]))
    if kind == 'sqlite':
        path = session_path(tmp_path / 'sales.ipynb')
        assert (rows(path, 'messages'), rows(path, 'histories'), rows(path, 'checkpoints')) == (101, 101, 8)
    elif kind == 'graph':
        assert rows(tmp_path / '.deep' / 'graph.db', "graph_nodes WHERE node_type = 'message'") == 101
    else:
        assert len(list((tmp_path / 'checkpoints' / 'messages').iterdir())) == 101


async def test_the_conversation_and_its_checkpoints_share_their_messages(tmp_path: Path) -> None:
    messages = history(5)
    with SessionStore.open(session_path(tmp_path / 'sales.ipynb')) as session:
        await session.sync(messages)
        await SqliteCheckpointStore(session).save(checkpoint('here', messages))
    assert rows(session_path(tmp_path / 'sales.ipynb'), 'messages') == len(messages)


@pytest.mark.parametrize('kind', LASTING)
async def test_a_turn_costs_the_same_however_much_there_is(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumped: list[ModelMessage] = []
    real = histories_module.dump_message

    def counted(message: ModelMessage) -> str:
        dumped.append(message)
        return real(message)

    for module in THAT_DUMP:
        monkeypatch.setattr(module, 'dump_message', counted)
    messages = history(40)
    with opened(kind, tmp_path) as store:
        await store.save(checkpoint('one', messages))
        dumped.clear()
        messages += step('new', 'n')
        await store.save(checkpoint('two', messages))
        assert dumped == messages[-3:], 'the last one of before, which may have grown, and what is new'


@pytest.mark.parametrize('kind', LASTING)
async def test_what_continues_from_a_loaded_checkpoint_is_not_read_anew(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = checkpoint('here', history(40))
    with opened(kind, tmp_path) as store:
        await store.save(saved)
    with opened(kind, tmp_path) as store:
        messages = [*(await fork_from_checkpoint(store, saved.id)), *step('new', 'n')]
        dumped: list[ModelMessage] = []
        real = histories_module.dump_message
        for module in THAT_DUMP:
            monkeypatch.setattr(module, 'dump_message', lambda message: dumped.append(message) or real(message))
        await store.save(checkpoint('further', messages))
        assert len(dumped) == 3


async def test_a_list_loads_no_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: Any) -> Any:
        raise AssertionError('messages were loaded')

    with opened('sqlite', tmp_path) as store:
        await store.save(checkpoint('here', history(2)))
        monkeypatch.setattr(histories_module, 'load_messages', never)
        assert [summary.label for summary in await store.summaries()] == ['here']
        assert await store.count() == 1


async def test_a_fork_is_a_history_of_its_own(store: Any) -> None:
    saved = checkpoint('here', history(2))
    await store.save(saved)
    one, other = [await fork_from_checkpoint(store, saved.id) for _ in range(2)]
    assert one == other == saved.messages
    last = one[-1]
    assert isinstance(last, ModelRequest)
    last.instructions = 'Changed.'
    one.append(ModelResponse(parts=[TextPart('mine')]))
    for untouched in (other, saved.messages, await fork_from_checkpoint(store, saved.id)):
        assert len(untouched) == 5
        assert isinstance(untouched[-1], ModelRequest)
        assert untouched[-1].instructions is None


async def test_a_fork_is_valid_whatever_was_saved(store: Any) -> None:
    saved = checkpoint('in the middle', history(2)[:-1])
    await store.save(saved)
    *_, last = await fork_from_checkpoint(store, saved.id)
    assert isinstance(last.parts[0], ToolReturnPart)
    assert last.parts[0].outcome == 'interrupted'


async def test_a_fork_of_nothing_says_so(store: Any) -> None:
    with pytest.raises(UsageError, match="There is no checkpoint 'nowhere'"):
        await fork_from_checkpoint(store, 'nowhere')


async def test_a_cancelled_save_is_still_done(kind: Kind, store: Any) -> None:
    saved = checkpoint('here', history(2))
    others = asyncio.all_tasks()
    task = asyncio.ensure_future(store.save(saved))
    await asyncio.sleep(0)
    task.cancel()
    if kind != 'memory':
        with pytest.raises(asyncio.CancelledError):
            await task
    await asyncio.gather(*asyncio.all_tasks() - others)
    assert await store.get(saved.id) == saved


async def test_a_session_of_an_earlier_version_gets_checkpoints(tmp_path: Path) -> None:
    path = session_path(tmp_path / 'sales.ipynb')
    messages = history(1)

    def begin(connection: sqlite3.Connection) -> None:
        connection.execute('INSERT INTO conversations (id, created) VALUES (1, 0)')
        sync_entries(connection, 1, [], messages)

    earlier = Database(path, MIGRATIONS[:4], prepare=begin)
    await earlier.run(lambda connection: None)
    earlier.close()
    with SessionStore.open(path) as session:
        assert await session.history() == messages
        await SqliteCheckpointStore(session).save(checkpoint('here', messages))
        assert session.notice is None


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The statements that SQLite runs; all of them on the store's thread."""
    statements: list[str] = []
    threads: set[str] = set()
    real = sqlite3.connect

    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = real(*args, **options)

        def trace(statement: str) -> None:
            statements.append(statement)
            threads.add(threading.current_thread().name)

        connection.set_trace_callback(trace)
        return connection

    monkeypatch.setattr(sqlite3, 'connect', connect)
    yield statements
    assert threads == {'deep-notebook-store_0'}, 'never on the event loop'


async def test_a_saved_checkpoint_is_on_the_disk_before_anyone_is_told(tmp_path: Path, traced: list[str]) -> None:
    with opened('sqlite', tmp_path) as store:
        await store.count()
        traced.clear()
        await store.save(checkpoint('here', history(1)))
        await store.get_by_label('here')
    assert traced[:2] == ['PRAGMA synchronous=FULL', 'BEGIN IMMEDIATE']
    committed = traced.index('COMMIT')
    assert traced[committed + 1] == 'PRAGMA synchronous=NORMAL'


async def test_a_checkpoint_of_what_is_stored_costs_one_row(tmp_path: Path, traced: list[str]) -> None:
    messages = history(3)
    with opened('sqlite', tmp_path) as store:
        await store.save(checkpoint('here', messages))
        traced.clear()
        await store.save(checkpoint('here too', messages))
    assert [statement.split()[2] for statement in traced if 'INSERT' in statement] == ['checkpoints']


async def test_a_run_does_not_wait_for_the_disk_at_each_step(tmp_path: Path, traced: list[str]) -> None:
    with opened('sqlite', tmp_path) as store:
        await store.count()
        traced.clear()
        await save_automatic(store, checkpoint('auto-1', history(1), automatic=True), 2)
    assert traced.count('COMMIT') == 1
    assert not any('synchronous' in statement for statement in traced)


async def test_what_another_process_cleared_is_written_again(tmp_path: Path) -> None:
    store = FileCheckpointStore(tmp_path)
    saved = checkpoint('here', history(2))
    await store.save(saved)
    await FileCheckpointStore(tmp_path).clear()
    await store.save(saved)
    assert await FileCheckpointStore(tmp_path).list_all() == [saved]


async def test_files_are_the_owner_s_only(tmp_path: Path) -> None:
    store = FileCheckpointStore(tmp_path)
    await store.save(checkpoint('here', history(1)))
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob('*.json')} == {0o600}


async def test_clearing_a_directory_leaves_what_is_not_ours(tmp_path: Path) -> None:
    store = FileCheckpointStore(tmp_path)
    saved = checkpoint('here', history(1))
    await store.save(saved)
    for name in ('notes.json', 'messages/notes.json'):
        (tmp_path / name).write_text('{}')
    (tmp_path / f'.{"0" * 16}.tmp').write_text('left by a killed process')
    await store.clear()
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob('*')) == [
        'messages',
        'messages/notes.json',
        'notes.json',
    ]
    await store.save(saved)
    assert await store.get(saved.id) == saved

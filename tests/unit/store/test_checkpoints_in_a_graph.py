"""A graph holds checkpoints as typed nodes and edges; nothing is written twice, and nothing stands in it half."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter

from deep_notebook.errors import StoreError
from deep_notebook.store import (
    FileCheckpointStore,
    GraphCheckpointStore,
    GraphEdge,
    GraphEngine,
    GraphNode,
    InMemoryCheckpointStore,
    SessionStore,
    SqliteGraph,
    fork_from_checkpoint,
    session_path,
)
from harness.checkpoints import checkpoint, history, opened

pytestmark = pytest.mark.anyio


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[SqliteGraph]:
    with closing(SqliteGraph.open(tmp_path / 'graph.db')) as graph:
        yield graph


async def test_nodes_are_found_by_type_and_property_newest_first(graph: SqliteGraph) -> None:
    assert isinstance(graph, GraphEngine)
    for number in range(4):
        await graph.add_node(
            f'n{number}', node_type='even' if number % 2 == 0 else 'odd', number=number, low=number < 2
        )
    await graph.add_node('n0', node_type='even', number=10, low=True)
    assert [node.id for node in await graph.find_nodes('even')] == ['n2', 'n0'], 'a changed node keeps its place'
    assert await graph.find_nodes('even', limit=1) == [GraphNode('n2', 'even', {'number': 2, 'low': False})]
    assert [node.id for node in await graph.find_nodes('even', low=True, number=10)] == ['n0']
    assert await graph.find_nodes('even', number=True) == []
    assert set(await graph.get_nodes(['n1', 'n3', 'x'])) == {'n1', 'n3'}


async def test_an_edge_needs_its_nodes_and_goes_with_them(graph: SqliteGraph) -> None:
    for id in ('a', 'b', 'c'):
        await graph.add_node(id, node_type='letter')
    await graph.add_edge('a', 'b', relationship='BEFORE', by=1)
    await graph.add_edge('a', 'b', relationship='BEFORE', by=2)
    await graph.add_edge('b', 'c', relationship='BEFORE')
    with pytest.raises(StoreError, match="does not hold both 'a' and 'x'"):
        await graph.add_edge('a', 'x', relationship='BEFORE')
    assert await graph.edges('a') == [GraphEdge('a', 'b', 'BEFORE', {'by': 2})]
    await graph.remove_node('a')
    assert await graph.edges('b') == [GraphEdge('b', 'c', 'BEFORE', {})]


async def test_a_node_never_changes_its_type(graph: SqliteGraph) -> None:
    await graph.add_node('a', node_type='letter', x=1)
    with pytest.raises(StoreError, match='not as a number'):
        await graph.add_node('a', node_type='number')
    assert await graph.get_nodes(['a']) == {'a': GraphNode('a', 'letter', {'x': 1})}
    with pytest.raises(StoreError, match='not as a checkpoint'):
        await GraphCheckpointStore(graph).save(checkpoint('here', history(1), id='a'))


async def test_a_checkpoint_is_a_node_that_is_a_snapshot_of_its_conversation(graph: SqliteGraph) -> None:
    saved = checkpoint('here', history(1), metadata={'conversation': 'c1'})
    await GraphCheckpointStore(graph).save(saved)
    [node] = await graph.find_nodes('checkpoint')
    assert (node.id, node.properties['label'], node.properties['metadata']) == (saved.id, 'here', saved.metadata)
    assert await graph.edges(saved.id) == [GraphEdge(saved.id, 'conversation:c1', 'SNAPSHOT_OF', {})]
    messages = await graph.get_nodes(node.properties['messages'])
    bodies = ','.join(messages[id].properties['body'] for id in node.properties['messages'])
    assert ModelMessagesTypeAdapter.validate_json(f'[{bodies}]') == saved.messages


async def test_another_process_lists_and_forks(tmp_path: Path) -> None:
    saved = [checkpoint(str(number), history(number)) for number in range(1, 4)]
    with opened('graph', tmp_path) as store:
        for one in saved:
            await store.save(one)
    with opened('graph', tmp_path) as store:
        assert await store.list(limit=2) == [saved[2].summary(), saved[1].summary()]
        assert [summary.label for summary in await store.list()] == ['3', '2', '1']
        assert await fork_from_checkpoint(store, saved[1].id) == saved[1].messages


async def test_the_backend_is_written_first_and_the_graph_not_when_that_fails(
    graph: SqliteGraph, tmp_path: Path
) -> None:
    (tmp_path / 'file').write_text('')
    with pytest.raises(StoreError):
        await GraphCheckpointStore(graph, FileCheckpointStore(tmp_path / 'file')).save(checkpoint('here', history(1)))
    assert await graph.find_nodes('checkpoint') == []
    graph.close()
    backend = InMemoryCheckpointStore()
    with pytest.raises(StoreError):
        await GraphCheckpointStore(graph, backend).save(checkpoint('here', history(1)))
    assert await backend.count() == 1


async def test_a_backend_holds_what_the_graph_holds(graph: SqliteGraph) -> None:
    backend = InMemoryCheckpointStore()
    store = GraphCheckpointStore(graph, backend)
    for number in range(5):
        await store.save_automatic(checkpoint(str(number), history(1), automatic=True), 3)
    removed = await store.remove_oldest()
    assert removed is not None
    assert removed.label == '2'
    assert await backend.list_all() == await store.list_all()
    assert await store.count() == 2
    await store.clear()
    assert await backend.count() == await store.count() == 0


async def test_nothing_is_written_twice_where_the_backend_is_the_graph(
    graph: SqliteGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    real = graph.add_node

    async def add_node(id: str, /, **properties: object) -> None:
        written.append(id)
        await real(id, **properties)  # type: ignore[arg-type]

    monkeypatch.setattr(graph, 'add_node', add_node)
    saved = checkpoint('here', history(1))
    await GraphCheckpointStore(graph, GraphCheckpointStore(graph)).save(saved)
    assert len(written) == len(set(written)) == len(saved.messages) + 2


async def test_automatic_ones_of_another_conversation_are_not_forgotten(graph: SqliteGraph) -> None:
    store = GraphCheckpointStore(graph)
    for conversation in ('a', 'b'):
        for number in range(3):
            metadata = {'conversation': conversation, 'automatic': True}
            await store.save_automatic(checkpoint(f'{conversation}{number}', history(1), metadata=metadata), 2)
    assert [summary.label for summary in await store.summaries()] == ['a1', 'a2', 'b1', 'b2']


async def test_a_graph_that_cannot_be_kept_is_refused_and_not_kept_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / 'session.db'
    with SessionStore.open(path) as session:
        await session.conversation()
    with closing(SqliteGraph.open(path)) as graph:
        for _ in range(2):
            with pytest.raises(StoreError, match='holds something else than a graph'):
                await graph.add_node('a', node_type='letter')
    with closing(SqliteGraph.open(tmp_path / 'graph.db')) as graph:
        with monkeypatch.context() as patched:
            patched.setattr(os, 'open', _refused)
            with pytest.raises(StoreError, match='cannot be written'):
                await graph.add_node('a', node_type='letter')
        await graph.add_node('b', node_type='letter')
    with closing(SqliteGraph.open(tmp_path / 'graph.db')) as graph:
        assert set(await graph.get_nodes(['a', 'b'])) == {'b'}


def _refused(*_: object, **__: object) -> int:
    raise PermissionError(errno.EACCES, 'Permission denied')


async def test_a_session_s_file_holds_a_graph_too(tmp_path: Path) -> None:
    path = session_path(tmp_path / 'sales.ipynb')
    saved = checkpoint('here', history(1))
    for _ in range(2):
        with SessionStore.open(path) as session:
            store = GraphCheckpointStore(SqliteGraph(session.database))
            await store.save(saved)
            assert await store.list_all() == [saved]
            assert session.notice is None

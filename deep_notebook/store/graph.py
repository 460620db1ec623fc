"""A small typed property graph in SQLite: two tables, nodes and edges.

A node has an id, a type (`node_type`) and properties; an edge leads from one node to another and has a relationship.
The tables may lie in a file of their own or beside a session's: they are made when they are first needed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

from deep_notebook.errors import StoreError

from .database import Database
from .messages import utf8

__all__ = ['GraphEdge', 'GraphEngine', 'GraphNode', 'SqliteGraph']

T = TypeVar('T')

_SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS graph_nodes (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        node_type TEXT NOT NULL,
        properties TEXT NOT NULL
    )
    """,
    'CREATE INDEX IF NOT EXISTS graph_nodes_by_type ON graph_nodes (node_type, number)',
    """
    CREATE TABLE IF NOT EXISTS graph_edges (
        source TEXT NOT NULL REFERENCES graph_nodes (id),
        target TEXT NOT NULL REFERENCES graph_nodes (id),
        relationship TEXT NOT NULL,
        properties TEXT NOT NULL,
        PRIMARY KEY (source, target, relationship)
    ) WITHOUT ROWID
    """,
    'CREATE INDEX IF NOT EXISTS graph_edges_by_target ON graph_edges (target)',
)


@dataclass(frozen=True)
class GraphNode:
    """One node."""

    id: str
    node_type: str
    properties: Mapping[str, Any]
    """What else is known of it, as JSON."""


@dataclass(frozen=True)
class GraphEdge:
    """One edge."""

    source: str
    target: str
    relationship: str
    properties: Mapping[str, Any]


@runtime_checkable
class GraphEngine(Protocol):
    """A property graph, as far as something that keeps its things in one needs it.

    Every method raises `StoreError` when the graph cannot be used; what it held before stays as it was.
    """

    async def add_node(self, id: str, /, *, node_type: str, **properties: Any) -> None:
        """Add a node; one with the same id gets these properties instead of its own and keeps its place.

        Raises:
            StoreError: The node is there and has another type.
        """
        ...

    async def add_edge(self, source: str, target: str, /, *, relationship: str, **properties: Any) -> None:
        """Add an edge; one between the same nodes in the same relationship gets these properties.

        Raises:
            StoreError: One of the nodes is not there.
        """
        ...

    async def get_nodes(self, ids: Iterable[str]) -> dict[str, GraphNode]:
        """Return those of the nodes that are there, by id."""
        ...

    async def find_nodes(self, node_type: str, *, limit: int | None = None, **properties: Any) -> list[GraphNode]:
        """Return the nodes of a type that have these properties, the one added last first, at most `limit`."""
        ...

    async def remove_node(self, id: str) -> None:
        """Remove a node, if it is there, and the edges that it is an end of."""
        ...


class SqliteGraph:
    """A `GraphEngine` in a SQLite file, which several processes may use at once.

    What was added survives a killed process; a power cut can take the last few additions back.

    Args:
        database: Where the tables are, such as that of a `SessionStore`.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the graph in the file `path`; nothing is read or created before it is used.

        A file that cannot be written, or is a session's, makes every method raise `StoreError`.
        """

        def prepare(connection: sqlite3.Connection) -> None:
            if database.in_memory:
                raise StoreError(f'{path} cannot be written, or holds something else than a graph.')

        database = Database(path, [_SCHEMA], prepare=prepare)
        return cls(database)

    def close(self) -> None:
        """Close the file. Closing twice is fine."""
        self.database.close()

    async def add_node(self, id: str, /, *, node_type: str, **properties: Any) -> None:
        """Add a node; one with the same id gets these properties instead of its own and keeps its place.

        Raises:
            StoreError: The node is there and has another type, or SQLite refused.
        """
        values = (utf8(id), node_type, _dump(properties))

        def work(connection: sqlite3.Connection) -> int:
            return connection.execute(
                """
                INSERT INTO graph_nodes (id, node_type, properties) VALUES (?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET properties = excluded.properties WHERE node_type = excluded.node_type
                """,
                values,
            ).rowcount

        if not await self._run(work):
            raise StoreError(f'The graph holds {id!r} already, and not as a {node_type}.')

    async def add_edge(self, source: str, target: str, /, *, relationship: str, **properties: Any) -> None:
        """Add an edge; one between the same nodes in the same relationship gets these properties.

        Raises:
            StoreError: One of the nodes is not there, or SQLite refused.
        """
        values = (relationship, _dump(properties), utf8(source), utf8(target))

        def work(connection: sqlite3.Connection) -> int:
            return connection.execute(
                """
                INSERT INTO graph_edges (source, target, relationship, properties)
                SELECT one.id, other.id, ?, ? FROM graph_nodes one, graph_nodes other WHERE one.id = ? AND other.id = ?
                ON CONFLICT (source, target, relationship) DO UPDATE SET properties = excluded.properties
                """,
                values,
            ).rowcount

        if not await self._run(work):
            raise StoreError(f'The graph does not hold both {source!r} and {target!r}.')

    async def get_nodes(self, ids: Iterable[str]) -> dict[str, GraphNode]:
        """Return those of the nodes that are there, by id."""
        wanted = [utf8(id) for id in ids]

        def work(connection: sqlite3.Connection) -> list[GraphNode]:
            return [node for id in wanted for node in _nodes(connection, 'id = ?', id)]

        return {node.id: node for node in await self._run(work)}

    async def find_nodes(self, node_type: str, *, limit: int | None = None, **properties: Any) -> list[GraphNode]:
        """Return the nodes of a type that have these properties, the one added last first, at most `limit`."""
        condition = 'node_type = ?'
        parameters: list[Any] = [node_type]
        for name, value in properties.items():
            # As JSON: `json_extract` ends a text at its first NUL.
            condition += ' AND properties -> ? = ?'
            parameters += [f'$."{name}"', _dump(value)]
        condition += ' ORDER BY number DESC LIMIT ?'
        parameters.append(-1 if limit is None else limit)
        return await self._run(lambda connection: _nodes(connection, condition, *parameters))

    async def edges(self, node: str) -> list[GraphEdge]:
        """Return the edges that a node is an end of."""
        query = 'SELECT source, target, relationship, properties FROM graph_edges WHERE :node IN (source, target)'
        rows = await self._run(lambda connection: connection.execute(query, {'node': utf8(node)}).fetchall())
        return [GraphEdge(start, end, kind, json.loads(properties)) for start, end, kind, properties in rows]

    async def remove_node(self, id: str) -> None:
        """Remove a node, if it is there, and the edges that it is an end of."""
        node = {'node': utf8(id)}

        def work(connection: sqlite3.Connection) -> None:
            connection.execute('DELETE FROM graph_edges WHERE :node IN (source, target)', node)
            connection.execute('DELETE FROM graph_nodes WHERE id = :node', node)

        await self._run(work)

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def job(connection: sqlite3.Connection) -> T:
            for statement in _SCHEMA:
                connection.execute(statement)
            return work(connection)

        return await self.database.run(job)


def _nodes(connection: sqlite3.Connection, condition: str, *parameters: Any) -> list[GraphNode]:
    query = f'SELECT id, node_type, properties FROM graph_nodes WHERE {condition}'
    return [
        GraphNode(id, node_type, json.loads(properties))
        for id, node_type, properties in connection.execute(query, parameters)
    ]


def _dump(value: Any) -> str:
    return utf8(json.dumps(value, ensure_ascii=False, separators=(',', ':'), default=repr))

"""Rewinds: each time a conversation went to another of its points, and what it takes to undo that exactly.

A row is stored, and on the disk, before anything changes. Then files go back, journalled one by one; then, in one
transaction, the conversation moves and the row says that it is done. A row that says it is not done is a rewind that
was interrupted: it can be undone, and the same rewind anew completes it.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

from .histories import steps_to
from .messages import utf8
from .points import Moment, Point, conversation_moment, find_points, insert_point, put_conversation
from .session import SessionStore

__all__ = ['PARTS', 'Part', 'Rewind', 'RewindKind', 'Rewinds']

T = TypeVar('T')

Part: TypeAlias = Literal['conversation', 'files', 'todos']
PARTS: tuple[Part, ...] = ('conversation', 'files', 'todos')
"""What goes back together unless the person says otherwise."""

RewindKind: TypeAlias = Literal['rewind', 'undo', 'fork']

_COLUMNS = (
    'id, kind, undoes, at, checkpoint, label, parts, last_run, before, after, first_change, last_change, done,'
    ' EXISTS (SELECT 1 FROM rewinds AS later WHERE later.undoes = rewinds.id AND later.done)'
)


@dataclass(frozen=True, kw_only=True)
class Rewind:
    """One stored rewind, undo or fork."""

    id: int
    kind: RewindKind
    undoes: int | None
    """The rewind that this is the undo of."""
    at: float
    """Unix seconds."""
    checkpoint: str | None
    """The id of the checkpoint that it went to."""
    label: str
    parts: tuple[Part, ...]
    last_run: int
    """The latest run of the conversation at that time; 0 if there was none."""
    before: Moment
    after: Moment
    changes: tuple[int, int] | None
    """The first and the last change in the journal; `None` if no file changed or it was interrupted."""
    done: bool
    """Whether it came to its end."""
    undone: bool


class Rewinds:
    """The rewinds and points of the current conversation of a session."""

    def __init__(self, session: SessionStore) -> None:
        self.session = session

    async def points(self) -> list[Point]:
        """Return the points of the conversation, oldest first."""
        return await self._run(lambda connection, here: find_points(connection, 'conversation = ?', here))

    async def other_points(self) -> list[Point]:
        """Return the points of the notebook's other conversations, oldest first."""
        return await self._run(lambda connection, here: find_points(connection, 'conversation != ?', here))

    async def latest(self) -> Rewind | None:
        """Return the latest rewind, undo or fork of the conversation, interrupted or not."""
        return await self._run(lambda connection, here: _find(connection, 'conversation = ?', here))

    async def undoable(self) -> Rewind | None:
        """Return the latest rewind that is not undone."""
        return await self._run(
            lambda connection, here: _find(connection, "conversation = ? AND kind = 'rewind'", here, undone=False)
        )

    async def present(self, rest: Moment, *, before_run: int | None = None) -> Moment:
        """Return where the conversation stands: its history, its last run, and the `rest` as it is given.

        Args:
            rest: What is not in the store: the plan, the files seen and the place in the journal.
            before_run: A run that has begun and has no part in the conversation yet.
        """
        return await self._run(lambda connection, here: _present(connection, here, rest, before_run))

    async def runs_since(self, rewind: Rewind) -> list[int]:
        """Return the runs of the conversation that began after `rewind`, oldest first."""
        rows = await self._run(
            lambda connection, here: connection.execute(
                'SELECT id FROM runs WHERE conversation = ? AND id > ? ORDER BY id', (here, rewind.last_run)
            ).fetchall()
        )
        return [id for (id,) in rows]

    async def in_force(self) -> Rewind | None:
        """Return the latest rewind that is done, if no run began after it: the plan and the files seen are its."""

        def work(connection: sqlite3.Connection, here: int) -> Rewind | None:
            found = _find(connection, 'conversation = ? AND done', here)
            return found if found is not None and _last_run(connection, here) <= found.last_run else None

        return await self._run(work)

    async def mark(self, label: str, moment: Moment, *, kind: str | None = None, before_run: int | None = None) -> str:
        """Make `moment` a point that pruning spares, and return its id."""
        return await self._write(
            lambda connection, here: insert_point(connection, here, label, moment, kind=kind, before_run=before_run)
        )

    async def begin(
        self,
        kind: Literal['rewind', 'undo'],
        *,
        label: str,
        checkpoint: str | None,
        parts: Collection[Part],
        before: Moment,
        after: Moment,
        undoes: int | None = None,
    ) -> Rewind:
        """Store a rewind that begins now, with a point that leads back to `before`, and return it.

        The same one, if it was interrupted and nothing was asked since, goes on as it is stored.
        """
        ordered = tuple(part for part in PARTS if part in parts)

        def work(connection: sqlite3.Connection, here: int) -> Rewind:
            last_run = _last_run(connection, here)
            latest = _find(connection, 'conversation = ?', here)
            if latest is not None and not latest.done:
                known = latest.kind, latest.checkpoint, latest.undoes, latest.parts, latest.last_run
                if known == (kind, checkpoint, undoes, ordered, last_run):
                    return latest
            cursor = connection.execute(
                'INSERT INTO rewinds'
                ' (conversation, kind, undoes, at, checkpoint, label, parts, last_run, before, after, done)'
                ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)',
                (
                    here,
                    kind,
                    undoes,
                    time.time(),
                    checkpoint,
                    utf8(label),
                    json.dumps(ordered),
                    last_run,
                    _dumped(before),
                    _dumped(after),
                ),
            )
            insert_point(connection, here, _point_before(kind, cursor.lastrowid), before, kind=kind)
            stored = _find(connection, 'id = ?', cursor.lastrowid)
            assert stored is not None
            return stored

        return await self._write(work)

    async def finish(self, rewind: Rewind, changes: tuple[int, int] | None) -> None:
        """Let the conversation go where `rewind` says, and note that it is done.

        Args:
            rewind: As `begin` returned it.
            changes: The first and the last change in the journal, or `None`.
        """

        def work(connection: sqlite3.Connection, here: int) -> None:
            if 'conversation' in rewind.parts:
                put_conversation(connection, here, rewind.after.history)
            connection.execute(
                'UPDATE rewinds SET done = 1, first_change = ?, last_change = ? WHERE id = ?',
                (*(changes or (None, None)), rewind.id),
            )

        await self.session.move(work)

    async def drop(self, rewind: Rewind) -> None:
        """Forget a rewind that changed nothing, and the point that led back from it."""

        def work(connection: sqlite3.Connection, here: int) -> None:
            connection.execute('DELETE FROM rewinds WHERE id = ?', (rewind.id,))
            connection.execute(
                'DELETE FROM checkpoints WHERE conversation = ? AND label = ?',
                (here, _point_before(rewind.kind, rewind.id)),
            )

        await self._write(work)

    async def fork(self, point: Point, before: Moment) -> int:
        """Begin a new conversation at `point`, and return its id; the old one ends at a point of its own."""

        def begin(connection: sqlite3.Connection, new: int) -> None:
            here = self.session.current_conversation
            insert_point(connection, here, f'before the fork at {point.label}', before, kind='fork')
            put_conversation(connection, new, point.moment.history)
            after = replace(point.moment, journal=before.journal)
            insert_point(connection, new, f'fork of {point.label}', after, kind='fork')
            connection.execute(
                'INSERT INTO rewinds (conversation, kind, at, checkpoint, label, parts, last_run, before, after, done)'
                " VALUES (?, 'fork', ?, ?, ?, ?, 0, ?, ?, 1)",
                (
                    new,
                    time.time(),
                    point.id,
                    utf8(point.label),
                    json.dumps(['conversation', 'todos']),
                    _dumped(before),
                    _dumped(after),
                ),
            )

        return await self.session.new_conversation(begin)

    async def taken_back(self, present: Moment, target: Moment) -> int:
        """Return how many messages of the history of `present` are not in that of `target`."""

        def work(connection: sqlite3.Connection, here: int) -> int:
            now, then = steps_to(connection, present.history), steps_to(connection, target.history)
            shared = next((at for at, (a, b) in enumerate(zip(now, then, strict=False)) if a != b), None)
            if shared is None:
                shared = min(len(now), len(then))
            # A checkpoint is taken before its last message is sent, and the message notes what was sent with it.
            return len(now) - (len(then) if len(then) - 1 <= shared <= len(now) else shared)

        return max(await self._run(work), 0)

    async def note_variables(self, kernel: str, run: int, names: Sequence[str]) -> None:
        """Note that the agent's code changed variables of a kernel now."""
        await self._run(
            lambda connection, here: connection.execute(
                'INSERT INTO variable_changes (kernel, run, checkpoint, names)'
                ' VALUES (?, ?, (SELECT coalesce(max(number), 0) FROM checkpoints), ?)',
                (kernel, run, utf8(json.dumps(list(names), ensure_ascii=False))),
            )
        )

    async def variables_since(self, kernel: str, point: Point) -> list[str]:
        """Return the names of the variables of a kernel that the agent's code changed after `point`, each once."""

        def work(connection: sqlite3.Connection, here: int) -> list[str]:
            rows = connection.execute(
                'SELECT names FROM variable_changes WHERE kernel = ? AND checkpoint >= ? ORDER BY id',
                (kernel, point.number),
            )
            return list(dict.fromkeys(name for (names,) in rows for name in json.loads(names)))

        return await self._run(work)

    async def _run(self, work: Callable[[sqlite3.Connection, int], T]) -> T:
        return await self.session.database.run(lambda connection: work(connection, self.session.current_conversation))

    async def _write(self, work: Callable[[sqlite3.Connection, int], T]) -> T:
        return await self.session.database.run(
            lambda connection: work(connection, self.session.current_conversation), durable=True
        )


def _point_before(kind: RewindKind, id: int | None) -> str:
    return f'before {kind} {id}'


def _present(connection: sqlite3.Connection, conversation: int, rest: Moment, before_run: int | None) -> Moment:
    node, count = conversation_moment(connection, conversation)
    run: int | None = _last_run(connection, conversation, before=before_run)
    moved = _find(connection, "conversation = ? AND done AND parts LIKE '%conversation%'", conversation)
    if moved is not None and moved.last_run == run:
        run = moved.after.run
    return replace(rest, history=node, messages=count, run=run or None)


def _last_run(connection: sqlite3.Connection, conversation: int, *, before: int | None = None) -> int:
    """Return the latest run of `conversation`, of those before the run `before` if it is given; 0 if there is none."""
    row: tuple[int] = connection.execute(
        'SELECT coalesce(max(id), 0) FROM runs WHERE conversation = ?1 AND (?2 IS NULL OR id < ?2)',
        (conversation, before),
    ).fetchone()
    return row[0]


def _find(
    connection: sqlite3.Connection, condition: str, *parameters: object, undone: bool | None = None
) -> Rewind | None:
    """Return the latest row for which the SQL `condition` holds."""
    rows = connection.execute(f'SELECT {_COLUMNS} FROM rewinds WHERE {condition} ORDER BY id DESC', parameters)
    found = map(_rewind, rows)
    return next((rewind for rewind in found if undone is None or rewind.undone == undone), None)


def _rewind(row: Sequence[Any]) -> Rewind:
    id, kind, undoes, at, checkpoint, label, parts, last_run, before, after, first, last, done, undone = row
    return Rewind(
        id=id,
        kind=kind,
        undoes=undoes,
        at=at,
        checkpoint=checkpoint,
        label=label,
        parts=tuple(json.loads(parts)),
        last_run=last_run,
        before=_loaded(before),
        after=_loaded(after),
        changes=None if first is None else (first, last),
        done=bool(done),
        undone=bool(undone),
    )


def _dumped(moment: Moment) -> str:
    return utf8(json.dumps(asdict(moment), ensure_ascii=False, default=repr))


def _loaded(text: str) -> Moment:
    known: Mapping[str, Any] = json.loads(text)
    return Moment(**known)

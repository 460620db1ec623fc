"""Runs: one row a `%%deep` execution, with what is needed to draw it again and to resume it when it was suspended."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias, TypedDict

from pydantic import TypeAdapter
from pydantic_ai import DeferredToolRequests

from .messages import utf8

__all__ = [
    'END_NOT_KEPT',
    'KERNEL_ENDED',
    'READ_COLUMN',
    'RECORDING_COLUMN',
    'RUNS_SCHEMA',
    'TERMS_COLUMN',
    'RecordingUse',
    'RunChanges',
    'RunPhase',
    'RunRecord',
    'RunTerms',
    'find_run',
    'find_runs',
    'insert_run',
    'stop_dead_runs',
    'update_run',
]

RunPhase: TypeAlias = Literal['starting', 'running', 'waiting', 'done', 'stopped', 'failed', 'suspended']

_ENDED: frozenset[RunPhase] = frozenset({'done', 'stopped', 'failed'})

RUNS_SCHEMA = (
    """
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation INTEGER NOT NULL REFERENCES conversations (id),
        prompt TEXT NOT NULL,
        model TEXT NOT NULL,
        phase TEXT NOT NULL,
        state TEXT,
        usage TEXT,
        suspended TEXT,
        started REAL NOT NULL,
        ended REAL
    )
    """,
    'CREATE INDEX runs_of_conversation ON runs (conversation, id)',
)

RECORDING_COLUMN = ('ALTER TABLE runs ADD COLUMN recording TEXT',)
TERMS_COLUMN = ('ALTER TABLE runs ADD COLUMN terms TEXT',)
READ_COLUMN = ('ALTER TABLE runs ADD COLUMN read_digests TEXT',)

KERNEL_ENDED = 'The kernel ended during this run.'
END_NOT_KEPT = 'The end of this run could not be kept.'

_DEFERRED = TypeAdapter(DeferredToolRequests)

_COLUMNS = (
    'id, conversation, prompt, model, phase, state, usage, suspended, started, ended, recording, terms, read_digests'
)


@dataclass(frozen=True, kw_only=True)
class RecordingUse:
    """The recording that answers a run, or that keeps what answers it."""

    mode: Literal['record', 'replay']
    name: str
    key: str
    """What the recording keeps the run's cell under."""


@dataclass(frozen=True, kw_only=True)
class RunTerms:
    """What the person asked of a run besides its prompt: it still holds when a suspended run goes on."""

    into: str | None = None
    """The variable for the answer."""
    max_requests: int | None = None
    timeout: float | None = None
    """Seconds of work."""
    approve: Literal['ask', 'review', 'auto', 'deny'] = 'ask'
    """What happens before a write or a command."""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """One stored run."""

    id: int
    conversation: int
    prompt: str
    model: str
    phase: RunPhase
    state: dict[str, Any] | None
    """The run state as JSON, for drawing it again; `None` until it was saved once."""
    usage: dict[str, Any] | None
    suspended: DeferredToolRequests | None
    """What waits for an answer, while the phase is `suspended`."""
    started: float
    """Unix seconds."""
    ended: float | None
    """Unix seconds; `None` while the run goes on or is suspended."""
    recording: RecordingUse | None = None
    terms: RunTerms = field(default_factory=RunTerms)
    read_digests: dict[str, str] = field(default_factory=dict)
    """How the agent last saw each file (path → digest)."""


class RunChanges(TypedDict, total=False):
    """What can be changed about a run."""

    model: str
    phase: RunPhase
    state: Mapping[str, Any] | None
    usage: Mapping[str, Any] | None
    suspended: DeferredToolRequests | None
    read_digests: Mapping[str, str]


def insert_run(
    connection: sqlite3.Connection,
    conversation: int,
    *,
    prompt: str,
    model: str,
    recording: RecordingUse | None = None,
    terms: RunTerms | None = None,
) -> int:
    """Store a run that starts now and return its id."""
    values = [None if kept is None else json.dumps(asdict(kept)) for kept in (recording, terms)]
    cursor = connection.execute(
        'INSERT INTO runs (conversation, prompt, model, phase, started, recording, terms) VALUES (?, ?, ?, ?, ?, ?, ?)',
        (conversation, utf8(prompt), model, 'starting', time.time(), *values),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def update_run(connection: sqlite3.Connection, run: int, changes: RunChanges) -> None:
    """Apply `changes` to a run; a phase that ends it also notes the time and forgets what was suspended.

    Raises:
        KeyError: There is no such run.
    """
    values: dict[str, object] = dict(changes)
    for name in ('state', 'usage', 'read_digests'):
        if values.get(name) is not None:
            values[name] = utf8(json.dumps(values[name], ensure_ascii=False, default=repr))
    if (suspended := changes.get('suspended')) is not None:
        values['suspended'] = _DEFERRED.dump_json(suspended, fallback=repr).decode()
    if (phase := changes.get('phase')) is not None:
        values['ended'] = time.time() if phase in _ENDED else None
        if phase != 'suspended':
            values['suspended'] = None
    if not values:
        return
    assignments = ', '.join(f'{name} = :{name}' for name in values)
    if connection.execute(f'UPDATE runs SET {assignments} WHERE id = :run', {**values, 'run': run}).rowcount == 0:
        raise KeyError(run)


def find_run(connection: sqlite3.Connection, condition: str, *parameters: object) -> RunRecord | None:
    """Return the first run for which the SQL `condition` (which may go on with `ORDER BY`) holds."""
    row = connection.execute(f'SELECT {_COLUMNS} FROM runs WHERE {condition} LIMIT 1', parameters).fetchone()
    return None if row is None else _record(row)


def find_runs(connection: sqlite3.Connection, conversation: int) -> list[RunRecord]:
    """Return the runs of a conversation, oldest first."""
    query = f'SELECT {_COLUMNS} FROM runs WHERE conversation = ? ORDER BY id'
    return [_record(row) for row in connection.execute(query, (conversation,))]


def _record(row: tuple[Any, ...]) -> RunRecord:
    run, conversation, prompt, model, phase, state, usage, suspended, started, ended, recording, terms, read = row
    return RunRecord(
        id=run,
        conversation=conversation,
        prompt=prompt,
        model=model,
        phase=phase,
        state=None if state is None else json.loads(state),
        usage=None if usage is None else json.loads(usage),
        suspended=None if suspended is None else _DEFERRED.validate_json(suspended),
        started=started,
        ended=ended,
        recording=None if recording is None else RecordingUse(**json.loads(recording)),
        terms=RunTerms() if terms is None else RunTerms(**json.loads(terms)),
        read_digests={} if read is None else json.loads(read),
    )


def stop_dead_runs(connection: sqlite3.Connection, notice: str, *, conversation: int | None = None) -> None:
    """Mark runs that nobody drives any more as stopped.

    Args:
        connection: In a transaction.
        notice: A line for the person that says why.
        conversation: Whose runs; without one, those of all conversations that are not another kernel's branch.
    """
    connection.execute(
        """
        UPDATE runs SET phase = 'stopped', ended = :now,
            state = CASE WHEN json_valid(state)
                THEN json_set(state, '$.phase', 'stopped', '$.notice', :notice)
                ELSE state END
        WHERE phase IN ('starting', 'running', 'waiting') AND conversation IN (
            SELECT id FROM conversations WHERE id = :conversation OR (:conversation IS NULL AND branch_of IS NULL)
        )
        """,
        {'now': time.time(), 'notice': notice, 'conversation': conversation},
    )

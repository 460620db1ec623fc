"""What the person decided about each place that a run changed, and how much of that the agent was told."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ['REVIEWS_SCHEMA', 'ReviewState', 'ReviewedPlace', 'news_of', 'put_states', 'put_told', 'states_of']

ReviewState: TypeAlias = Literal['kept', 'undone']

REVIEWS_SCHEMA = (
    """
    CREATE TABLE reviews (
        run INTEGER NOT NULL REFERENCES runs (id),
        path BLOB NOT NULL,
        place TEXT NOT NULL,
        state TEXT NOT NULL,
        told TEXT,
        at REAL NOT NULL,
        PRIMARY KEY (run, path, place)
    ) WITHOUT ROWID
    """,
)
"""`told` is the state that the agent was told last; `NULL`: nothing."""


@dataclass(frozen=True, kw_only=True)
class ReviewedPlace:
    """One place of a file about which something was decided."""

    run: int
    path: str
    place: str
    state: ReviewState


def put_states(connection: sqlite3.Connection, places: Iterable[ReviewedPlace]) -> None:
    """Keep what was decided; a later decision takes the place of an earlier one."""
    connection.executemany(
        """
        INSERT INTO reviews (run, path, place, state, at) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (run, path, place) DO UPDATE SET state = excluded.state, at = excluded.at
        """,
        [(each.run, os.fsencode(each.path), each.place, each.state, time.time()) for each in places],
    )


def states_of(connection: sqlite3.Connection, run: int) -> Mapping[tuple[str, str], ReviewState]:
    """Return what was decided about a run's places: (path, place) → state."""
    rows = connection.execute('SELECT path, place, state FROM reviews WHERE run = ?', (run,))
    return {(os.fsdecode(path), place): state for path, place, state in rows}


def news_of(connection: sqlite3.Connection, conversation: int) -> list[ReviewedPlace]:
    """Return what was undone, or put back, in runs of a conversation without the agent being told, oldest run first."""
    rows = connection.execute(
        """
        SELECT run, path, place, reviews.state FROM reviews JOIN runs ON runs.id = run
        WHERE conversation = ? AND (reviews.state = 'undone') != (told IS 'undone') ORDER BY run, at
        """,
        (conversation,),
    )
    return [
        ReviewedPlace(run=run, path=os.fsdecode(path), place=place, state=state) for run, path, place, state in rows
    ]


def put_told(connection: sqlite3.Connection, places: Iterable[ReviewedPlace]) -> None:
    """Note that the agent was told of `places`."""
    connection.executemany(
        'UPDATE reviews SET told = ? WHERE run = ? AND path = ? AND place = ?',
        [(each.state, each.run, os.fsencode(each.path), each.place) for each in places],
    )

"""Figures, and the table of them: what was measured, beside what, and whether it is good enough."""

from __future__ import annotations

import asyncio
import os
import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

__all__ = [
    'Heartbeat',
    'Row',
    'Stopwatch',
    'Taken',
    'beside',
    'load_average',
    'print_table',
    'threads_of_stores',
    'within',
]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table."""

    work: str
    ours: str
    peer: str = ''
    theirs: str = ''
    ratio: str = ''
    target: str = ''
    met: bool | None = None


def beside(
    work: str,
    ours: Sequence[float],
    peer: str,
    theirs: Sequence[float] | str,
    unit: str,
    *,
    at_most: float | None = None,
    scale: float = 1,
) -> Row:
    """Return a row that compares two figures.

    Args:
        work: What was done.
        ours: One figure a round.
        peer: Who else did it.
        theirs: One figure a round, taken in turn with ours, or why there is none.
        unit: Of both.
        at_most: How many times theirs ours may be.
        scale: What theirs is multiplied with when only a part of the work was measured.
    """
    target = '' if at_most is None else 'less than theirs' if at_most == 1 else f'at most {at_most:g} times theirs'
    own = _shown(statistics.median(ours), unit)
    if isinstance(theirs, str):
        return Row(work=work, ours=own, peer=peer, theirs=f'not measured: {theirs}', target=target)
    ratio = statistics.median(mine / (other * scale) for mine, other in zip(ours, theirs, strict=False))
    return Row(
        work=work,
        ours=own,
        peer=peer,
        theirs=_shown(statistics.median(theirs) * scale, unit),
        ratio=f'{ratio:.2g}' if ratio < 10 else f'{ratio:.0f}',
        target=target,
        met=None if at_most is None else ratio <= at_most,
    )


def within(work: str, ours: Sequence[Taken], limit: float) -> Row:
    """Return a row that compares a median with the most that it may be, in milliseconds of work."""
    own, wall = statistics.median(one.own for one in ours), statistics.median(one.wall for one in ours)
    shown = f'{own:.2f} ms ({wall:.2f})'
    return Row(work=work, ours=shown, target=f'at most {limit:g} ms', met=own <= limit)


def print_table(rows: Sequence[Row]) -> None:
    """Print the rows in columns."""
    print(f'\nMilliseconds of work; in brackets by the clock, while other programs ran too ({load_average()}).')
    titles = Row(work='work', ours='ours', peer='beside', theirs='theirs', ratio='ours/theirs', target='target')
    columns = ('work', 'ours', 'peer', 'theirs', 'ratio', 'target')
    widths = [max(len(getattr(row, column)) for row in (titles, *rows)) for column in columns]
    for row in (titles, *rows):
        cells = (getattr(row, column).ljust(width) for column, width in zip(columns, widths, strict=True))
        met = 'met' if row is titles else {True: 'yes', False: 'NO', None: ''}[row.met]
        print('  '.join([*cells, met]).rstrip())


def _shown(value: float, unit: str) -> str:
    if value >= 100:
        return f'{value:,.0f} {unit}'
    return f'{value:.2f} {unit}' if value >= 0.1 else f'{value:.3f} {unit}'


class Taken(NamedTuple):
    """Milliseconds that something took."""

    own: float
    """Those in which this process worked; on a machine with nothing else to do there are hardly others."""
    wall: float


class Stopwatch:
    """Measures from when it is made."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def stop(self) -> Taken:
        """Return what it took."""
        return Taken((time.process_time() - self._cpu) * 1000, (time.perf_counter() - self._wall) * 1000)


class Heartbeat:
    """How much too late a sleeping task is woken, at most: all in all, and by our own doing.

    A thread that could run but has no core waits for other programs, as Linux counts. Of the waits of the event loop
    and of `threads`, which may hold it up, the longest is taken off, not the sum: they may be at the same time.

    Args:
        threads: Native ids.
    """

    INTERVAL = 0.001

    def __init__(self, threads: Sequence[int] = ()) -> None:
        self._threads = [threading.get_native_id(), *threads]
        self.late = Taken(0.0, 0.0)

    async def __aenter__(self) -> Self:
        self._beating = asyncio.create_task(self._beat())
        return self

    async def __aexit__(self, *args: object) -> None:
        self._beating.cancel()

    async def _beat(self) -> None:
        waited = list(map(_waited, self._threads))
        while True:
            began = time.perf_counter()
            await asyncio.sleep(self.INTERVAL)
            late = time.perf_counter() - began - self.INTERVAL
            now = list(map(_waited, self._threads))
            own = late - max(after - before for before, after in zip(waited, now, strict=True))
            waited = now
            self.late = Taken(max(self.late.own, own * 1000), max(self.late.wall, late * 1000))


def threads_of_stores() -> list[int]:
    """Return the native ids of the threads of all open session files."""
    return [thread.native_id or 0 for thread in threading.enumerate() if thread.name.startswith('deep-notebook-store')]


def _waited(thread: int) -> float:
    """Return the seconds that a thread has waited for a core; 0 where the system does not count them."""
    counted = Path(f'/proc/self/task/{thread}/schedstat')
    return int(counted.read_text().split()[1]) / 1e9 if counted.exists() else 0.0


def load_average() -> str:
    """Return how busy the machine is."""
    return f'load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores'

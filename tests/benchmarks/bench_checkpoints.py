"""What checkpoints cost, beside other libraries and beside the least that SQLite can do.

The least is appending the same bytes in as many transactions. Everything that is saved here is at `synchronous=FULL`,
but for the automatic checkpoints of a run, which do not wait for the disk. Each round is on fresh files, and everyone
saves one checkpoint in turn, so that what else the machine and its disk have to do is the same for all.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import statistics
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conversations import calls_and_results
from measures import Row, Stopwatch, Taken, beside, load_average, print_table, within
from peers import LANGGRAPH, PYDANTIC_DEEP, Peer, PeerError
from peers.serve import size
from pydantic_ai import Agent, ModelRequestContext, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits

from deep_notebook.capabilities.checkpoints import CheckpointMiddleware
from deep_notebook.store import Checkpoint, CheckpointStore, SqliteCheckpointStore
from deep_notebook.store.messages import dump_message, load_messages

MESSAGES = 1_000
CHECKPOINTS = 200
STEPS = 200
ROUNDS = 5
LENGTHS = {
    'fixed': [MESSAGES] * CHECKPOINTS,
    'growing': [MESSAGES // CHECKPOINTS * number for number in range(1, CHECKPOINTS + 1)],
}


def checkpoint(messages: list[ModelMessage], number: int) -> Checkpoint:
    metadata = {'automatic': True, 'last_tool': 'read', 'conversation': str(uuid.uuid4()), 'run': str(uuid.uuid4())}
    return Checkpoint(str(uuid.uuid4()), f'auto-{number}', number, list(messages), metadata=metadata)


def floor(directory: Path, lengths: list[int], messages: list[ModelMessage]) -> Iterator[float]:
    """Append what is new and one row a checkpoint: no look-up, no sharing, no thread, serialising included."""
    with closing(sqlite3.connect(directory / 'floor.db', isolation_level=None)) as connection:
        connection.execute('PRAGMA journal_mode=WAL')
        connection.execute('PRAGMA synchronous=FULL')
        connection.execute('CREATE TABLE messages (id INTEGER PRIMARY KEY, body TEXT)')
        connection.execute('CREATE TABLE checkpoints (id TEXT, length INTEGER, metadata TEXT)')
        written = 0
        for number, length in enumerate(lengths):
            began = time.perf_counter()
            connection.execute('BEGIN IMMEDIATE')
            bodies = [(dump_message(message),) for message in messages[written:length]]
            connection.executemany('INSERT INTO messages (body) VALUES (?)', bodies)
            row = (str(uuid.uuid4()), length, f'{{"label": "auto-{number}"}}')
            connection.execute('INSERT INTO checkpoints VALUES (?, ?, ?)', row)
            connection.execute('COMMIT')
            written = length
            yield time.perf_counter() - began


async def save_all(store: CheckpointStore, lengths: list[int], messages: list[ModelMessage]) -> None:
    for number, length in enumerate(lengths):
        await store.save(checkpoint(messages[:length], number))


async def taken(work: Callable[[], Awaitable[Any]], rounds: int = 15) -> list[Taken]:
    found = []
    for _ in range(rounds):
        watch = Stopwatch()
        await work()
        found.append(watch.stop())
    return found


def flush(directory: Path) -> float:
    """Return the milliseconds that one flush of the disk takes."""
    times = []
    with (directory / 'flushed').open('wb') as file:
        for _ in range(50):
            file.write(bytes(4096))
            file.flush()
            began = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


@dataclass
class Figures:
    """What was measured of one way to save: one figure a round, or why there is none."""

    seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    missing: str | None = None

    def add(self, seconds: float, bytes: float) -> None:
        self.seconds.append(seconds)
        self.megabytes.append(bytes / 1e6)


async def in_turn(messages: list[ModelMessage], file: Path, lengths: list[int], langgraph: Peer) -> list[Figures]:
    """Save checkpoints with the floor, ours and LangGraph's `DeltaChannel`, each one in turn; return the figures."""
    least, ours, delta, saver = Figures(), Figures(), Figures(), Figures()
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
            plain = floor(Path(first), lengths, messages)
            store = SqliteCheckpointStore.open(Path(second) / 'session.db')
            await store.count()
            seconds: list[list[float]] = [[], [], [], []]
            try:
                await langgraph.ask('begin', messages=str(file), lengths=lengths, channel='delta')
            except PeerError as error:
                delta.missing = saver.missing = str(error)
            for number, length in enumerate(lengths):
                seconds[0].append(next(plain))
                began = time.perf_counter()
                await store.save(checkpoint(messages[:length], number))
                seconds[1].append(time.perf_counter() - began)
                if delta.missing is None:
                    answer = await langgraph.ask('next')
                    seconds[2].append(answer['added'])
                    seconds[3].append(answer['saver'])
            plain.close()
            store.close()
            least.add(sum(seconds[0]), size(Path(first)))
            ours.add(sum(seconds[1]), size(Path(second)))
            if delta.missing is None:
                bytes = await langgraph.ask('end')
                delta.add(sum(seconds[2]), bytes)
                saver.add(sum(seconds[3]), bytes)
            each = [f'{statistics.median(one) * 1000:.2f} ms' for one in seconds if one]
            totals = [f'{sum(one):.3f} s' for one in seconds if one]
            print(f'  floor, ours, DeltaChannel, its saver: {", ".join(totals)}; the median one {", ".join(each)}')
    return [least, ours, delta, saver]


async def whole_states(file: Path, langgraph: Peer) -> Figures:
    figures = Figures()
    try:
        await langgraph.ask('begin', messages=str(file), lengths=LENGTHS['fixed'], channel='whole')
        figures.add(
            sum([(await langgraph.ask('next'))['added'] for _ in range(CHECKPOINTS)]), await langgraph.ask('end')
        )
    except PeerError as error:
        figures.missing = str(error)
    return figures


async def files_of_deep(file: Path, deep: Peer) -> Figures:
    figures = Figures()
    try:
        answer = await deep.ask('checkpoints', messages=str(file), count=3)
    except PeerError as error:
        figures.missing = str(error)
        return figures
    first, each = answer['first'], answer['each']
    print(f'  pydantic-deep: {first:.2f} s for the first 20, {each:.2f} s for each more, of which 3 were measured')
    figures.add(first + each * (CHECKPOINTS - 20), answer['bytes_each'] * CHECKPOINTS)
    return figures


async def writing(title: str, messages: list[ModelMessage], file: Path, langgraph: Peer, deep: Peer) -> list[Row]:
    least, ours, delta, saver = await in_turn(messages, file, LENGTHS[title], langgraph)

    def rows(peer: str, theirs: Figures, *, times: float | None = None, bytes: float | None = None) -> list[Row]:
        seconds, megabytes = theirs.missing or theirs.seconds, theirs.missing or theirs.megabytes
        work = f'{CHECKPOINTS} checkpoints, history {title}'
        return [
            beside(work, ours.seconds, peer, seconds, 's', at_most=times),
            beside('  bytes written', ours.megabytes, peer, megabytes, 'MB', at_most=bytes),
        ]

    found = rows('floor: plain appends', least, times=3) + rows('LangGraph DeltaChannel', delta, times=1, bytes=1)
    found += rows('the same, only in its saver', saver)[:1]
    if title == 'fixed':
        found += rows('LangGraph SqliteSaver', await whole_states(file, langgraph))
        found += rows('pydantic-deep, scaled', await files_of_deep(file, deep))
    return found


async def reading(messages: list[ModelMessage], file: Path, langgraph: Peer) -> list[Row]:
    cold: list[Taken] = []
    listing: list[float] | str = []
    loading: list[float] | str = []
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / 'session.db'
        store = SqliteCheckpointStore.open(path)
        await save_all(store, LENGTHS['growing'], messages)
        latest = (await store.summaries())[-1].id
        lists = await taken(store.summaries)
        await store.get(latest)
        warm = await taken(lambda: store.get(latest))
        store.close()
        for _ in range(ROUNDS):
            for _ in range(5):
                store = SqliteCheckpointStore.open(path)
                await store.count()
                cold += await taken(lambda store=store: store.get(latest), 1)
                store.close()
            if isinstance(listing, list) and isinstance(loading, list):
                try:
                    answer = await langgraph.ask('read', messages=str(file), lengths=LENGTHS['growing'])
                except PeerError as error:
                    listing = loading = str(error)
                else:
                    listing.append(answer['list'])
                    loading.append(answer['load'])
    bodies = [dump_message(message).encode() for message in messages]
    decoding = []
    for _ in range(15):
        watch = Stopwatch()
        load_messages(bodies)
        decoding.append(watch.stop())
    own, wall = statistics.median(one.own for one in decoding), statistics.median(one.wall for one in decoding)
    print(f'  of a load after a restart, decoding takes {own:.2f} ms ({wall:.2f})')
    last = f'load one of {MESSAGES:,} messages'

    def clock(found: list[Taken]) -> list[float]:
        return [statistics.median(one.wall for one in found)] * ROUNDS

    return [
        within(f'list {CHECKPOINTS}', lists, 1),
        beside(f'list {CHECKPOINTS}, by the clock', clock(lists), 'LangGraph DeltaChannel', listing, 'ms'),
        within(f'{last}, again', warm, 15),
        within(f'{last}, after a restart', cold, 15),
        beside(f'{last}, after a restart, by the clock', clock(cold), 'LangGraph DeltaChannel', loading, 'ms'),
    ]


@dataclass
class Timed(CheckpointMiddleware[Any]):
    """Notes how long each checkpoint kept the run waiting."""

    taken: list[Taken] = field(default_factory=list, kw_only=True)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        watch = Stopwatch()
        prepared = await super().prepare_model_request(ctx, request_context)
        self.taken.append(watch.stop())
        return prepared


async def run(*capabilities: Any) -> float:
    """Return the milliseconds of each of `STEPS` tool steps."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) > 2 * STEPS:
            return ModelResponse(parts=[TextPart('done')])
        return ModelResponse(parts=[ToolCallPart('read', {}, tool_call_id=str(len(messages)))])

    def read() -> str:
        """Read."""
        return 'x' * 2_000

    agent = Agent(FunctionModel(answer), tools=[read], capabilities=capabilities)
    began = time.perf_counter()
    await agent.run('go', usage_limits=UsageLimits(request_limit=None))
    return (time.perf_counter() - began) / STEPS * 1000


async def running(file: Path, langgraph: Peer, deep: Peer) -> list[Row]:
    waits: list[Taken] = []
    more: list[float] = []
    theirs: list[float] | str = []
    await run()
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as name:
            store = SqliteCheckpointStore.open(Path(name) / 'session.db')
            await store.count()
            timed = Timed(store, max_checkpoints=20)
            without = await run()
            more.append(await run(timed) - without)
            waits += timed.taken[1:]
            store.close()
        if isinstance(theirs, list):
            try:
                answer = await langgraph.ask('run', messages=str(file), steps=STEPS)
                theirs.append(answer['with'] - answer['without'])
            except PeerError as error:
                theirs = str(error)
    print(f'  a step takes longer by, round by round: {" ".join(f"{one:.2f}" for one in more)} ms')
    slowest = statistics.quantiles((one.wall for one in waits), n=100)[-1]
    mean = statistics.mean(one.wall for one in waits)
    print(f'  by the clock a step waits {mean:.2f} ms on average, {slowest:.2f} ms in the slowest of 100')
    try:
        answer = await deep.ask('run', messages=str(file), steps=STEPS, more=4)
        deeper: list[float] | str = [answer['waits']]
    except PeerError as error:
        deeper = str(error)
    work = f'a step of {STEPS} waits for its checkpoint'
    own = [statistics.median(one.wall for one in waits)]
    return [
        within(work, waits, 1),
        beside('a step takes longer', more, 'LangGraph DeltaChannel', theirs, 'ms'),
        beside('a step waits, halfway', own, 'pydantic-deep, 4 steps', deeper, 'ms'),
    ]


async def measure() -> list[Row]:
    messages = calls_and_results(MESSAGES)
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / 'messages.json'
        file.write_text(f'[{",".join(map(dump_message, messages))}]')
        print(f'\nCheckpoints of {MESSAGES:,} messages, {size(Path(name)) / 1e6:.2f} MB of JSON ({load_average()})')
        print(f'One flush of this disk takes {flush(Path(name)):.2f} ms.')
        rows = []
        async with Peer(*LANGGRAPH) as langgraph, Peer(*PYDANTIC_DEEP) as deep:
            for title in LENGTHS:
                print(f'History {title}, round by round ({load_average()}):')
                rows += await writing(title, messages, file, langgraph, deep)
            print('Reading and running')
            rows += await reading(messages, file, langgraph)
            rows += await running(file, langgraph, deep)
    return rows


if __name__ == '__main__':
    print_table(asyncio.run(measure()))

"""What checkpoints cost, beside the least that SQLite can do: appending the same bytes in as many transactions.

Everything is at `synchronous=FULL`, on a history of 1,000 messages (about 1.3 MB of JSON), each measured on fresh files
in one process, in turn. LangGraph's SQLite saver is measured too where `langgraph-checkpoint-sqlite` is installed.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import random
import sqlite3
import statistics
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, ModelRequestContext, RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits

from deep_notebook.capabilities.checkpoints import CheckpointMiddleware
from deep_notebook.store import (
    Checkpoint,
    CheckpointStore,
    FileCheckpointStore,
    InMemoryCheckpointStore,
    SqliteCheckpointStore,
)
from deep_notebook.store.messages import dump_message, load_messages

MESSAGES = 1_000
CHECKPOINTS = 200
STEPS = 200
ROUNDS = 3


def history(count: int) -> list[ModelMessage]:
    """Return a conversation of `count` messages: a prompt, then calls and results of about 2 kB."""
    words = random.Random(7)
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart('Look at everything.')])]
    while len(messages) < count:
        text = ' '.join(words.choice(('alpha', 'beta', 'gamma', 'delta', 'Größe', '数据')) for _ in range(230))
        id = f'call_{len(messages)}'
        messages.append(ModelResponse(parts=[TextPart('Next.'), ToolCallPart('read', {'n': len(messages)}, id)]))
        messages.append(ModelRequest(parts=[ToolReturnPart('read', text, tool_call_id=id)]))
    return messages[:count]


def size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob('*') if path.is_file())


def checkpoint(messages: list[ModelMessage], number: int) -> Checkpoint:
    metadata = {'automatic': True, 'last_tool': 'read', 'conversation': str(uuid.uuid4()), 'run': str(uuid.uuid4())}
    return Checkpoint(str(uuid.uuid4()), f'auto-{number}', number, list(messages), metadata=metadata)


def floor(directory: Path, lengths: list[int], messages: list[ModelMessage]) -> float:
    """Append what is new and one row a checkpoint: no look-up, no sharing, no thread, serialising included."""
    with closing(sqlite3.connect(directory / 'floor.db', isolation_level=None)) as connection:
        connection.execute('PRAGMA journal_mode=WAL')
        connection.execute('PRAGMA synchronous=FULL')
        connection.execute('CREATE TABLE messages (id INTEGER PRIMARY KEY, body TEXT)')
        connection.execute('CREATE TABLE checkpoints (id TEXT, length INTEGER, metadata TEXT)')
        began = time.perf_counter()
        written = 0
        for number, length in enumerate(lengths):
            connection.execute('BEGIN IMMEDIATE')
            bodies = [(dump_message(message),) for message in messages[written:length]]
            connection.executemany('INSERT INTO messages (body) VALUES (?)', bodies)
            row = (str(uuid.uuid4()), length, f'{{"label": "auto-{number}"}}')
            connection.execute('INSERT INTO checkpoints VALUES (?, ?, ?)', row)
            connection.execute('COMMIT')
            written = length
        return time.perf_counter() - began


async def save_all(store: CheckpointStore, lengths: list[int], messages: list[ModelMessage]) -> float:
    began = time.perf_counter()
    for number, length in enumerate(lengths):
        await store.save(checkpoint(messages[:length], number))
    return time.perf_counter() - began


async def milliseconds(work: Callable[[], Awaitable[Any]], rounds: int = 15) -> float:
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


def decoding(bodies: list[str]) -> float:
    began = time.perf_counter()
    load_messages(bodies)
    return (time.perf_counter() - began) * 1000


def flush(directory: Path) -> float:
    """Return the milliseconds that one flush of the disk takes."""
    taken = []
    with (directory / 'flushed').open('wb') as file:
        for _ in range(50):
            file.write(bytes(4096))
            file.flush()
            began = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


async def writing(title: str, lengths: list[int]) -> None:
    messages = history(MESSAGES)
    megabytes = sum(len(dump_message(message).encode()) for message in messages) / 1e6
    print(f'\n{title}: {CHECKPOINTS} checkpoints, {MESSAGES:,} messages, {megabytes:.2f} MB of JSON')
    floors, ours, files = [], [], []
    sizes: dict[str, int] = {}
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as name:
            floors.append(floor(Path(name), lengths, messages))
            sizes['floor'] = size(Path(name))
        with tempfile.TemporaryDirectory() as name:
            store = SqliteCheckpointStore.open(Path(name) / 'session.db')
            await store.count()
            ours.append(await save_all(store, lengths, messages))
            store.close()
            sizes['ours'] = size(Path(name))
        with tempfile.TemporaryDirectory() as name:
            files.append(await save_all(FileCheckpointStore(name), lengths, messages))
            sizes['files'] = size(Path(name))
    least = statistics.median(floors)
    for label, taken, bytes in (
        ('floor: plain appends', floors, sizes['floor']),
        ('SqliteCheckpointStore', ours, sizes['ours']),
        ('FileCheckpointStore', files, sizes['files']),
    ):
        median = statistics.median(taken)
        print(
            f'  {label:<24}{median:>8.3f} s{median / CHECKPOINTS * 1000:>8.2f} ms each{median / least:>7.1f} x floor'
            f'{bytes / 1e6:>8.2f} MB'
        )
    if importlib.util.find_spec('langgraph') is not None:
        langgraph(lengths, messages)


def langgraph(lengths: list[int], messages: list[ModelMessage]) -> None:
    from langgraph.checkpoint.base import empty_checkpoint  # type: ignore[import-not-found]
    from langgraph.checkpoint.sqlite import SqliteSaver  # type: ignore[import-not-found]

    with (
        tempfile.TemporaryDirectory() as name,
        closing(sqlite3.connect(Path(name) / 'peer.db', check_same_thread=False)) as connection,
    ):
        saver = SqliteSaver(connection)
        saver.setup()
        connection.execute('PRAGMA synchronous=FULL')
        bodies = [dump_message(message) for message in messages]
        config: Any = {'configurable': {'thread_id': '1', 'checkpoint_ns': ''}}
        began = time.perf_counter()
        for number, length in enumerate(lengths):
            state = {**empty_checkpoint(), 'channel_values': {'messages': bodies[:length]}}
            config = saver.put(config, state, {'step': number}, {})
        taken = time.perf_counter() - began
        print(f'  {"LangGraph SqliteSaver":<24}{taken:>8.3f} s{"":>30}{size(Path(name)) / 1e6:>8.2f} MB')


async def reading() -> None:
    messages = history(MESSAGES)
    print(f'\nReading, {CHECKPOINTS} checkpoints of up to {MESSAGES:,} messages')
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / 'session.db'
        store = SqliteCheckpointStore.open(path)
        step = MESSAGES // CHECKPOINTS
        await save_all(store, [step * number for number in range(1, CHECKPOINTS + 1)], messages)
        latest = (await store.summaries())[-1].id
        print(f'  {"list (summaries)":<24}{await milliseconds(store.summaries):>8.2f} ms')
        print(f'  {"load, same process":<24}{await milliseconds(lambda: store.get(latest)):>8.2f} ms')
        print(f'  {"list_all, same process":<24}{await milliseconds(store.list_all, 3):>8.2f} ms')
        store.close()
        cold = []
        for _ in range(9):
            store = SqliteCheckpointStore.open(path)
            await store.count()
            cold.append(await milliseconds(lambda store=store: store.get(latest), 1))
            store.close()
        print(f'  {"load, after a restart":<24}{statistics.median(cold):>8.2f} ms')
        bodies = [dump_message(message) for message in messages]
        print(
            f'  {"  of which decoding":<24}{statistics.median(decoding(bodies) for _ in range(9)):>8.2f} ms (pydantic)'
        )
        store = SqliteCheckpointStore.open(path)
        began = time.perf_counter()
        await store.save(checkpoint(history(MESSAGES), 1))
        print(f'  {"save unknown objects":<24}{(time.perf_counter() - began) * 1000:>8.2f} ms (the whole history anew)')
        store.close()


@dataclass
class Timed(CheckpointMiddleware[Any]):
    """Notes how long each checkpoint kept the run waiting."""

    taken: list[float] = field(default_factory=list, kw_only=True)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        began = time.perf_counter()
        prepared = await super().prepare_model_request(ctx, request_context)
        self.taken.append((time.perf_counter() - began) * 1000)
        return prepared


async def waits(store: CheckpointStore) -> list[float]:
    """Return the milliseconds that a run of `STEPS` tool steps waited at each step."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) > 2 * STEPS:
            return ModelResponse(parts=[TextPart('done')])
        return ModelResponse(parts=[ToolCallPart('read', {}, tool_call_id=str(len(messages)))])

    def read() -> str:
        """Read."""
        return 'x' * 2_000

    timed = Timed(store, max_checkpoints=20)
    agent = Agent(FunctionModel(answer), tools=[read], capabilities=[timed])
    await agent.run('go', usage_limits=UsageLimits(request_limit=None))
    return timed.taken[1:]


async def running() -> None:
    print(f'\nA run of {STEPS} tool steps, every_tool, max_checkpoints=20: how long each step waits, milliseconds')
    with tempfile.TemporaryDirectory() as name:
        sqlite_store = SqliteCheckpointStore.open(Path(name) / 'session.db')
        stores: dict[str, CheckpointStore] = {
            'in memory': InMemoryCheckpointStore(),
            'SQLite': sqlite_store,
            'files': FileCheckpointStore(Path(name) / 'files'),
        }
        for label, store in stores.items():
            tenths = statistics.quantiles(await waits(store), n=10)
            print(f'  {label:<24}{tenths[4]:>8.2f} median{tenths[0]:>8.2f} best tenth{tenths[8]:>8.2f} worst tenth')
        sqlite_store.close()


async def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        print(f'One flush of this disk takes {flush(Path(name)):.2f} ms; every checkpoint below waits for one.')
    await writing('A fixed history', [MESSAGES] * CHECKPOINTS)
    step = MESSAGES // CHECKPOINTS
    await writing('A growing history', [step * number for number in range(1, CHECKPOINTS + 1)])
    await reading()
    await running()


if __name__ == '__main__':
    asyncio.run(main())

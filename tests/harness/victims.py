"""Kernels to be killed: a process that imports everything once, and forks a child for each kill.

Run as a script, it reads lines of JSON: `{"seed": …}` starts a child that works in the notebook until it is killed,
and answers `gone` once it is. What the child was told is safe it writes into `acknowledged.jsonl`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from random import Random
from typing import Any

from pydantic_ai.messages import ModelMessage, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from deep_notebook.errors import UsageError
from deep_notebook.kernel.requests import Answer
from deep_notebook.kernel.runner import MainThread
from deep_notebook.store import Checkpoint, SessionStore, SqliteCheckpointStore
from deep_notebook.store.messages import dump_message, message_digest
from harness.histories import problems
from harness.sessions import Cells, opened_cells

OPTIONS = {'include_checkpoints': True}
ACKNOWLEDGED = 'acknowledged.jsonl'


def model(random: Random) -> FunctionModel:
    """A model that works as it likes: some steps with calls side by side, then an answer in pieces."""

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if wrong := problems(messages):
            raise ValueError(f'sent: {wrong}')
        steps = 0
        for message in reversed(messages):
            if any(isinstance(part, UserPromptPart) for part in message.parts):
                break
            steps += any(isinstance(part, ToolReturnPart) for part in message.parts)
        if steps < random.randrange(4):
            for index in range(random.randint(1, 3)):
                id = f'{random.getrandbits(48):x}'
                name, args = random.choice(
                    [
                        ('write_file', {'path': f'{id}.txt', 'content': 'x' * random.randrange(3000)}),
                        ('ls', {'path': '.'}),
                        ('write_todos', {'todos': [{'content': id, 'status': 'pending', 'active_form': id}]}),
                        ('no_such_tool', {}),
                    ]
                )
                text = json.dumps(args)
                yield {index: DeltaToolCall(name=name, json_args=text[:5], tool_call_id=id)}
                await asyncio.sleep(0)
                yield {index: DeltaToolCall(json_args=text[5:])}
            return
        for _ in range(random.randint(1, 20)):
            yield f'{random.getrandbits(60):x} '
            await asyncio.sleep(random.choice([0, 0, 0.001]))

    return FunctionModel(stream_function=stream, model_name='scripted')


def work(directory: Path, random: Random) -> None:
    """Ask, wait for approvals, resume and begin anew, for ever."""
    with opened_cells(directory, model(random), OPTIONS) as cells:
        while True:
            try:
                cells.call(cells.session.suspended())
                if random.random() < 0.7:
                    check(cells.answer(Answer(verdict=random.choice(['approve', 'deny']))))
                    continue
            except UsageError:
                pass
            approve = 'ask' if random.random() < 0.3 else 'auto'
            check(cells.ask(f'prompt {random.getrandbits(48):x}', approve=approve, new=random.random() < 0.1))


def check(outcome: Any) -> None:
    if outcome.phase not in ('done', 'suspended'):
        tell(failed=f'{outcome.phase}: {outcome.error} {outcome.exception!r}')


def tell(**fields: Any) -> None:
    os.write(_told, f'{json.dumps(fields)}\n'.encode())


def parts_of(bodies: Iterable[str]) -> list[str]:
    """The digest of each part of stored messages, in order: pydantic-ai joins requests that follow each other."""
    return [
        message_digest(json.dumps(_without_none(part), sort_keys=True))
        for body in bodies
        for part in json.loads(body)['parts']
    ]


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_none(item) for name, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value


def note_what_is_acknowledged() -> None:
    """Write down each history and each checkpoint when the store has said that it has it."""
    real_sync, real_save = SessionStore.sync, SqliteCheckpointStore.save_automatic

    async def sync(self: SessionStore, messages: Any) -> None:
        *before, last = map(dump_message, messages)
        await real_sync(self, messages)
        tell(conversation=self.current_conversation, parts=parts_of(before), digest=message_digest(last), last=last)

    async def save_automatic(self: SqliteCheckpointStore, checkpoint: Checkpoint, keep: int) -> None:
        await real_save(self, checkpoint, keep)
        tell(checkpoint=checkpoint.id)

    SessionStore.sync = sync  # type: ignore[method-assign]
    SqliteCheckpointStore.save_automatic = save_automatic  # type: ignore[method-assign]


def die_at_statement(number: int) -> None:
    """Kill this process when SQLite begins its statement of that number: the same moment however fast the machine."""
    left = number
    real = sqlite3.connect

    def trace(statement: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = real(*args, **options)
        connection.set_trace_callback(trace)
        return connection

    sqlite3.connect = connect  # type: ignore[assignment]


def warm_up() -> None:
    """Import what a run imports, and leave no thread behind."""
    directory = Path(sys.argv[1]) / 'warm-up'
    directory.mkdir()
    cells = Cells(directory, model(Random(0)), OPTIONS)

    async def once() -> None:
        main = MainThread(lambda job: None, can_await=False)
        await cells.session.run(cells.request('warm up'), cells.side(main))
        await cells.session.close()

    asyncio.run(once())


if __name__ == '__main__':
    warm_up()
    note_what_is_acknowledged()
    print('ready', flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        random = Random(order['seed'])
        by_statement = random.random() < 0.5
        statement, seconds = random.randint(1, 250), random.uniform(0.0, 0.2)
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # nobody may be left to kill it
            _told = os.open(Path(order['directory']) / ACKNOWLEDGED, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            if by_statement:
                die_at_statement(statement)
            work(Path(order['directory']), random)
        if not by_statement:
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print('gone' if os.WIFSIGNALED(status) else f'ended: {status}', flush=True)

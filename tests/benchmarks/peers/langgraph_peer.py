"""LangGraph with its SQLite saver: whole states, or what changed in them (`DeltaChannel`).

A graph of one node goes round as often as there are checkpoints. What counts is what a step takes longer than without a
saver, as a caller of ours waits for all of it too; beside it, the time in the saver's own methods, without what
LangGraph does to call them. The saver's file is in WAL mode at `synchronous=FULL`, as it comes.
"""

from __future__ import annotations

import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from operator import add
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from serve import serve, size

CONFIG: Any = {'configurable': {'thread_id': '1'}, 'recursion_limit': 100_000}


def joined(state: list[AnyMessage], writes: Sequence[list[AnyMessage]]) -> list[AnyMessage]:
    return state + [message for write in writes for message in write]


class Delta(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(joined)]
    step: int


class Whole(TypedDict):
    messages: Annotated[list[AnyMessage], add]
    step: int


CHANNELS = {'delta': Delta, 'whole': Whole}


class TimedSaver(SqliteSaver):
    """Notes when it works; it is called from several threads at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.worked: list[tuple[float, float]] = []

    def put(self, *args: Any, **options: Any) -> Any:
        return self._timed(super().put, *args, **options)

    def put_writes(self, *args: Any, **options: Any) -> Any:
        return self._timed(super().put_writes, *args, **options)

    def _timed(self, work: Callable[..., Any], *args: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return work(*args, **options)
        finally:
            self.worked.append((began, time.perf_counter()))

    def taken(self) -> float:
        """Return the seconds in which it worked since it was asked last, whatever was at the same time counted once."""
        worked, self.worked = sorted(self.worked), []
        seconds, until = 0.0, 0.0
        for began, ended in worked:
            seconds += max(ended - max(began, until), 0.0)
            until = max(until, ended)
        return seconds


def load(path: str) -> list[AnyMessage]:
    """Return the messages of a file of pydantic-ai's as LangChain's own."""
    return [own(message) for message in json.loads(Path(path).read_text())]


def own(message: dict[str, Any]) -> AnyMessage:
    parts = {part['part_kind']: part for part in message['parts']}
    if 'user-prompt' in parts:
        return HumanMessage(parts['user-prompt']['content'])
    if 'tool-return' in parts:
        result = parts['tool-return']
        return ToolMessage(result['content'], tool_call_id=result['tool_call_id'], name=result['tool_name'])
    call = parts['tool-call']
    calls = [{'name': call['tool_name'], 'args': call['args'], 'id': call['tool_call_id']}]
    return AIMessage(parts['text']['content'], tool_calls=calls)


def graph(
    script: Sequence[list[AnyMessage]], channel: str, saver: SqliteSaver | None, turn: Callable[[], Any] = int
) -> Any:
    def work(state: Any) -> dict[str, Any]:
        turn()
        new = script[state['step']]
        return {'step': state['step'] + 1, **({'messages': new} if new else {})}

    builder = StateGraph(CHANNELS[channel])
    builder.add_node('work', work)
    builder.add_edge(START, 'work')
    builder.add_conditional_edges('work', lambda state: 'work' if state['step'] < len(script) else END)
    return builder.compile(checkpointer=saver)


def play(
    script: Sequence[list[AnyMessage]],
    channel: str,
    first: list[AnyMessage],
    saver: SqliteSaver | None,
    turn: Callable[[], Any] = int,
) -> float:
    began = time.perf_counter()
    options = {} if saver is None else {'durability': 'sync'}
    graph(script, channel, saver, turn).invoke({'messages': first, 'step': 0}, CONFIG, **options)
    return time.perf_counter() - began


def opened(directory: str) -> Any:
    return sqlite3.connect(Path(directory) / 'peer.db', check_same_thread=False)


class Saving:
    """Checkpoints one by one, whenever `next` is called, so that others can take turns."""

    def __init__(self, messages: str, lengths: list[int], channel: str, *, saving: bool = True) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self._connection = opened(self._directory.name)
        self._saver = TimedSaver(self._connection)
        self._saver.setup()
        self._saving = saving
        self._wanted: Queue[None] = Queue()
        self._waiting: Queue[None] = Queue()
        loaded = load(messages)
        first = loaded if lengths[0] == len(loaded) else []
        self._thread = Thread(target=self._play, args=(scripted(loaded, lengths), channel, first), daemon=True)
        self._thread.start()
        self._waiting.get()

    def _play(self, script: list[list[AnyMessage]], channel: str, first: list[AnyMessage]) -> None:
        play(script, channel, first, self._saver if self._saving else None, self._turn)
        self._waiting.put(None)

    def _turn(self) -> None:
        self._waiting.put(None)
        self._wanted.get()

    def next(self) -> tuple[float, float]:
        """Save one more, and return the seconds of the whole step and those in the saver.

        In the saver, the first step counts with what came before it.
        """
        began = time.perf_counter()
        self._wanted.put(None)
        self._waiting.get()
        return time.perf_counter() - began, self._saver.taken()

    def end(self) -> int:
        """Return the bytes of the file."""
        self._thread.join()
        self._connection.close()
        with self._directory as name:
            return size(Path(name))


NOW: dict[str, tuple[Saving, float]] = {}


def begin(messages: str, lengths: list[int], channel: str) -> None:
    """Prepare checkpoints at each of `lengths`, and measure the steps without a saver."""
    plain = Saving(messages, lengths, channel, saving=False)
    least = statistics.median([plain.next()[0] for _ in lengths])
    plain.end()
    NOW['now'] = Saving(messages, lengths, channel), least


def next_one() -> dict[str, float]:
    saving, least = NOW['now']
    whole, saver = saving.next()
    return {'added': max(whole - least, saver), 'saver': saver}


def end() -> int:
    return NOW.pop('now')[0].end()


def scripted(messages: list[AnyMessage], lengths: list[int]) -> list[list[AnyMessage]]:
    """Return what each step adds."""
    before = len(messages) if lengths[0] == len(messages) else 0
    return [messages[start:end] for start, end in zip([before, *lengths], lengths, strict=False)]


def read(messages: str, lengths: list[int]) -> dict[str, float]:
    """Save such checkpoints with `DeltaChannel`: return the milliseconds to list all, and to load the last state."""
    with tempfile.TemporaryDirectory() as directory:
        with closing(opened(directory)) as connection:
            saver = SqliteSaver(connection)
            saver.setup()
            play(scripted(load(messages), lengths), 'delta', [], saver)
        with closing(opened(directory)) as connection:
            saver = SqliteSaver(connection)
            compiled = graph([], 'delta', saver)
            assert len(compiled.get_state(CONFIG).values['messages']) == lengths[-1]
            return {
                'list': milliseconds(lambda: list(saver.list(CONFIG, limit=len(lengths))), 3),
                'load': milliseconds(lambda: compiled.get_state(CONFIG).values['messages'], 5),
            }


def run(messages: str, steps: int) -> dict[str, float]:
    """Return the milliseconds that a step takes, without and with a saver: each adds a call and its result."""
    loaded = load(messages)[: 2 * steps + 1]
    script = [loaded[place : place + 2] for place in range(1, len(loaded) - 1, 2)]
    with tempfile.TemporaryDirectory() as directory, closing(opened(directory)) as connection:
        saver = SqliteSaver(connection)
        saver.setup()
        without = play(script, 'delta', loaded[:1], None)
        return {
            'without': without / steps * 1000,
            'with': play(script, 'delta', loaded[:1], saver) / steps * 1000,
        }


def milliseconds(work: Callable[[], Any], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


if __name__ == '__main__':
    serve(
        {
            'begin': begin,
            'next': next_one,
            'end': end,
            'read': read,
            'run': run,
        }
    )

"""LangGraph with its SQLite saver: whole states, or what changed in them (`DeltaChannel`).

A graph of one node goes round as often as there are checkpoints. What counts is the time in the saver's own methods:
LangGraph's own work between them is left out, which is in its favour. The saver's file is in WAL mode at
`synchronous=FULL`, as it comes.
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
    taken = 0.0
    checkpoints = 0

    def put(self, *args: Any, **options: Any) -> Any:
        self.checkpoints += 1
        return self._timed(super().put, *args, **options)

    def put_writes(self, *args: Any, **options: Any) -> Any:
        return self._timed(super().put_writes, *args, **options)

    def _timed(self, work: Callable[..., Any], *args: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return work(*args, **options)
        finally:
            self.taken += time.perf_counter() - began


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


def graph(script: Sequence[list[AnyMessage]], channel: str, saver: SqliteSaver | None) -> Any:
    def work(state: Any) -> dict[str, Any]:
        new = script[state['step']]
        return {'step': state['step'] + 1, **({'messages': new} if new else {})}

    builder = StateGraph(CHANNELS[channel])
    builder.add_node('work', work)
    builder.add_edge(START, 'work')
    builder.add_conditional_edges('work', lambda state: 'work' if state['step'] < len(script) else END)
    return builder.compile(checkpointer=saver)


def play(script: Sequence[list[AnyMessage]], channel: str, first: list[AnyMessage], saver: Any) -> float:
    began = time.perf_counter()
    options = {} if saver is None else {'durability': 'sync'}
    graph(script, channel, saver).invoke({'messages': first, 'step': 0}, CONFIG, **options)
    return time.perf_counter() - began


def opened(directory: str) -> Any:
    return sqlite3.connect(Path(directory) / 'peer.db', check_same_thread=False)


def checkpoints(messages: str, lengths: list[int], channel: str) -> dict[str, float]:
    """Save a checkpoint at each of `lengths`: return the seconds in the saver, and the bytes of its file."""
    with tempfile.TemporaryDirectory() as directory:
        saver = saved(directory, load(messages), lengths, channel)
        assert saver.checkpoints >= len(lengths)
        return {'seconds': saver.taken, 'bytes': size(Path(directory))}


def saved(directory: str, messages: list[AnyMessage], lengths: list[int], channel: str) -> TimedSaver:
    first = messages if lengths[0] == len(messages) else []
    script = [messages[before:after] for before, after in zip([len(first), *lengths], lengths, strict=False)]
    with closing(opened(directory)) as connection:
        saver = TimedSaver(connection)
        saver.setup()
        play(script, channel, first, saver)
        return saver


def read(messages: str, lengths: list[int]) -> dict[str, float]:
    """Save such checkpoints with `DeltaChannel`: return the milliseconds to list all, and to load the last state."""
    with tempfile.TemporaryDirectory() as directory:
        saved(directory, load(messages), lengths, 'delta')
        with closing(opened(directory)) as connection:
            saver = SqliteSaver(connection)
            compiled = graph([], 'delta', saver)
            assert len(compiled.get_state(CONFIG).values['messages']) == lengths[-1]
            return {
                'list': milliseconds(lambda: list(saver.list(CONFIG, limit=len(lengths))), 5),
                'load': milliseconds(lambda: compiled.get_state(CONFIG).values['messages'], 9),
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
    serve({'checkpoints': checkpoints, 'read': read, 'run': run})

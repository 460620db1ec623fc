"""How long a search in a conversation of 20,000 messages takes, and how long the event loop waits for it at most."""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from pathlib import Path
from pydoc_data.topics import topics

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from deep_notebook.store import SessionStore

MESSAGES = 20_000
ROUNDS = 15
QUERIES = ['the', 'exception', 'descriptor', 'zipimport', 'coroutine', 'weak reference', 'context manager', '__exit__']
random.seed(4)
LINES = [line.strip() for text in topics.values() for line in text.splitlines() if len(line.split()) > 5]


def text(lines: int) -> str:
    return '\n'.join(random.choices(LINES, k=lines))


def conversation() -> list[ModelMessage]:
    messages: list[ModelMessage] = []
    for number in range(MESSAGES // 4):
        messages += [
            ModelRequest(parts=[UserPromptPart(text(2))]),
            ModelResponse(parts=[TextPart(text(1)), ToolCallPart('read_file', {'path': f'{number}.py'}, f'c{number}')]),
            ModelRequest(parts=[ToolReturnPart('read_file', text(30), f'c{number}')]),
            ModelResponse(parts=[TextPart(text(8))]),
        ]
    return messages


class Heartbeat:
    """The longest time that a sleeping task was woken too late."""

    INTERVAL = 0.001

    def __init__(self) -> None:
        self.late = 0.0

    async def beat(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(self.INTERVAL)
            self.late = max(self.late, time.perf_counter() - began - self.INTERVAL)


async def main(path: Path) -> None:
    with SessionStore.open(path) as store:
        await store.sync(conversation())
        size = path.stat().st_size
        heart = Heartbeat()
        beating = asyncio.create_task(heart.beat())
        await asyncio.sleep(2)
        print(f'{"loop late at most, idle":<28}{heart.late * 1000:>10.1f} ms')
        heart.late = 0.0
        began = time.perf_counter()
        await store.search('the')
        print(f'{"first search, which indexes":<28}{(time.perf_counter() - began) * 1000:>10.1f} ms')
        print(f'{"loop late at most":<28}{heart.late * 1000:>10.1f} ms')
        print(f'{"size without and with index":<28}{size / 1e6:>10.1f} MB{path.stat().st_size / 1e6:>7.1f} MB')
        beating.cancel()
        medians: list[float] = []
        for query in QUERIES:
            times: list[float] = []
            for _ in range(ROUNDS):
                began = time.perf_counter()
                hits = await store.search(query)
                times.append((time.perf_counter() - began) * 1000)
            medians.append(statistics.median(times))
            print(f'{query:<28}{medians[-1]:>10.2f} ms{len(hits):>4} hits')
        print(f'{"median of all":<28}{statistics.median(medians):>10.2f} ms')
        heart.late = 0.0
        beating = asyncio.create_task(heart.beat())
        for query in QUERIES * ROUNDS:
            await store.search(query)
        beating.cancel()
        print(f'{"loop late at most":<28}{heart.late * 1000:>10.1f} ms')


with tempfile.TemporaryDirectory() as directory:
    asyncio.run(main(Path(directory) / 'session.db'))

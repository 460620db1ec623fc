"""How long a search in a conversation of 20,000 messages takes, and how long the event loop waits for it at most."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
from pathlib import Path

from conversations import prompts_and_answers
from measures import Heartbeat, Row, Stopwatch, Taken, beside, load_average, print_table, threads_of_stores, within
from peers import HARNESS, PYDANTIC_DEEP, Peer, PeerError
from pydantic_ai.messages import ModelMessagesTypeAdapter

from deep_notebook.store import SessionStore

MESSAGES = 20_000
ROUNDS = 15
QUERIES = ['the', 'exception', 'descriptor', 'zipimport', 'coroutine', 'weak reference', 'context manager', '__exit__']
ASKED = ['descriptor', 'coroutine']
"""What the peers are asked, who take seconds for each."""


async def taken(store: SessionStore, query: str) -> Taken:
    watch = Stopwatch()
    await store.search(query)
    return watch.stop()


async def ours(store: SessionStore) -> list[Row]:
    threads = threads_of_stores()
    async with Heartbeat() as idle:
        await asyncio.sleep(1)
    async with Heartbeat(threads) as indexing:
        first = await taken(store, 'the')
    print(f'  the first search, which indexes everything: {first.own:,.0f} ms ({first.wall:,.0f})')
    medians = []
    for query in QUERIES:
        rounds = [await taken(store, query) for _ in range(ROUNDS)]
        medians.append(Taken(*map(statistics.median, zip(*rounds, strict=True))))
        print(f'  {query:<24}{medians[-1].own:>8.2f} ms ({medians[-1].wall:.2f})')
    async with Heartbeat(threads) as searching:
        for query in QUERIES * ROUNDS:
            await store.search(query)
    print(f'  event loop late at most, while nothing happens: {idle.late.own:.2f} ms ({idle.late.wall:.2f})')
    return [
        within(f'a search in {MESSAGES:,} messages, median of {len(QUERIES)} queries', medians, 2),
        within('event loop late at most while the index is built', [indexing.late], 10),
        within('event loop late at most while searching', [searching.late], 10),
    ]


async def measure() -> list[Row]:
    print(f'\nSearch ({load_average()})')
    messages = prompts_and_answers(MESSAGES)
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / 'messages.json'
        file.write_bytes(ModelMessagesTypeAdapter.dump_json(messages))
        with SessionStore.open(Path(name) / 'session.db') as store:
            await store.sync(messages)
            rows = await ours(store)
            for label, peer in (('pydantic-deep', Peer(*PYDANTIC_DEEP)), ('pydantic-ai-harness', Peer(*HARNESS))):
                async with peer:
                    own: list[float] = []
                    theirs: list[float] | str = []
                    for query in ASKED:
                        own.append((await taken(store, query)).wall)
                        try:
                            answer = await peer.ask('search', messages=str(file), query=query)
                        except PeerError as error:
                            theirs = str(error)
                            break
                        theirs.append(answer['milliseconds'])
                    rows.append(beside('the same, event loop blocked throughout in theirs', own, label, theirs, 'ms'))
    return rows


if __name__ == '__main__':
    print_table(asyncio.run(measure()))

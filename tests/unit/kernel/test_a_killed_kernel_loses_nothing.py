"""`kill -9` at any moment of a run costs the message that was being received at most; the next kernel goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, repair_messages

from deep_notebook.store import SessionStore, SqliteCheckpointStore, restored_messages, session_path
from deep_notebook.store.messages import dump_message, load_entries, load_message
from harness.histories import problems
from harness.scripted import script
from harness.victims import ACKNOWLEDGED, parts_of

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[2]
KILLS = 100

agent = Agent(script('I go on.'))
"""An agent that mends no history."""


@pytest.fixture
def victims(tmp_path: Path) -> Any:
    """The process that forks the kernels to be killed."""
    script = TESTS / 'harness' / 'victims.py'
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, 'PYTHONPATH': str(TESTS)},
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == 'ready\n'
            yield process
        finally:
            process.kill()


def kill(victims: subprocess.Popen[str], directory: Path, seed: int) -> list[dict[str, Any]]:
    """Start a kernel, kill it at the moment that `seed` says, and return what it had been told is safe."""
    assert victims.stdin is not None
    assert victims.stdout is not None
    victims.stdin.write(json.dumps({'seed': seed, 'directory': str(directory)}) + '\n')
    victims.stdin.flush()
    assert victims.stdout.readline() == 'gone\n'
    # The last line can have been cut short.
    *lines, _ = (directory / ACKNOWLEDGED).read_bytes().split(b'\n') if (directory / ACKNOWLEDGED).exists() else [b'']
    return [json.loads(line) for line in lines]


async def lost(store: SessionStore, told: Sequence[dict[str, Any]]) -> list[str]:
    """What the store had said that it has, and does not have."""
    missing: list[str] = []
    histories = {line['conversation']: line for line in told if 'conversation' in line}
    for conversation, line in histories.items():
        entries = await store.database.run(lambda connection, id=conversation: load_entries(connection, id))
        kept = parts_of(dump_message(entry.message) for entry in entries)
        before = line['parts']
        if kept[: len(before)] != before:
            missing.append(f'parts of conversation {conversation}: {len(before)} told, {len(kept)} kept')
        elif line['digest'] not in [entry.hash for entry in entries] and not _grew(
            load_message(line['last']), [entry.message for entry in entries], len(before)
        ):
            missing.append(f'the last message of conversation {conversation}')
    kept_checkpoints = {summary.id for summary in await SqliteCheckpointStore(store).summaries()}
    newest = [line['checkpoint'] for line in told if 'checkpoint' in line][-20:]
    return missing + [f'checkpoint {id}' for id in newest if id not in kept_checkpoints]


def _grew(message: ModelMessage, kept: Sequence[ModelMessage], before: int) -> bool:
    """Whether what follows the first `before` parts begins as `message` does: the next write was done and not told."""
    after = [part for each in kept for part in each.parts][before:]
    return after[: len(message.parts)] == list(message.parts)


async def wrong(directory: Path, told: Sequence[dict[str, Any]]) -> list[str]:
    """What is not as it should be for the kernel that comes after."""
    found = [line['failed'] for line in told if 'failed' in line]
    with SessionStore.open(session_path(directory / 'sales.ipynb')) as store:
        history = await store.history()
        found += await lost(store, told)
        if await store.suspended_run() is not None:
            history = repair_messages(history)
        found += problems(history)
        await agent.run('go on', message_history=history)
        for checkpoint in await SqliteCheckpointStore(store).list_all():
            found += problems(restored_messages(checkpoint))
        going_on = [run.id for run in await store.runs() if run.phase in ('starting', 'running', 'waiting')]
        found += [f'run {id} goes on' for id in going_on]
        check = await store.database.run(lambda connection: connection.execute('PRAGMA integrity_check').fetchall())
        found += [] if check == [('ok',)] else [str(check)]
        found += [store.notice] if store.notice is not None else []
    return found


async def test_a_hundred_kills_cost_nothing_that_was_said_to_be_safe(
    victims: subprocess.Popen[str], tmp_path: Path
) -> None:
    acknowledged = 0
    for seed in range(KILLS):
        told = kill(victims, tmp_path, seed)
        acknowledged += len(told)
        assert await wrong(tmp_path, told) == [], f'seed {seed}, in {tmp_path}'
    assert acknowledged > KILLS, 'they were killed at work'

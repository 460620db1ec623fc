"""A skill's script sees no keys, and neither it nor what it starts lives on when its time is up."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import psutil
import pytest

from deep_notebook.capabilities.skills import (
    BackendSkillScriptExecutor,
    LocalSkillScriptExecutor,
    SkillsCapability,
    SkillsDirectory,
)
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, play

pytestmark = pytest.mark.anyio

KEYS = ('OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'AWS_SECRET_ACCESS_KEY', 'GITHUB_TOKEN', 'PYTHONSTARTUP')
SHOW = 'import os\nprint(*sorted(os.environ))\nprint(os.getcwd())'

# Starts a child, tells both process ids through a named pipe, then waits for ever.
HANG = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])
print('begun', flush=True)
with open('told', 'w') as told:
    told.write(f'{os.getpid()} {child.pid}')
time.sleep(600)
"""

Run: TypeAlias = Callable[[Path, int], Awaitable[str]]


async def by_local_executor(root: Path, timeout: int) -> str:
    executor = LocalSkillScriptExecutor(timeout=timeout, working_dir=root)
    return await executor.run(root / '.deep/skills/one/run.py')


async def by_backend_executor(root: Path, timeout: int) -> str:
    executor = BackendSkillScriptExecutor(KernelWorkspace(root), timeout=timeout)
    return await executor.run(str(root / '.deep/skills/one/run.py'))


async def by_tool(root: Path, timeout: int) -> str:
    executor = LocalSkillScriptExecutor(timeout=timeout, working_dir=root)
    directory = SkillsDirectory(root / '.deep/skills', script_executor=executor)
    played = await play(
        [('run_skill_script', {'skill_name': 'one', 'script_name': 'run.py'})],
        capabilities=[SkillsCapability(directories=[directory])],
        deps=Deps(KernelWorkspace(root)),
    )
    return played.texts[0]


async def by_tool_in_the_workspace(root: Path, timeout: int) -> str:
    played = await play(
        [('run_skill_script', {'skill_name': 'one', 'script_name': 'run.py'})],
        capabilities=[SkillsCapability()],
        deps=Deps(KernelWorkspace(root)),
    )
    return played.texts[0]


EVERY_WAY = pytest.mark.parametrize('run', [by_local_executor, by_backend_executor, by_tool, by_tool_in_the_workspace])
WITH_TIMEOUT = pytest.mark.parametrize('run', [by_backend_executor, by_tool])


def write_script(root: Path, text: str) -> None:
    folder = root / '.deep/skills/one'
    folder.mkdir(parents=True)
    (folder / 'SKILL.md').write_text('---\nname: one\ndescription: d\n---\nDo.\n')
    (folder / 'run.py').write_text(text)


@EVERY_WAY
async def test_no_key_reaches_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    write_script(tmp_path, SHOW)
    for key in KEYS:
        monkeypatch.setenv(key, 'swordfish')
    variables, directory, _ = (await run(tmp_path, 60)).split('\n')
    assert 'PATH' in variables.split()
    assert not set(KEYS) & set(variables.split())
    assert directory == str(tmp_path)


def told_processes(root: Path) -> list[psutil.Process]:
    """Wait until the script hangs, and return it and its child."""
    with (root / 'told').open() as told:
        return [psutil.Process(int(pid)) for pid in told.read().split()]


def are_gone(processes: list[psutil.Process]) -> bool:
    return psutil.wait_procs(processes, timeout=30)[1] == []


@WITH_TIMEOUT
async def test_all_processes_die_at_the_timeout(tmp_path: Path, run: Run) -> None:
    write_script(tmp_path, HANG)
    os.mkfifo(tmp_path / 'told')
    running = asyncio.ensure_future(run(tmp_path, 6))
    processes = await asyncio.to_thread(told_processes, tmp_path)
    assert await running == 'begun\n[ended after 6 s: it was too slow]'
    assert are_gone(processes)


@EVERY_WAY
async def test_all_processes_die_when_the_run_is_cancelled(tmp_path: Path, run: Run) -> None:
    write_script(tmp_path, HANG)
    os.mkfifo(tmp_path / 'told')
    running = asyncio.ensure_future(run(tmp_path, 600))
    processes = await asyncio.to_thread(told_processes, tmp_path)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert are_gone(processes)


async def test_by_default_a_script_has_half_a_minute(tmp_path: Path) -> None:
    assert LocalSkillScriptExecutor().timeout == 30
    assert BackendSkillScriptExecutor(KernelWorkspace(tmp_path)).timeout == 30


@pytest.mark.parametrize('run', [by_tool, by_tool_in_the_workspace])
async def test_much_output_is_bounded(tmp_path: Path, run: Run) -> None:
    write_script(tmp_path, 'for n in range(100_000): print(n)')
    text = await run(tmp_path, 60)
    assert len(text) < 31_000
    assert text.startswith('0\n1\n')
    assert text.endswith('99999\n[exit code 0]')


@EVERY_WAY
async def test_a_script_leaves_no_bytecode_in_its_skill(tmp_path: Path, run: Run) -> None:
    write_script(tmp_path, 'import helper')
    (tmp_path / '.deep/skills/one/helper.py').write_text('print("helped")')
    assert await run(tmp_path, 60) == 'helped\n[exit code 0]'
    assert not (tmp_path / '.deep/skills/one/__pycache__').exists()


@EVERY_WAY
async def test_text_comes_through_in_any_locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    write_script(tmp_path, 'print("größe 单位")')
    monkeypatch.setenv('LC_ALL', 'C')
    monkeypatch.setenv('LANG', 'de_DE.ISO-8859-1')
    assert await run(tmp_path, 60) == 'größe 单位\n[exit code 0]'

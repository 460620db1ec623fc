"""Commands start in the notebook's directory, know no secrets, and leave nothing running."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from pydantic_ai.workspaces import WorkspaceOutputLimitError, WorkspaceTimeoutError, WorkspaceUnavailableError

from deep_notebook.workspaces import KernelWorkspace, SandboxProtocol, StateBackend

pytestmark = pytest.mark.anyio


@pytest.fixture
def workspace(tmp_path: Path) -> KernelWorkspace:
    return KernelWorkspace(tmp_path, env={'PROJECT': 'alpha'})


async def test_api_keys_do_not_reach_commands(workspace: KernelWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    handed_on = {
        'PATH': '/usr/bin:/bin',
        'HOME': '/home/somebody',
        'LANG': 'C.UTF-8',
        'LC_TIME': 'C.UTF-8',
        'VIRTUAL_ENV': '/venv',
    }
    kept_back = (
        'OPENAI_API_KEY',
        'ANTHROPIC_API_KEY',
        'HF_TOKEN',
        'AWS_SECRET_ACCESS_KEY',
        'DATABASE_URL',
        'JPY_PARENT_PID',
    )
    for name, value in {**handed_on, **dict.fromkeys(kept_back, 'sk-secret')}.items():
        monkeypatch.setenv(name, value)
    result = await workspace.run(['env'], env={'EXTRA': 'once'})
    assert dict(line.split('=', 1) for line in result.stdout.splitlines()) == {
        **handed_on,
        'PROJECT': 'alpha',
        'EXTRA': 'once',
    }


async def test_a_variable_changed_in_the_kernel_reaches_the_next_command(
    workspace: KernelWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await workspace.working_dir()
    monkeypatch.setenv('PATH', f'/opt/later:{os.environ["PATH"]}')
    assert (await workspace.run('echo "$PATH"', shell=True)).stdout.startswith('/opt/later:')


@pytest.fixture
def heartbeat(tmp_path: Path) -> Iterator[int]:
    """The reading end of a FIFO, `heartbeat` in the workspace: it ends when no process has it open any more."""
    os.mkfifo(tmp_path / 'heartbeat')
    fd = os.open(tmp_path / 'heartbeat', os.O_RDONLY | os.O_NONBLOCK)
    yield fd
    os.close(fd)


FAMILY = 'exec 3> heartbeat; (sleep 3600; :) & (trap "" TERM HUP INT; sleep 3600; :) & echo ready >&3; wait'


def next_beat(fd: int) -> bytes:
    readable, _, _ = select.select([fd], [], [], 30)
    assert readable, 'a process of the command is still alive'
    return os.read(fd, 100)


async def test_a_timeout_kills_the_whole_process_group(workspace: KernelWorkspace, heartbeat: int) -> None:
    with pytest.raises(WorkspaceTimeoutError):
        await workspace.run(FAMILY, shell=True, timeout=0.5)
    assert next_beat(heartbeat) == b'ready\n'
    assert next_beat(heartbeat) == b''


async def test_a_cancellation_kills_the_whole_process_group(workspace: KernelWorkspace, heartbeat: int) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: workspace.run(FAMILY, shell=True))
        assert await anyio.to_thread.run_sync(next_beat, heartbeat) == b'ready\n'
        group.cancel_scope.cancel()
    assert next_beat(heartbeat) == b''


async def test_endless_output_is_cut_off(workspace: KernelWorkspace) -> None:
    with pytest.raises(WorkspaceOutputLimitError) as cut:
        await workspace.run(['yes'], timeout=60)
    assert cut.value.limit == 10 * 1024 * 1024
    assert cut.value.stdout.startswith('y\ny\n')


async def test_a_command_has_a_process_group_of_its_own(workspace: KernelWorkspace) -> None:
    result = await workspace.run('ps -o pgid= -p $$ 2> /dev/null || cut -d" " -f5 /proc/$$/stat', shell=True)
    assert int(result.stdout) != os.getpgrp()


async def test_a_vanished_directory_is_said_to_be_gone(workspace: KernelWorkspace, tmp_path: Path) -> None:
    await workspace.working_dir()
    os.rename(tmp_path, tmp_path.with_name('moved'))
    for operation in (workspace.run(['true']), workspace.read_bytes('x'), workspace.write_bytes('x', b'')):
        with pytest.raises(WorkspaceUnavailableError):
            await operation
    assert tmp_path.name not in os.listdir(tmp_path.parent)


async def test_a_directory_that_never_was_is_not_created(tmp_path: Path) -> None:
    workspace = KernelWorkspace(tmp_path / 'missing')
    with pytest.raises(WorkspaceUnavailableError):
        await workspace.write_bytes('x', b'')
    assert workspace.ref is None
    assert os.listdir(tmp_path) == []


def test_only_a_backend_with_commands_is_a_sandbox(workspace: KernelWorkspace) -> None:
    assert isinstance(workspace, SandboxProtocol)
    assert not isinstance(StateBackend(), SandboxProtocol)

"""Other libraries, measured beside ours: each in an environment and a process of its own.

Whatever keeps a peer from being measured (no package index, a timeout, an error of its own) is a `PeerError`, which
the table tells: nothing is left out silently.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ['HARNESS', 'LANGGRAPH', 'PYDANTIC_DEEP', 'Peer', 'PeerError']

_HERE = Path(__file__).parent
_ENVIRONMENTS = _HERE.parents[2] / '.venvs'
_UV = Path(sys.executable).with_name('uv')

LANGGRAPH = ('langgraph', ('langgraph==1.2.24', 'langgraph-checkpoint-sqlite==3.1.2'))
PYDANTIC_DEEP = ('pydantic_deep', ('pydantic-deep==0.3.50',))
HARNESS = ('harness', ('pydantic-ai-harness==0.62.0',))


class PeerError(Exception):
    """Why a peer could not be measured, in one line."""


class Peer:
    """One peer: `async with Peer(*LANGGRAPH) as peer` starts it, `await peer.ask('run', steps=200)` asks it.

    Args:
        name: Its script is `<name>_peer.py`, its environment `.venvs/bench-<name>`.
        requirements: What is installed there.
    """

    def __init__(self, name: str, requirements: Sequence[str]) -> None:
        self.name = name
        self._requirements = tuple(requirements)
        self._process: asyncio.subprocess.Process | None = None
        self._broken: str | None = None

    async def __aenter__(self) -> Self:
        try:
            python = await self._environment()
        except PeerError as error:
            self._broken = str(error)
            return self
        self._process = await asyncio.create_subprocess_exec(
            python,
            _HERE / f'{self.name}_peer.py',
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def ask(self, do: str, *, timeout: float = 120.0, **arguments: Any) -> Any:
        """Return what the peer's work `do` returns.

        Raises:
            PeerError: It could not be installed, took longer than `timeout` seconds, or failed.
        """
        if self._process is None or self._broken is not None:
            raise PeerError(self._broken or 'it was not started')
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({'do': do, **arguments}).encode() + b'\n')
        try:
            answer = await asyncio.wait_for(self._process.stdout.readline(), timeout)
        except TimeoutError:
            self._broken = f'it took longer than {timeout:g} s'
            self._process.kill()
            raise PeerError(self._broken) from None
        if not answer:
            self._broken = 'it stopped'
            raise PeerError(self._broken)
        told = json.loads(answer)
        if 'error' in told:
            raise PeerError(told['error'])
        return told['result']

    async def _environment(self) -> Path:
        directory = _ENVIRONMENTS / f'bench-{self.name}'
        python = directory / 'bin' / 'python'
        ready = directory / '.ready'
        wanted = '\n'.join(self._requirements)
        if not ready.exists() or ready.read_text() != wanted:
            print(f'Setting up {directory.name}', flush=True)
            await _call(_UV, 'venv', '--quiet', '--clear', '--python', sys.executable, directory)
            await _call(_UV, 'pip', 'install', '--quiet', '--python', python, *self._requirements)
            ready.write_text(wanted)
        return python


async def _call(*command: str | Path) -> None:
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
        )
    except OSError as error:
        raise PeerError(f'it could not be installed ({error})') from None
    _, told = await process.communicate()
    if process.returncode:
        lines = told.decode(errors='replace').strip().splitlines() or ['no reason given']
        raise PeerError(f'it could not be installed ({lines[-1].strip()})')

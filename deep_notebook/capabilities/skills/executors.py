"""Run a skill's script as a process of its own: no keys in its environment, no process left at its timeout."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from pydantic_ai.workspaces import Workspace

from ...workspaces import BackendProtocol, KernelWorkspace
from ..filesystem.commands import run_command
from .folders import is_here

__all__ = [
    'BackendSkillScriptExecutor',
    'LocalSkillScriptExecutor',
    'ScriptArgs',
    'SkillScriptExecutor',
    'command_line',
]

ScriptArgs: TypeAlias = Sequence[Any] | Mapping[str, Any] | None
"""The words of a command line, or a mapping of long options to their values."""

DEFAULT_TIMEOUT = 30
"""Seconds."""

# Without bytecode, which a skill's directory may not take, and in UTF-8, whatever the locale is.
_PYTHON_OPTIONS = ('-B', '-X', 'utf8')


class SkillScriptExecutor(Protocol):
    """Runs the script files of skills."""

    async def run(self, script_path: str, args: ScriptArgs = None) -> str:
        """Return what the script wrote, and how it ended.

        Args:
            script_path: Absolute.
            args: For its command line.
        """
        ...


@dataclass
class LocalSkillScriptExecutor:
    """Run scripts with a Python of this machine.

    A script gets `command_environment()` and nothing else of the kernel's variables. It runs in a process group of
    its own, which is killed at the timeout and when the run is cancelled.
    """

    python_executable: str = sys.executable
    timeout: int = DEFAULT_TIMEOUT
    """Seconds."""
    working_dir: Path | None = None
    """Where scripts start; by default, the directory that the process is in."""

    async def run(self, script_path: str | Path, args: ScriptArgs = None) -> str:
        """Return what the script wrote, and how it ended."""
        workspace = KernelWorkspace(self.working_dir or Path.cwd())
        path = str(Path.cwd() / script_path)
        return await _run(workspace, [self.python_executable, *_PYTHON_OPTIONS, path], args, timeout=self.timeout)


@dataclass
class BackendSkillScriptExecutor:
    """Run scripts as commands of a workspace: they start in its directory and get its environment."""

    backend: BackendProtocol
    """One that runs commands (`SandboxProtocol`)."""
    timeout: int = DEFAULT_TIMEOUT
    """Seconds."""
    python_executable: str | None = None
    """By default the Python of this process where the workspace is on this machine, and `python3` elsewhere."""

    async def run(self, script_path: str, args: ScriptArgs = None) -> str:
        """Return what the script wrote, and how it ended."""
        workspace = self.backend if isinstance(self.backend, Workspace) else Workspace(self.backend)
        python = self.python_executable or (sys.executable if is_here(workspace) else 'python3')
        return await _run(workspace, [python, *_PYTHON_OPTIONS, script_path], args, timeout=self.timeout)


async def _run(backend: BackendProtocol, argv: list[str], args: ScriptArgs, *, timeout: int) -> str:
    workspace = backend if isinstance(backend, Workspace) else Workspace(backend)
    result = await run_command(workspace, [*argv, *command_line(args)], timeout=timeout, shown=str)
    return str(result.return_value)


def command_line(args: ScriptArgs) -> list[str]:
    """Return the words of a command line.

    `{'rows': 5, 'all': True, 'column': ['a', 'b']}` becomes `--rows=5 --all --column=a --column=b`; `False` and
    `None` leave an option out.
    """
    if args is None:
        return []
    if not isinstance(args, Mapping):
        return [_word(value) for value in args]
    words: list[str] = []
    for name, value in args.items():
        option = name if name.startswith('-') else f'--{name}'
        for each in value if isinstance(value, list) else [value]:
            if each is True:
                words.append(option)
            elif each is not False and each is not None:
                words.append(f'{option}={_word(each)}')
    return words


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

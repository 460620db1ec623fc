"""Run a hook's command in the workspace, with what it is told on its standard input.

A workspace runs commands without standard input. What a hook is told, which can be long and holds what should not
show in a list of processes, goes there in a variable, and in pieces through a file when it is too long for one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict

import anyio
from pydantic import TypeAdapter, ValidationError
from pydantic_ai.workspaces import CommandResult, Workspace, WorkspaceError

from .hook_types import HookFailed, HookInput, HookResult
from .output import head_and_tail

__all__ = ['run_hook_command']

_PIECE = 100_000
"""Characters in one variable; Linux takes 128 KiB (MAX_ARG_STRLEN, execve(2))."""
_VARIABLE = 'DEEP_NOTEBOOK_HOOK_INPUT'
_PIPE = f'printf "%s\\n" "${_VARIABLE}" | {{ unset {_VARIABLE}; exec sh -c "$1"; }}'
_APPEND = f'printf %s "${_VARIABLE}" >> "$1"'
_READ = 'exec sh -c "$1" < "$2"'
_CLEANUP_TIMEOUT = 10.0
"""Seconds."""
_SHOWN = 2_000
"""Characters of a reason."""

_RESULT = TypeAdapter(HookResult)


async def run_hook_command(workspace: Workspace, command: str, given: HookInput, *, timeout: float) -> HookResult:
    """Return what a command answers to `given`.

    Args:
        workspace: Where it runs, with the environment and the limits that commands have there.
        command: A line for the shell.
        given: What it reads as JSON.
        timeout: Seconds until it is ended, with all that it started.

    Raises:
        HookFailed: It could not be run, took too long, or ended with an exit code other than 0 and 2.
    """
    # Escapes for all that is not ASCII: no encoding of the environment can change it on the way.
    text = json.dumps(asdict(given))
    try:
        async with asyncio.timeout(timeout):
            result = await _run(workspace, command, text, timeout)
    except TimeoutError as error:
        raise HookFailed(f'took longer than {timeout:g} s') from error
    except HookFailed:
        raise
    except Exception as error:  # whatever the library behind a workspace raises
        raise HookFailed(f'could not be run: {str(error) or type(error).__name__}') from error
    return _answer(result)


async def _run(workspace: Workspace, command: str, text: str, timeout: float) -> CommandResult:
    if len(text) <= _PIECE:
        return await workspace.run(['sh', '-c', _PIPE, 'sh', command], env={_VARIABLE: text}, timeout=timeout)
    async with _file_of(workspace, f'{text}\n', timeout) as path:
        return await workspace.run(['sh', '-c', _READ, 'sh', command, path], timeout=timeout)


@asynccontextmanager
async def _file_of(workspace: Workspace, text: str, timeout: float) -> AsyncIterator[str]:
    """Write `text` to a temporary file that only the user can read, and yield its path."""
    path = (await _checked(workspace, ['mktemp'], '', timeout)).strip()
    try:
        for start in range(0, len(text), _PIECE):
            await _checked(workspace, ['sh', '-c', _APPEND, 'sh', path], text[start : start + _PIECE], timeout)
        yield path
    finally:
        with anyio.move_on_after(_CLEANUP_TIMEOUT, shield=True), suppress(WorkspaceError, OSError):
            await workspace.run(['rm', '-f', path], timeout=_CLEANUP_TIMEOUT)


async def _checked(workspace: Workspace, argv: Sequence[str], piece: str, timeout: float) -> str:
    result = await workspace.run(argv, env={_VARIABLE: piece}, timeout=timeout)
    if result.exit_code != 0:
        raise HookFailed(f'could not be given its input: {_short(result.stderr)}')
    return result.stdout


def _answer(result: CommandResult) -> HookResult:
    if result.exit_code == 2:
        return HookResult(allow=False, reason=_short(result.stderr) or _short(result.stdout) or None)
    if result.exit_code != 0:
        raise HookFailed(f'failed with exit code {result.exit_code}: {_short(result.stderr) or "no message"}')
    try:
        printed = json.loads(result.stdout)
    except (ValueError, RecursionError):
        return HookResult()
    if not isinstance(printed, dict):
        return HookResult()
    try:
        return _RESULT.validate_python(printed)
    except ValidationError as error:
        raise HookFailed(f'printed an answer that is none: {_short(str(error))}') from error


def _short(text: str) -> str:
    return head_and_tail(text.strip(), _SHOWN)

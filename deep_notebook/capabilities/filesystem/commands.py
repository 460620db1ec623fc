"""Run a command in the workspace and show what a reader needs of its output."""

from __future__ import annotations

from collections.abc import Callable

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolReturn
from pydantic_ai.workspaces import (
    CommandResult,
    Workspace,
    WorkspaceCommand,
    WorkspaceOutputLimitError,
    WorkspaceTimeoutError,
)

from .places import answering

__all__ = ['DEFAULT_TIMEOUT', 'MAX_TIMEOUT', 'run_command']

DEFAULT_TIMEOUT = 120
"""Seconds."""
MAX_TIMEOUT = 3600


async def run_command(
    workspace: Workspace, command: WorkspaceCommand, *, timeout: int, shown: Callable[[str], str]
) -> ToolReturn[str]:
    """Run a command; one that fails is a result like any other.

    Args:
        workspace: Where.
        command: A line for the shell, or a program with its arguments.
        timeout: Seconds until the command is ended.
        shown: Returns what is shown of the output.
    """
    if isinstance(command, str) and not command.strip():
        raise ToolFailed('The command is empty.')
    seconds = min(max(timeout, 1), MAX_TIMEOUT)
    with answering('The command could not be run'):
        try:
            result = await workspace.run(command, shell=isinstance(command, str), timeout=seconds)
        except WorkspaceTimeoutError as error:
            return _shown(error.stdout, error.stderr, f'ended after {seconds} s: it was too slow', shown)
        except WorkspaceOutputLimitError as error:
            return _shown(error.stdout, error.stderr, 'ended: it wrote too much, let it write to a file', shown)
    return _result(result, shown)


def _result(result: CommandResult, shown: Callable[[str], str]) -> ToolReturn[str]:
    outcome = f'exit code {result.exit_code}'
    return _shown(result.stdout, result.stderr, outcome, shown, failed=result.exit_code != 0)


def _shown(
    stdout: str, stderr: str, outcome: str, shown: Callable[[str], str], *, failed: bool = True
) -> ToolReturn[str]:
    output = '\n'.join(part.rstrip('\n') for part in (stdout, stderr) if part.strip())
    lines = output.count('\n') + 1 if output else 0
    text = shown(output)
    return ToolReturn(
        f'{text}\n[{outcome}]' if text else f'[{outcome}, no output]',
        metadata={'summary': f'{outcome} · {lines:,} line{"" if lines == 1 else "s"}', 'failed': failed},
    )

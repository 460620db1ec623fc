"""The file tools as a toolset, for an agent that is built from toolsets."""

from __future__ import annotations

from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from .capability import EditFormat, Filesystem

__all__ = ['ConsoleFilesystemToolset', 'create_console_toolset']

_WRITES = ('write_file', 'edit_file')


class ConsoleFilesystemToolset(FunctionToolset[AgentDepsT]):
    """`ls`, `read_file`, `write_file`, `edit_file`, `glob`, `grep` and `execute`, as `Filesystem` has them.

    The files are those of the run's workspace, or of `deps.backend`. A call that needs a yes ends the run with
    pydantic-ai's `DeferredToolRequests`, unless a handler of such requests answers it.

    Args:
        filesystem: What the tools do.
        require_write_approval: Whether writes and edits need a yes.
        require_execute_approval: Whether commands need a yes.
        id: Distinguishes it from other toolsets of the agent.
    """

    def __init__(
        self,
        filesystem: Filesystem[AgentDepsT] | None = None,
        *,
        require_write_approval: bool = False,
        require_execute_approval: bool = True,
        id: str | None = 'filesystem',
    ) -> None:
        self.filesystem: Filesystem[AgentDepsT] = Filesystem() if filesystem is None else filesystem
        self.require_write_approval = require_write_approval
        self.require_execute_approval = require_execute_approval
        tools = list(self.filesystem.get_toolset().tools.values())
        for tool in tools:
            tool.requires_approval = (require_write_approval and tool.name in _WRITES) or (
                require_execute_approval and tool.name == 'execute'
            )
        super().__init__(tools, id=id, instructions=self.filesystem.get_instructions())

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        """Return a copy for one run, with a memory of its own and the edit format settled."""
        return ConsoleFilesystemToolset(
            await self.filesystem.for_run(ctx),
            require_write_approval=self.require_write_approval,
            require_execute_approval=self.require_execute_approval,
            id=self.id,
        )


def create_console_toolset(
    *,
    edit_format: EditFormat = 'hashline',
    include_execute: bool | None = None,
    image_support: bool = True,
    max_read_chars: int = 30_000,
    require_write_approval: bool = False,
    require_execute_approval: bool = True,
    id: str | None = 'filesystem',
) -> ConsoleFilesystemToolset[Any]:
    """Return the file tools, for an agent that is built from toolsets.

    Args:
        edit_format: `hashline`, `str_replace` or `auto`, as in `Filesystem`.
        include_execute: Whether there is `execute`; by default, where the workspace runs commands.
        image_support: Whether the model can look at pictures.
        max_read_chars: The largest result of a read, a search or a command, in characters.
        require_write_approval: Whether writes and edits need a yes.
        require_execute_approval: Whether commands need a yes.
        id: Distinguishes it from other toolsets of the agent.

    Raises:
        ValueError: `max_read_chars` is too small to show anything.
    """
    return ConsoleFilesystemToolset(
        Filesystem(edit_format, include_execute, image_support, max_read_chars),
        require_write_approval=require_write_approval,
        require_execute_approval=require_execute_approval,
        id=id,
    )

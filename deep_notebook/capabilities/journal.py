"""Tell the journal which call of the agent is at work, and let it look at all files around what runs code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import AgentDepsT, ToolDefinition
from pydantic_ai.workspaces import WorkspaceUnavailableError

from ..errors import NotKeptError
from ..store.journal import Journal, JournalCall, at_work
from .tool_classes import changes_unseen

__all__ = ['Journaling']


@dataclass
class Journaling(AbstractCapability[AgentDepsT]):
    """Keep what files held before the agent changes them.

    What file tools write is known exactly. Around tools that run commands or code, and those that do not say what they
    do, all files are looked at; `tell` hears what that could not cover. A call for which what is there could not be
    kept first, for example on a full disk, fails and changes nothing.

    What a subagent does belongs to the run's own call that gave it the task.
    """

    journal: Journal
    run: int | None = None
    """The number of the run."""
    tell: Callable[[str], None] | None = field(default=None, repr=False)
    """Is given each line for the person about something that cannot be put back."""

    id: str | None = field(default='journal', kw_only=True)
    description: str | None = field(default='Keep what files held before the agent changes them.', kw_only=True)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return `None`: the journal is the session's."""
        return None

    async def wrap_tool_execute(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Name the call, and look at all files around it where only that tells what it changes."""
        outer = at_work()
        own = JournalCall(run=self.run, call=outer.call if outer else call.tool_call_id, tool=tool_def.name)
        with self.journal.during(own):
            if changes_unseen(tool_def):
                return await self._watched(own, args, handler)
            return await self._unwatched(own, args, handler)

    async def _watched(self, own: JournalCall, args: dict[str, Any], handler: WrapToolExecuteHandler) -> Any:
        try:
            try:
                await self.journal.begin(own)
            except WorkspaceUnavailableError as error:
                raise ToolFailed(f'{own.tool} was not run: {error}.') from error
            except NotKeptError as error:
                raise _not_kept(own, error) from error
            return await self._unwatched(own, args, handler)
        finally:
            # Whatever ends the call, also a second interrupt, the look after it is finished.
            gaps = await asyncio.shield(asyncio.create_task(self.journal.end(own)))
            if self.tell is not None:
                for gap in gaps:
                    self.tell(gap)

    async def _unwatched(self, own: JournalCall, args: dict[str, Any], handler: WrapToolExecuteHandler) -> Any:
        try:
            return await handler(args)
        except NotKeptError as error:
            raise _not_kept(own, error) from error


def _not_kept(own: JournalCall, error: NotKeptError) -> ToolFailed:
    return ToolFailed(f'{own.tool} changed nothing, because what is there now could not be kept: {error}')

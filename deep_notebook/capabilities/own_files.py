"""What tools that write the agent's own files have in common.

A tool class says what a person is asked about. Notes and plans in the agent's own spots are no file of the person's
and replace none, like the todo list, so writing them counts as reading: no question, and allowed where nobody is
there to answer. The run shows what was written. When a setting moves them elsewhere, into the person's files, the
same tools count as writing and ask with a diff.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import Tool, ToolDefinition

from .agent_paths import agent_path, is_agents_own
from .approvals import PREVIEW, PreviewFunction
from .filesystem.files import Files, run_workspace
from .filesystem.places import Place, answering
from .tool_classes import READ, UNDOABLE
from .tools import MethodTool

__all__ = ['locate_own', 'writing_tool']


def writing_tool(function: Callable[..., Awaitable[Any]], *, directory: str, preview: PreviewFunction) -> Tool[Any]:
    """Return `function` as a tool that writes below `directory`; a workspace that is only read does not have it."""
    tool_class = READ if is_agents_own(directory) else UNDOABLE
    return MethodTool(function, sequential=True, metadata={**tool_class, PREVIEW: preview}, prepare=_where_writable)


async def locate_own(files: Files, path: str) -> Place:
    """Return where `path`, as settings have it, is in the run's workspace.

    Raises:
        ToolFailed: There is no workspace, the path leads out of it, or, through a link, out of the agent's spot.
    """
    if not files.workspace.attached:
        raise ToolFailed('This run has no workspace, so there is nowhere to keep a file.')
    with answering(path):
        root = await files.workspace.working_dir()
    place = await files.locate(agent_path(path, root))
    if is_agents_own(path) and place.key != place.shown:
        raise ToolFailed(f'{place.shown} is a link to {place.key}, which is not yours. Nothing was done.')
    return place


def _where_writable(ctx: RunContext[Any], tool: ToolDefinition) -> ToolDefinition | None:
    return None if run_workspace(ctx).read_only else tool

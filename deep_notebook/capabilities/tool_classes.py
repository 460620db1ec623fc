"""The three classes of tools, which decide what an approval mode asks about.

A tool says its class in its definition's metadata. A tool that says nothing, such as one from an MCP server
or from a user's own agent, counts as write. A tool that only changes files of the workspace can say that too: what it
did can be undone where a journal is kept.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

from pydantic_ai.tools import ToolDefinition

__all__ = [
    'EXECUTE',
    'READ',
    'UNDOABLE',
    'UNSEEN',
    'WRITE',
    'ToolClass',
    'changes_unseen',
    'is_undoable',
    'tool_class',
    'undeclared_class',
]

ToolClass: TypeAlias = Literal['read', 'write', 'execute']

_KEY = 'deep_notebook.tool_class'
_UNDOABLE_KEY = 'deep_notebook.undoable'

READ: dict[str, Any] = {_KEY: 'read'}
"""Metadata for a tool that only looks."""
WRITE: dict[str, Any] = {_KEY: 'write'}
"""Metadata for a tool that changes files or anything else that lasts."""
EXECUTE: dict[str, Any] = {_KEY: 'execute'}
"""Metadata for a tool that runs commands or code."""
UNDOABLE: dict[str, Any] = {**WRITE, _UNDOABLE_KEY: True}
"""Metadata for a tool that changes files of the workspace and nothing else."""

_UNSEEN_KEY = 'deep_notebook.changes_unseen'
UNSEEN: dict[str, Any] = {_UNSEEN_KEY: True}
"""Metadata, beside a class, for a tool whose changes of files do not pass through the workspace."""

_PYDANTIC_AI_READ_TOOLS = frozenset({'load_capability', 'search_tools'})


def tool_class(tool: ToolDefinition) -> ToolClass:
    """Return the class of `tool`: what its metadata says, else `'write'`."""
    declared: Any = (tool.metadata or {}).get(_KEY)
    known: ToolClass
    for known in get_args(ToolClass):
        if known == declared:
            return known
    return undeclared_class(tool.name)


def is_undoable(tool: ToolDefinition) -> bool:
    """Return whether all that a call of `tool` changes is files of the workspace."""
    return (tool.metadata or {}).get(_UNDOABLE_KEY) is True


def changes_unseen(tool: ToolDefinition) -> bool:
    """Return whether `tool` may change files without the workspace knowing which."""
    metadata = tool.metadata or {}
    if _KEY not in metadata:
        return undeclared_class(tool.name) != 'read'
    return tool_class(tool) == 'execute' or _UNSEEN_KEY in metadata


def undeclared_class(name: str) -> ToolClass:
    """Return the class of a tool of which no more than its name is known."""
    return 'read' if name in _PYDANTIC_AI_READ_TOOLS else 'write'

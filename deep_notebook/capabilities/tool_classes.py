"""The three classes of tools, which decide what an approval mode asks about.

A tool says its class in its definition's metadata. A tool that says nothing, such as one from an MCP server
or from a user's own agent, counts as write. A tool that only changes files of the workspace can say that too: what it
did can be undone where a journal is kept.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

from pydantic_ai.tools import ToolDefinition

__all__ = ['EXECUTE', 'READ', 'UNDOABLE', 'WRITE', 'ToolClass', 'is_undoable', 'tool_class', 'undeclared_class']

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


def undeclared_class(name: str) -> ToolClass:
    """Return the class of a tool of which no more than its name is known."""
    return 'read' if name in _PYDANTIC_AI_READ_TOOLS else 'write'

"""The names under which the rest of the package speaks of workspace backends."""

from __future__ import annotations

from typing import Protocol, TypeAlias, runtime_checkable

from pydantic_ai.workspaces import SupportsCommands, WorkspaceBackend

__all__ = ['BackendProtocol', 'SandboxProtocol']

BackendProtocol: TypeAlias = WorkspaceBackend
"""Where an agent's files live: any pydantic-ai workspace backend."""


@runtime_checkable
class SandboxProtocol(WorkspaceBackend, SupportsCommands, Protocol):
    """A backend that also runs commands: `isinstance(backend, SandboxProtocol)` decides whether `execute` exists."""

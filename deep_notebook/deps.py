"""What a run of the deep agent carries: its files, its plan, its helpers.

`DeepAgentDeps` is pydantic-ai's `deps`: tools reach it as `ctx.deps`. It holds all state that a run may
change, so that two concurrent runs of one agent share nothing but what they are given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .capabilities.todos import Todo, todo_prompt
from .workspaces import BackendProtocol, StateBackend

__all__ = ['DeepAgentDeps', 'create_default_deps']


@dataclass(kw_only=True)
class DeepAgentDeps:
    """The state of one conversation with a deep agent."""

    backend: BackendProtocol = field(default_factory=StateBackend)
    """Where files live: a pydantic-ai workspace backend."""
    todos: list[Todo] = field(default_factory=list)
    """The plan, in order."""
    subagents: dict[str, Any] = field(default_factory=dict)
    """Agents that tasks can be given to, by name."""
    ask_user: Any = field(default=None, repr=False)
    """Asks the person a question with options; `None` when nobody is there."""
    share_todos: bool = False
    """Whether subagents work on this plan instead of one of their own."""
    read_digests: dict[str, str] = field(default_factory=dict, repr=False)
    """Digest of each file as the agent last saw it, by path; an edit of a file that changed since is refused."""

    def get_todo_prompt(self) -> str:
        """Return the plan as a prompt section, or an empty string without a plan."""
        return todo_prompt(self.todos)


def create_default_deps(backend: BackendProtocol | None = None) -> DeepAgentDeps:
    """Return fresh deps on `backend`, in memory by default."""
    return DeepAgentDeps(backend=backend if backend is not None else StateBackend())

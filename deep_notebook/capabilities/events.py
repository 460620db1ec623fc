"""What capabilities tell a run's event stream, beside pydantic-ai's own events."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic_ai.messages import CapabilityEvent

from .approval_types import ApprovalDecision, ApprovalRequest

__all__ = ['ApprovalAskedEvent', 'ApprovalDecidedEvent', 'TodosChangedEvent']


@dataclass(kw_only=True)
class TodosChangedEvent(CapabilityEvent, namespace='deep_notebook'):
    """The agent's plan changed: the whole new list, as `{'id', 'content', 'status'}` dicts in order."""

    todos: list[dict[str, str]] = field(default_factory=list)


@dataclass(kw_only=True)
class ApprovalAskedEvent(CapabilityEvent, namespace='deep_notebook'):
    """A tool call waits for a yes or no."""

    request: ApprovalRequest


@dataclass(kw_only=True)
class ApprovalDecidedEvent(CapabilityEvent, namespace='deep_notebook'):
    """A tool call got its answer; `decision` is `None` when it was suspended."""

    request: ApprovalRequest
    decision: ApprovalDecision | None

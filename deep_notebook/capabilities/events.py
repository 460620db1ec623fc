"""What capabilities tell a run's event stream, beside pydantic-ai's own events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic_ai.messages import CapabilityEvent

from .approval_types import ApprovalDecision, ApprovalRequest

__all__ = [
    'ApprovalAskedEvent',
    'ApprovalDecidedEvent',
    'CompressionFailedEvent',
    'ContextCompressedEvent',
    'NoticeEvent',
    'QuestionAnsweredEvent',
    'QuestionAskedEvent',
    'ResultEvictedEvent',
    'SubagentEndedEvent',
    'SubagentProgressEvent',
    'SubagentStartedEvent',
    'TodosChangedEvent',
]


@dataclass(kw_only=True)
class TodosChangedEvent(CapabilityEvent, namespace='deep_notebook'):
    """The agent's plan changed: the whole new list, as `{'id', 'content', 'status'}` dicts in order."""

    todos: list[dict[str, str]] = field(default_factory=list)


@dataclass(kw_only=True)
class NoticeEvent(CapabilityEvent, namespace='deep_notebook'):
    """A line for the person, while the run goes on."""

    text: str


@dataclass(kw_only=True)
class ApprovalAskedEvent(CapabilityEvent, namespace='deep_notebook'):
    """A tool call waits for a yes or no."""

    request: ApprovalRequest


@dataclass(kw_only=True)
class ApprovalDecidedEvent(CapabilityEvent, namespace='deep_notebook'):
    """A tool call got its answer; `decision` is `None` when it was suspended."""

    request: ApprovalRequest
    decision: ApprovalDecision | None


@dataclass(kw_only=True)
class QuestionAskedEvent(CapabilityEvent, namespace='deep_notebook'):
    """The person is asked to decide; `tool_call_id` is the run's call that asks, itself or through a subagent."""

    id: str
    question: str
    options: list[dict[str, Any]]
    """Two to four `{'label', 'description', 'recommended'}` dicts."""
    asked_by: str


@dataclass(kw_only=True)
class QuestionAnsweredEvent(CapabilityEvent, namespace='deep_notebook'):
    """The person has decided; `answer` is the label of an option or words of their own, `None` when nobody did."""

    id: str
    answer: str | None


@dataclass(kw_only=True)
class SubagentStartedEvent(CapabilityEvent, namespace='deep_notebook'):
    """A subagent began; `tool_call_id` is the call that gave it the task."""

    task: str
    """The id of the task, such as `t1`."""
    name: str
    """The subagent."""
    prompt: str
    """What it was told, on one line and cut short."""
    background: bool


@dataclass(kw_only=True)
class SubagentProgressEvent(CapabilityEvent, namespace='deep_notebook'):
    """A subagent did something; `tool_call_id` is the call that gave it the task."""

    task: str
    name: str
    line: str
    """What it does now, such as `read_file · sales.csv · 240 lines`; replaces the line before."""
    todos: list[dict[str, str]] | None = None
    """Its own plan when that changed, as `{'id', 'content', 'status'}` dicts in order."""


@dataclass(kw_only=True)
class SubagentEndedEvent(CapabilityEvent, namespace='deep_notebook'):
    """A subagent came to its end; `tool_call_id` is the call that gave it the task."""

    task: str
    name: str
    status: Literal['done', 'failed', 'cancelled']
    line: str
    """How it ended: the first line of its answer, or what went wrong."""
    seconds: float
    files: list[dict[str, Any]] = field(default_factory=list)
    """What it did to files, as its tools reported: `{'path', 'added', 'removed', 'diff'}` dicts."""


@dataclass(kw_only=True)
class ResultEvictedEvent(CapabilityEvent, namespace='deep_notebook'):
    """The result of the call `tool_call_id` was too large and is in a file now."""

    path: str
    """The file, as the model is told."""
    original_chars: int
    preview_chars: int


@dataclass(kw_only=True)
class ContextCompressedEvent(CapabilityEvent, namespace='deep_notebook'):
    """A summary has taken the place of old messages."""

    messages: int
    """How many were summarised."""
    summary: str
    tokens_before: int
    tokens_after: int
    """The size of the context; an estimate."""


@dataclass(kw_only=True)
class CompressionFailedEvent(CapabilityEvent, namespace='deep_notebook'):
    """The context is too full, and no summary could be made; the history stays as it was."""

    reason: str

"""The question before a tool writes or executes, and its answer.

A tool says in its definition's metadata, under `PREVIEW`, what a call of it would do. The question can be stored with
a suspended run and answered after a restart.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from pydantic import JsonValue
from pydantic_ai import RunContext

from .tool_classes import ToolClass

__all__ = [
    'PREVIEW',
    'ApprovalDecision',
    'ApprovalMode',
    'ApprovalRequest',
    'Approver',
    'HearsDenials',
    'Preview',
    'PreviewFunction',
]

ApprovalMode: TypeAlias = Literal['ask', 'review', 'auto', 'deny']
"""What happens before a tool writes or executes.

`review` lets happen what can be undone afterwards, and asks about the rest.
"""

PREVIEW = 'deep_notebook.preview'
"""Metadata key of a tool's `PreviewFunction`."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What a call would do, in the words of the tool that would do it."""

    title: str
    """The question, such as `Write report.md?`."""
    path: str | None = None
    """The file it would change, relative to the workspace."""
    detail: str = ''
    """A few words beside the title, such as `new file · 5 lines`."""
    diff: str | None = None
    """A unified diff of the change, if it is one of text."""
    editable: str | None = None
    """The name of the string argument that the person may edit before approving."""
    before: str | None = None
    """A digest of what the call would replace; when it has changed by the time of execution, the answer is void."""


PreviewFunction: TypeAlias = Callable[[RunContext[Any], dict[str, Any]], Awaitable[Preview]]


@dataclass(frozen=True, kw_only=True)
class ApprovalRequest(Preview):
    """One question: may this call, with exactly these arguments, run once?"""

    id: str
    """The id of the tool call."""
    tool: str
    tool_class: ToolClass
    args: dict[str, JsonValue] = field(default_factory=dict)
    asked_by: str = 'main'
    """The agent that asks."""


@dataclass(frozen=True, kw_only=True)
class ApprovalDecision:
    """The answer to one `ApprovalRequest`."""

    verdict: Literal['approve', 'deny']
    edited: str | None = None
    """New text for the editable argument."""
    reason: str | None = None
    scope: Literal['once', 'tool', 'path'] = 'once'
    """`tool` and `path` also approve the rest of this run's calls of this tool, or on this path."""
    channel: Literal['widget', 'input', 'policy', 'command', 'earlier'] = 'policy'


class Approver(Protocol):
    """Whoever answers: called once per request, concurrently for parallel requests."""

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
        """Return the decision, or `None` when nobody can decide now and the run has to be suspended."""
        ...


@runtime_checkable
class HearsDenials(Approver, Protocol):
    """An approver that is told also of the calls that are denied without a question."""

    async def denied(self, request: ApprovalRequest) -> None:
        """Hear of one."""
        ...

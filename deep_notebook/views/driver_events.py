"""What the driver of a run tells its views, beside the agent's own events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from deep_notebook.capabilities.tool_classes import ToolClass

from .run_shape import ModelInfo

__all__ = [
    'ApprovalSuperseded',
    'NoticeGiven',
    'QuestionSuperseded',
    'RunFinished',
    'RunStarted',
    'ToolsKnown',
    'UsageUpdated',
]


@dataclass(frozen=True, kw_only=True)
class RunStarted:
    """A run begins; everything before is forgotten."""

    run: str
    prompt: str
    model: ModelInfo
    at: float
    """Unix seconds."""
    banner: str | None = None
    budget: str | None = None
    """US dollars, as a decimal string."""


@dataclass(frozen=True, kw_only=True)
class ToolsKnown:
    """The classes of the run's tools by name. A tool that was never named counts as write."""

    classes: Mapping[str, ToolClass]


@dataclass(frozen=True, kw_only=True)
class UsageUpdated:
    """What the run has used so far, in total; `cost` is a decimal string in US dollars."""

    requests: int
    input_tokens: int
    output_tokens: int
    cost: str | None = None
    priced: bool = True


@dataclass(frozen=True, kw_only=True)
class ApprovalSuperseded:
    """The question is asked elsewhere now, so the buttons of this one no longer count."""

    id: str


@dataclass(frozen=True, kw_only=True)
class QuestionSuperseded:
    """A decision is asked for elsewhere now, so the buttons of this question no longer count."""

    id: str


@dataclass(frozen=True, kw_only=True)
class NoticeGiven:
    """A line for the person, while the run goes on."""

    text: str


@dataclass(frozen=True, kw_only=True)
class RunFinished:
    """Nothing more happens; `error` is one line for the person, `notice` says how to go on."""

    phase: Literal['done', 'stopped', 'failed', 'suspended']
    error: str | None = None
    notice: str | None = None

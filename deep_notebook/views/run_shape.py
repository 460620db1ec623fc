"""The shape of a run: small frozen dataclasses that every view draws, and their JSON form.

The JSON form is what a stored run, the live widget and the tests share. It never holds a secret that
`mask_secrets` recognises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeAlias

from pydantic import JsonValue, TypeAdapter

from deep_notebook.capabilities.tool_classes import ToolClass

__all__ = [
    'Approval',
    'ApprovalStatus',
    'Choice',
    'Editable',
    'FileChange',
    'Image',
    'ModelInfo',
    'Phase',
    'Question',
    'QuestionStatus',
    'RunState',
    'SayStep',
    'Step',
    'Subagent',
    'SubagentStatus',
    'Todo',
    'ToolStatus',
    'ToolStep',
    'Usage',
    'from_json',
    'to_json',
]

Phase: TypeAlias = Literal['starting', 'running', 'waiting', 'done', 'stopped', 'failed', 'suspended']
TodoStatus: TypeAlias = Literal['pending', 'in_progress', 'completed', 'blocked']
ToolStatus: TypeAlias = Literal['running', 'waiting', 'ok', 'failed', 'denied', 'interrupted']
SubagentStatus: TypeAlias = Literal['running', 'done', 'failed', 'cancelled']
ApprovalStatus: TypeAlias = Literal['pending', 'approved', 'edited', 'denied', 'superseded', 'cancelled', 'suspended']
QuestionStatus: TypeAlias = Literal['pending', 'superseded', 'answered', 'unanswered']


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """Who answers."""

    name: str = ''
    label: str = ''
    """What a person reads, such as `Qwen2.5-Coder-1.5B · local, limited`."""
    local: bool = False
    """A local model costs nothing."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What a run has used so far; `cost` and `budget` are decimal strings in US dollars."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: str | None = None
    priced: bool = True
    """Whether the price of the model is known."""
    budget: str | None = None


@dataclass(frozen=True, kw_only=True)
class Todo:
    """One line of the agent's plan."""

    id: str
    content: str
    status: TodoStatus = 'pending'


@dataclass(frozen=True, kw_only=True)
class SayStep:
    """Markdown that the model said before it called tools."""

    kind: Literal['say'] = 'say'
    text: str


@dataclass(frozen=True, kw_only=True)
class Image:
    """A picture that a tool returned; `data` is base64."""

    media_type: str
    data: str


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """What a run did to one file: lines added and removed, and the unified diff."""

    path: str
    added: int = 0
    removed: int = 0
    diff: str = ''


@dataclass(frozen=True, kw_only=True)
class Subagent:
    """One task that a tool call gave to a subagent."""

    id: str
    """Such as `t1`; unique below its step."""
    name: str
    prompt: str = ''
    """What it was told, on one line and cut short."""
    background: bool = False
    """Whether it goes on after the call has returned."""
    status: SubagentStatus = 'running'
    line: str = ''
    """What it does now, or how it ended."""
    todos: tuple[Todo, ...] = ()
    """Its own plan."""
    seconds: float | None = None
    files: tuple[FileChange, ...] = ()
    """What it did to files, without the diffs: those are with the run's own files."""


@dataclass(frozen=True, kw_only=True)
class ToolStep:
    """One tool call."""

    kind: Literal['tool'] = 'tool'
    id: str
    name: str
    tool_class: ToolClass
    summary: str = ''
    """A few words beside the name, such as `sales.csv · 240 lines`."""
    args: str = ''
    status: ToolStatus = 'running'
    result: str = ''
    truncated: bool = False
    """Whether `result` is shorter than what the tool returned."""
    seconds: float | None = None
    note: str | None = None
    """Why the call did not simply work, such as `denied: "keep the port"`."""
    images: tuple[Image, ...] = ()
    subagents: tuple[Subagent, ...] = ()
    """The tasks that it gave to subagents; those in the background may outlive it."""
    started: float | None = field(default=None, compare=False, repr=False)
    """Unix seconds when it began to execute; not part of the JSON form."""


Step: TypeAlias = SayStep | ToolStep


@dataclass(frozen=True, kw_only=True)
class Editable:
    """The argument of a waiting call that the person may edit, exactly as it would be used."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Approval:
    """One question to the person and what became of it."""

    id: str
    tool: str
    tool_class: ToolClass
    title: str
    path: str | None = None
    detail: str = ''
    diff: str | None = None
    args: str = ''
    editable: Editable | None = None
    asked_by: str = 'main'
    step: str | None = None
    """The id of the step whose subagent asks; `None` when it is the step with the id of the question itself."""
    state: ApprovalStatus = 'pending'
    reason: str | None = None
    channel: str | None = None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One answer that the person can pick."""

    label: str
    description: str = ''
    recommended: bool = False


@dataclass(frozen=True, kw_only=True)
class Question:
    """One decision that the person is asked for, and what they said."""

    id: str
    text: str
    choices: tuple[Choice, ...] = ()
    asked_by: str = 'main'
    step: str | None = None
    """The id of the step that asks, itself or through a subagent."""
    state: QuestionStatus = 'pending'
    answer: str | None = None
    """The label of a choice, or words of their own."""


@dataclass(frozen=True, kw_only=True)
class RunState:
    """Everything that a cell shows of one run."""

    run: str = ''
    prompt: str = ''
    """The first line of the prompt."""
    phase: Phase = 'starting'
    model: ModelInfo = ModelInfo()
    banner: str | None = None
    """A line about where the answers come from, if not from the model now."""
    started: float = 0.0
    """Unix seconds."""
    elapsed: float = 0.0
    """Seconds."""
    usage: Usage = Usage()
    todos: tuple[Todo, ...] = ()
    steps: tuple[Step, ...] = ()
    approvals: tuple[Approval, ...] = ()
    questions: tuple[Question, ...] = ()
    thinking: str = ''
    answer: str = ''
    """The answer so far, as Markdown."""
    files: tuple[FileChange, ...] = ()
    notice: str | None = None
    error: str | None = None
    raw_answer: str = field(default='', compare=False, repr=False)
    """The answer as it comes, before secrets are masked; not part of the JSON form."""
    raw_thinking: str = field(default='', compare=False, repr=False)
    tool_classes: Mapping[str, ToolClass] = field(default_factory=dict, compare=False, repr=False)
    """Classes of the tools known so far; not part of the JSON form."""

    @property
    def pending(self) -> tuple[Approval, ...]:
        """The calls that wait for a yes or no."""
        return tuple(approval for approval in self.approvals if approval.state == 'pending')

    @property
    def waits(self) -> bool:
        """Whether anything waits for the person."""
        states = [*(approval.state for approval in self.approvals), *(question.state for question in self.questions)]
        return any(state in ('pending', 'superseded') for state in states)

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen in this run."""
        return self.phase in ('done', 'stopped', 'failed', 'suspended')


@cache
def _adapter() -> TypeAdapter[RunState]:
    return TypeAdapter(RunState)


_NOT_JSON: Any = {
    'raw_answer': True,
    'raw_thinking': True,
    'tool_classes': True,
    'steps': {'__all__': {'started'}},
}


def to_json(state: RunState) -> dict[str, JsonValue]:
    """Return the JSON form of `state`: dicts, lists, strings, numbers and `None` only."""
    data: dict[str, JsonValue] = _adapter().dump_python(state, mode='json', exclude=_NOT_JSON)
    return data


def from_json(data: Mapping[str, JsonValue]) -> RunState:
    """Return the state that `to_json` turned into `data`; unknown keys of a newer version are ignored.

    Raises:
        pydantic.ValidationError: `data` is not the JSON form of a run state.
    """
    return _adapter().validate_python(data)

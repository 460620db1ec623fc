"""The part of the reducer that follows subagents, below the call that gave them their task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from deep_notebook.capabilities.events import SubagentEndedEvent, SubagentProgressEvent, SubagentStartedEvent
from deep_notebook.masking import mask_secrets

from . import _reduce_tools as tools
from ._tool_text import one_line
from .run_shape import RunState, Subagent, Todo, ToolStep

__all__ = ['ended', 'progressed', 'started', 'todos_of']


def started(state: RunState, event: SubagentStartedEvent) -> RunState:
    """Show a task below the step that gave it. What it was told heads the step, also when the step has returned."""
    child = Subagent(
        id=event.task, name=one_line(event.name), prompt=one_line(event.prompt), background=event.background
    )

    def change(step: ToolStep) -> ToolStep:
        others = tuple(other for other in step.subagents if other.id != child.id)
        return replace(step, summary=step.summary if others else child.prompt, subagents=(*others, child))

    return tools.with_step(state, event.tool_call_id, change)


def progressed(state: RunState, event: SubagentProgressEvent) -> RunState:
    """Show what a subagent does now."""

    def change(child: Subagent) -> Subagent:
        todos = child.todos if event.todos is None else todos_of(event.todos)
        return replace(child, line=one_line(event.line), todos=todos)

    return _with_subagent(state, event.tool_call_id, event.task, change)


def ended(state: RunState, event: SubagentEndedEvent) -> RunState:
    """Show how a subagent ended. What it did to files counts for the run whether or not it was of use."""

    def change(child: Subagent) -> Subagent:
        return replace(
            child,
            status=event.status,
            line=one_line(event.line),
            seconds=event.seconds,
            files=tools.merged((), event.files, diffs=False),
        )

    return tools.with_files(_with_subagent(state, event.tool_call_id, event.task, change), event.files)


def todos_of(todos: Iterable[Mapping[str, str]]) -> tuple[Todo, ...]:
    """Return a plan as a view shows it."""
    return tuple(map(_todo, todos))


def _todo(todo: Mapping[str, str]) -> Todo:
    content = mask_secrets(todo.get('content', ''))
    match todo.get('status'):
        case 'in_progress' | 'completed' | 'blocked' as status:
            return Todo(id=str(todo.get('id', '')), content=content, status=status)
        case _:
            return Todo(id=str(todo.get('id', '')), content=content)


def _with_subagent(state: RunState, call_id: str | None, task: str, change: Callable[[Subagent], Subagent]) -> RunState:
    def below(step: ToolStep) -> ToolStep:
        return replace(step, subagents=tuple(change(child) if child.id == task else child for child in step.subagents))

    return tools.with_step(state, call_id, below)

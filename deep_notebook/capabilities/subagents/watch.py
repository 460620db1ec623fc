"""What a parent hears of a child's run, and how it reaches into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart, ToolReturn
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDefinition, ToolDenied

from ..todos import HasTodos
from .tasks import SubagentTask, TaskScope

__all__ = ['ChildWatch']


@dataclass
class ChildWatch(AbstractCapability[Any]):
    """Watches one run of a child: reports what it does, lets messages in, and lets it wait for nobody."""

    scope: TaskScope
    task: SubagentTask

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return `None`: it belongs to one run."""
        return None

    def get_ordering(self) -> CapabilityOrdering:
        """Return that it comes last: it denies what nobody else has decided."""
        return CapabilityOrdering(position='innermost')

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """Let messages in, those first that came before there was a run."""
        self.task.child = ctx
        for text in self.task.unsaid:
            ctx.enqueue(text)

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        """Report which tool it uses."""
        about = next((value for value in args.values() if isinstance(value, str) and value.strip()), None)
        await self.scope.progress(self.task, call.tool_name if about is None else f'{call.tool_name} · {about}')
        return args

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], result: Any
    ) -> Any:
        """Report what came of it, also to files and to its plan."""
        metadata = result.metadata if isinstance(result, ToolReturn) else None
        if isinstance(metadata, Mapping):
            changes = metadata.get('files') or [metadata.get('file')]
            self.task.files.extend(dict(change) for change in changes if isinstance(change, Mapping))
            if summary := metadata.get('summary'):
                todos = _todos(ctx) if call.tool_name == 'write_todos' else None
                await self.scope.progress(self.task, f'{call.tool_name} · {summary}', todos)
        return result

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """Deny what nobody could decide: a child is not suspended, it goes on without."""
        return requests.build_results(
            approvals={call.tool_call_id: _denied(call.tool_name) for call in requests.approvals},
            calls={
                call.tool_call_id: ToolFailed(f'{call.tool_name} is answered from outside, which a subagent cannot do.')
                for call in requests.calls
            },
        )


def _denied(tool: str) -> ToolDenied:
    return ToolDenied(
        f'denied: nobody is here to approve {tool}, so nothing was done. Go on without, and say in your answer what '
        'was denied.'
    )


def _todos(ctx: RunContext[Any]) -> list[dict[str, str]] | None:
    if not isinstance(ctx.deps, HasTodos):
        return None
    return [{'id': todo.id, 'content': todo.content, 'status': todo.status} for todo in ctx.deps.todos]

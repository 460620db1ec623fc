"""The agent's plan: a short list of things to do, which the person watches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Protocol, TypeAlias, runtime_checkable

from pydantic import BeforeValidator
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset
from typing_extensions import TypedDict

from .arguments import parse_json_text
from .events import TodosChangedEvent
from .tool_classes import READ
from .tools import MethodTool

__all__ = ['HasTodos', 'Todo', 'TodoStatus', 'TodoToolset', 'Todos', 'create_todo_toolset', 'todo_prompt']

TodoStatus: TypeAlias = Literal['pending', 'in_progress', 'completed', 'blocked']

_MARKS: dict[TodoStatus, str] = {'pending': '[ ]', 'in_progress': '[*]', 'completed': '[x]', 'blocked': '[!]'}

_INSTRUCTIONS = (
    'For work of three steps or more, keep a plan with write_todos: one item in_progress at a time, each marked '
    'completed as soon as it is done.'
)


@dataclass(kw_only=True)
class Todo:
    """One thing to do."""

    content: str
    status: TodoStatus = 'pending'
    id: str = ''
    """Given by the list when it is written, and kept as long as `content` stays the same."""


class TodoItem(TypedDict):
    """One item of the list, as the model writes it."""

    content: str
    status: TodoStatus


@runtime_checkable
class HasTodos(Protocol):
    """Deps that hold the plan."""

    todos: list[Todo]


def todo_prompt(todos: Sequence[Todo]) -> str:
    """Return the plan as a prompt section, or an empty string without a plan."""
    if not todos:
        return ''
    return '\n'.join(['## Current Todos', *map(_line, todos)])


@dataclass
class Todos(AbstractCapability[AgentDepsT]):
    """Keep a list of things to do in `deps.todos`, else in `storage`, else for the run.

    `write_todos` replaces the list. Two of them in one response would each be written without knowing of the other,
    so the second is refused and told what the list is.
    """

    include_current_todos: bool = False
    """Whether the list as it is goes into every request; each change then invalidates the provider's prompt cache."""
    storage: HasTodos | None = field(default=None, kw_only=True, repr=False)
    """What holds the list of runs whose deps hold none; all these runs share it."""

    id: str | None = field(default='todos', kw_only=True)
    description: str | None = field(default='Keep a list of things to do that the person can watch.', kw_only=True)

    _own: list[Todo] = field(default_factory=list, init=False, repr=False, compare=False)
    _written_in_step: int | None = field(default=None, init=False, repr=False, compare=False)

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> Todos[AgentDepsT]:
        """Return a copy for one run."""
        return replace(self)

    def get_instructions(self) -> Any:
        """Return when to plan, and with `include_current_todos` the plan."""
        return [_INSTRUCTIONS, self._current] if self.include_current_todos else _INSTRUCTIONS

    def get_toolset(self) -> FunctionToolset[AgentDepsT]:
        """Return the tools."""
        tools: list[MethodTool[AgentDepsT]] = [
            MethodTool(self.read_todos, metadata={**READ}),
            MethodTool(self.write_todos, sequential=True, metadata={**READ}),
        ]
        return FunctionToolset(tools, id=self.id)

    async def read_todos(self, ctx: RunContext[AgentDepsT]) -> ToolReturn[str]:
        """Show your todo list."""
        todos = self._list(ctx)
        return ToolReturn('\n'.join(map(_line, todos)) or 'The list is empty.', metadata={'summary': _summary(todos)})

    async def write_todos(
        self, ctx: RunContext[AgentDepsT], todos: Annotated[list[TodoItem], BeforeValidator(parse_json_text)]
    ) -> ToolReturn[str]:
        """Replace your todo list: give every item, changed or not."""
        current = self._list(ctx)
        if self._written_in_step == ctx.run_step:
            raise ToolFailed(
                'The list was already written in this response, and this call would undo that. It is now:\n'
                + '\n'.join(map(_line, current))
                + '\nIf it is not what you want, write the whole list in one call.'
            )
        self._written_in_step = ctx.run_step
        # In place: a subagent that shares the plan holds the same list.
        current[:] = _with_ids(todos, current)
        # Events are a capability's to emit, not a toolset's alone.
        if any(isinstance(capability, Todos) for capability in ctx.capabilities.values()):
            await ctx.emit(
                TodosChangedEvent(
                    todos=[{'id': todo.id, 'content': todo.content, 'status': todo.status} for todo in current]
                )
            )
        return ToolReturn(f'The list is written: {_summary(current)}.', metadata={'summary': _summary(current)})

    def _list(self, ctx: RunContext[Any]) -> list[Todo]:
        for holder in (ctx.deps, self.storage):
            if isinstance(holder, HasTodos):
                return holder.todos
        return self._own

    def _current(self, ctx: RunContext[Any]) -> str:
        return todo_prompt(self._list(ctx))


class TodoToolset(FunctionToolset[AgentDepsT]):
    """`read_todos` and `write_todos`, as `Todos` has them, for an agent that is built from toolsets.

    Args:
        storage: What holds the list of runs whose deps hold none; by default each run has its own.
        include_current_todos: Whether the list as it is goes into every request.
        id: Distinguishes it from other toolsets of the agent.
    """

    def __init__(
        self, storage: HasTodos | None = None, *, include_current_todos: bool = False, id: str | None = 'todos'
    ) -> None:
        self.storage = storage
        self.include_current_todos = include_current_todos
        todos: Todos[AgentDepsT] = Todos(include_current_todos, storage=storage)
        super().__init__(list(todos.get_toolset().tools.values()), id=id, instructions=todos.get_instructions())

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        """Return a copy for one run."""
        return TodoToolset(self.storage, include_current_todos=self.include_current_todos, id=self.id)


def create_todo_toolset(
    storage: HasTodos | None = None, *, include_current_todos: bool = False, id: str | None = 'todos'
) -> TodoToolset[Any]:
    """Return the tools of the plan, for an agent that is built from toolsets.

    Args:
        storage: What holds the list of runs whose deps hold none; by default each run has its own.
        include_current_todos: Whether the list as it is goes into every request.
        id: Distinguishes it from other toolsets of the agent.
    """
    return TodoToolset(storage, include_current_todos=include_current_todos, id=id)


def _line(todo: Todo) -> str:
    return f'- {_MARKS[todo.status]} [{todo.id}] {todo.content}'


def _summary(todos: Sequence[Todo]) -> str:
    done = sum(todo.status == 'completed' for todo in todos)
    return f'{done} of {len(todos)} done'


def _with_ids(items: Sequence[TodoItem], before: Sequence[Todo]) -> list[Todo]:
    """Return the new list: an item that was there keeps its id, a new one gets the next free number."""
    known: dict[str, list[str]] = {}
    for todo in before:
        known.setdefault(todo.content, []).append(todo.id)
    number = max((int(todo.id) for todo in before if todo.id.isdecimal()), default=0)
    written: list[Todo] = []
    for item in items:
        ids = known.get(item['content'])
        if ids:
            identity = ids.pop(0)
        else:
            number += 1
            identity = str(number)
        written.append(Todo(id=identity, content=item['content'], status=item['status']))
    return written

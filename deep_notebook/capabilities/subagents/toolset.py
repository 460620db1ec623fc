"""The tools with which an agent gives work to others."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Annotated, Any, Literal, Self

from annotated_types import Ge
from pydantic_ai import RunContext
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability, Toolset
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import InstructionPart, ToolReturn
from pydantic_ai.models import Model
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool

from ...errors import did_you_mean
from ..tool_classes import READ
from ..tools import MethodTool
from .builtin import builtin_subagents, default_agent_factory
from .children import ChildSettings, levels_left, run_child
from .registry import DynamicAgentRegistry
from .tasks import NEVER_CONTAINED, SubagentTask, TaskScope, failure, one_line
from .types import HasSubagents, SubAgentConfig, SubAgentFactory, checked_configs

__all__ = ['SubAgentToolset', 'TaskToolName', 'create_subagent_toolset']

TaskToolName = Literal['task', 'delegate_task']

_MAX_WAIT = 300.0
_GENERAL = 'general'

_INSTRUCTIONS = (
    'Give work that stands alone, or would flood this conversation, to a subagent with {task}; several calls in one '
    'response run at once. Subagents:'
)


class SubAgentToolset(FunctionToolset[AgentDepsT]):
    """`task` and `check_subagent`.

    A child runs on its parent's account: with its model (unless its definition names one), usage, limits, workspace,
    hooks, approvals under its own name, and cancelled with it. What is raised in a child is the result of the call,
    except what concerns the whole run: a limit that is reached, settings that are wrong, a `RunControl`.

    The tasks in the background belong to one run of the parent. One that has ended and was not asked about is reported
    when the run would end. One that still runs then is cancelled by a toolset alone; `SubAgentCapability` waits for it.

    Args:
        subagents: Definitions. One with the name of a built-in subagent takes its place.
        default_model: Who answers where a definition does not say; by default whoever answers the parent.
        max_nesting_depth: How many levels of subagents may follow: with 1, a subagent has none of its own.
        subagent_registry: Subagents that come and go.
        subagent_extra_toolsets: Tools for every subagent that is made here.
        agent_factory: Makes agents of definitions without a factory of their own.
        include_builtin_subagents: Whether there are `general` and `research`.
        include_plan: Whether there is `planner`.
        plans_dir: Where the planner saves its plans.
        tool_name: What the model knows `task` by.
        id: Distinguishes it from other toolsets of the agent.

    Raises:
        UsageError: A definition is not complete, or two have one name.
    """

    def __init__(
        self,
        subagents: Sequence[SubAgentConfig] | None = None,
        *,
        default_model: Model | str | None = None,
        max_nesting_depth: int = 1,
        subagent_registry: DynamicAgentRegistry | None = None,
        subagent_extra_toolsets: Sequence[AbstractToolset[Any]] = (),
        agent_factory: SubAgentFactory | None = None,
        include_builtin_subagents: bool = True,
        include_plan: bool = True,
        plans_dir: str = '/plans',
        tool_name: TaskToolName = 'task',
        id: str | None = 'subagents',
    ) -> None:
        super().__init__(id=id)
        self._given = checked_configs(subagents or ())
        self._built_in = checked_configs(
            builtin_subagents(
                include_builtin_subagents=include_builtin_subagents, include_plan=include_plan, plans_dir=plans_dir
            )
        )
        self._registry = subagent_registry
        self._factory = agent_factory or default_agent_factory
        self._model = default_model
        self._extra_toolsets = tuple(subagent_extra_toolsets)
        self._levels = max_nesting_depth
        self._tool_name = tool_name
        self.scope = TaskScope()
        self._add_own_tools()

    def _add_own_tools(self) -> None:
        self.add_tool(MethodTool(self.task, name=self._tool_name, metadata={**READ}))
        self.add_tool(MethodTool(self.check_subagent, metadata={**READ}))

    def at_level(self, levels: int) -> Self:
        """Return a copy without tasks, below whose agent `levels` levels of subagents may follow."""
        copied = copy(self)
        copied._levels = levels
        copied.scope = TaskScope()
        copied.tools = {
            name: tool for name, tool in self.tools.items() if name not in (self._tool_name, 'check_subagent')
        }
        copied._add_own_tools()
        return copied

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        """Return a copy for one run."""
        return self.at_level(levels_left(self._levels))

    async def __aexit__(self, *args: Any) -> None:
        """Cancel the tasks that still run, and raise what they left that concerns the whole run."""
        await self.scope.close()
        if args == (None, None, None):
            self.scope.raise_fault()

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """Return the tools, or none where no subagent may follow."""
        return await super().get_tools(ctx) if self._levels > 0 else {}

    async def get_instructions(self, ctx: RunContext[AgentDepsT]) -> list[InstructionPart] | None:
        """Return when to use a subagent, and which there are."""
        text = self.announcement(ctx)
        return None if text is None else [InstructionPart(content=text, dynamic=self._registry is not None)]

    def announcement(self, ctx: RunContext[Any]) -> str | None:
        """Return when to use a subagent, and which there are, or `None` where none may follow."""
        if self._levels <= 0:
            return None
        lines = [f'- {name}: {one_line(config["description"])}' for name, config in self.known(ctx).items()]
        return '\n'.join([_INSTRUCTIONS.format(task=self._tool_name), *lines])

    def known(self, ctx: RunContext[Any]) -> dict[str, SubAgentConfig]:
        """Return the subagents of a run, by name."""
        agents = ctx.deps.subagents if isinstance(ctx.deps, HasSubagents) else {}
        held = {name: _held(name, agent) for name, agent in agents.items() if isinstance(agent, AbstractAgent)}
        registered = () if self._registry is None else self._registry.list()
        return {**self._built_in, **held, **{config['name']: config for config in registered}, **self._given}

    async def task(
        self, ctx: RunContext[Any], description: str, subagent_type: str = _GENERAL, background: bool = False
    ) -> ToolReturn[str]:
        """Let a subagent do a task and return its report. It sees nothing of this conversation: write all it needs.

        Args:
            background: Return an id at once, for check_subagent.
        """
        config = self._config(ctx, subagent_type)
        if not description.strip():
            raise ToolFailed('The description is empty: say what is to be done, and what to return.')
        task = self.scope.new(ctx, config['name'])
        await self.scope.begin(task, description, background=background)

        async def work() -> str:
            return await run_child(
                config, description, task=task, scope=self.scope, settings=self._settings(), background=background
            )

        if background:
            self.scope.start(task, work)
            text = f'Task {task.id} ({task.name}) has started. Its result comes with check_subagent, or at the end.'
            return ToolReturn(text, metadata={'summary': f'{task.name} · {task.id} in the background'})
        try:
            result = await self.scope.follow(task, work)
        except NEVER_CONTAINED:
            raise
        except Exception as error:
            raise ToolFailed(f'The subagent {task.name!r} failed before it was done. {failure(error)}') from error
        summary = f'{task.name} · {task.seconds:.0f} s'
        return ToolReturn(result, metadata={'summary': summary, 'files': task.files})

    delegate_task = task

    async def check_subagent(
        self,
        ctx: RunContext[Any],
        task_id: str = '',
        wait: Annotated[float, Ge(0)] = 0,
        message: str = '',
        cancel: bool = False,
    ) -> ToolReturn[str]:
        """See background tasks, or one with its result, which is given once.

        Args:
            wait: Seconds to wait for a result or question, at most 300.
            message: Answers the question of the task, or steers it.
            cancel: Stops the task.
        """
        self.scope.raise_fault()
        if not task_id:
            if message or cancel:
                raise ToolFailed(f'Which task? Give a task_id: {self._ids()}.')
            await self.scope.wait(self.scope.unsettled(), min(wait, _MAX_WAIT))
            self.scope.raise_fault()
            lines = [_line(task) for task in self.scope.tasks.values()] or ['There are no background tasks.']
            return ToolReturn('\n'.join(lines), metadata={'summary': self._counts()})
        task = self.scope.tasks.get(task_id)
        if task is None:
            raise ToolFailed(
                f'There is no background task {task_id!r} in this run: {self._ids()}. A task ends with the run that '
                'started it.'
            )
        said = ''
        if cancel:
            await self.scope.cancel([task])
        elif message:
            said = self._say(task, message) + '\n'
        await self.scope.wait([task], min(wait, _MAX_WAIT))
        self.scope.raise_fault()
        return ToolReturn(said + self._news(task), metadata={'summary': f'{task.name} · {task.id} {task.status}'})

    def _say(self, task: SubagentTask, message: str) -> str:
        if task.question is not None:
            self.scope.answer(task, message)
            return 'It has your answer and goes on.'
        if task.say(message):
            return 'It will read your message with its next step.'
        return 'It has ended, so it did not get your message.'

    def _news(self, task: SubagentTask) -> str:
        if task.status == 'running':
            return _line(task)
        result = self.scope.take(task)
        if result is None:
            return f'Task {task.id} ({task.name}) has ended ({task.status}); you have its result already.'
        return f'Task {task.id} ({task.name}) has ended ({task.status}):\n{result}'

    def _config(self, ctx: RunContext[Any], name: str) -> SubAgentConfig:
        known = self.known(ctx)
        if name in known:
            return known[name]
        there = ', '.join(known) or 'none'
        raise ToolFailed(f'There is no subagent {name!r}.{did_you_mean(name, known)} There are: {there}.')

    def _settings(self) -> ChildSettings:
        return ChildSettings(
            factory=self._factory,
            model=self._model,
            toolsets=self._extra_toolsets,
            levels=self._levels,
            nested=self.nested,
        )

    def nested(self, levels: int) -> AbstractCapability[Any]:
        """Return how a child gives out tasks itself, with `levels` levels below it."""
        return Toolset(self.at_level(levels))

    def _ids(self) -> str:
        return f'there are {", ".join(self.scope.tasks)}' if self.scope.tasks else 'there are none'

    def _counts(self) -> str:
        running = sum(task.status == 'running' for task in self.scope.tasks.values())
        return f'{running} of {len(self.scope.tasks)} running'


create_subagent_toolset = SubAgentToolset
"""Return the tools, for an agent that is built from toolsets; the arguments are those of the class."""


def _held(name: str, agent: AbstractAgent[Any, Any]) -> SubAgentConfig:
    return {'name': name, 'description': agent.description or 'An agent of its own kind.', 'agent': agent}


def _line(task: SubagentTask) -> str:
    if task.question is not None:
        state = f'waits for your answer (message): {task.question.text}'
    elif task.status == 'running':
        state = 'running' + (f' · {task.line}' if task.line else '')
    else:
        state = task.status + (' · you have its result' if task.given else '')
    return f'{task.id} {task.name} · {state}'

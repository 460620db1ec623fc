"""Subagents as one capability."""

from __future__ import annotations

from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import AgentStreamEvent, ModelRequest, ModelResponse, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.tools import AgentDepsT, DeferredToolRequests
from pydantic_ai.toolsets import AbstractToolset
from pydantic_graph import End

from .children import levels_left
from .registry import DynamicAgentRegistry
from .tasks import TaskScope
from .toolset import SubAgentToolset, TaskToolName
from .types import SubAgentConfig, SubAgentFactory

if TYPE_CHECKING:
    from pydantic_ai.capabilities.abstract import AgentNode, NodeResult
    from pydantic_ai.models import ModelRequestContext

__all__ = ['SubAgentCapability']


@dataclass
class SubAgentCapability(AbstractCapability[AgentDepsT]):
    """Let the agent give work to others, as `SubAgentToolset` says.

    A run that would end waits for the tasks in the background that still work, and their reports are put to the model
    for its last word. A question that one of them asks is put to it too, once.
    """

    subagents: Sequence[SubAgentConfig] | None = None
    """Definitions. One with the name of a built-in subagent takes its place."""
    default_model: Model | str | None = None
    """Who answers where a definition does not say; by default whoever answers the parent."""
    max_nesting_depth: int = 1
    """How many levels of subagents may follow: with 1, a subagent has none of its own."""
    subagent_registry: DynamicAgentRegistry | None = None
    """Subagents that come and go."""
    subagent_extra_toolsets: Sequence[AbstractToolset[Any]] = ()
    """Tools for every subagent that is made here."""
    agent_factory: SubAgentFactory | None = None
    """Makes agents of definitions without a factory of their own."""
    include_builtin_subagents: bool = True
    """Whether there are `general` and `research`."""
    include_plan: bool = True
    """Whether there is `planner`."""
    plans_dir: str = '/plans'
    """Where the planner saves its plans."""
    tool_name: TaskToolName = 'task'
    """What the model knows the tool by."""

    id: str | None = field(default='subagents', kw_only=True)
    description: str | None = field(default='Give work that stands alone to a subagent.', kw_only=True)

    _toolset: _RunToolset[AgentDepsT] = field(init=False, repr=False, compare=False)

    @classmethod
    def from_spec(
        cls,
        *,
        subagents: list[SubAgentConfig] | None = None,
        default_model: str | None = None,
        max_nesting_depth: int = 1,
        include_builtin_subagents: bool = True,
        include_plan: bool = True,
        plans_dir: str = '/plans',
        tool_name: TaskToolName = 'task',
        defer_loading: bool = False,
    ) -> SubAgentCapability[Any]:
        """Return the capability that a spec file describes; agents and what makes them are not for one."""
        return SubAgentCapability(
            subagents,
            default_model=default_model,
            max_nesting_depth=max_nesting_depth,
            include_builtin_subagents=include_builtin_subagents,
            include_plan=include_plan,
            plans_dir=plans_dir,
            tool_name=tool_name,
            defer_loading=defer_loading,
        )

    def __post_init__(self) -> None:
        self._toolset = _RunToolset(self)

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> SubAgentCapability[AgentDepsT]:
        """Return a copy for one run."""
        return replace(self, max_nesting_depth=levels_left(self.max_nesting_depth))

    def get_toolset(self) -> SubAgentToolset[AgentDepsT]:
        """Return the tools."""
        return self._toolset

    def get_instructions(self) -> Any:
        """Return when to use a subagent, and which there are."""
        return self._toolset.announcement

    def get_description(self) -> Any:
        """Return the description with the names of the subagents."""
        return self._description

    def _description(self, ctx: RunContext[AgentDepsT]) -> str:
        return f'{self.description or ""} There are: {", ".join(self._toolset.known(ctx))}.'.strip()

    @property
    def has_wrap_run_event_stream(self) -> bool:
        """Return `False`: a stream is looked at where there is one, and none is asked for."""
        return False

    async def wrap_run_event_stream(
        self, ctx: RunContext[AgentDepsT], *, stream: AsyncIterable[AgentStreamEvent]
    ) -> AsyncIterable[AgentStreamEvent]:
        """Show what tasks in the background do while the run waits for them before its end."""
        async for event in stream:
            yield event
        if _has_last_word(ctx):
            scope = self._toolset.scope
            scope.let_go_unanswered()
            async for event in scope.idle_events():
                yield event

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """End the run if a task in the background met what concerns the whole run."""
        self._toolset.scope.raise_fault()
        self._toolset.scope.streamed = request_context.streaming
        return request_context

    async def after_node_run(
        self, ctx: RunContext[AgentDepsT], *, node: AgentNode[AgentDepsT], result: NodeResult[AgentDepsT]
    ) -> NodeResult[AgentDepsT]:
        """Wait for the tasks in the background before the run ends."""
        scope = self._toolset.scope
        if isinstance(result, End):
            if isinstance(result.data.output, DeferredToolRequests):
                # After a response of which every call waits, a message would take the place of the answers.
                await scope.suspend(reports=isinstance(ctx.messages[-1], ModelRequest))
            else:
                await scope.settle()
        return result


def _has_last_word(ctx: RunContext[Any]) -> bool:
    last = ctx.messages[-1] if ctx.messages else None
    return isinstance(last, ModelResponse) and not any(isinstance(part, ToolCallPart) for part in last.parts)


class _RunToolset(SubAgentToolset[AgentDepsT]):
    """The tools of a capability, which makes them anew for each run and gives the instructions itself."""

    def __init__(self, capability: SubAgentCapability[AgentDepsT]) -> None:
        super().__init__(
            capability.subagents,
            default_model=capability.default_model,
            max_nesting_depth=capability.max_nesting_depth,
            subagent_registry=capability.subagent_registry,
            subagent_extra_toolsets=capability.subagent_extra_toolsets,
            agent_factory=capability.agent_factory,
            include_builtin_subagents=capability.include_builtin_subagents,
            include_plan=capability.include_plan,
            plans_dir=capability.plans_dir,
            tool_name=capability.tool_name,
            id=capability.id,
        )
        self._capability = capability
        self.scope = TaskScope(capability.id)

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        return self

    async def get_instructions(self, ctx: RunContext[AgentDepsT]) -> None:
        return None

    def nested(self, levels: int) -> AbstractCapability[Any]:
        return replace(self._capability, max_nesting_depth=levels)

"""One run of a child: what it inherits from its parent's."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset
from pydantic_core import to_json

from ..approvals import ApprovalGate, ApprovalMode
from ..cost import CostTracking
from ..hooks import HookRunner
from ..output import MovesLargeResults
from .gate import child_gate
from .tasks import SubagentTask, TaskScope
from .types import ClonesForSubagents, HasAskUser, SubAgentConfig, SubAgentFactory
from .watch import ChildWatch

__all__ = ['INHERITED', 'ChildSettings', 'levels_left', 'run_child']

INHERITED = frozenset({'python', 'instrumentation', 'journal'})
"""Ids of the capabilities that a child gets from its parent, beside its hooks, approvals and eviction."""

_INSTRUCTIONS = (
    'Another agent gave you this task. It sees nothing of your work but your last message: put into that all that it '
    'needs.'
)

_MODES: tuple[ApprovalMode, ...] = ('auto', 'review', 'ask', 'deny')
"""From the least strict to the strictest."""

_levels: ContextVar[int | None] = ContextVar('deep_notebook.subagent_levels', default=None)


def levels_left(own: int) -> int:
    """Return how many levels of subagents may follow here, of the `own` that an agent was given."""
    inherited = _levels.get()
    return own if inherited is None else min(own, inherited)


@dataclass(frozen=True, kw_only=True)
class ChildSettings:
    """What holds for every child of an agent."""

    factory: SubAgentFactory
    model: Model | str | None = None
    """Who answers where a definition does not say; by default whoever answers the parent."""
    toolsets: Sequence[AbstractToolset[Any]] = ()
    """Tools for every child that is made here."""
    levels: int = 1
    """How many levels of subagents may follow below the parent."""
    nested: Callable[[int], AbstractCapability[Any]] | None = None
    """Returns the capability with which a child gives out tasks, for so many levels."""


async def run_child(
    config: SubAgentConfig,
    prompt: str,
    *,
    task: SubagentTask,
    scope: TaskScope,
    settings: ChildSettings,
    background: bool,
) -> str:
    """Run a child to its end, on its parent's account, and return its answer; whatever else ends the run is raised."""
    ctx = task.ctx
    given = 'agent' in config
    inherited = ctx.model if isinstance(ctx.model, Model) else None
    model = config.get('model') or settings.model or inherited
    if given:
        agent = config['agent']
    else:
        factory = config.get('agent_factory', settings.factory)
        toolsets = [*config.get('toolsets', ()), *settings.toolsets]
        agent = factory({**config, 'model': model, 'toolsets': toolsets})
    options: dict[str, Any] = {}
    if agent.model is None or (given and config.get('model') is not None):
        options['model'] = model
    if not given:
        options['instructions'] = _INSTRUCTIONS
    if ctx.workspace.attached:
        options['workspace'] = ctx.workspace
    if scope.streamed:
        # A model that is only asked for streams need not know any other way.
        options['event_stream_handler'] = _drain
    token = _levels.set(settings.levels - 1)
    try:
        result = await agent.run(
            prompt,
            deps=_deps(scope, task, levels=settings.levels - 1, background=background),
            usage=ctx.usage,
            usage_limits=ctx.usage_limits,
            capabilities=[*_inherited(agent, scope, task, settings, config), ChildWatch(scope, task)],
            infer_name=False,
            **options,
        )
    finally:
        _levels.reset(token)
    output = result.output
    return output if isinstance(output, str) else to_json(output, indent=2, fallback=repr).decode()


def _inherited(
    agent: AbstractAgent[Any, Any],
    scope: TaskScope,
    task: SubagentTask,
    settings: ChildSettings,
    config: SubAgentConfig,
) -> list[AbstractCapability[Any]]:
    """Return what a child gets from its parent. An agent that is given gets no tools: it has its own. One that only
    looks does not run code.

    What a run is given takes the place of what the agent has under the same id, so hooks of the agent's own keep
    theirs, and of two approval gates the stricter mode holds.
    """
    given = 'agent' in config
    toolless = given or config.get('read_only', False)
    own: list[AbstractCapability[Any]] = []
    agent.root_capability.apply(own.append)
    own_ids = {each.id for each in own}
    moves_results = any(isinstance(each, MovesLargeResults) for each in own)
    capabilities: list[AbstractCapability[Any]] = []
    for id, capability in task.ctx.capabilities.items():
        if isinstance(capability, ApprovalGate):
            gate = child_gate(capability, name=task.name, task=task.id, emit=lambda event: scope.emit(task, event))
            modes = [gate.mode, *(each.mode for each in own if isinstance(each, ApprovalGate))]
            gate.mode = max(modes, key=_MODES.index)
            capabilities.append(gate)
        elif isinstance(capability, HookRunner):
            taken = any(each.id == id and each != capability for each in own)
            capabilities.append(replace(capability, id=f'parent_{id}') if taken else capability)
        elif isinstance(capability, CostTracking):
            name = f'parent_{id}' if id in own_ids else id
            capabilities.append(replace(capability, id=name, parent=capability))
        elif isinstance(capability, MovesLargeResults):
            if not moves_results:
                capabilities.append(capability)
        elif id in INHERITED and id not in own_ids and not (toolless and capability.get_toolset() is not None):
            capabilities.append(capability)
    if not given and settings.nested is not None and settings.levels > 1:
        capabilities.append(settings.nested(settings.levels - 1))
    return capabilities


def _deps(scope: TaskScope, task: SubagentTask, *, levels: int, background: bool) -> Any:
    deps = task.ctx.deps
    if not isinstance(deps, ClonesForSubagents):
        return deps
    child = deps.clone_for_subagent(levels)
    if background and isinstance(child, HasAskUser):
        # The parent knows what the child does not, and can ask the person itself.
        child.ask_user = _AskParent(scope, task)
    return child


@dataclass(frozen=True)
class _AskParent:
    scope: TaskScope
    task: SubagentTask

    async def __call__(self, question: str, options: Sequence[Any]) -> str:
        lines = [question, *(f'- {_option(option)}' for option in options)]
        return await self.scope.ask(self.task, '\n'.join(lines))


def _option(option: Any) -> str:
    if not isinstance(option, dict):
        return str(option)
    about = f': {option["description"]}' if option.get('description') else ''
    return f'{option.get("label")}{" (recommended)" if option.get("recommended") else ""}{about}'


async def _drain(ctx: RunContext[Any], events: AsyncIterable[object]) -> None:
    async for _ in events:
        pass

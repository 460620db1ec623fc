"""Capabilities on demand: out of the first request, until the model loads them or the person's prompt names them."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapperCapability
from pydantic_ai.tools import AgentDepsT

from ..errors import UsageError, did_you_mean
from .approvals import ApprovalGate
from .hooks import HookRunner
from .naming import Wording, phrases

__all__ = ['AUTO_DEFERRED', 'MCP_PREFIX', 'LoadNamed', 'NamedInPrompts', 'deferred']

AUTO_DEFERRED = frozenset(
    {'checkpoints', 'history_search', 'plan', 'skills', 'teams', 'web_fetch', 'web_search'},
)
"""Ids of what most turns can do without; so can they without whatever begins with `MCP_PREFIX`."""
MCP_PREFIX = 'mcp_'
"""How the ids of the capabilities of MCP servers begin; the rest is the server's name."""

_ALWAYS_ON = frozenset({'approvals', 'checkpoint_saving', 'cost', 'hooks', 'load_named', 'security_hooks'})

_WORDS = {
    'checkpoints': phrases(r'(?<!model\s)(?<!training\s)checkpoints?', 'rewind'),
    'history_search': phrases(
        '(?:earlier|previous|past|last|former) (?:conversation|chat)s?',
        r'search (?:our|the|this|my|your) (?:\w+ )?(?:conversation|chat)s?',
        '(?:conversation|chat) history',
    ),
    'memory': phrases('your (?:notes|memory)', 'remember (?:that|this)'),
    'plan': phrases(
        r"(?<!not\s)(?<!n't\s)(?<!n’t\s)(?<!never\s)ask me", 'save (?:a|the|this|that|your) plan', 'planner'
    ),
    'skills': phrases('skills?'),
    'subagents': phrases('sub-?agents?'),
    'teams': phrases('agent teams?', 'teams? of (?:sub-?)?agents', 'spawn a team'),
    'todos': phrases('to-?do list', 'todos'),
    'web_fetch': phrases('fetch (?:this|that|the) (?:page|site|website|url)'),
    'web_search': phrases(
        r'(?:web|internet)[-\s]search',
        'search (?:on )?(?:the )?(?:web|internet|online)',
        r'look \w+ up (?:online|on the (?:web|internet))',
    ),
}
"""What a prompt calls a capability by, beside its id."""
_ORDINARY = frozenset(
    {'data', 'database', 'everything', 'fetch', 'files', 'filesystem', 'memory', 'notes', 'search', 'time', 'web'}
)
"""Names of MCP servers that are words of any prompt: they count beside `mcp`, `server` or `tools`."""


@runtime_checkable
class NamedInPrompts(Protocol):
    """A capability that the person may call by names which only a run knows, such as those of its skills."""

    async def names_in_prompts(self, ctx: RunContext[Any]) -> Collection[str]:
        """Return the names."""
        ...


def deferred(
    capabilities: Iterable[AbstractCapability[AgentDepsT]], defer: Collection[str] | Literal['auto'] = 'auto'
) -> list[AbstractCapability[AgentDepsT]]:
    """Return `capabilities` with copies on demand in the place of those that most turns can do without.

    A capability without an `id` of its own, by which a stored conversation could know it again, stays as it is.

    Args:
        capabilities: Of an agent, as they are; groups and wrappers are looked into.
        defer: Ids of what to defer; `'auto'` is `AUTO_DEFERRED` and all MCP servers.

    Raises:
        UsageError: An id is not one of a capability, or of one that has to work whether or not the model asks for it.
    """
    capabilities = list(capabilities)
    if isinstance(defer, str):
        if defer != 'auto':
            raise UsageError(f"defer is 'auto' or a list of ids: write [{defer!r}].")
    else:
        defer = frozenset(defer)
        _check(defer, capabilities)

    def choose(capability: AbstractCapability[AgentDepsT]) -> AbstractCapability[AgentDepsT]:
        waits = _is_auto(capability.id) if defer == 'auto' else capability.id in defer
        return _on_demand(capability) if waits and capability.defer_loading is not True else capability

    chosen = [each if each.defer_loading is True else each.visit_and_replace(choose) for each in capabilities]
    return [each for each in chosen if each is not None]


def _is_auto(id: str | None) -> bool:
    return id is not None and (id in AUTO_DEFERRED or id.startswith(MCP_PREFIX))


def _check(defer: Collection[str], capabilities: Iterable[AbstractCapability[Any]]) -> None:
    """Raise a `UsageError` if one of the ids cannot be deferred."""
    from . import CAPABILITIES

    visited: list[AbstractCapability[Any]] = []
    for capability in capabilities:
        capability.apply(visited.append)
    always_on = _ALWAYS_ON | {each.id for each in visited if _works_unasked(each)}
    here = sorted(each.id for each in visited if each.id is not None and each.id not in always_on)
    known = {*here, *CAPABILITIES, *AUTO_DEFERRED}
    for id in sorted(defer):
        if id in always_on:
            raise UsageError(
                f'{id!r} cannot be loaded on demand: it has to work whether or not the model asks for it. '
                'Take it out of defer.'
            )
        if id not in known:
            raise UsageError(
                f'There is no capability {id!r} to defer.{did_you_mean(id, known)} There are: {", ".join(here)}. '
                'What has no id of its own cannot be deferred.'
            )


def _works_unasked(capability: AbstractCapability[Any]) -> bool:
    """Return whether `capability` is a policy, or where the files are, or has nothing that the model could load."""
    inner = capability
    while isinstance(inner, WrapperCapability):
        inner = inner.wrapped
    if isinstance(inner, (ApprovalGate, HookRunner)) or type(inner).get_workspace is not _NO_WORKSPACE:
        return True
    contributions = (capability.get_toolset(), capability.get_instructions(), *capability.get_native_tools())
    return all(each is None for each in contributions)


_NO_WORKSPACE = AbstractCapability.get_workspace


def _on_demand(capability: AbstractCapability[AgentDepsT]) -> AbstractCapability[AgentDepsT]:
    maker = next(each for each in type(capability).__mro__ if '__init__' in vars(each))
    if is_dataclass(maker) and '__dataclass_params__' in vars(maker) and vars(maker)['__dataclass_params__'].init:
        return replace(capability, defer_loading=True)
    # Arguments of an __init__ written by hand are not always what it keeps of them.
    copied = copy.copy(capability)
    copied.defer_loading = True
    return copied


@dataclass
class LoadNamed(AbstractCapability[AgentDepsT]):
    """Load what the person's prompt names before the first request, so that the model has its tools at once.

    Only the prompt of the run counts, and of it only the person's own words: no code, nothing quoted, no part of a
    file name. What it misses, the model can load; what it loads without need costs the tokens of its tools. A load is
    kept in the history, so it is there for the rest of the conversation.

    Raises:
        ValueError: It is to be loaded on demand itself.
    """

    names: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Further names of capabilities, by id, as words or phrases of the person."""

    id: str | None = field(default='load_named', kw_only=True)
    description: str | None = field(default='Load at once what the prompt names.', kw_only=True)

    def __post_init__(self) -> None:
        if self.defer_loading:
            raise ValueError('what loads capabilities cannot be loaded on demand')

    async def before_run(self, ctx: RunContext[AgentDepsT]) -> None:
        """Load what the prompt names."""
        prompt = Wording.of(ctx.prompt)
        for id, capability in ctx.capabilities.items():
            if capability.defer_loading is True and await self._is_named(ctx, prompt, id, capability):
                # Does nothing if it is loaded already.
                ctx.load_capability(id)

    async def _is_named(
        self, ctx: RunContext[AgentDepsT], prompt: Wording, id: str, capability: AbstractCapability[AgentDepsT]
    ) -> bool:
        if (id in _WORDS and prompt.says(_WORDS[id])) or (id == 'web_fetch' and prompt.has_url):
            return True
        names = [*self.names.get(id, ()), *_names_of(id)]
        if isinstance(capability, NamedInPrompts):
            names += await capability.names_in_prompts(ctx)
        return any(map(prompt.names, names))


def _names_of(id: str) -> list[str]:
    """Return what a capability is called by its id: an id of one word may be any word, so it takes more than that."""
    if not id.startswith(MCP_PREFIX):
        return [id] if '_' in id or '-' in id else []
    server = id.removeprefix(MCP_PREFIX)
    if server.lower() in _ORDINARY:
        return [f'{server} mcp', f'mcp {server}', f'{server} server', f'{server} tools']
    return [server]

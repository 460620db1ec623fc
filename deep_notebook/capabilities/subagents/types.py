"""What a subagent is: a few words on it, or an agent that is there already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, Required, runtime_checkable

from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset
from typing_extensions import TypedDict

from ...errors import UsageError, did_you_mean

__all__ = [
    'ClonesForSubagents',
    'HasAskUser',
    'HasSubagents',
    'SubAgentConfig',
    'SubAgentFactory',
    'checked_config',
    'checked_configs',
]


class SubAgentFactory(Protocol):
    """Makes the agent of a definition."""

    def __call__(self, config: SubAgentConfig) -> AbstractAgent[Any, Any]:
        """Return the agent that `config` describes; its `model` is always set.

        An agent that is returned without a model of its own answers with that one.
        """
        ...


class SubAgentConfig(TypedDict, total=False):
    """One subagent."""

    name: Required[str]
    """What the model calls it by."""
    description: Required[str]
    """When to use it: one line for the model that gives out the tasks."""
    instructions: str
    """How it works, added to what every subagent is told."""
    model: Model | str | None
    """Who answers; by default whoever answers its parent."""
    toolsets: Sequence[AbstractToolset[Any]]
    """Tools of its own, beside those that its factory gives it."""
    capabilities: Sequence[AbstractCapability[Any]]
    """Capabilities of its own, beside those that its factory gives it."""
    context_files: Sequence[str]
    """Context files of its own, such as `AGENTS.md`."""
    include_memory: bool
    """Whether it keeps a memory of its own."""
    read_only: bool
    """Whether it only looks: it has no tools that write files or run commands or code."""
    agent: AbstractAgent[Any, Any]
    """An agent that is there already, with its own model, instructions and tools."""
    agent_factory: SubAgentFactory
    """What makes the agent, instead of the factory of the capability."""


@runtime_checkable
class ClonesForSubagents(Protocol):
    """Deps that say what a subagent shares with its parent."""

    def clone_for_subagent(self, max_depth: int = 0) -> Any:
        """Return the deps of a subagent, below which `max_depth` further levels may follow."""
        ...


@runtime_checkable
class HasAskUser(Protocol):
    """Deps that can put a question to the person."""

    ask_user: Any


@runtime_checkable
class HasSubagents(Protocol):
    """Deps that hold agents, by name."""

    subagents: dict[str, Any]


def checked_configs(configs: Iterable[SubAgentConfig]) -> dict[str, SubAgentConfig]:
    """Return definitions by name.

    Raises:
        UsageError: One is not complete, has a key that none has, or shares its name with another.
    """
    checked: dict[str, SubAgentConfig] = {}
    for config in map(checked_config, configs):
        if config['name'] in checked:
            raise UsageError(f'Two subagents are called {config["name"]!r}: rename one.')
        checked[config['name']] = config
    return checked


def checked_config(config: SubAgentConfig) -> SubAgentConfig:
    """Return a copy of a definition that can be used.

    Raises:
        UsageError: It is not complete, or has a key that none has.
    """
    given: Mapping[str, object] = config
    keys = SubAgentConfig.__annotations__
    for key in given:
        if key not in keys:
            raise UsageError(f'A subagent has no {key!r}.{did_you_mean(key, keys)} It can have: {", ".join(keys)}.')
    name, description = given.get('name'), given.get('description')
    if not isinstance(name, str) or not name.strip() or len(name.splitlines()) > 1:
        raise UsageError(f'A subagent needs a name of one line, not {name!r}.')
    if not isinstance(description, str) or not description.strip():
        raise UsageError(f'The subagent {name!r} needs a description: when is it to be used?')
    return config.copy()

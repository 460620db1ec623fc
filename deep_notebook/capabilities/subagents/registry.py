"""Subagents that come and go while the program runs."""

from __future__ import annotations

from threading import Lock

from pydantic_ai.agent import AbstractAgent

from ...errors import UsageError
from .types import SubAgentConfig, checked_config

__all__ = ['DynamicAgentRegistry']


class DynamicAgentRegistry:
    """Subagents by name, for any thread and any event loop.

    An agent that has the registry sees a change with its next request. What was handed out before does not change, and
    a task that runs goes on when its subagent is removed.
    """

    def __init__(self) -> None:
        self._configs: dict[str, SubAgentConfig] = {}
        self._lock = Lock()

    def register(
        self, config: SubAgentConfig, agent: AbstractAgent[object, object] | None = None, *, replace: bool = False
    ) -> None:
        """Add a subagent.

        Args:
            config: Its definition, which is copied.
            agent: An agent that is there already; the same as `config['agent']`.
            replace: Whether it takes the place of one with the same name.

        Raises:
            UsageError: The definition is not complete, or its name is taken.
        """
        config = checked_config(config if agent is None else {**config, 'agent': agent})
        with self._lock:
            if not replace and config['name'] in self._configs:
                raise UsageError(f'A subagent {config["name"]!r} is registered already: `replace=True` replaces it.')
            self._configs[config['name']] = config

    def get(self, name: str) -> SubAgentConfig | None:
        """Return a copy of the definition of `name`, or `None` if there is none."""
        with self._lock:
            config = self._configs.get(name)
        return None if config is None else config.copy()

    def remove(self, name: str) -> bool:
        """Take a subagent away and return whether it was there."""
        with self._lock:
            return self._configs.pop(name, None) is not None

    def list(self) -> tuple[SubAgentConfig, ...]:
        """Return copies of all definitions, in the order of their registration."""
        with self._lock:
            configs = tuple(self._configs.values())
        return tuple(config.copy() for config in configs)

    def __contains__(self, name: object) -> bool:
        with self._lock:
            return name in self._configs

    def __len__(self) -> int:
        with self._lock:
            return len(self._configs)

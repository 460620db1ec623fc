"""The notebook's own agent with subagents and questions, in a kernel: `from harness.extended import extend`."""

from __future__ import annotations

import functools
import inspect

from deep_notebook.agent import create_deep_agent
from deep_notebook.capabilities.plan import PlanCapability
from deep_notebook.capabilities.subagents import SubAgentCapability
from deep_notebook.kernel import answering

__all__ = ['extend']


def extend() -> None:
    """Give the notebook's own agent `task` and `ask_user`, unless it has them by itself."""
    if 'include_subagents' not in inspect.signature(create_deep_agent).parameters:
        extras = [SubAgentCapability(), PlanCapability()]
        answering.create_deep_agent = functools.partial(create_deep_agent, capabilities=extras)  # type: ignore[attr-defined]

"""The notebook's own agent with all tools in its first request, in a kernel: `from harness.extended import extend`."""

from __future__ import annotations

import functools
import inspect
from pathlib import Path

from IPython.core.getipython import get_ipython
from IPython.utils.capture import capture_output

from deep_notebook.agent import create_deep_agent
from deep_notebook.capabilities.plan import PlanCapability
from deep_notebook.capabilities.subagents import SubAgentCapability
from deep_notebook.kernel import answering

__all__ = ['extend']


def extend() -> None:
    """Let the notebook's own agent have `task` and `ask_user` from the start."""
    if 'include_subagents' in inspect.signature(create_deep_agent).parameters:
        Path('extended.yaml').write_text('defer: null\n', encoding='utf-8')
        shell = get_ipython()
        assert shell is not None
        with capture_output():
            shell.run_line_magic('deep', 'spec extended.yaml')
        return
    extras = [SubAgentCapability(), PlanCapability()]
    answering.create_deep_agent = functools.partial(create_deep_agent, capabilities=extras)  # type: ignore[attr-defined]

"""A deep agent that works inside your notebook.

`%load_ext deep_notebook`, then `%%deep` and a wish. In a script, `create_deep_agent()` is the same agent.
Names are imported when they are first used: `import deep_notebook` itself loads no model library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .agent import create_deep_agent
    from .deps import DeepAgentDeps, create_default_deps
    from .errors import DeepNotebookError, UsageError
    from .workspaces import BackendProtocol, KernelWorkspace, SandboxProtocol, StateBackend

_HOMES = {
    'BackendProtocol': 'workspaces',
    'DeepAgentDeps': 'deps',
    'DeepNotebookError': 'errors',
    'KernelWorkspace': 'workspaces',
    'SandboxProtocol': 'workspaces',
    'StateBackend': 'workspaces',
    'UsageError': 'errors',
    'create_deep_agent': 'agent',
    'create_default_deps': 'deps',
}

__all__ = [
    'BackendProtocol',
    'DeepAgentDeps',
    'DeepNotebookError',
    'KernelWorkspace',
    'SandboxProtocol',
    'StateBackend',
    'UsageError',
    '__version__',
    'create_deep_agent',
    'create_default_deps',
    'load_ipython_extension',
    'unload_ipython_extension',
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(importlib.import_module(f'.{home}', __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(ipython: Any) -> None:
    """Load the `%%deep` and `%deep` magics; IPython calls this for `%load_ext deep_notebook`."""
    from .kernel.magics import load

    load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Take the magics away; IPython calls this for `%unload_ext deep_notebook`."""
    from .kernel.magics import unload

    unload(ipython)

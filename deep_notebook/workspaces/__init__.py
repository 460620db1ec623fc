"""Where an agent's files live: in memory, or in the notebook's directory."""

from __future__ import annotations

from .confinement import AGENT_SPOTS, DEEP_DIRECTORY
from .environment import command_environment
from .keeper import Keeper
from .kernel import KernelWorkspace
from .paths import relative_path
from .protocols import BackendProtocol, SandboxProtocol
from .state import FileData, StateBackend

__all__ = [
    'AGENT_SPOTS',
    'DEEP_DIRECTORY',
    'BackendProtocol',
    'FileData',
    'Keeper',
    'KernelWorkspace',
    'SandboxProtocol',
    'StateBackend',
    'command_environment',
    'relative_path',
]

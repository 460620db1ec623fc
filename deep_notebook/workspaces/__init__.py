"""Where an agent's files live: in memory, or in the notebook's directory."""

from __future__ import annotations

from .paths import relative_path
from .protocols import BackendProtocol, SandboxProtocol
from .state import FileData, StateBackend

__all__ = ['BackendProtocol', 'FileData', 'SandboxProtocol', 'StateBackend', 'relative_path']

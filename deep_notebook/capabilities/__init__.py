"""What an agent can do, one feature one module."""

from __future__ import annotations

from typing import Any

from pydantic_ai.capabilities import AbstractCapability

from .approvals import ApprovalGate
from .filesystem import Filesystem
from .python import RunPython
from .todos import Todos

__all__ = ['CAPABILITIES', 'ApprovalGate', 'Filesystem', 'RunPython', 'Todos']

CAPABILITIES: dict[str, type[AbstractCapability[Any]]] = {
    'todos': Todos,
    'filesystem': Filesystem,
    'python': RunPython,
    'approvals': ApprovalGate,
}
"""Each capability by the id that histories and settings know it by."""

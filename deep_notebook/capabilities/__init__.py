"""What an agent can do, one feature one module."""

from __future__ import annotations

from typing import Any

from pydantic_ai.capabilities import AbstractCapability

from .approvals import ApprovalGate
from .context_files import ContextFilesCapability
from .context_manager import ContextManagerCapability
from .eviction import EvictionProcessor
from .filesystem import Filesystem
from .history_search import HistorySearch
from .hooks import HooksCapability
from .memory import MemoryCapability
from .patch_tool_calls import PatchToolCalls
from .plan import PlanCapability
from .python import RunPython
from .security_hooks import SecurityHooks
from .skills import SkillsCapability
from .subagents import SubAgentCapability
from .todos import Todos

__all__ = [
    'CAPABILITIES',
    'ApprovalGate',
    'ContextFilesCapability',
    'ContextManagerCapability',
    'EvictionProcessor',
    'Filesystem',
    'HistorySearch',
    'HooksCapability',
    'MemoryCapability',
    'PatchToolCalls',
    'PlanCapability',
    'RunPython',
    'SecurityHooks',
    'SkillsCapability',
    'SubAgentCapability',
    'Todos',
]

CAPABILITIES: dict[str, type[AbstractCapability[Any]]] = {
    'todos': Todos,
    'filesystem': Filesystem,
    'python': RunPython,
    'skills': SkillsCapability,
    'plan': PlanCapability,
    'subagents': SubAgentCapability,
    'memory': MemoryCapability,
    'context_files': ContextFilesCapability,
    'hooks': HooksCapability,
    'security_hooks': SecurityHooks,
    'eviction': EvictionProcessor,
    'patch_tool_calls': PatchToolCalls,
    'context_manager': ContextManagerCapability,
    'history_search': HistorySearch,
    'approvals': ApprovalGate,
}
"""Each capability by the id that histories and settings know it by."""

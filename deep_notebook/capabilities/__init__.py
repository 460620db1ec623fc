"""What an agent can do, one feature one module."""

from __future__ import annotations

from typing import Any

from pydantic_ai.capabilities import AbstractCapability

from .approvals import ApprovalGate
from .checkpoints import CheckpointCapability, CheckpointMiddleware
from .context_files import ContextFilesCapability
from .context_manager import ContextManagerCapability
from .cost import CostTracking
from .eviction import EvictionProcessor
from .filesystem import Filesystem
from .history_search import HistorySearch
from .hooks import HooksCapability
from .mcp import McpCapability
from .memory import MemoryCapability
from .on_demand import LoadNamed
from .patch_tool_calls import PatchToolCalls
from .plan import PlanCapability
from .python import RunPython
from .security_hooks import SecurityHooks
from .skills import SkillsCapability
from .subagents import SubAgentCapability
from .todos import Todos
from .web import WebFetchCapability, WebSearchCapability

__all__ = [
    'CAPABILITIES',
    'ApprovalGate',
    'CheckpointCapability',
    'CheckpointMiddleware',
    'ContextFilesCapability',
    'ContextManagerCapability',
    'CostTracking',
    'EvictionProcessor',
    'Filesystem',
    'HistorySearch',
    'HooksCapability',
    'LoadNamed',
    'McpCapability',
    'MemoryCapability',
    'PatchToolCalls',
    'PlanCapability',
    'RunPython',
    'SecurityHooks',
    'SkillsCapability',
    'SubAgentCapability',
    'Todos',
    'WebFetchCapability',
    'WebSearchCapability',
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
    'web_search': WebSearchCapability,
    'web_fetch': WebFetchCapability,
    'checkpoints': CheckpointCapability,
    'checkpoint_saving': CheckpointMiddleware,
    'hooks': HooksCapability,
    'security_hooks': SecurityHooks,
    'cost': CostTracking,
    'eviction': EvictionProcessor,
    'patch_tool_calls': PatchToolCalls,
    'context_manager': ContextManagerCapability,
    'history_search': HistorySearch,
    'approvals': ApprovalGate,
    'load_named': LoadNamed,
}
"""Each capability by the id that histories and settings know it by; those of MCP servers are `mcp_` and a name."""

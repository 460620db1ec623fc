"""Give work to other agents, which work on the account of the one that asks."""

from __future__ import annotations

from .builtin import builtin_subagents, default_agent_factory
from .capability import SubAgentCapability
from .registry import DynamicAgentRegistry
from .toolset import SubAgentToolset, create_subagent_toolset
from .types import SubAgentConfig, SubAgentFactory

__all__ = [
    'DynamicAgentRegistry',
    'SubAgentCapability',
    'SubAgentConfig',
    'SubAgentFactory',
    'SubAgentToolset',
    'builtin_subagents',
    'create_subagent_toolset',
    'default_agent_factory',
]

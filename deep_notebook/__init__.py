"""A deep agent that works inside your notebook.

`%load_ext deep_notebook`, then `%%deep` and a wish. In a script, `create_deep_agent()` is the same agent.
Names are imported when they are first used: `import deep_notebook` itself loads no model library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .agent import create_deep_agent, run_with_files
    from .capabilities.approvals import ApprovalGate
    from .capabilities.checkpoints import CheckpointCapability, CheckpointMiddleware, CheckpointToolset
    from .capabilities.context_files import ContextFilesCapability, ContextToolset
    from .capabilities.context_manager import ContextManagerCapability
    from .capabilities.cost import BudgetExceededError, CostInfo, CostTracking, UnpricedModelWarning
    from .capabilities.eviction import EvictionProcessor
    from .capabilities.filesystem import ConsoleFilesystemToolset, Filesystem, create_console_toolset
    from .capabilities.history_search import HistorySearch, HistorySearchToolset, create_history_search_toolset
    from .capabilities.hooks import Hook, HookEvent, HookInput, HookResult, HooksCapability
    from .capabilities.mcp import McpCapability, McpServer, load_mcp_file
    from .capabilities.memory import AgentMemoryToolset, MemoryCapability
    from .capabilities.on_demand import LoadNamed
    from .capabilities.patch_tool_calls import PatchToolCalls, patch_tool_calls_processor
    from .capabilities.plan import PlanCapability, PlanToolset, create_plan_toolset
    from .capabilities.python import RunPython
    from .capabilities.security_hooks import SecurityHooks
    from .capabilities.skills import (
        BackendSkillScriptExecutor,
        BackendSkillsDirectory,
        LocalSkillScriptExecutor,
        Skill,
        SkillResource,
        SkillsCapability,
        SkillScript,
        SkillsDirectory,
        SkillsToolset,
        SkillWrapper,
    )
    from .capabilities.subagents import (
        DynamicAgentRegistry,
        SubAgentCapability,
        SubAgentConfig,
        SubAgentToolset,
        create_subagent_toolset,
    )
    from .capabilities.todos import Todo, Todos, TodoToolset, create_todo_toolset
    from .capabilities.web import WebFetchCapability, WebSearchCapability
    from .deps import DeepAgentDeps, UploadedFile, create_default_deps
    from .errors import DeepNotebookError, McpServerError, RewindRequested, UsageError
    from .options import DeepAgentOptions, DeepAgentSpec
    from .spec import DeepAgent
    from .store import ConversationArchives, MessageArchive, SearchHit
    from .store.checkpoint_files import FileCheckpointStore
    from .store.checkpoint_graph import GraphCheckpointStore
    from .store.checkpoint_sqlite import SqliteCheckpointStore
    from .store.checkpoints import Checkpoint, CheckpointStore, InMemoryCheckpointStore, fork_from_checkpoint
    from .store.graph import GraphEngine, SqliteGraph
    from .styles import BUILTIN_STYLES, OutputStyle
    from .workspaces import BackendProtocol, KernelWorkspace, SandboxProtocol, StateBackend

_HOMES = {
    'AgentMemoryToolset': 'capabilities.memory',
    'ApprovalGate': 'capabilities.approvals',
    'BUILTIN_STYLES': 'styles',
    'BackendProtocol': 'workspaces',
    'BackendSkillScriptExecutor': 'capabilities.skills',
    'BackendSkillsDirectory': 'capabilities.skills',
    'BudgetExceededError': 'capabilities.cost',
    'Checkpoint': 'store.checkpoints',
    'CheckpointCapability': 'capabilities.checkpoints',
    'CheckpointMiddleware': 'capabilities.checkpoints',
    'CheckpointStore': 'store.checkpoints',
    'CheckpointToolset': 'capabilities.checkpoints',
    'ConsoleFilesystemToolset': 'capabilities.filesystem',
    'ContextFilesCapability': 'capabilities.context_files',
    'ContextManagerCapability': 'capabilities.context_manager',
    'ContextToolset': 'capabilities.context_files',
    'ConversationArchives': 'store',
    'CostInfo': 'capabilities.cost',
    'CostTracking': 'capabilities.cost',
    'DeepAgent': 'spec',
    'DeepAgentDeps': 'deps',
    'DeepAgentOptions': 'options',
    'DeepAgentSpec': 'options',
    'DeepNotebookError': 'errors',
    'DynamicAgentRegistry': 'capabilities.subagents',
    'EvictionProcessor': 'capabilities.eviction',
    'FileCheckpointStore': 'store.checkpoint_files',
    'Filesystem': 'capabilities.filesystem',
    'GraphCheckpointStore': 'store.checkpoint_graph',
    'GraphEngine': 'store.graph',
    'HistorySearch': 'capabilities.history_search',
    'HistorySearchToolset': 'capabilities.history_search',
    'Hook': 'capabilities.hooks',
    'HookEvent': 'capabilities.hooks',
    'HookInput': 'capabilities.hooks',
    'HookResult': 'capabilities.hooks',
    'HooksCapability': 'capabilities.hooks',
    'InMemoryCheckpointStore': 'store.checkpoints',
    'KernelWorkspace': 'workspaces',
    'LoadNamed': 'capabilities.on_demand',
    'LocalSkillScriptExecutor': 'capabilities.skills',
    'McpCapability': 'capabilities.mcp',
    'McpServer': 'capabilities.mcp',
    'McpServerError': 'errors',
    'MemoryCapability': 'capabilities.memory',
    'MessageArchive': 'store',
    'OutputStyle': 'styles',
    'PatchToolCalls': 'capabilities.patch_tool_calls',
    'PlanCapability': 'capabilities.plan',
    'PlanToolset': 'capabilities.plan',
    'RewindRequested': 'errors',
    'RunPython': 'capabilities.python',
    'SandboxProtocol': 'workspaces',
    'SearchHit': 'store',
    'SecurityHooks': 'capabilities.security_hooks',
    'Skill': 'capabilities.skills',
    'SkillResource': 'capabilities.skills',
    'SkillScript': 'capabilities.skills',
    'SkillWrapper': 'capabilities.skills',
    'SkillsCapability': 'capabilities.skills',
    'SkillsDirectory': 'capabilities.skills',
    'SkillsToolset': 'capabilities.skills',
    'SqliteCheckpointStore': 'store.checkpoint_sqlite',
    'SqliteGraph': 'store.graph',
    'StateBackend': 'workspaces',
    'SubAgentCapability': 'capabilities.subagents',
    'SubAgentConfig': 'capabilities.subagents',
    'SubAgentToolset': 'capabilities.subagents',
    'Todo': 'capabilities.todos',
    'TodoToolset': 'capabilities.todos',
    'Todos': 'capabilities.todos',
    'UnpricedModelWarning': 'capabilities.cost',
    'UploadedFile': 'deps',
    'UsageError': 'errors',
    'WebFetchCapability': 'capabilities.web',
    'WebSearchCapability': 'capabilities.web',
    'create_console_toolset': 'capabilities.filesystem',
    'create_deep_agent': 'agent',
    'create_default_deps': 'deps',
    'create_history_search_toolset': 'capabilities.history_search',
    'create_plan_toolset': 'capabilities.plan',
    'create_subagent_toolset': 'capabilities.subagents',
    'create_todo_toolset': 'capabilities.todos',
    'fork_from_checkpoint': 'store.checkpoints',
    'load_mcp_file': 'capabilities.mcp',
    'patch_tool_calls_processor': 'capabilities.patch_tool_calls',
    'run_with_files': 'agent',
}

__all__ = [
    'BUILTIN_STYLES',
    'AgentMemoryToolset',
    'ApprovalGate',
    'BackendProtocol',
    'BackendSkillScriptExecutor',
    'BackendSkillsDirectory',
    'BudgetExceededError',
    'Checkpoint',
    'CheckpointCapability',
    'CheckpointMiddleware',
    'CheckpointStore',
    'CheckpointToolset',
    'ConsoleFilesystemToolset',
    'ContextFilesCapability',
    'ContextManagerCapability',
    'ContextToolset',
    'ConversationArchives',
    'CostInfo',
    'CostTracking',
    'DeepAgent',
    'DeepAgentDeps',
    'DeepAgentOptions',
    'DeepAgentSpec',
    'DeepNotebookError',
    'DynamicAgentRegistry',
    'EvictionProcessor',
    'FileCheckpointStore',
    'Filesystem',
    'GraphCheckpointStore',
    'GraphEngine',
    'HistorySearch',
    'HistorySearchToolset',
    'Hook',
    'HookEvent',
    'HookInput',
    'HookResult',
    'HooksCapability',
    'InMemoryCheckpointStore',
    'KernelWorkspace',
    'LoadNamed',
    'LocalSkillScriptExecutor',
    'McpCapability',
    'McpServer',
    'McpServerError',
    'MemoryCapability',
    'MessageArchive',
    'OutputStyle',
    'PatchToolCalls',
    'PlanCapability',
    'PlanToolset',
    'RewindRequested',
    'RunPython',
    'SandboxProtocol',
    'SearchHit',
    'SecurityHooks',
    'Skill',
    'SkillResource',
    'SkillScript',
    'SkillWrapper',
    'SkillsCapability',
    'SkillsDirectory',
    'SkillsToolset',
    'SqliteCheckpointStore',
    'SqliteGraph',
    'StateBackend',
    'SubAgentCapability',
    'SubAgentConfig',
    'SubAgentToolset',
    'Todo',
    'TodoToolset',
    'Todos',
    'UnpricedModelWarning',
    'UploadedFile',
    'UsageError',
    'WebFetchCapability',
    'WebSearchCapability',
    '__version__',
    'create_console_toolset',
    'create_deep_agent',
    'create_default_deps',
    'create_history_search_toolset',
    'create_plan_toolset',
    'create_subagent_toolset',
    'create_todo_toolset',
    'fork_from_checkpoint',
    'load_ipython_extension',
    'load_mcp_file',
    'patch_tool_calls_processor',
    'run_with_files',
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

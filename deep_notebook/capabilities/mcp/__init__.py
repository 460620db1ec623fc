"""Tools of MCP servers: programs that run beside the agent, or services that it reaches by address."""

from __future__ import annotations

from .capability import McpCapability, mcp_capabilities
from .connection import McpConnection, McpTool
from .servers import McpServer, load_mcp_file, mcp_server, mcp_servers

__all__ = [
    'McpCapability',
    'McpConnection',
    'McpServer',
    'McpTool',
    'load_mcp_file',
    'mcp_capabilities',
    'mcp_server',
    'mcp_servers',
]

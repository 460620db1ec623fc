"""The tools of one MCP server, as a capability of the agent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import InstructionPart
from pydantic_ai.tools import AgentDepsT, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

from ...errors import McpServerError
from ..approvals import PREVIEW, Preview, PreviewFunction
from ..events import NoticeEvent
from ..tool_classes import UNSEEN, WRITE
from .connection import CALL_TIMEOUT, CONNECT_TIMEOUT, McpConnection, check_server, one_line
from .servers import McpServer, mcp_servers

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestContext

__all__ = ['McpCapability', 'mcp_capabilities']

_NOT_IN_NAMES = re.compile(r'[^A-Za-z0-9_-]')
_MAX_NAME = 64
"""Characters of a tool's name that providers take."""
_MAX_DESCRIPTION = 2_000
"""Characters of what a server says of one tool."""


@dataclass
class McpCapability(AbstractCapability[AgentDepsT]):
    """Let the agent use the tools of an MCP server, each named `{server}_{tool}`.

    A run starts the server when it first needs the tools, and ends it with itself. Every call is asked about like a
    write, whatever the server says of its tools; what the server would have the agent be told, beside what its tools
    do, is not passed on. A server that does not start, or dies, is missing for the rest of the run: the model is told,
    and the person by a `NoticeEvent`.
    """

    server: McpServer
    connect_timeout: float = field(default=CONNECT_TIMEOUT, kw_only=True)
    """Seconds in which the server must have said what it can do."""
    call_timeout: float = field(default=CALL_TIMEOUT, kw_only=True)
    """Seconds that one call may take."""

    id: str | None = field(default=None, kw_only=True)
    """By default `mcp_` and the server's name."""
    description: str | None = field(default=None, kw_only=True)
    """By default what the server's settings say it is for."""

    _toolset: _McpToolset[AgentDepsT] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.id = self.id or f'mcp_{self.server.name}'
        self.description = self.description or self.server.description or f'Tools of {self.server.name} (MCP server).'
        self._toolset = _McpToolset(self)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return `None`: a spec file names servers under `mcp_servers`."""
        return None

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> McpCapability[AgentDepsT]:
        """Return a copy for one run.

        Raises:
            UsageError: The package for MCP is not installed, or a variable that the server needs is not set.
        """
        check_server(self.server)
        return replace(self)

    def get_toolset(self) -> AbstractToolset[AgentDepsT]:
        """Return the tools."""
        return self._toolset

    def get_instructions(self) -> Any:
        """Return what the model must know of a server that is missing."""
        return self._missing

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Tell the person of a server that is missing, once."""
        fault = self._toolset.take_news()
        if fault is not None:
            await ctx.emit(NoticeEvent(text=f'{fault} The run goes on without it.'))
        return request_context

    def _missing(self, ctx: RunContext[AgentDepsT]) -> InstructionPart:
        gone = self._toolset.fault is not None
        text = (
            f'The MCP server {self.server.name} is not running, so its tools are missing in this run.' if gone else ''
        )
        return InstructionPart(text, name='missing', on_change='append')


def mcp_capabilities(
    config: Mapping[str, McpServer | Mapping[str, Any]], *, defer_loading: bool = False
) -> list[McpCapability[Any]]:
    """Return a capability for each server that `config` describes, as `mcp_servers` says, and does not switch off.

    Raises:
        UsageError: Something in it cannot be; the message says what and where.
    """
    servers = mcp_servers(config).values()
    return [McpCapability(server, defer_loading=defer_loading) for server in servers if not server.disabled]


class _McpToolset(AbstractToolset[AgentDepsT]):
    """The tools of the server in one run, under names and classes of ours."""

    def __init__(self, capability: McpCapability[AgentDepsT]) -> None:
        self._capability = capability
        self._server = capability.server
        self._connection: McpConnection | None = None
        self._connecting = asyncio.Lock()
        self._tools: dict[str, ToolsetTool[AgentDepsT]] = {}
        self._names: dict[str, str] = {}
        self.fault: str | None = None
        """Why the server is missing."""
        self._said = False

    @property
    def id(self) -> str | None:
        return self._capability.id

    @property
    def label(self) -> str:
        return f'MCP server {self._server.name!r}'

    async def __aexit__(self, *args: Any) -> None:
        await self._close()

    def take_news(self) -> str | None:
        """Return why the server is missing, the first time that is asked."""
        if self._said:
            return None
        self._said = self.fault is not None
        return self.fault

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        if self._capability.defer_loading and self._capability.id not in ctx.loaded_capability_ids:
            return {}
        connection = await self._connected()
        if connection is None:
            # Tools that a model has seen stay where they were: it is told what became of them when it calls one.
            return self._tools
        try:
            given = await connection.toolset.get_tools(ctx)
        except Exception as error:
            await self._lose(connection, error)
            return self._tools
        self._tools = {}
        for name, tool in given.items():
            ours = self._name(name)
            self._names[ours] = name
            self._tools[ours] = replace(tool, toolset=self, tool_def=self._defined(ours, name, tool.tool_def))
        return self._tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> Any:
        connection = await self._connected()
        if connection is None:
            raise ToolFailed(f'{self.fault} Go on without it.')
        original = self._names[name]
        inner = replace(tool, toolset=connection.toolset, tool_def=replace(tool.tool_def, name=original))
        try:
            return await connection.toolset.call_tool(original, tool_args, replace(ctx, tool_name=original), inner)
        except ToolFailed:
            raise
        except Exception as error:
            line = _text(error)
            if not isinstance(error, ModelRetry) or 'Connection closed' in line:
                await self._lose(connection, error)
                raise ToolFailed(
                    f'{self.fault} Whether {name} was carried out is not known. Go on without it.'
                ) from error
            # A call that is refused or takes too long costs none of the tool's retries.
            raise ToolFailed(f'{name}: {line}.') from error

    async def _connected(self) -> McpConnection | None:
        async with self._connecting:
            if self._connection is None and self.fault is None:
                connection = McpConnection(
                    self._server,
                    connect_timeout=self._capability.connect_timeout,
                    call_timeout=self._capability.call_timeout,
                )
                try:
                    self._connection = await connection.__aenter__()
                except McpServerError as error:
                    self.fault = str(error)
            return self._connection

    async def _lose(self, connection: McpConnection, error: Exception) -> None:
        if self.fault is None:
            words = connection.last_words()
            fault = 'it ended.' if self._server.command is not None else f'it is gone: {_text(error)}.'
            self._server.state = f'{fault} Its last words: {words!r}.' if words else fault
            self.fault = f'MCP server {self._server.name!r}: {self._server.state}'
        await self._close()

    async def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _name(self, name: str) -> str:
        ours = _NOT_IN_NAMES.sub('_', f'{self._server.name}_{name}')[:_MAX_NAME]
        number = 2
        while ours in self._tools:
            ours = f'{ours[: _MAX_NAME - 3]}_{number}'
            number += 1
        return ours

    def _defined(self, ours: str, name: str, definition: ToolDefinition) -> ToolDefinition:
        description = (definition.description or '').strip()
        if len(description) > _MAX_DESCRIPTION:
            description = f'{description[: _MAX_DESCRIPTION - 1]}…'
        metadata = {**(definition.metadata or {}), **WRITE, **UNSEEN, PREVIEW: _preview(name, self._server.name)}
        return replace(definition, name=ours, description=description, metadata=metadata)


def _text(error: Exception) -> str:
    return one_line(str(error) or type(error).__name__).rstrip('.')


def _preview(tool: str, server: str) -> PreviewFunction:
    async def preview(ctx: RunContext[Any], args: dict[str, Any]) -> Preview:
        return Preview(title=f'Call {one_line(tool)} of the MCP server {server}?')

    return preview

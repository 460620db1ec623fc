"""One connection to an MCP server: opened within a time, closed with what it started, its faults in one line."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from ...errors import McpServerError, UsageError
from ...masking import mask_secrets
from ...workspaces.environment import command_environment
from .servers import McpServer

if TYPE_CHECKING:
    from pydantic_ai.mcp import MCPToolset

__all__ = ['CALL_TIMEOUT', 'CONNECT_TIMEOUT', 'McpConnection', 'McpTool', 'check_server', 'one_line']

CONNECT_TIMEOUT = 30.0
"""Seconds in which a server must have started and said what it can do."""
CALL_TIMEOUT = 300.0
"""Seconds that one call may take."""
_CLOSE_TIMEOUT = 15.0
"""Seconds; a process that does not end by itself is killed long before."""
_LINE = 200


@dataclass(frozen=True)
class McpTool:
    """A tool as its server describes it."""

    name: str
    description: str


def check_server(server: McpServer) -> McpServer:
    """Return `server` as it would be started now.

    Raises:
        UsageError: The package for it is not installed, or a variable that it needs is not set.
    """
    if find_spec('fastmcp') is None:
        raise UsageError('MCP servers need a package that is not installed: `pip install "deep-notebook[mcp]"`.')
    return server.expanded()


class McpConnection:
    """A connection that is open in a `with` block; a server that is a program runs as long.

    Args:
        server: What to connect to.
        connect_timeout: Seconds in which it must have said what it can do.
        call_timeout: Seconds that one call may take.
    """

    def __init__(
        self, server: McpServer, *, connect_timeout: float = CONNECT_TIMEOUT, call_timeout: float = CALL_TIMEOUT
    ) -> None:
        self.server = server
        self._connect_timeout = connect_timeout
        self._call_timeout = call_timeout
        self._log: TextIO | None = None
        self._toolset: MCPToolset[Any] | None = None

    @property
    def toolset(self) -> MCPToolset[Any]:
        """The tools, while the connection is open."""
        assert self._toolset is not None
        return self._toolset

    async def __aenter__(self) -> McpConnection:
        """Open it.

        Raises:
            McpServerError: It cannot be reached, or does not answer as it should.
            UsageError: It lacks something that the person can add.
        """
        settings = check_server(self.server)
        # Seconds of importing, which the event loop need not wait for.
        await asyncio.to_thread(_import_libraries)
        try:
            toolset = self._make(settings)
            async with asyncio.timeout(self._connect_timeout):
                await toolset.__aenter__()
                self._toolset = toolset
                tools = await toolset.list_tools()
        except Exception as error:
            fault = self._fault(settings, error)
            await self.close()
            self.server.state = fault
            raise McpServerError(f'MCP server {self.server.name!r}: {fault}') from error
        except asyncio.CancelledError:
            await self.close()
            raise
        self.server.state = f'{len(tools)} tool{"" if len(tools) == 1 else "s"}'
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        await self.close()

    async def close(self) -> None:
        """Close it; a program that was started has ended then."""
        toolset, self._toolset = self._toolset, None
        log, self._log = self._log, None
        try:
            if toolset is not None:
                async with asyncio.timeout(_CLOSE_TIMEOUT):
                    await toolset.__aexit__(None, None, None)
        except Exception:
            logging.getLogger(__name__).debug('closing MCP server %r', self.server.name, exc_info=True)
        finally:
            if log is not None:
                log.close()

    async def tools(self) -> list[McpTool]:
        """Return the tools as the server describes them."""
        return [McpTool(tool.name, one_line(tool.description or '')) for tool in await self.toolset.list_tools()]

    def last_words(self) -> str:
        """Return the last line that the program wrote about itself, or an empty string."""
        if self._log is None:
            return ''
        with suppress(OSError, ValueError):
            self._log.seek(max(0, self._log.seek(0, 2) - 4_000))
            lines = [line.strip() for line in self._log.read().splitlines() if line.strip()]
            return one_line(lines[-1]) if lines else ''
        return ''

    def _make(self, settings: McpServer) -> MCPToolset[Any]:
        from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
        from pydantic_ai.mcp import MCPToolset

        for name in ('mcp', 'fastmcp'):
            # What these libraries log of a faulty server is not for a cell; a program that wants it sets up logging.
            logger = logging.getLogger(name)
            if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
                logger.addHandler(logging.NullHandler())
        transport: Any
        if settings.command is not None:
            env = {**command_environment(), **settings.env}
            program = shutil.which(os.path.expanduser(settings.command), path=env.get('PATH'))
            if program is None:
                hint = ' Its arguments belong into args.' if ' ' in settings.command else ''
                raise FileNotFoundError(f'there is no program {settings.command!r}.{hint}')
            cwd = None if settings.cwd is None else str(Path(settings.cwd).expanduser())
            if cwd is not None and not Path(cwd).is_dir():
                raise FileNotFoundError(f'there is no directory {cwd!r}.')
            self._log = tempfile.TemporaryFile('w+', encoding='utf-8', errors='replace')  # noqa: SIM115
            transport = StdioTransport(
                program, list(settings.args), env=env, cwd=cwd, keep_alive=False, log_file=self._log
            )
        else:
            kind = SSETransport if settings.is_sse else StreamableHttpTransport
            transport = kind(settings.url or '', headers=dict(settings.headers))
        return MCPToolset(
            transport,
            id=f'mcp_{settings.name}',
            init_timeout=self._connect_timeout,
            read_timeout=self._call_timeout,
            tool_error_behavior='failed',
        )

    def _fault(self, settings: McpServer, error: BaseException) -> str:
        """Return what is wrong with the server, in one line that holds no secret."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, FileNotFoundError):
            return one_line(str(error))
        if isinstance(error, TimeoutError) or 'Failed to initialize' in str(error) or 'timed out' in str(error):
            line = f'it did not answer within {self._connect_timeout:g} s.'
        elif settings.command is not None and 'Connection closed' in str(error):
            line = 'it ended before it was ready.'
        else:
            text = str(error).removeprefix('Client failed to connect: ') or type(error).__name__
            verb = 'started' if settings.command is not None else 'reached'
            line = f'it could not be {verb}: {text.rstrip(".")}.'
        words = self.last_words()
        return one_line(f'{line} Its last words: {words!r}.' if words else line)


def _import_libraries() -> None:
    # jsonschema is imported by the first call otherwise.
    for module in ('pydantic_ai.mcp', 'jsonschema'):
        importlib.import_module(module)


def one_line(text: str) -> str:
    """Return `text` on one line, without secrets and not too long to be read."""
    line = mask_secrets(' '.join(text.split()))
    return line if len(line) <= _LINE else f'{line[: _LINE - 1]}…'

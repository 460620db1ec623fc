"""`%deep mcp`: the MCP servers of a notebook, listed, added, removed and looked at."""

from __future__ import annotations

import shlex

from ..capabilities.mcp import McpConnection, McpServer, load_mcp_file, mcp_server
from ..errors import UsageError, did_you_mean

__all__ = ['USAGE', 'run']

USAGE = {
    'add': 'add NAME COMMAND [ARGS…], or add NAME URL',
    'load': 'load FILE, such as .mcp.json',
    'remove': 'remove NAME',
    'tools': 'tools NAME',
}
"""What may follow `%deep mcp`, by its first word."""


async def run(servers: dict[str, McpServer], rest: str) -> list[str]:
    """Do what `rest` says and return what to show of it, as lines.

    Args:
        servers: The servers of the session by name; changed by `add`, `load` and `remove`.
        rest: What follows `%deep mcp`; nothing lists the servers.

    Raises:
        UsageError: It says something that cannot be done; the servers are as they were.
    """
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise UsageError(f'%deep mcp {rest}: {str(error).lower()}.') from None
    match words:
        case []:
            return _listed(servers)
        case ['add', name, address] if address.startswith(('http://', 'https://')):
            return _add(servers, {name: mcp_server(name, {'url': address})})
        case ['add', name, command, *args] if not command.startswith(('http://', 'https://')):
            return _add(servers, {name: mcp_server(name, {'command': command, 'args': args})})
        case ['load', path]:
            return _add(servers, load_mcp_file(path))
        case ['remove', name]:
            del servers[_known(servers, name)]
            return [f'{name} is removed. It is not started any more.']
        case ['tools', name]:
            return await _tools(servers[_known(servers, name)])
        case [word, *_] if word in USAGE:
            raise UsageError(f'%deep mcp {USAGE[word]}')
        case _:
            raise UsageError(f'%deep mcp has no {words[0]!r}.{did_you_mean(words[0], USAGE)} There are: {_usage()}.')


def _listed(servers: dict[str, McpServer]) -> list[str]:
    if not servers:
        return [f'There are no MCP servers. %deep mcp {USAGE["add"]}']
    return [
        f'  {server.name}: {server.where} · {"switched off" if server.disabled else server.state}'
        for server in servers.values()
    ]


def _add(servers: dict[str, McpServer], new: dict[str, McpServer]) -> list[str]:
    lines = [f'{name} is {"replaced" if name in servers else "added"}: {new[name].where}' for name in new]
    servers.update(new)
    return [*lines, 'The next %%deep can use it; every call is asked about. %deep mcp tools NAME shows what it can do.']


async def _tools(server: McpServer) -> list[str]:
    async with McpConnection(server) as connection:
        tools = await connection.tools()
    return [f'  {server.name}_{tool.name}' + (f': {tool.description}' if tool.description else '') for tool in tools]


def _known(servers: dict[str, McpServer], name: str) -> str:
    if name not in servers:
        raise UsageError(f'There is no MCP server {name!r}.{did_you_mean(name, servers)} `%deep mcp` lists them.')
    return name


def _usage() -> str:
    return '; '.join(USAGE.values())

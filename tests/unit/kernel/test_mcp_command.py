"""`%deep mcp`: what a person reads and writes about MCP servers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from deep_notebook.capabilities.mcp import McpServer, mcp_server
from deep_notebook.errors import McpServerError, UsageError
from deep_notebook.kernel.mcp_command import run
from harness.mcp import SERVER

pytestmark = pytest.mark.anyio

NEXT = 'The next %%deep can use it; every call is asked about. %deep mcp tools NAME shows what it can do.'


async def test_servers_come_and_go() -> None:
    servers: dict[str, McpServer] = {}
    assert await run(servers, '') == ['There are no MCP servers. %deep mcp add NAME COMMAND [ARGS…], or add NAME URL']
    added = await run(servers, 'add files npx -y "server files" --root=${HOME}')
    assert added == ['files is added: npx -y server files --root=${HOME}', NEXT]
    assert servers['files'].args == ('-y', 'server files', '--root=${HOME}')
    assert await run(servers, 'add web https://me:k3y@example.org/mcp?key=k3y') == [
        'web is added: https://example.org/mcp',
        NEXT,
    ]
    servers['web'].state = '3 tools'
    assert await run(servers, '') == [
        '  files: npx -y server files --root=${HOME} · not used yet',
        '  web: https://example.org/mcp · 3 tools',
    ]
    assert (await run(servers, 'add web uvx web'))[0] == 'web is replaced: uvx web'
    assert await run(servers, 'remove files') == ['files is removed. It is not started any more.']
    assert list(servers) == ['web']


async def test_the_tools_of_a_server_are_looked_at() -> None:
    servers = {'demo': mcp_server('demo', {'command': sys.executable, 'args': [str(SERVER)]})}
    lines = await run(servers, 'tools demo')
    assert '  demo_add: Add two numbers.' in lines
    assert max(map(len, lines)) < 250
    assert await run(servers, '') == [f'  demo: {sys.executable} {SERVER} · 9 tools']


async def test_a_server_whose_tools_cannot_be_seen_says_why() -> None:
    servers = {'demo': mcp_server('demo', {'command': 'no-such-program'})}
    with pytest.raises(McpServerError, match=r"^MCP server 'demo': there is no program 'no-such-program'\.$"):
        await run(servers, 'tools demo')
    assert (await run(servers, ''))[0].endswith("· there is no program 'no-such-program'.")


async def test_a_file_of_servers_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / 'my servers.json'
    file.write_text(json.dumps({'mcpServers': {'git': {'command': 'uvx', 'disabled': True}}}), encoding='utf-8')
    servers: dict[str, McpServer] = {}
    await run(servers, f'load "{file}"')
    assert await run(servers, '') == ['  git: uvx · switched off']


@pytest.mark.parametrize(
    ('line', 'fault'),
    [
        ('ad x y', r"^%deep mcp has no 'ad'\. Did you mean 'add'\?"),
        ('git', "^%deep mcp has no 'git'"),
        ('add', r'^%deep mcp add NAME COMMAND \[ARGS…\], or add NAME URL$'),
        ('add git', '^%deep mcp add NAME'),
        ('add git https://example.org/mcp extra', '^%deep mcp add NAME'),
        ('add ../git uvx', 'a name has up to 32'),
        ('remove', '^%deep mcp remove NAME$'),
        ('remove gti', r"^There is no MCP server 'gti'\. Did you mean 'git'\?"),
        ('tools gti', r"^There is no MCP server 'gti'\. Did you mean 'git'\?"),
        ('load', r'^%deep mcp load FILE, such as \.mcp\.json$'),
        ('add git "uvx', 'no closing quotation'),
    ],
)
async def test_what_makes_no_sense_is_said_and_changes_nothing(line: str, fault: str) -> None:
    servers = {'git': mcp_server('git', {'command': 'uvx'})}
    with pytest.raises(UsageError, match=fault):
        await run(servers, line)
    assert list(servers) == ['git']

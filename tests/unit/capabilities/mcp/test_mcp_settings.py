"""Settings of MCP servers: faults are found before anything starts, and no key is shown or stored."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deep_notebook.capabilities.mcp import McpServer, load_mcp_file, mcp_capabilities, mcp_server, mcp_servers
from deep_notebook.errors import UsageError


@dataclass(frozen=True)
class Case:
    config: Any
    fault: str
    name: str = 'git'


FAULTS = [
    Case({'comand': 'x'}, r"has no setting 'comand'\. Did you mean 'command'\?"),
    Case({'header': {}, 'url': 'http://x'}, r"has no setting 'header'\. Did you mean 'headers'\?"),
    Case({}, 'needs either command'),
    Case({'command': 'x', 'url': 'http://x'}, 'needs either command'),
    Case({'command': 'x', 'headers': {}}, 'headers does not go with command'),
    Case({'url': 'http://x', 'env': {}}, 'env does not go with url'),
    Case('npx git', 'should be a mapping'),
    Case({'command': ['npx', 'x']}, r"command should be a text, got \['npx', 'x'\]"),
    Case({'command': ' '}, 'command should be a text'),
    Case({'command': 'x', 'args': '-y'}, "args should be a list of texts, got '-y'"),
    Case({'command': 'x', 'args': [1]}, 'args should be a list of texts'),
    Case({'command': 'x', 'env': {'PORT': 80}}, 'env should be texts by name'),
    Case({'command': 'x', 'env': ['A=b']}, 'env should be texts by name'),
    Case({'command': 'x', 'cwd': 3}, 'cwd should be a text, got 3'),
    Case({'command': 'x', 'type': 'http'}, "type should be stdio, got 'http'"),
    Case({'url': 'http://x', 'type': 'stdio'}, "type should be http or streamable-http or sse, got 'stdio'"),
    Case({'command': 'x', 'disabled': 'yes'}, 'disabled should be true or false'),
    Case({'url': 'ftp://x'}, 'url should be an address that begins with http'),
    Case({'command': 'x'}, 'a name has up to 32 letters', name='my server'),
    Case({'command': 'x'}, 'a name has up to 32 letters', name='../x'),
    Case({'command': 'x'}, 'a name has up to 32 letters', name='x' * 33),
    Case({'command': 'x'}, 'a name has up to 32 letters', name=''),
]


@pytest.mark.parametrize('case', FAULTS, ids=lambda case: case.fault)
def test_a_fault_is_named_with_its_place(case: Case) -> None:
    with pytest.raises(UsageError, match=case.fault) as fault:
        mcp_servers({case.name: case.config})
    assert f'MCP server {case.name!r}' in str(fault.value)
    assert '\n' not in str(fault.value)


@pytest.mark.parametrize('config', [{'env': {'A': 's3cret', 'B': 1}, 'command': 'x'}, {'url': 's3cret://x'}])
def test_a_fault_beside_a_secret_does_not_show_it(config: Any) -> None:
    with pytest.raises(UsageError) as fault:
        mcp_server('git', config)
    assert 's3cret' not in str(fault.value)


def test_the_common_shape_is_understood() -> None:
    config = {'command': 'npx', 'args': ['-y', 'git'], 'env': {'TOKEN': '${TOKEN}'}, 'cwd': None, 'autoApprove': ['*']}
    server = mcp_server('git', config)
    assert (server.command, server.args, server.env, server.cwd) == ('npx', ('-y', 'git'), {'TOKEN': '${TOKEN}'}, None)
    assert server.as_config() == {'command': 'npx', 'args': ['-y', 'git'], 'env': {'TOKEN': '${TOKEN}'}}


@pytest.mark.parametrize(
    'config',
    [
        {'command': 'npx', 'args': ['-y'], 'env': {'A': '${B}'}, 'cwd': '~', 'description': 'Look', 'disabled': True},
        {'url': 'https://example.org/sse', 'headers': {'A': 'b'}, 'type': 'http'},
    ],
)
def test_what_is_stored_of_a_server_is_what_it_was_made_of(config: dict[str, Any]) -> None:
    assert mcp_server('git', config).as_config() == config
    assert mcp_server('git', mcp_server('git', config).as_config()) == mcp_server('git', config)


def test_what_was_given_is_not_changed() -> None:
    config = {'git': {'command': 'npx', 'args': ['-y'], 'env': {'A': 'b'}}}
    before = json.dumps(config)
    servers = mcp_servers(config)
    config['git']['env']['A'] = 'c'  # type: ignore[index]
    assert servers['git'].env == {'A': 'b'}
    config['git']['env']['A'] = 'b'  # type: ignore[index]
    assert json.dumps(config) == before


def test_variables_are_filled_in_when_the_server_starts_and_not_before() -> None:
    config = {
        'command': '${HERE}/run',
        'args': ['--key=${KEY}', '${ELSE:-none}', '${EMPTY:-}', '$KEY'],
        'env': {'TOKEN': '${KEY}'},
        'cwd': '${HERE}',
    }
    server = mcp_server('git', config)
    filled = server.expanded({'KEY': 'k1', 'HERE': '/opt'})
    assert (filled.command, filled.cwd) == ('/opt/run', '/opt')
    assert filled.args == ('--key=k1', 'none', '', '$KEY')
    assert filled.env == {'TOKEN': 'k1'}
    assert server.args[0] == '--key=${KEY}'


def test_variables_that_are_missing_are_named() -> None:
    server = mcp_server('git', {'url': 'https://${HOST}/mcp', 'headers': {'A': 'Bearer ${KEY}', 'B': '${SET}'}})
    with pytest.raises(UsageError, match=r"^MCP server 'git' needs HOST and KEY: set it in the environment") as fault:
        server.expanded({'SET': 'v4lue'})
    assert 'v4lue' not in str(fault.value)


@pytest.mark.parametrize(
    'config',
    [
        {'command': 'x', 'env': {'A': 's3cret'}},
        {'url': 'https://me:s3cret@example.org/mcp?key=s3cret#s3cret', 'headers': {'A': 's3cret'}},
    ],
)
def test_a_server_shows_no_key(config: dict[str, Any]) -> None:
    server = mcp_server('git', config)
    assert 's3cret' not in repr(server) + server.where


def test_an_address_is_shown_without_what_may_be_a_key() -> None:
    assert mcp_server('git', {'url': 'https://me:x@example.org:80/mcp?key=x'}).where == 'https://example.org:80/mcp'


def test_a_file_of_other_programs_is_read(tmp_path: Path) -> None:
    file = tmp_path / '.mcp.json'
    servers = {'git': {'command': 'uvx', 'args': ['git']}, 'off': {'url': 'http://x/mcp', 'disabled': True}}
    file.write_text(json.dumps({'mcpServers': servers}), encoding='utf-8')
    loaded = load_mcp_file(file)
    assert list(loaded) == ['git', 'off']
    assert [capability.id for capability in mcp_capabilities(loaded)] == ['mcp_git']


@pytest.mark.parametrize(
    ('text', 'fault'),
    [
        (None, 'No such file'),
        ('{', 'Expecting property name'),
        ('[]', 'no servers under "mcpServers"'),
        ('{"servers": {}}', 'no servers under "mcpServers"'),
        ('{"mcpServers": {"git": {"comand": "x"}}}', "MCP server 'git' has no setting 'comand'"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, text: str | None, fault: str) -> None:
    file = tmp_path / '.mcp.json'
    if text is not None:
        file.write_text(text, encoding='utf-8')
    with pytest.raises(UsageError, match=fault) as raised:
        load_mcp_file(file)
    assert str(raised.value).startswith(f'{file}: ')


@pytest.mark.parametrize(
    ('config', 'sse'),
    [
        ({'url': 'http://x/sse'}, True),
        ({'url': 'http://x/sse/'}, True),
        ({'url': 'http://x/mcp?a=/sse'}, False),
        ({'url': 'http://x/mcp', 'type': 'sse'}, True),
        ({'url': 'http://x/sse', 'type': 'http'}, False),
        ({'command': 'x'}, False),
    ],
)
def test_the_older_protocol_is_used_where_it_is_meant(config: dict[str, Any], sse: bool) -> None:
    assert mcp_server('git', config).is_sse == sse


def test_servers_that_are_there_already_are_taken_as_they_are() -> None:
    server = McpServer(name='git', command='x')
    assert mcp_servers({'git': server})['git'] is server

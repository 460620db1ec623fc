"""Which MCP servers there are: the common `mcpServers` JSON, checked.

Values stay as they are written, `${VARIABLE}` included, until a server is started: what is shown or stored of a server
holds no key that its author kept out of it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from ...errors import UsageError, did_you_mean

__all__ = ['McpServer', 'load_mcp_file', 'mcp_server', 'mcp_servers']

_NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9_-]{0,31}')
_VARIABLE = re.compile(r'\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}')
_STDIO = ('command', 'args', 'env', 'cwd')
_HTTP = ('url', 'headers')
_TYPES: dict[str, Literal['command', 'url']] = {
    'stdio': 'command',
    'http': 'url',
    'streamable-http': 'url',
    'sse': 'url',
}
"""What each `type` of server has in its settings."""
_KEYS = (*_STDIO, *_HTTP, 'type', 'description', 'disabled')
_OF_OTHERS = ('alwaysAllow', 'autoApprove', 'timeout')
"""What other programs write into the same file. What they let through unasked is asked about here."""


@dataclass(kw_only=True)
class McpServer:
    """One server: a program to start (`command`), or an address to reach (`url`)."""

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables for the program, beside the few that every command gets; nothing else of the environment."""
    cwd: str | None = None
    """Where the program starts; by default where this process is."""
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    type: str | None = None
    """How it is spoken to: `stdio`, `http` or `sse`; by default what suits the command or the address."""
    description: str | None = None
    """What it is for, on one line, for the model."""
    disabled: bool = False
    state: str = field(default='not used yet', init=False, repr=False, compare=False)
    """How it was when it was used last, for the person."""

    @property
    def is_sse(self) -> bool:
        """Whether it is spoken to by the older of the two protocols over HTTP."""
        return self.type == 'sse' or (self.type is None and urlsplit(self.url or '').path.rstrip('/').endswith('/sse'))

    @property
    def where(self) -> str:
        """What it is, for the person: the command, or the address without what may be a key."""
        if self.command is not None:
            return ' '.join([self.command, *self.args])
        parts = urlsplit(self.url or '')
        return urlunsplit((parts.scheme, parts.netloc.rpartition('@')[2], parts.path, '', ''))

    def as_config(self) -> dict[str, Any]:
        """Return what a spec file holds of it."""
        values: dict[str, Any] = {
            'command': self.command,
            'args': list(self.args),
            'env': dict(self.env),
            'cwd': self.cwd,
            'url': self.url,
            'headers': dict(self.headers),
            'type': self.type,
            'description': self.description,
            'disabled': self.disabled,
        }
        return {key: value for key, value in values.items() if value}

    def expanded(self, environ: Mapping[str, str] = os.environ) -> McpServer:
        """Return a copy in which each `${VARIABLE}` and `${VARIABLE:-default}` is replaced by its value.

        Raises:
            UsageError: A variable is not set; the message names it.
        """
        missing: dict[str, None] = {}

        def value(match: re.Match[str]) -> str:
            default: str | None = match[2]
            found = environ.get(match[1], default)
            if found is None:
                missing[match[1]] = None
            return found or ''

        def text(written: str) -> str:
            return _VARIABLE.sub(value, written)

        copy = replace(
            self,
            command=None if self.command is None else text(self.command),
            args=tuple(map(text, self.args)),
            env={name: text(written) for name, written in self.env.items()},
            cwd=None if self.cwd is None else text(self.cwd),
            url=None if self.url is None else text(self.url),
            headers={name: text(written) for name, written in self.headers.items()},
        )
        if missing:
            raise UsageError(
                f'MCP server {self.name!r} needs {" and ".join(missing)}: set it in the environment or in .env beside '
                'the notebook.'
            )
        return copy


def mcp_servers(config: Mapping[str, McpServer | Mapping[str, Any]]) -> dict[str, McpServer]:
    """Return the servers that `config` describes, by name.

    Args:
        config: By name, `{'command', 'args', 'env', 'cwd'}` or `{'url', 'headers'}`, each with `description` and
            `disabled` if need be, or servers that are there already.

    Raises:
        UsageError: Something in it cannot be; the message says what and where.
    """
    return {
        name: server if isinstance(server, McpServer) else mcp_server(name, server) for name, server in config.items()
    }


def mcp_server(name: str, config: Any) -> McpServer:
    """Return the server that `config`, a mapping, describes.

    Raises:
        UsageError: Something in it cannot be; the message says what and where.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f'MCP server {name!r}: a name has up to 32 letters, digits, _ and -, as its tools begin with it.'
        )
    where = f'MCP server {name!r}'
    if not isinstance(config, Mapping):
        raise UsageError(f'{where} should be a mapping with command or url, got {_shown(config)}.')
    for key in config:
        if key not in _KEYS and key not in _OF_OTHERS:
            raise UsageError(f'{where} has no setting {key!r}.{did_you_mean(str(key), _KEYS)}')
    given = {key: value for key, value in config.items() if value is not None and key in _KEYS}
    kinds = [kind for kind in ('command', 'url') if kind in given]
    if len(kinds) != 1:
        raise UsageError(f'{where} needs either command, a program to start, or url, an address to reach.')
    strange = [key for key in given if key in (_HTTP if kinds == ['command'] else _STDIO)]
    if strange:
        raise UsageError(f'{where}: {strange[0]} does not go with {kinds[0]}.')
    for key, value in given.items():
        _check(f'{where}: {key}', key, value, kinds[0])
    return McpServer(
        name=name,
        command=given.get('command'),
        args=tuple(given.get('args', ())),
        env=dict(given.get('env', {})),
        cwd=given.get('cwd'),
        url=given.get('url'),
        headers=dict(given.get('headers', {})),
        type=given.get('type'),
        description=given.get('description'),
        disabled=given.get('disabled', False),
    )


def load_mcp_file(path: str | Path) -> dict[str, McpServer]:
    """Return the servers in a file such as `.mcp.json`: `{"mcpServers": {name: …}}`.

    Raises:
        UsageError: It cannot be read, or something in it cannot be; the message says what and where.
    """
    try:
        data = json.loads(Path(path).read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        line = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UsageError(f'{path}: {line}') from None
    servers = data.get('mcpServers') if isinstance(data, dict) else None
    if not isinstance(servers, dict):
        raise UsageError(f'{path}: there are no servers under "mcpServers".')
    try:
        return mcp_servers(servers)
    except UsageError as error:
        raise UsageError(f'{path}: {error}') from None


def _check(where: str, key: str, value: Any, kind: str) -> None:
    match key:
        case 'args':
            right, wanted = _all_text(value, list | tuple), 'a list of texts'
        case 'env' | 'headers':
            right = isinstance(value, Mapping) and all(isinstance(name, str) for name in value)
            right, wanted = right and _all_text(list(value.values()), list), 'texts by name'
        case 'disabled':
            right, wanted = isinstance(value, bool), 'true or false'
        case 'type':
            right = isinstance(value, str) and _TYPES.get(value) == kind
            wanted = ' or '.join(name for name, of in _TYPES.items() if of == kind)
        case 'url':
            right = isinstance(value, str) and value.startswith(('http://', 'https://', '${'))
            wanted = 'an address that begins with http:// or https://'
        case _:
            right, wanted = isinstance(value, str) and bool(value.strip()), 'a text'
    if not right:
        # What is in a mapping may be a secret.
        shown = '' if key in ('env', 'headers', 'url') else f', got {_shown(value)}'
        raise UsageError(f'{where} should be {wanted}{shown}.')


def _all_text(values: Any, kind: Any) -> bool:
    return isinstance(values, kind) and all(isinstance(value, str) for value in values)


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f'{shown[:59]}…'

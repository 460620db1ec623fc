"""Keep secrets from the agent: no tool reads or writes the files that hold them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pydantic_ai import RunContext
from pydantic_ai.capabilities import CapabilityOrdering
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import AgentDepsT, ToolDefinition
from pydantic_ai.workspaces import Workspace, WorkspaceError

from ..masking import mask_secrets
from ..workspaces import relative_path
from .hooks import Hook, HookEvent, HookInput, HookResult, HookRunner, HooksCapability, as_json, denial
from .secret_paths import Secret, SecretPaths

__all__ = ['SecurityHooks']

_Role: TypeAlias = Literal['path', 'glob', 'command', 'code']

_COMMANDS = frozenset({'command', 'commands', 'cmd', 'argv', 'args', 'shell'})
_CODE = frozenset({'code', 'cell', 'expression', 'new_source', 'script', 'source'})
_TEXT = frozenset(
    {'answer', 'content', 'description', 'instructions', 'message', 'new_string', 'notes', 'old_string'}
    | {'options', 'prompt', 'query', 'question', 'reason', 'regex', 'summary', 'text', 'title', 'todos'}
)
"""Arguments that mention things and reach none."""
_FOUND_LINE = re.compile(r'\d+(?::[0-9a-f]{2}\||:)|…')
_FOUND_IN = re.compile(r'(.+?):\d+[:-]')
_MAX_LINKS = 50
"""Paths of one call that are followed."""


@dataclass
class SecurityHooks(HookRunner[AgentDepsT]):
    """Deny every call that names a file with secrets, whatever the tool: environment files, keys, credentials.

    Paths are looked at as they are written and, in the workspace, where links lead; commands and Python code for the
    paths that they name. A search leaves out what it found in such files. What commands and code print is masked,
    since they can reach a secret without naming it: through a variable, a name put together when they run, all files
    of a directory, or the environment. Those, hard links, and a copy under another name are not seen. That a file
    exists is no secret.

    Raises:
        ValueError: A pattern is malformed, or the hooks are to be loaded on demand.
    """

    hooks: Sequence[Hook] = field(default=(), init=False, repr=False)
    deny: Sequence[str] = field(default=(), kw_only=True)
    """Further patterns of secret files: `*.sqlite` at any depth, `private/**` below any directory."""
    allow: Sequence[str] = field(default=(), kw_only=True)
    """Patterns of files that are no secret, such as `tests/**`."""

    id: str | None = field(default='security_hooks', kw_only=True)
    description: str | None = field(default='Keep files with secrets from every tool.', kw_only=True)

    _secrets: SecretPaths = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._secrets = SecretPaths(deny=self.deny, allow=self.allow)
        self.hooks = [
            Hook(HookEvent.PRE_TOOL_USE, handler=self._check),
            Hook(HookEvent.POST_TOOL_USE, handler=self._screen),
        ]
        super().__post_init__()

    @classmethod
    def from_spec(
        cls, deny: Sequence[str] = (), allow: Sequence[str] = (), *, id: str = 'security_hooks'
    ) -> SecurityHooks[Any]:
        """Return the capability that a spec file describes."""
        return cls(deny=deny, allow=allow, id=id)

    def get_ordering(self) -> CapabilityOrdering:
        """Return that what other hooks make of the arguments is looked at."""
        return CapabilityOrdering(position='innermost', wrapped_by=[HooksCapability])

    async def before_tool_execute(
        self, ctx: RunContext[AgentDepsT], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        """Deny a call that names a secret, also by the name of a link to it."""
        args = await super().before_tool_execute(ctx, call=call, tool_def=tool_def, args=args)
        texts = _texts(call.tool_name, as_json(args))
        paths = dict.fromkeys(text for role, text in texts if role == 'path')
        for path in list(paths)[:_MAX_LINKS]:
            real = await _real_path(ctx.workspace, path)
            if real is not None and (found := self._secrets.in_path(real)) is not None:
                raise denial(_reason(Secret(f'{path} (a link to {real})', found.kind)))
        return args

    def _check(self, given: HookInput) -> HookResult:
        look = {
            'path': self._secrets.in_path,
            'glob': self._secrets.in_glob,
            'command': self._secrets.in_command,
            'code': self._secrets.in_python,
        }
        for role, text in _texts(given.tool_name, given.tool_input):
            if (found := look[role](text)) is not None:
                return HookResult(allow=False, reason=_reason(found))
        return HookResult()

    def _screen(self, given: HookInput) -> HookResult:
        text = given.tool_result or ''
        roles = {role for role, _ in _texts(given.tool_name, given.tool_input)}
        screened = self._without_secret_files(text) if 'grep' in given.tool_name else text
        if not roles.isdisjoint({'command', 'code'}):
            screened = mask_secrets(screened)
        return HookResult(modified_result=None if screened == text else screened)

    def _without_secret_files(self, found: str) -> str:
        """Return what a search found, without the lines of secret files.

        The lines of a file come after one with its path, or each begins with it.
        """
        kept: list[str] = []
        left_out: set[str] = set()
        secret = False
        for line in found.split('\n'):
            if not _FOUND_LINE.match(line):
                in_file = _FOUND_IN.match(line)
                path = in_file[1] if in_file is not None else line
                secret = self._secrets.in_path(path) is not None
                if secret:
                    left_out.add(path)
            if not secret:
                kept.append(line)
        if not left_out:
            return found
        return '\n'.join([*kept, f'[what was found in files with secrets is left out: {len(left_out)}]'])


def _reason(secret: Secret) -> str:
    return f'{secret.name!r} is {secret.kind}, and no tool may read or write secrets. If it is needed, ask the person.'


def _texts(tool_name: str, value: Any, name: str = '') -> Iterator[tuple[_Role, str]]:
    """Yield what the arguments of a call name or run, with how it is to be read."""
    if isinstance(value, dict):
        markdown = 'markdown' in (value.get('cell_type'), value.get('kind'), value.get('type'))
        for key, item in value.items():
            if key not in _TEXT and not (markdown and key in _CODE):
                yield from _texts(tool_name, item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(tool_name, item, name)
    elif isinstance(value, str) and value:
        yield from ((role, value) for role in _roles(tool_name, name))


def _roles(tool_name: str, name: str) -> tuple[_Role, ...]:
    if name in _COMMANDS:
        return ('command',)
    if name in _CODE:
        return ('code', 'path') if name in ('source', 'script') else ('code',)
    if name == 'glob':
        return ('glob',)
    if name == 'pattern':
        return ('glob',) if 'glob' in tool_name or 'find' in tool_name else ()
    return ('path',)


async def _real_path(workspace: Workspace, path: str) -> str | None:
    """Return where a path leads, relative to the workspace; `None` if the workspace has no answer: it has no file."""
    try:
        root = await workspace.working_dir()
        return relative_path(await workspace.realpath(await workspace.resolve(path)), root)
    except (OSError, ValueError, WorkspaceError, UserError):
        return None

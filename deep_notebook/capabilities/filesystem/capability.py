"""The tools on files, as one capability."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Le
from pydantic import BeforeValidator
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ToolReturn, WorkspaceRef
from pydantic_ai.tools import AgentDepsT, Tool, ToolDefinition
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.workspaces import SupportsCommands, WorkspaceBackend

from ..approvals import PREVIEW, Preview
from ..arguments import parse_json_text
from ..output import MOVED_ABOVE, returned
from ..tool_classes import EXECUTE, READ, UNDOABLE
from ..tools import MethodTool
from .changes import Change, plan_hashline_edit, plan_str_replace_edit, plan_write
from .commands import DEFAULT_TIMEOUT, run_command
from .files import Files, HasBackend, Memory, run_workspace
from .globs import find_files
from .hashline import EditOperation
from .reading import list_directory, read_page
from .search import Query, search_text

__all__ = ['EditFormat', 'Filesystem']

EditFormat: TypeAlias = Literal['hashline', 'str_replace', 'auto']

_QUOTES_WELL = re.compile(r'claude|gpt|chatgpt|codex|(?:^|[/:])o\d', re.IGNORECASE)
"""Model families that published comparisons found better at quoting text than at line anchors."""
_MIN_READ_CHARS = 2_000
_Count: TypeAlias = Annotated[int, Ge(0)]

_PATHS = 'Paths are relative to the workspace.'
_INSTRUCTIONS = f'{_PATHS} Read a file before you change it.'
_HASHLINE_INSTRUCTIONS = (
    'read_file and grep show lines as `12:a3|text`: number, hash, text. `12:a3` is the anchor that edit_file takes; '
    'put all edits of a file into one call.'
)


@dataclass
class Filesystem(AbstractCapability[AgentDepsT]):
    """Read, search, write and edit the files of the run's workspace, and run commands there.

    The workspace is `deps.backend` if deps have one, else `backend`, else whatever the run was given. Nothing leaves
    it. A file that somebody else changed since the agent saw it is not written; what the agent saw is remembered in
    `deps.read_digests`, if deps have that, and for the run otherwise.

    Raises:
        ValueError: `max_read_chars` is too small to show anything.
    """

    edit_format: EditFormat = 'hashline'
    """`hashline` edits by line anchors, `str_replace` by quoting text, `auto` takes what suits the model's family."""
    include_execute: bool | None = None
    """Whether there is `execute`; by default, where the workspace runs commands."""
    image_support: bool = True
    """Whether the model can look at pictures."""
    max_read_chars: int = 30_000
    """The largest result of a read, a search or a command, in characters."""
    read_only: bool = field(default=False, kw_only=True)
    """Whether there are only the tools that look."""
    backend: WorkspaceBackend | None = field(default=None, kw_only=True)
    """Where the files are for a run whose deps do not say it."""

    id: str | None = field(default='filesystem', kw_only=True)
    description: str | None = field(
        default='List, read, search, write and edit files, and run shell commands.', kw_only=True
    )

    _memory: Memory = field(default_factory=Memory, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.max_read_chars < _MIN_READ_CHARS:
            raise ValueError(f'max_read_chars must be at least {_MIN_READ_CHARS}, got {self.max_read_chars}')

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> Filesystem[AgentDepsT]:
        """Return a copy for one run, with a memory of its own and the edit format settled."""
        edit_format = self.edit_format
        if edit_format == 'auto':
            edit_format = 'str_replace' if _QUOTES_WELL.search(ctx.model.model_name) else 'hashline'
        return replace(self, edit_format=edit_format)

    def get_workspace(self, ctx: RunContext[AgentDepsT], *, ref: WorkspaceRef | None) -> WorkspaceBackend | None:
        """Return `deps.backend`, if deps have one."""
        return ctx.deps.backend if isinstance(ctx.deps, HasBackend) else self.backend

    @classmethod
    def from_spec(
        cls,
        edit_format: EditFormat = 'hashline',
        *,
        include_execute: bool | None = None,
        image_support: bool = True,
        max_read_chars: int = 30_000,
        read_only: bool = False,
        defer_loading: bool = False,
    ) -> Filesystem[Any]:
        """Return the capability that a spec file describes."""
        return Filesystem(
            edit_format,
            include_execute,
            image_support,
            max_read_chars,
            read_only=read_only,
            defer_loading=defer_loading,
        )

    def get_instructions(self) -> str:
        """Return what the tools' descriptions do not say."""
        if self.read_only:
            return _PATHS
        return _INSTRUCTIONS if self.edit_format == 'str_replace' else f'{_INSTRUCTIONS} {_HASHLINE_INSTRUCTIONS}'

    def get_toolset(self) -> FunctionToolset[AgentDepsT]:
        """Return the tools."""
        edit, preview = (
            (self.edit_lines, self._preview_lines) if self._anchors else (self.replace_text, self._preview_replace)
        )
        reading: list[Tool[AgentDepsT]] = [
            MethodTool(read, metadata={**READ}) for read in (self.ls, self.read_file, self.glob, self.grep)
        ]
        if self.read_only:
            return FunctionToolset(reading, id=self.id)
        tools: list[Tool[AgentDepsT]] = [
            *reading,
            _acting(self.write_file, {**UNDOABLE, PREVIEW: self._preview_write}, _where_writable),
            _acting(edit, {**UNDOABLE, PREVIEW: preview}, _where_writable, name='edit_file'),
            _acting(
                self.execute,
                {**EXECUTE, PREVIEW: _preview_execute, MOVED_ABOVE: self.max_read_chars},
                self._where_commands_run,
            ),
        ]
        return FunctionToolset(tools, id=self.id)

    async def ls(self, ctx: RunContext[AgentDepsT], path: str = '.') -> ToolReturn[Any]:
        """List a directory."""
        return await list_directory(self._files(ctx), path)

    async def read_file(
        self, ctx: RunContext[AgentDepsT], path: str, offset: _Count = 0, limit: int = 1000, char_offset: _Count = 0
    ) -> ToolReturn[Any]:
        """Read a text file or picture. A long result says how to go on.

        Args:
            offset: Lines to skip.
            limit: Most lines to return.
            char_offset: Characters to skip in the first line after that.
        """
        return await read_page(
            self._files(ctx),
            path,
            offset=offset,
            char_offset=char_offset,
            limit=max(limit, 1),
            max_chars=self.max_read_chars,
            anchors=self._anchors,
            images=self.image_support,
        )

    async def glob(self, ctx: RunContext[AgentDepsT], pattern: str, path: str = '.') -> ToolReturn[Any]:
        """Find files by name, such as `*.csv` or `src/**/test_*.py`."""
        return await find_files(self._files(ctx), pattern, path)

    async def grep(
        self,
        ctx: RunContext[AgentDepsT],
        pattern: str,
        path: str = '.',
        glob: str = '',
        ignore_case: bool = False,
        context: Annotated[int, Ge(0), Le(20)] = 0,
    ) -> ToolReturn[Any]:
        """Search file contents by regular expression.

        Args:
            pattern: Matched line by line.
            path: File or directory.
            glob: Only files with such names.
            context: Lines to show around matches.
        """
        query = Query(pattern=pattern, glob=glob, ignore_case=ignore_case, context=context)
        return await search_text(self._files(ctx), path, query, max_chars=self.max_read_chars, anchors=self._anchors)

    async def write_file(self, ctx: RunContext[AgentDepsT], path: str, content: str) -> ToolReturn[Any]:
        """Create a file, or replace all of it. To change parts use edit_file."""
        files = self._files(ctx)
        async with files.alone(await files.locate(path)):
            return await self._make(files, await plan_write(files, path, content))

    async def edit_lines(
        self,
        ctx: RunContext[AgentDepsT],
        path: str,
        operations: Annotated[list[EditOperation], BeforeValidator(parse_json_text)],
    ) -> ToolReturn[Any]:
        """Change lines of a file, all or none. Anchors mean the file before the edit."""
        files = self._files(ctx)
        async with files.alone(await files.locate(path)):
            return await self._make(files, await plan_hashline_edit(files, path, operations))

    async def replace_text(
        self, ctx: RunContext[AgentDepsT], path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> ToolReturn[Any]:
        """Replace text in a file.

        Args:
            old_string: Exact text, found once.
            replace_all: Whether it may be found more often.
        """
        files = self._files(ctx)
        async with files.alone(await files.locate(path)):
            change = await plan_str_replace_edit(files, path, old_string, new_string, replace_all=replace_all)
            return await self._make(files, change)

    async def execute(
        self, ctx: RunContext[AgentDepsT], command: str, timeout: Annotated[int, Ge(1)] = DEFAULT_TIMEOUT
    ) -> ToolReturn[Any]:
        """Run a shell command in the workspace directory.

        Args:
            timeout: Seconds.
        """
        return await run_command(
            run_workspace(ctx),
            command,
            timeout=timeout,
            shown=lambda output: returned(ctx, output, self.max_read_chars),
        )

    @property
    def _anchors(self) -> bool:
        return self.edit_format != 'str_replace' and not self.read_only

    def _files(self, ctx: RunContext[Any]) -> Files:
        return Files(ctx, self._memory)

    async def _make(self, files: Files, change: Change) -> ToolReturn[Any]:
        await change.make(files)
        result = change.result(anchors=self._anchors)
        return replace(result, metadata={**result.metadata, 'edit_format': self.edit_format})

    async def _preview_write(self, ctx: RunContext[Any], args: dict[str, Any]) -> Preview:
        return (await plan_write(self._files(ctx), args['path'], args['content'])).preview()

    async def _preview_lines(self, ctx: RunContext[Any], args: dict[str, Any]) -> Preview:
        return (await plan_hashline_edit(self._files(ctx), args['path'], args['operations'])).preview()

    async def _preview_replace(self, ctx: RunContext[Any], args: dict[str, Any]) -> Preview:
        change = await plan_str_replace_edit(
            self._files(ctx),
            args['path'],
            args['old_string'],
            args['new_string'],
            replace_all=args.get('replace_all', False),
        )
        return change.preview()

    def _where_commands_run(self, ctx: RunContext[AgentDepsT], tool: ToolDefinition) -> ToolDefinition | None:
        workspace = run_workspace(ctx)
        can = isinstance(workspace.backend, SupportsCommands) and not workspace.read_only
        return tool if can and self.include_execute is not False else None


def _acting(
    function: Callable[..., Any],
    metadata: dict[str, Any],
    prepare: Callable[[RunContext[AgentDepsT], ToolDefinition], ToolDefinition | None],
    *,
    name: str | None = None,
) -> Tool[AgentDepsT]:
    return MethodTool(function, name=name, sequential=True, metadata=metadata, prepare=prepare)


async def _preview_execute(ctx: RunContext[Any], args: dict[str, Any]) -> Preview:
    return Preview(title='Run a command?', editable='command')


def _where_writable(ctx: RunContext[Any], tool: ToolDefinition) -> ToolDefinition | None:
    return None if run_workspace(ctx).read_only else tool

"""Large tool results go into files; the model sees how they begin and end, and where the rest is."""

from __future__ import annotations

import asyncio
import logging
import os
import posixpath
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from inspect import isawaitable
from typing import Any, TypeAlias

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import AgentDepsT, ToolDefinition
from pydantic_ai.workspaces import FileEntry, LocalWorkspaceBackend, Workspace, WorkspaceError
from pydantic_core import PydanticSerializationError

from ..workspaces import BackendProtocol, KernelWorkspace
from .agent_paths import agent_path, is_agents_own, safe_name
from .events import ResultEvictedEvent
from .filesystem.files import run_workspace
from .filesystem.places import Place, answering, locate
from .output import MOVED_ABOVE, MovesLargeResults, head_and_tail

__all__ = [
    'DEFAULT_EVICTION_PATH',
    'DEFAULT_TOKEN_LIMIT',
    'EVICTED',
    'MAX_KEPT_FILES',
    'NUM_CHARS_PER_TOKEN',
    'EvictionProcessor',
    'OnEviction',
    'evicted_path',
    'evicted_sample',
]

EVICTED = 'Tool result too large, saved to: '
"""How what is left of a moved result begins; the path of the file follows."""
NUM_CHARS_PER_TOKEN = 4
"""What a token is taken to be where nobody has counted."""
DEFAULT_TOKEN_LIMIT = 20_000
DEFAULT_EVICTION_PATH = '/large_tool_results'
MAX_KEPT_FILES = 200
"""Files that are kept before the oldest go. Each is at least 80 kB at the default limit, and the previews of 200 would
themselves fill a context window, so a history that is in use names fewer."""
MAX_PREVIEW_LINE = 500
"""Characters of one line that a preview shows: ten lines are then at most 1,250 tokens."""
_MAX_FRAME = 10_000
"""Characters of a preview besides the lines of the result: the path of the file stands in it twice."""

OnEviction: TypeAlias = Callable[[str, str, int, int], Awaitable[None] | None]
"""Told of each eviction: the tool's name, the file's path, and the characters of the result and of its preview."""

_READERS = frozenset({'read_file', 'grep'})
"""Tools whose result, when they look at an evicted file, is what was asked for."""
_PLAIN_NAME = re.compile(r'[A-Za-z0-9_-]{1,80}')
_SAMPLE_BEGINS = 'Preview (head/tail):\n'
_TEMPLATE = (
    EVICTED + '{file_path}\n'
    '\n'
    'Read the result using read_file with offset and limit parameters.\n'
    'Example: read_file(path="{file_path}", offset=0, limit=100)\n'
    '\n' + _SAMPLE_BEGINS + '{content_sample}'
)
_GONE = '\n\nThis file is gone. If you need the result, run the tool again.'

_LOG = logging.getLogger(__name__)


def evicted_path(content: object) -> str | None:
    """Return the path of the file that the result with this `content` was moved to, or `None` if it was not moved."""
    preview = _preview_in(content)
    return None if preview is None else preview[len(EVICTED) :].partition('\n')[0]


def evicted_sample(content: object) -> str:
    """Return how the result with this `content`, which was moved to a file, begins and ends."""
    return (_preview_in(content) or '').partition(_SAMPLE_BEGINS)[2]


def _preview_in(content: object) -> str | None:
    first = content[0] if isinstance(content, list) and content else content
    return first if isinstance(first, str) and first.startswith(EVICTED) else None


@dataclass
class EvictionProcessor(MovesLargeResults, AbstractCapability[AgentDepsT]):
    """Move tool results that are too large into files of the workspace, and leave a preview in the history.

    A result is moved as its tool returns it, so that the history never changes where a provider has cached it;
    results that came another way (a resumed history, an error, an answer from outside) are moved before the next
    request. The file is written first: where that fails, the text stays. Pictures and other files in a result stay
    too. What `read_file` and `grep` show of a moved result is not moved again.

    Put it first in the list of capabilities: then whatever else looks at results sees them whole. An instance is also
    a history processor, `async (ctx, messages) -> messages`, for `ProcessHistory`.

    At most `MAX_KEPT_FILES` are kept, and those that the run's history names. A preview whose file is gone says so in
    the next run.

    Raises:
        ValueError: A number is negative.
    """

    token_limit: int = DEFAULT_TOKEN_LIMIT
    """The largest result that stays, in tokens of `NUM_CHARS_PER_TOKEN` characters. Where the model's context window
    is known, never more than a quarter of that."""
    eviction_path: str = DEFAULT_EVICTION_PATH
    """The directory for the files; the default is `.deep/large_tool_results` in a notebook's directory."""
    head_lines: int = 5
    tail_lines: int = 5
    on_eviction: OnEviction | None = None
    backend: BackendProtocol | None = None
    """Where the files go in a run that has no workspace and no `deps.backend`."""

    id: str | None = field(default='eviction', kw_only=True)
    description: str | None = field(default='Move tool results that are too large into files.', kw_only=True)

    _written: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    """The names of this run's files."""
    _looked_for_files: str | None = field(default=None, init=False, repr=False, compare=False)
    """The run in which it was last checked that the files are there."""

    def __post_init__(self) -> None:
        for name in ('token_limit', 'head_lines', 'tail_lines'):
            if getattr(self, name) < 0:
                raise ValueError(f'{name} must be 0 or more, got {getattr(self, name)}')

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> EvictionProcessor[AgentDepsT]:
        """Return a copy for one run."""
        return replace(self)

    async def after_tool_execute(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        result: Any,
    ) -> Any:
        """Return the result, or its preview once the file is written."""
        value = result.return_value if isinstance(result, ToolReturn) else result
        part = ToolReturnPart(call.tool_name, value, call.tool_call_id, tool_kind=tool_def.tool_kind)
        moved = await self._moved(ctx, part, args, above=(tool_def.metadata or {}).get(MOVED_ABOVE))
        if moved is part:
            return result
        return replace(result, return_value=moved.content) if isinstance(result, ToolReturn) else moved.content

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Move what is too large in the history, for this request and for good."""
        messages = list(request_context.messages)
        changed = await self._changed(ctx, messages)
        if changed:
            request_context.messages = [changed.get(id(message), message) for message in messages]
            ctx.messages[:] = [changed.get(id(message), message) for message in ctx.messages]
        return request_context

    async def __call__(self, ctx: RunContext[AgentDepsT], messages: list[ModelMessage]) -> list[ModelMessage]:
        """Return `messages` with previews in the place of results that are too large."""
        changed = await self._changed(ctx, messages)
        return [changed.get(id(message), message) for message in messages]

    async def _changed(self, ctx: RunContext[AgentDepsT], messages: Sequence[ModelMessage]) -> dict[int, ModelMessage]:
        """Return what takes the place of messages, by the `id()` of those."""
        look_for_files = self._looked_for_files != ctx.run_id
        self._looked_for_files = ctx.run_id
        calls: dict[str, ToolCallPart] = {}
        changed: dict[int, ModelMessage] = {}
        for message in messages:
            if isinstance(message, ModelResponse):
                calls.update((call.tool_call_id, call) for call in message.tool_calls)
                continue
            parts = [
                await self._settled(ctx, part, calls, look_for_files) if isinstance(part, ToolReturnPart) else part
                for part in message.parts
            ]
            if any(new is not old for new, old in zip(parts, message.parts, strict=True)):
                changed[id(message)] = replace(message, parts=parts)
        return changed

    async def _settled(
        self, ctx: RunContext[AgentDepsT], part: ToolReturnPart, calls: Mapping[str, ToolCallPart], look_for_files: bool
    ) -> ToolReturnPart:
        path = evicted_path(part.content)
        if path is None or not self._is_preview(part.content):
            call = calls.get(part.tool_call_id)
            args = call.args_as_dict() if call is not None and call.tool_name in _READERS else {}
            return await self._moved(ctx, part, args)
        if look_for_files and await self._is_gone(ctx, path):
            return _marked_gone(part)
        return part

    async def _moved(
        self, ctx: RunContext[AgentDepsT], part: ToolReturnPart, args: Mapping[str, Any], *, above: int | None = None
    ) -> ToolReturnPart:
        """Return `part` with a preview in the place of its text if that is too large and the file was written.

        Where a tool left it to us to bound its result, `above` is how many characters may stay in any case.
        """
        # A kind is what pydantic-ai itself reads in the history: loaded capabilities, tools that were found.
        if part.tool_kind is not None or self._is_preview(part.content):
            return part
        try:
            text = part.model_response_str(wrap_if_error=False)
        except (PydanticSerializationError, TypeError, ValueError):
            return part  # pydantic-ai says what is wrong with it
        limit = self._limit(ctx) * NUM_CHARS_PER_TOKEN
        if len(text) <= (limit if above is None else min(limit, above)):
            return part
        workspace = self._workspace(ctx)
        try:
            if part.tool_name in _READERS and await self._is_evicted_file(workspace, args.get('path')):
                return part
            shown = await self._write(workspace, part.tool_call_id, text)
        except ToolFailed as error:
            _LOG.warning('The result of %s stays in the history, though it is large: %s', part.tool_name, error)
            return part if above is None else _with_text(part, head_and_tail(text, above))
        self._written.add(posixpath.basename(shown))
        await self._drop_oldest(workspace, keep=self._written | _named_files(ctx.messages))
        preview = _TEMPLATE.format(file_path=shown, content_sample=self._sample(text))
        await self._tell(ctx, part, shown, original_chars=len(text), preview_chars=len(preview))
        return _with_text(part, preview)

    def _is_preview(self, content: object) -> bool:
        # What a tool returned may begin like one; none is as long as that.
        preview = _preview_in(content)
        longest = _MAX_FRAME + (self.head_lines + self.tail_lines) * 2 * MAX_PREVIEW_LINE
        return preview is not None and len(preview) <= longest

    def _limit(self, ctx: RunContext[AgentDepsT]) -> int:
        window = ctx.model.context_window
        return self.token_limit if window is None else min(self.token_limit, window // 4)

    def _workspace(self, ctx: RunContext[AgentDepsT]) -> Workspace:
        workspace = run_workspace(ctx)
        return workspace if workspace.attached or self.backend is None else Workspace(self.backend)

    async def _write(self, workspace: Workspace, call_id: str, text: str) -> str:
        """Write `text` to a file that no other result is in, and return its path as the model is told.

        Raises:
            ToolFailed: It was not written.
        """
        data = text.encode('utf-8', 'replace')
        for name in _names(call_id, data):
            shown, place = await self._locate(workspace, name)
            with answering(shown):
                if not await workspace.exists(place.path):
                    await workspace.write_bytes(place.path, data)
                    return shown
                if await workspace.read_bytes(place.path) == data:
                    return shown
        raise ToolFailed(f'{shown} already holds something else.')

    async def _locate(self, workspace: Workspace, name: str) -> tuple[str, Place]:
        if not workspace.attached:
            raise ToolFailed('This run has no workspace.')
        with answering(self.eviction_path):
            root = await workspace.working_dir()
        shown = agent_path(posixpath.join(self.eviction_path, name), root)
        place = await locate(workspace, shown)
        if is_agents_own(self.eviction_path) and place.key != place.shown:
            raise ToolFailed(f'{place.shown} is a link to {place.key}.')
        return shown, place

    async def _is_evicted_file(self, workspace: Workspace, path: object) -> bool:
        if not isinstance(path, str):
            return False
        with answering(path):
            root = await workspace.working_dir()
        asked, directory = (
            posixpath.normpath(posixpath.join(root, agent_path(spot, root))) for spot in (path, self.eviction_path)
        )
        return posixpath.commonpath([asked, directory]) == directory

    async def _is_gone(self, ctx: RunContext[AgentDepsT], path: str) -> bool:
        workspace = self._workspace(ctx)
        if not workspace.attached:
            return False
        try:
            return not await workspace.exists((await locate(workspace, path)).path)
        except (OSError, ToolFailed, WorkspaceError):
            return False

    async def _drop_oldest(self, workspace: Workspace, *, keep: set[str]) -> None:
        try:
            directory = (await self._locate(workspace, '.'))[1].path
            files = [entry for entry in await workspace.list_dir(directory) if not entry.is_dir]
            surplus = len(files) - MAX_KEPT_FILES
            if surplus > 0:
                oldest = await _oldest_first(workspace, [entry for entry in files if entry.name not in keep])
                for entry in oldest[:surplus]:
                    await workspace.remove(entry.path)
        except (OSError, ToolFailed, WorkspaceError) as error:
            _LOG.warning('Old files in %s were not removed: %s', self.eviction_path, error)

    def _sample(self, text: str) -> str:
        """Return the lines that the preview shows."""
        lines = text.splitlines()
        left_out = len(lines) - self.head_lines - self.tail_lines
        if left_out <= 0:
            return '\n'.join(map(_cut, lines))
        tail = lines[len(lines) - self.tail_lines :]
        note = f'… {left_out:,} line{"s" if left_out != 1 else ""} left out …'
        return '\n'.join([*map(_cut, lines[: self.head_lines]), note, *map(_cut, tail)])

    async def _tell(
        self,
        ctx: RunContext[AgentDepsT],
        part: ToolReturnPart,
        path: str,
        *,
        original_chars: int,
        preview_chars: int,
    ) -> None:
        await ctx.emit(
            ResultEvictedEvent(
                tool_call_id=part.tool_call_id,
                tool_name=part.tool_name,
                path=path,
                original_chars=original_chars,
                preview_chars=preview_chars,
            )
        )
        if self.on_eviction is not None:
            told = self.on_eviction(part.tool_name, path, original_chars, preview_chars)
            if isawaitable(told):
                await told


def _names(call_id: str, data: bytes) -> tuple[str, str]:
    """Return names for the file of a result: one from the call's id, and another for when that is taken."""
    stem = call_id if _PLAIN_NAME.fullmatch(call_id) else safe_name(call_id, fallback='result')
    own = f'{stem}.{blake2b(data, digest_size=5).hexdigest()}'
    return (stem if stem == call_id else own), own


def _named_files(messages: Iterable[ModelMessage]) -> set[str]:
    """Return the names of the files that previews in `messages` speak of."""
    parts = (part for message in messages if isinstance(message, ModelRequest) for part in message.parts)
    paths = (evicted_path(part.content) for part in parts if isinstance(part, ToolReturnPart))
    return {posixpath.basename(path) for path in paths if path is not None}


async def _oldest_first(workspace: Workspace, files: list[FileEntry]) -> list[FileEntry]:
    """Return `files` by age where that is known: on this machine; elsewhere in the order of the listing."""
    if not isinstance(workspace.backend, (KernelWorkspace, LocalWorkspaceBackend)):
        return files
    ages = await asyncio.to_thread(lambda: {entry.path: _modified(entry.path) for entry in files})
    return sorted(files, key=lambda entry: ages[entry.path])


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _marked_gone(part: ToolReturnPart) -> ToolReturnPart:
    preview = _preview_in(part.content) or ''
    return part if preview.endswith(_GONE) else _with_text(part, preview + _GONE)


def _with_text(part: ToolReturnPart, text: str) -> ToolReturnPart:
    return replace(part, content=[text, *part.files] if part.files else text)


def _cut(line: str) -> str:
    left_out = len(line) - MAX_PREVIEW_LINE
    return line if left_out <= 0 else f'{line[:MAX_PREVIEW_LINE]} … {left_out:,} more characters in this line'

"""What a run of the deep agent carries: its files, its plan, its helpers.

`DeepAgentDeps` is pydantic-ai's `deps`: tools reach it as `ctx.deps`. It holds all state that a run may
change, so that two concurrent runs of one agent share nothing but what they are given.
"""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

from charset_normalizer import from_bytes
from pydantic_ai.workspaces import Workspace
from typing_extensions import TypedDict

from .capabilities.agent_paths import agent_path
from .capabilities.todos import Todo, todo_prompt
from .workspaces import BackendProtocol, FileData, StateBackend

__all__ = ['AskUser', 'DeepAgentDeps', 'UploadedFile', 'create_default_deps']

AskUser: TypeAlias = Callable[[str, Sequence[Any]], Awaitable[str | None]]
"""Asks the person a question with options and returns the answer, `None` if nobody was there after all."""

_NAME_LIMIT = 120
"""Characters of an uploaded file's name that are kept."""
_DETECT_BYTES = 65_536
"""Bytes that decide whether a file is text, and in which encoding."""


class UploadedFile(TypedDict):
    """What is known about an uploaded file."""

    name: str
    path: str
    size: int
    """Bytes."""
    line_count: int | None
    """`None` for a file that is not text."""
    encoding: str | None


@dataclass(kw_only=True)
class DeepAgentDeps:
    """The state of one conversation with a deep agent."""

    backend: BackendProtocol = field(default_factory=StateBackend)
    """Where files live: a pydantic-ai workspace backend."""
    files: dict[str, FileData] = field(default_factory=dict, repr=False)
    """The files of a `StateBackend`, by absolute path: the very dict that the backend holds."""
    todos: list[Todo] = field(default_factory=list)
    """The plan, in order."""
    subagents: dict[str, Any] = field(default_factory=dict)
    """Agents that tasks can be given to, by name."""
    uploads: dict[str, UploadedFile] = field(default_factory=dict)
    """The files that the person uploaded, by path."""
    ask_user: AskUser | None = field(default=None, repr=False)
    """Asks the person a question; `None` when nobody is there."""
    context_middleware: Any = field(default=None, repr=False)
    """The capability that keeps the context within its budget."""
    share_todos: bool = False
    """Whether subagents work on this plan instead of one of their own."""
    read_digests: dict[str, str] = field(default_factory=dict, repr=False)
    """Digest of each file as the agent last saw it, by path; an edit of a file that changed since is refused."""

    def __post_init__(self) -> None:
        if isinstance(self.backend, StateBackend):
            if self.files:
                self.backend.files = self.files
            else:
                self.files = self.backend.files

    def get_todo_prompt(self) -> str:
        """Return the plan as a prompt section, or an empty string without a plan."""
        return todo_prompt(self.todos)

    def get_files_summary(self) -> str:
        """Return the files in memory with their line counts as a prompt section, or an empty string without files."""
        return _section('## Files in Memory', [f'{path} ({_lines(data)} lines)' for path, data in _sorted(self.files)])

    def get_subagents_summary(self) -> str:
        """Return the names of the subagents as a prompt section, or an empty string without any."""
        return _section('## Available Subagents', sorted(self.subagents))

    def get_uploads_summary(self) -> str:
        """Return the uploaded files with their sizes as a prompt section, or an empty string without any."""
        lines = [
            f'`{path}` ({_size(upload["size"])}'
            + (')' if upload['line_count'] is None else f', {upload["line_count"]} lines)')
            for path, upload in _sorted(self.uploads)
        ]
        return _section('## Uploaded Files\n\nThe person uploaded:', lines)

    async def upload_file(self, name: str, content: bytes, *, upload_dir: str = '/uploads') -> str:
        """Write an uploaded file into the workspace and return its path there.

        Args:
            name: The name of the person's file; path parts and control characters are taken out of it. A name that
                is taken gets a number.
            content: The bytes.
            upload_dir: Where it goes; `/uploads` is `.deep/uploads` in a notebook's directory.

        Raises:
            OSError: The workspace refused the write.
        """
        workspace = Workspace(self.backend)
        directory = agent_path(upload_dir, await workspace.working_dir())
        path = await _free_path(workspace, directory, _safe_file_name(name))
        await workspace.write_bytes(path, content)
        encoding = _encoding(content)
        self.uploads[path] = UploadedFile(
            name=posixpath.basename(path),
            path=path,
            size=len(content),
            line_count=None if encoding is None else _lines(content),
            encoding=encoding,
        )
        return path

    async def upload_files(self, files: Sequence[tuple[str, bytes]], *, upload_dir: str = '/uploads') -> list[str]:
        """Write several uploaded files, given as `(name, content)`, and return their paths in order."""
        return [await self.upload_file(name, content, upload_dir=upload_dir) for name, content in files]

    def clone_for_subagent(self, max_depth: int = 0) -> Self:
        """Return the deps of a subagent: the same files, uploads and person, a plan and a memory of its own.

        Args:
            max_depth: How deep the subagent may delegate in turn; at 0 it knows no subagents.
        """
        return replace(
            self,
            todos=self.todos if self.share_todos else [],
            subagents=dict(self.subagents) if max_depth > 0 else {},
            context_middleware=None,
            read_digests={},
        )


def create_default_deps(backend: BackendProtocol | None = None) -> DeepAgentDeps:
    """Return fresh deps on `backend`, in memory by default."""
    return DeepAgentDeps(backend=backend if backend is not None else StateBackend())


def _section(heading: str, lines: Sequence[str]) -> str:
    return '\n'.join([heading, *(f'- {line}' for line in lines)]) if lines else ''


def _sorted(mapping: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(mapping.items())


def _lines(content: bytes) -> int:
    return content.count(b'\n') + (not content.endswith(b'\n') if content else 0)


def _size(size: float) -> str:
    for unit in ('B', 'kB', 'MB'):
        if size < 1000:
            return f'{size:.0f} {unit}' if unit == 'B' else f'{size:.1f} {unit}'
        size /= 1000
    return f'{size:.1f} GB'


def _safe_file_name(name: str) -> str:
    """Return the last part of `name` without anything that could steer a path or a prompt."""
    last = name.replace('\\', '/').rpartition('/')[2]
    visible = ''.join(char for char in last if unicodedata.category(char)[0] != 'C' and char not in '`')
    stem, dot, suffix = visible.strip(' .').rpartition('.')
    if not stem:
        stem, dot, suffix = suffix, '', ''
    return f'{stem[: _NAME_LIMIT - len(dot + suffix)]}{dot}{suffix}'[:_NAME_LIMIT] or 'upload'


async def _free_path(workspace: Workspace, directory: str, name: str) -> str:
    stem, suffix = posixpath.splitext(name)
    path, number = posixpath.join(directory, name), 1
    while await workspace.exists(path):
        number += 1
        path = posixpath.join(directory, f'{stem}-{number}{suffix}')
    return path


def _encoding(content: bytes) -> str | None:
    """Return the encoding of `content`, or `None` if it is not text."""
    try:
        content.decode()
    except UnicodeDecodeError:
        best = from_bytes(content[:_DETECT_BYTES]).best()
        return None if best is None or b'\0' in content[:_DETECT_BYTES] else best.encoding
    return 'utf-8' if b'\0' not in content else None

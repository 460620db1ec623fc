"""A workspace in memory, for agents that should touch no disk."""

from __future__ import annotations

import errno
import posixpath
import uuid
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from pydantic_ai.workspaces import FileEntry, SupportsFilesystem, WorkspaceBackend, WorkspaceRef

from .files import os_error

__all__ = ['FileData', 'StateBackend']

FileData: TypeAlias = bytes
"""One file in memory: exactly its bytes, so every encoding and line ending survives."""


class StateBackend(WorkspaceBackend, SupportsFilesystem):
    """A filesystem in a dict, rooted at `/`. It runs no commands and knows no links.

    `files` maps absolute, normalised POSIX paths to contents. It is held by reference: what a tool writes appears
    in the dict at once, and what is put into the dict can be read by the tools. Directories follow from the paths
    in it; those that were made, or that have lost their last file, are remembered until they are removed.

    The files live and die with this object: nothing can attach to its `ref` from elsewhere.

    Args:
        files: The dict to work on, shared with whoever passes it; a new one by default.
    """

    def __init__(self, files: dict[str, FileData] | None = None) -> None:
        self.files: dict[str, FileData] = {} if files is None else files
        self._directories: set[str] = set()
        self._ref: WorkspaceRef | None = None

    def __repr__(self) -> str:
        return f'StateBackend({len(self.files)} files)'

    @property
    def ref(self) -> WorkspaceRef | None:
        """This object's identity, from its first use on."""
        return self._ref

    async def working_dir(self) -> str:
        """Return `/`."""
        return self._normal('/')

    async def read_bytes(self, path: str) -> bytes:
        """Return the contents of a file."""
        target = self._normal(path)
        if target in self.files:
            return self.files[target]
        raise os_error(errno.EISDIR, target) if self._is_dir(target) else self._missing(target)

    async def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file, with the directories above it."""
        target = self._normal(path)
        if self._is_dir(target):
            raise os_error(errno.EISDIR, target)
        self._make_dirs(posixpath.dirname(target))
        self.files[target] = bytes(data)

    async def stat(self, path: str) -> FileEntry:
        """Return what is known of a file or directory."""
        target = self._normal(path)
        if target not in self.files and not self._is_dir(target):
            raise self._missing(target)
        return self._entry(target)

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        """Return the entries of a directory, sorted by name."""
        target = self._normal(path)
        if target in self.files:
            raise os_error(errno.ENOTDIR, target)
        if not self._is_dir(target):
            raise self._missing(target)
        names = {below.split('/', 1)[0] for below in self._below(target)}
        return [self._entry(posixpath.join(target, name)) for name in sorted(names)]

    async def make_dir(self, path: str) -> None:
        """Make a directory, with the directories above it."""
        target = self._normal(path)
        if target in self.files:
            raise os_error(errno.EEXIST, target)
        self._make_dirs(target)

    async def remove(self, path: str) -> None:
        """Remove a file, or a directory with all that is in it; `/` is refused with `ValueError`."""
        target = self._normal(path)
        if target == '/':
            raise ValueError('the root of the workspace cannot be removed')
        if target not in self.files and not self._is_dir(target):
            raise self._missing(target)
        self._make_dirs(posixpath.dirname(target))
        self.files.pop(target, None)
        for below in list(self._below(target)):
            self.files.pop(f'{target}/{below}', None)
            self._directories.discard(f'{target}/{below}')
        self._directories.discard(target)

    async def exists(self, path: str) -> bool:
        """Return whether there is a file or directory at `path`."""
        target = self._normal(path)
        return target in self.files or self._is_dir(target)

    def _normal(self, path: str) -> str:
        if self._ref is None:
            self._ref = WorkspaceRef(provider='deep_notebook.state', id=uuid.uuid4().hex)
        return posixpath.normpath('/' + path.lstrip('/'))

    def _below(self, directory: str) -> Iterator[str]:
        """Yield every known path under `directory`, relative to it."""
        prefix = directory.rstrip('/') + '/'
        for path in [*self.files, *self._directories]:
            if path.startswith(prefix) and path != prefix:
                yield path[len(prefix) :]

    def _is_dir(self, path: str) -> bool:
        if path in self.files:
            return False
        return path == '/' or path in self._directories or any(self._below(path))

    def _make_dirs(self, path: str) -> None:
        above = [path]
        while above[-1] != '/':
            above.append(posixpath.dirname(above[-1]))
        if any(directory in self.files for directory in above):
            raise os_error(errno.ENOTDIR, path)
        self._directories.update(above[:-1])

    def _missing(self, path: str) -> OSError:
        parent = posixpath.dirname(path)
        while parent != '/':
            if parent in self.files:
                return os_error(errno.ENOTDIR, path)
            parent = posixpath.dirname(parent)
        return os_error(errno.ENOENT, path)

    def _entry(self, path: str) -> FileEntry:
        data = self.files.get(path)
        size = None if data is None else len(data)
        return FileEntry(name=posixpath.basename(path), path=path, is_dir=data is None, size=size)

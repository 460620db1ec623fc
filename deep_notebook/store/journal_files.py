"""What a path holds, for the journal, and how it is put back. Nothing here follows a link."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from dataclasses import dataclass

from ..errors import PathRefusedError
from ..workspaces.confinement import ConfinedDirectory, Parts, is_deep, opened
from ..workspaces.files import check_regular, put_file, put_link
from .journal_types import NOTHING, FileState, same

__all__ = [
    'FILE_LIMIT',
    'Seen',
    'belongs_to_version_control',
    'contents_state',
    'is_kept_out',
    'is_unread',
    'look',
    'look_in',
    'matches',
    'missing_directories',
    'put',
    'unread',
]

FILE_LIMIT = 64 * 2**20
"""The largest file, in bytes, whose contents are kept when one of our own tools changes it."""

_VERSION_CONTROL = frozenset({'.git', '.hg', '.svn'})
_LINK = b'link:'
_UNREAD = 'stat:'
_DIRECTORY = 'directory'
_SPECIAL = 'special'


@dataclass(frozen=True)
class Seen:
    """What is at a path."""

    state: FileState
    data: bytes | None = None
    """The contents, if they were read."""
    info: os.stat_result | None = None

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return self.state.digest == _DIRECTORY


def is_kept_out(parts: Parts) -> bool:
    """Return whether the journal has no business at `parts`: version control, and what lies in `.deep`."""
    return belongs_to_version_control(parts) or any(map(is_deep, parts))


def belongs_to_version_control(parts: Parts) -> bool:
    """Return whether `parts` is, or is in, where version control keeps what it knows."""
    return any(name.casefold() in _VERSION_CONTROL for name in parts)


def look(tree: ConfinedDirectory, parts: Parts, *, limit: int = FILE_LIMIT) -> Seen:
    """Return what is at `parts`; below a link or a file, that is nothing.

    Args:
        tree: The workspace.
        parts: A real place.
        limit: The largest file to read, in bytes.

    Raises:
        OSError: As the system says.
    """
    try:
        with tree.directory(parts[:-1]) as parent:
            return look_in(parent, parts[-1], limit=limit)
    except (FileNotFoundError, NotADirectoryError, PathRefusedError):
        return Seen(NOTHING)


def look_in(parent: int, name: str, *, limit: int) -> Seen:
    """Return what the entry `name` of the directory `parent`, a file descriptor, is; else as `look`."""
    try:
        info = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return Seen(NOTHING)
    if stat.S_ISLNK(info.st_mode):
        data = _LINK + os.fsencode(os.readlink(name, dir_fd=parent))
        return Seen(FileState(digest=_digest(data), mode=None, kept=True, link=True), data, info)
    if not stat.S_ISREG(info.st_mode):
        word = _DIRECTORY if stat.S_ISDIR(info.st_mode) else _SPECIAL
        return Seen(FileState(digest=word, mode=stat.S_IMODE(info.st_mode), kept=False), None, info)
    if info.st_size > limit:
        return Seen(unread(info), None, info)
    try:
        with opened(name, os.O_RDONLY, parent) as fd, open(fd, 'rb', closefd=False) as file:
            info = os.fstat(fd)
            check_regular(info)
            data = file.read(limit + 1)
    except PermissionError:
        return Seen(unread(info), None, info)
    if len(data) > limit:
        return Seen(unread(info), None, info)
    return Seen(FileState(digest=_digest(data), mode=stat.S_IMODE(info.st_mode), kept=True), data, info)


def unread(info: os.stat_result) -> FileState:
    """Return the state of a regular file whose contents were not read: it is known by its size, time and inode."""
    word = f'{_UNREAD}{info.st_size}:{info.st_mtime_ns}:{info.st_ino}'
    return FileState(digest=word, mode=stat.S_IMODE(info.st_mode), kept=False)


def is_unread(state: FileState) -> bool:
    """Return whether `state` is one of `unread`."""
    return state.digest is not None and state.digest.startswith(_UNREAD)


def matches(seen: Seen, state: FileState) -> bool:
    """Return whether what was seen is in `state`, also where `state` was made without reading the file."""
    if is_unread(state) and seen.info is not None and stat.S_ISREG(seen.info.st_mode):
        return same(unread(seen.info), state)
    return same(seen.state, state)


def contents_state(data: bytes, *, mode: int | None, limit: int = FILE_LIMIT) -> FileState:
    """Return the state of a regular file that holds `data`."""
    return FileState(digest=_digest(data), mode=mode, kept=len(data) <= limit)


def missing_directories(tree: ConfinedDirectory, parts: Parts) -> list[Parts]:
    """Return which directories on the way to and including `parts` are not there, outermost first."""
    missing: list[Parts] = []
    for length in range(len(parts), 0, -1):
        if os.path.lexists(tree.absolute(parts[:length])):
            break
        missing.append(parts[:length])
    return missing[::-1]


def put(tree: ConfinedDirectory, parts: Parts, state: FileState, data: bytes | None) -> None:
    """Make `parts` what `state` says; the directory above it is there.

    Args:
        tree: The workspace.
        parts: A real place. A file or link there is replaced in one step; a directory is not.
        state: What it is to be.
        data: Its contents, or a link as the journal keeps it; `None` for nothing.

    Raises:
        PathRefusedError: A directory on the way has become a link.
        OSError: As the system says; what is there is unchanged then.
    """
    with tree.directory(parts[:-1]) as parent:
        if data is None:
            with suppress(FileNotFoundError):
                os.unlink(parts[-1], dir_fd=parent)
        elif state.link:
            put_link(parts[-1], os.fsdecode(data.removeprefix(_LINK)), parent)
        else:
            put_file(parts[-1], data, parent, mode=state.mode)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

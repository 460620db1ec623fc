"""What file operations of workspaces have in common."""

from __future__ import annotations

import errno
import os
import posixpath
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pydantic_ai.workspaces import FileEntry

from .confinement import opened

__all__ = ['check_regular', 'errors_naming', 'file_entry', 'os_error', 'put_file', 'put_link', 'replace_file']


def os_error(number: int, path: str | None = None) -> OSError:
    """Return the builtin error of an `errno` number, as the system would raise it."""
    return OSError(number, os.strerror(number), path)


@contextmanager
def errors_naming(path: str) -> Iterator[None]:
    """Make the system's errors name `path`, not the part of it that was being opened."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            error.filename = path
        raise


def check_regular(info: os.stat_result) -> None:
    """Raise for what is not a regular file: `IsADirectoryError`, or `OSError` for FIFOs, devices and sockets."""
    if stat.S_ISDIR(info.st_mode):
        raise os_error(errno.EISDIR)
    if not stat.S_ISREG(info.st_mode):
        raise OSError(errno.EINVAL, 'Not a regular file', None)


def file_entry(path: str, info: os.stat_result | None) -> FileEntry:
    """Return the entry at the absolute `path`; without `info`, it is one that leads nowhere."""
    size = info.st_size if info is not None and stat.S_ISREG(info.st_mode) else None
    is_dir = info is not None and stat.S_ISDIR(info.st_mode)
    return FileEntry(name=posixpath.basename(path), path=path, is_dir=is_dir, size=size)


def replace_file(name: str, data: bytes, parent: int) -> None:
    """Write a file in one step, keeping the mode and, where that is possible, the owner of the one it replaces.

    Args:
        name: An entry of the directory `parent`, or a new one; no link.
        data: The new contents.
        parent: A file descriptor of the directory.

    Raises:
        PermissionError: The present file may not be written.
        OSError: It is not a regular file, or as the system says; the present file is unchanged then.
    """
    present: os.stat_result | None = None
    with suppress(FileNotFoundError), opened(name, os.O_WRONLY, parent) as fd:
        present = os.fstat(fd)
        check_regular(present)
    _swap_in(name, data, parent, present, None if present is None else stat.S_IMODE(present.st_mode))


def put_file(name: str, data: bytes, parent: int, *, mode: int | None) -> None:
    """Put a file in place in one step, whatever file or link is there.

    Args:
        name: An entry of the directory `parent`, or a new one.
        data: Its contents.
        parent: A file descriptor of the directory.
        mode: Its permission bits; by default those of a new file.

    Raises:
        OSError: A directory is there, or as the system says; what is there is unchanged then.
    """
    present: os.stat_result | None = None
    with suppress(FileNotFoundError):
        present = os.stat(name, dir_fd=parent, follow_symlinks=False)
    _swap_in(name, data, parent, present, mode)


def put_link(name: str, target: str, parent: int) -> None:
    """Put a symbolic link in place in one step, whatever file or link is there; raises as `put_file`."""
    draft = _draft_name()
    os.symlink(target, draft, dir_fd=parent)
    with _swapped_in(draft, name, parent):
        pass


def _swap_in(name: str, data: bytes, parent: int, present: os.stat_result | None, mode: int | None) -> None:
    """Put a file in the place of what is `present`, with its owner where that is possible."""
    draft = _draft_name()
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode, dir_fd=parent)
    with _swapped_in(draft, name, parent), open(fd, 'wb') as file:
        file.write(data)
        file.flush()
        if present is not None:
            _take_owner(fd, present)
        if mode is not None and stat.S_IMODE(os.fstat(fd).st_mode) != mode:
            os.fchmod(fd, mode)


def _draft_name() -> str:
    return f'.{secrets.token_hex(8)}.tmp'


@contextmanager
def _swapped_in(draft: str, name: str, parent: int) -> Iterator[None]:
    """Rename the entry `draft` to `name` after the block, or remove it where something fails."""
    try:
        yield
        os.replace(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=parent)
        raise


def _take_owner(fd: int, present: os.stat_result) -> None:
    info = os.fstat(fd)
    if (info.st_uid, info.st_gid) != (present.st_uid, present.st_gid):
        with suppress(PermissionError):
            os.fchown(fd, present.st_uid, present.st_gid)

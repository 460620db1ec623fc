"""A directory that paths cannot leave.

A path goes through two steps. `ConfinedDirectory.real_parts` follows its links by reading them, one name at a time,
and returns the names that lead from the root to the real place; a step out of the root is refused before anything
there is looked at. `ConfinedDirectory.directory` and `opened` then open these names one by one, each relative to the
directory opened before, and follow no link at all: a name that became a link since the first step is refused, so
nothing is won by swapping files while a path is being checked.

Not seen through: hard links (to whatever the person linked into the directory) and mounts below the root.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
import stat
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from pydantic_ai.workspaces import WorkspaceUnavailableError

from deep_notebook.errors import PathRefusedError

__all__ = ['AGENT_SPOTS', 'DEEP_DIRECTORY', 'ConfinedDirectory', 'Parts', 'is_deep', 'opened', 'protected']

DEEP_DIRECTORY = '.deep'
"""Where deep_notebook keeps what is its own: the sessions of notebooks, and the agent's spots."""
AGENT_SPOTS = ('large_tool_results', 'memory', 'plans', 'skills', 'uploads')
"""What the agent may use in `DEEP_DIRECTORY`."""

Parts = tuple[str, ...]
"""The names that lead from the root to a real place: no link, no `.`, no `..`; empty for the root itself."""

_MAX_LINKS = 40
"""As many links as Linux follows in one path before it speaks of a loop (path_resolution(7))."""
_ELSEWHERE = re.compile(r'~|[A-Za-z]:|[A-Za-z][A-Za-z0-9+.-]*:\Z')
"""How a first name begins that means another place elsewhere: a home directory, a drive, the scheme of a URL."""


def _flags(*names: str) -> int:
    """Combine the `os.O_*` flags that this system has."""
    return sum(getattr(os, f'O_{name}', 0) for name in names)


_STEP = _flags('DIRECTORY', 'NOFOLLOW', 'CLOEXEC', 'PATH')  # with O_PATH, a directory need not be readable
_LISTING = _flags('DIRECTORY', 'NOFOLLOW', 'CLOEXEC')
_FILE = _flags('NOFOLLOW', 'NONBLOCK', 'CLOEXEC')  # O_NONBLOCK: opening a FIFO returns at once


class ConfinedDirectory:
    """The real paths under one directory.

    Args:
        root: The absolute real path of the directory.
        spelled: Another absolute path of it, through links, that paths may begin with too.
    """

    def __init__(self, root: str, *, spelled: str | None = None) -> None:
        self.root = root
        self._spellings = (root,) if spelled is None else (root, spelled)

    def real_parts(self, path: str, *, follow: bool = True) -> Parts:
        """Return where `path` really leads; names that do not exist are kept as written.

        Args:
            path: A path below the root, absolute or relative to it; `..` climbs from where a link leads.
            follow: Whether a link in the last place is followed, or meant itself.

        Raises:
            PathRefusedError: The path leaves the root, is protected, or is not a path of this system.
            OSError: Its links form a loop.
        """
        shown = self.shown(path)
        if not _encodable(path):
            raise PathRefusedError(
                f'{shown!r} cannot be a file name here: file names are {sys.getfilesystemencoding()}.'
            )
        if '\0' in path or '\\' in path:
            raise PathRefusedError(f'{shown!r} is not a path of this workspace: {_RELATIVE}')
        names = self._names(path)
        if names and _ELSEWHERE.match(names[0]) and not os.path.lexists(self.absolute(names[:1])):
            raise PathRefusedError(f'{shown!r} is not a path of this workspace: {_RELATIVE}')
        return self._resolve(names, shown, follow=follow)

    def follow(self, parts: Parts) -> Parts:
        """Return where the link at `parts` leads, or `parts` for anything else; raises as `real_parts`."""
        return self._resolve(list(parts), '/'.join(parts), follow=True)

    def absolute(self, parts: Sequence[str]) -> str:
        """Return the absolute path of `parts`."""
        return posixpath.join(self.root, *parts)

    def is_below(self, path: str) -> bool:
        """Return whether the root lies below the absolute `path`, going by its text."""
        above = posixpath.normpath(path).rstrip('/') + '/'
        return any(spelling.startswith(above) and spelling != above for spelling in self._spellings)

    @contextmanager
    def directory(self, parts: Parts, *, create: bool = False, listing: bool = False) -> Iterator[int]:
        """Open the directory at `parts` and yield its file descriptor, to reach what is in it.

        Args:
            parts: A real place, from `real_parts`.
            create: Whether missing directories are made.
            listing: Whether its entries are to be read, which takes the right to.

        Raises:
            PathRefusedError: A name on the way has become a link.
            WorkspaceUnavailableError: The root is gone.
            OSError: As the system says.
        """
        try:
            fd = os.open(self.root, _STEP)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise
            raise WorkspaceUnavailableError(f'the workspace directory {self.root} does not exist any more') from error
        try:
            for name in parts:
                fd = _replaced(fd, _step_into(name, fd, create=create))
            if listing:
                fd = _replaced(fd, os.open('.', _LISTING, dir_fd=fd))
            yield fd
        finally:
            os.close(fd)

    def look_at(self, parts: Parts, *, accept_link: bool = False) -> os.stat_result:
        """Return the metadata of what is at `parts`, or, where that is accepted, of a link; raises as `directory`."""
        with self.directory(parts[:-1]) as parent:
            info = os.stat(parts[-1] if parts else '.', dir_fd=parent, follow_symlinks=False)
        if stat.S_ISLNK(info.st_mode) and not accept_link:
            raise _became_link(parts[-1])
        return info

    def shown(self, path: str) -> str:
        """Return `path` as messages show it: relative to the root where it was written with the root in front."""
        return path.removeprefix(self.root.rstrip('/') + '/')

    def _names(self, path: str) -> list[str]:
        """Split `path` into the names that lead from the root."""
        for spelling in self._spellings:
            below = spelling.rstrip('/') + '/'
            if path == spelling or path.startswith(below):
                path = path[len(below) :]
                break
        else:
            if path.startswith('/'):
                raise _outside(path)
        return [name for name in path.split('/') if name not in ('', '.')]

    def _resolve(self, names: list[str], path: str, *, follow: bool) -> Parts:
        pending = names[::-1]
        real: list[str] = []
        links = 0
        while pending:
            name = pending.pop()
            if name == '..':
                if not real:
                    raise _outside(path)
                real.pop()
                continue
            if real and is_deep(real[-1]) and name not in AGENT_SPOTS:
                raise protected(path)
            if not pending and not follow:
                real.append(name)
                break
            target = _read_link(self.absolute((*real, name)))
            if target is None:
                real.append(name)
                continue
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            if is_deep(name):
                raise protected(path)  # a linked .deep would be reachable by its other name, without protection
            try:
                steps = self._names(target)
            except PathRefusedError:
                raise _outside(path) from None
            if target.startswith('/'):
                real.clear()
            pending.extend(reversed(steps))
        return tuple(real)


@contextmanager
def opened(name: str, flags: int, parent: int) -> Iterator[int]:
    """Open a file without ever waiting for it, and yield its file descriptor.

    Args:
        name: An entry of the directory `parent`.
        flags: `os.O_RDONLY` or `os.O_WRONLY`.
        parent: A file descriptor from `ConfinedDirectory.directory`.

    Raises:
        PathRefusedError: It has become a link.
        OSError: As the system says.
    """
    fd = _open(name, flags | _FILE, parent)
    try:
        yield fd
    finally:
        os.close(fd)


def is_deep(name: str) -> bool:
    """Return whether some file system takes `name` for `DEEP_DIRECTORY`.

    macOS ignores case and, on HFS+, invisible characters (as in CVE-2014-9390).
    """
    return ''.join(c for c in name if unicodedata.category(c) != 'Cf').casefold() == DEEP_DIRECTORY


_RELATIVE = "use a path relative to the workspace, with forward slashes, such as 'data/sales.csv'."


def _outside(path: str) -> PathRefusedError:
    return PathRefusedError(f'{path!r} leads out of the workspace: {_RELATIVE}')


def protected(path: str) -> PathRefusedError:
    """Return the refusal of a path in `DEEP_DIRECTORY` that is not the agent's."""
    spots = ', '.join(f'{DEEP_DIRECTORY}/{spot}' for spot in AGENT_SPOTS)
    return PathRefusedError(f'{path!r} is kept by deep_notebook itself: of {DEEP_DIRECTORY}, only {spots} can be used.')


def _became_link(name: str) -> PathRefusedError:
    return PathRefusedError(f'{name!r} became a link while it was being opened: try again.')


def _encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def _read_link(path: str) -> str | None:
    """Return where the link at `path` points, or `None` for what is no link or cannot be read: opening will tell."""
    try:
        return os.readlink(path)
    except OSError:
        return None


def _replaced(old: int, new: int) -> int:
    os.close(old)
    return new


def _step_into(name: str, parent: int, *, create: bool) -> int:
    try:
        return _open(name, _STEP, parent)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):  # somebody else was faster; opening it tells whether it is a directory
        os.mkdir(name, dir_fd=parent)
    return _open(name, _STEP, parent)


def _open(name: str, flags: int, parent: int) -> int:
    try:
        return os.open(name, flags, dir_fd=parent)
    except OSError:
        if _is_link(name, parent):
            raise _became_link(name) from None
        raise


def _is_link(name: str, parent: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False

"""A bounded look at all files of a directory, without reading any."""

from __future__ import annotations

import os
import posixpath
import stat
import time
from collections import deque
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from .confinement import ConfinedDirectory, Parts, is_deep

__all__ = ['NOT_ENTERED', 'Walk', 'walk']

NOT_ENTERED = frozenset(
    {
        '.git',
        '.hg',
        '.svn',
        '.venv',
        'node_modules',
        '__pycache__',
        '.ipynb_checkpoints',
        '.pytest_cache',
        '.mypy_cache',
        '.ruff_cache',
    }
)
"""Directories that are not entered, beside `.deep` and virtual environments of any name: version control, and what
tools can make again."""

_ENVIRONMENT = 'pyvenv.cfg'
"""What only virtual environments hold."""


@dataclass
class Walk:
    """What was found: paths are relative to the root and separated by `/`."""

    files: dict[str, os.stat_result] = field(default_factory=dict)
    """All that is no directory, links themselves."""
    directories: dict[str, os.stat_result] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)
    """Directories whose entries were all looked at; the root is `''`."""
    stopped: Literal['entries', 'time'] | None = None
    """Which limit was reached, if one was."""

    def covers(self, path: str) -> bool:
        """Return whether `path` would have been found if it were there."""
        while path:
            path = posixpath.dirname(path)
            if path in self.listed:
                return True
            if path in self.directories:
                return False
        return False


def walk(tree: ConfinedDirectory, *, limit: int, deadline: float, skip: Collection[str] = ()) -> Walk:
    """Look at the directory, nearest entries first, in the order of their names.

    Args:
        tree: The directory.
        limit: The most entries to look at.
        deadline: When to stop looking, by `time.monotonic()`.
        skip: Paths that are passed over.

    Raises:
        WorkspaceUnavailableError: The directory is gone.
    """
    found = Walk()
    waiting: deque[Parts] = deque([()])
    looked_at = 0
    while waiting:
        parts = waiting.popleft()
        above = '/'.join(parts)
        try:
            with tree.directory(parts, listing=True) as fd, os.scandir(fd) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
                if parts and any(entry.name == _ENVIRONMENT for entry in entries):
                    found.directories.pop(above, None)
                    continue
                for entry in entries:
                    path = posixpath.join(above, entry.name)
                    if is_deep(entry.name) or path in skip:
                        continue
                    if looked_at == limit or time.monotonic() > deadline:
                        found.stopped = 'entries' if looked_at == limit else 'time'
                        return found
                    looked_at += 1
                    with suppress(FileNotFoundError):
                        info = entry.stat(follow_symlinks=False)
                        if not stat.S_ISDIR(info.st_mode):
                            found.files[path] = info
                        elif entry.name.casefold() not in NOT_ENTERED:
                            found.directories[path] = info
                            waiting.append((*parts, entry.name))
                found.listed.add(above)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
    return found

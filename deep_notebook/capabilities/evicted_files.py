"""What evicted results left behind, for whoever looks at them later: the whole text, and pages of it."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic_ai.workspaces import WorkspaceError

from ..errors import PathRefusedError
from ..workspaces.confinement import ConfinedDirectory, opened
from .agent_paths import agent_path
from .eviction import DEFAULT_EVICTION_PATH, evicted_path

__all__ = ['MAX_PAGE_CHARS', 'MAX_PAGE_LINES', 'EvictedFiles', 'Page', 'pages_of']

MAX_PAGE_LINES = 200
MAX_PAGE_CHARS = 20_000
"""A longer line goes on over several pages."""

_LINE = re.compile(r'[^\n]*\n|[^\n]+')


@dataclass(frozen=True, kw_only=True)
class Page:
    """A part of a text."""

    first_line: int
    """The number of its first line, from 1."""
    text: str


class EvictedFiles:
    """The files of the results that were evicted in a directory of the person's.

    A preview is text that a tool may have made up: only files of the agent's own spot for results are read, and no
    link is followed.

    Args:
        root: The directory.
    """

    def __init__(self, root: Path) -> None:
        self._tree = ConfinedDirectory(os.path.realpath(root))
        self._directory = agent_path(DEFAULT_EVICTION_PATH, str(root))

    def whole(self, preview: str) -> tuple[str, str] | None:
        """Return the path and the whole text of the result for which `preview` was left.

        `None` for a text that is no preview, and where the file is gone.
        """
        path = evicted_path(preview)
        text = None if path is None else self.read(path)
        return None if path is None or text is None else (path, text)

    def path(self, id: str) -> str:
        """Return what previews call the file with this name."""
        return posixpath.join(self._directory, id)

    def read(self, path: str) -> str | None:
        """Return the text of the file that previews call `path`, or `None` if it is not there."""
        try:
            with self._opened(path) as fd, os.fdopen(os.dup(fd), 'rb') as file:
                return file.read().decode('utf-8', 'replace')
        except (OSError, PathRefusedError, WorkspaceError):
            return None

    def size(self, path: str) -> int | None:
        """Return the size in bytes of the file that previews call `path`, or `None` if it is not there."""
        try:
            with self._opened(path) as fd:
                return os.fstat(fd).st_size
        except (OSError, PathRefusedError, WorkspaceError):
            return None

    @contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        directory, name = posixpath.split(path)
        if directory != self._directory or name in ('', '.', '..'):
            raise FileNotFoundError(path)
        parts = tuple(part for part in directory.split('/') if part)
        with self._tree.directory(parts) as parent, opened(name, os.O_RDONLY, parent) as fd:
            yield fd


def pages_of(text: str, *, max_lines: int = MAX_PAGE_LINES, max_chars: int = MAX_PAGE_CHARS) -> list[Page]:
    """Return `text` in pages, at least one; one after the other they are the text.

    Args:
        text: Any text.
        max_lines: The most lines of a page.
        max_chars: The most characters of a page.
    """
    pages: list[Page] = []
    begun: list[str] = []
    size, first = 0, 1
    for number, line in enumerate(_LINE.findall(text), start=1):
        if begun and (len(begun) == max_lines or size + len(line) > max_chars):
            pages.append(Page(first_line=first, text=''.join(begun)))
            begun, size = [], 0
        if not begun:
            first = number
        while len(line) > max_chars:
            pages.append(Page(first_line=number, text=line[:max_chars]))
            line = line[max_chars:]
        begun.append(line)
        size += len(line)
    if begun or not pages:
        pages.append(Page(first_line=first, text=''.join(begun)))
    return pages

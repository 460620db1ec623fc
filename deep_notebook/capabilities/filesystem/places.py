"""Paths as the model writes them, and what it is told when one does not work.

Workspaces of this package confine paths themselves; this check comes first and holds on any other workspace too.
A failure is an answer, not a retry: it costs the run nothing but the call.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.workspaces import Workspace, WorkspaceError

from ...errors import PathRefusedError, did_you_mean
from ...workspaces import relative_path

__all__ = ['Place', 'answering', 'is_inside', 'locate', 'missing', 'readable']

_WINDOWS = re.compile(r'[A-Za-z]:[\\/]|\\\\')
_RELATIVE = "use a path relative to the workspace, with forward slashes, such as 'data/sales.csv'"


@dataclass(frozen=True)
class Place:
    """A file or directory in the workspace."""

    path: str
    """Absolute, as it was written."""
    shown: str
    """Relative to the workspace, for the model and the person."""
    key: str
    """Relative to the workspace with links followed: the same for every name of one file."""


async def locate(workspace: Workspace, path: str) -> Place:
    """Return where `path` is.

    Raises:
        ToolFailed: It leads out of the workspace, or is not a path.
    """
    if not path.strip() or '\0' in path or path.startswith('~') or _WINDOWS.match(path) or '..' in path.split('\\'):
        raise ToolFailed(f'{path!r} is not a path of this workspace: {_RELATIVE}.')
    with answering(path):
        root = await workspace.working_dir()
        absolute = await workspace.resolve(path)
        real = await workspace.realpath(absolute) if _is_below(absolute, root) else absolute
    if not _is_below(real, root):
        raise ToolFailed(f'{path!r} is outside the workspace: {_RELATIVE}.')
    return Place(absolute, relative_path(absolute, root), relative_path(real, root))


async def is_inside(workspace: Workspace, path: str) -> bool:
    """Return whether the absolute `path` stays in the workspace when links are followed."""
    try:
        await locate(workspace, path)
    except ToolFailed:
        return False
    return True


async def missing(workspace: Workspace, place: Place) -> ToolFailed:
    """Return the answer to a path that does not exist, with the closest name beside it."""
    parent = posixpath.dirname(place.path)
    try:
        names = [entry.name for entry in await workspace.list_dir(parent)]
    except (OSError, WorkspaceError):
        return ToolFailed(f'{place.shown} does not exist, nor does its directory.')
    return ToolFailed(f'{place.shown} does not exist.{did_you_mean(posixpath.basename(place.path), names)}')


def readable(name: str) -> str:
    """Return `name` with a sign in the place of bytes that are no UTF-8, which no model can be told."""
    return name.encode('utf-8', 'replace').decode()


@contextmanager
def answering(shown: str) -> Iterator[None]:
    """Turn what a workspace raises about the path `shown` into an answer to the model."""
    try:
        yield
    except PathRefusedError as error:
        raise ToolFailed(str(error)) from error
    except (OSError, ValueError, WorkspaceError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise ToolFailed(f'{shown}: {reason or error}.') from error


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip('/') + '/')

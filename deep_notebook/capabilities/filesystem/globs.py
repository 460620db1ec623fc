"""File name patterns, and the walk through a workspace that they select from.

Hidden names (`.venv`, `.git`, `.deep`) and directories that only tools fill are passed over unless a pattern or the
starting path names them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import AsyncIterator
from functools import lru_cache

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolReturn
from pydantic_ai.workspaces import FileEntry, Workspace

from .files import Files
from .places import Place, answering, readable
from .reading import visible

__all__ = ['compile_glob', 'find_files', 'walk']

_TOOL_DIRECTORIES = frozenset({'node_modules', '__pycache__'})
_MAX_DEPTH = 40
_MAX_ENTRIES = 50_000
"""Entries that a walk looks at."""
_MAX_PATTERN = 500
_MAX_FOUND = 200


@lru_cache(maxsize=64)
def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return a regular expression for whole relative paths.

    `*` and `?` stay within one name, `**` crosses directories, `[abc]` and `{a,b}` are choices. A pattern without
    a slash is for the name alone, at any depth.

    Raises:
        ToolFailed: The pattern is too long or malformed.
    """
    if len(pattern) > _MAX_PATTERN:
        raise ToolFailed('The pattern is too long.')
    anchored = pattern.strip('/').removeprefix('./')
    if '/' not in anchored:
        anchored = f'**/{anchored}'
    try:
        return re.compile(_translated(anchored))
    except (re.error, ValueError):
        raise ToolFailed(f'{pattern!r} is not a valid pattern.') from None


_TOKEN = re.compile(
    r'(?P<deep>(?:\*\*/)+)|(?P<star>\*+)|(?P<any>\?)|\[(?P<not>[!^]?)(?P<set>\]?[^\]]*)\]|(?P<rest>.)', re.S
)


def _translated(pattern: str) -> str:
    out: list[str] = []
    open_braces = 0
    for match in _TOKEN.finditer(pattern):
        if match['deep']:
            out.append('(?:[^/]+/)*')
        elif match['star']:
            out.append('.*' if match['star'] == '**' and match.end() == len(pattern) else '[^/]*')
        elif match['any']:
            out.append('[^/]')
        elif match['set'] is not None:
            inside = re.sub(r'([\\\[&~|^])', r'\\\1', match['set'])
            out.append(f'(?!/)[{"^" if match["not"] else ""}{inside}]')
        elif match['rest'] == '{':
            open_braces += 1
            out.append('(?:')
        elif match['rest'] == '}' and open_braces:
            open_braces -= 1
            out.append(')')
        elif match['rest'] == ',' and open_braces:
            out.append('|')
        else:
            out.append(re.escape(match['rest']))
    if open_braces:
        raise ValueError('a brace is not closed')
    return ''.join(out) + r'\Z'


async def walk(workspace: Workspace, place: Place, *, hidden: bool = False) -> AsyncIterator[tuple[str, FileEntry]]:
    """Yield every file under `place` with its path relative to it, in the order of paths.

    Args:
        workspace: Where.
        place: The directory to start at.
        hidden: Whether names that begin with a dot, and directories that only tools fill, are looked at too.
    """
    looked_at = 0
    seen = {place.key}
    pending = [(place.path, '')]
    while pending:
        directory, prefix = pending.pop()
        with answering(prefix or place.shown):
            try:
                entries = await workspace.list_dir(directory)
            except (FileNotFoundError, PermissionError):
                if not prefix:
                    raise
                continue
        below: list[tuple[str, str]] = []
        for entry in sorted(entries, key=lambda entry: entry.name):
            looked_at += 1
            if looked_at > _MAX_ENTRIES:
                return
            if not hidden and (entry.name.startswith('.') or (entry.is_dir and entry.name in _TOOL_DIRECTORIES)):
                continue
            relative = posixpath.join(prefix, entry.name)
            if not entry.is_dir:
                yield relative, entry
            elif relative.count('/') < _MAX_DEPTH and await _is_new(workspace, entry, seen):
                below.append((entry.path, relative))
        pending += reversed(below)


async def _is_new(workspace: Workspace, entry: FileEntry, seen: set[str]) -> bool:
    """Return whether a directory is in the workspace and, whatever links lead there, has not been walked yet."""
    if not await visible(workspace, [entry]):
        return False
    real = await workspace.realpath(entry.path)
    new = real not in seen
    seen.add(real)
    return new


async def find_files(files: Files, pattern: str, path: str) -> ToolReturn[str]:
    """Return the paths of the files under `path` whose path from there matches `pattern`, in order."""
    matcher = compile_glob(pattern)
    place = await files.locate(path)
    paths: list[str] = []
    more = False
    async for relative, entry in walk(files.workspace, place, hidden=_names_hidden(pattern)):
        if matcher.match(relative) and await visible(files.workspace, [entry]):
            if len(paths) == _MAX_FOUND:
                more = True
                break
            paths.append(readable(relative if place.shown == '.' else f'{place.shown}/{relative}'))
    count = f'{len(paths)}{"+" if more else ""} file{"" if len(paths) == 1 else "s"}'
    text = '\n'.join([*paths, *(['… and more: narrow the pattern'] if more else [])])
    return ToolReturn(text or f'No file matches {pattern!r}.', metadata={'summary': f'{pattern} · {count}'})


def _names_hidden(pattern: str) -> bool:
    return any(part.startswith('.') and part not in ('.', '..') for part in pattern.split('/'))

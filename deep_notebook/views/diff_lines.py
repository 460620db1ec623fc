"""The lines of a unified diff, each knowing what it is. The front end's `diff.ts` reads diffs the same way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

__all__ = ['DiffKind', 'diff_lines']

DiffKind: TypeAlias = Literal['file', 'hunk', 'add', 'remove', 'context', 'note']

_HUNK = re.compile(r'@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@')
_WHOLE_FILE = re.compile(r'@@ (?:-0,0 |-\S+ \+0,0 )')
"""The place of a hunk says nothing where a file comes or goes as a whole."""
_SIDE = re.compile(r'^(---|\+\+\+) [ab]/')


def diff_lines(diff: str) -> Iterator[tuple[DiffKind, str]]:
    """Yield the lines of `diff` for a reader.

    Lines are counted by the hunk's header, so that a removed line which itself begins with `--` is not taken for a
    file's name. What was and what will be are one line to read: `--- (new)   +++ report.md`.
    """
    removed = added = 0
    old: str | None = None
    for line in diff.removesuffix('\n').split('\n'):
        if old is not None and not line.startswith('+++ '):
            yield 'file', old
            old = None
        inside = removed > 0 or added > 0
        if not inside and (hunk := _HUNK.match(line)):
            removed, added = (1 if count is None else int(count) for count in hunk.groups())
            if not _WHOLE_FILE.match(line):
                yield 'hunk', line
        elif not inside and line.startswith('--- '):
            old = _SIDE.sub(r'\1 ', line).replace('/dev/null', '(new)')
        elif not inside and line.startswith('+++ '):
            new = _SIDE.sub(r'\1 ', line).replace('/dev/null', '(gone)')
            yield 'file', f'{old}   {new}' if old is not None else new
            old = None
        elif not inside or line.startswith('\\'):
            yield 'note', line
        elif line.startswith('+'):
            added -= 1
            yield 'add', line
        elif line.startswith('-'):
            removed -= 1
            yield 'remove', line
        else:
            removed, added = removed - 1, added - 1
            yield 'context', line
    if old is not None:
        yield 'file', old

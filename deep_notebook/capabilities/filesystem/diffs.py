"""Unified diffs that stay readable, and quick, whatever is compared."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .text_files import TextFile

__all__ = ['DIFF_LIMIT', 'Diff', 'diff_files']

DIFF_LIMIT = 20_000
"""Characters of a diff that is kept beside a tool's result."""
_CONTEXT = 3
_TOO_MANY = 4_000_000
"""Pairs of lines above which differences are not searched for; difflib's time grows with their number."""
_NO_NEWLINE = '\\ No newline at end of file'


@dataclass(frozen=True)
class Diff:
    """What changed in a file."""

    added: int
    removed: int
    lines: tuple[str, ...]
    """The unified diff."""

    def text(self, *, limit: int = DIFF_LIMIT) -> str:
        """Return the diff, at most `limit` characters of it, and how much is missing."""
        whole = '\n'.join(self.lines)
        if len(whole) <= limit:
            return whole
        note = f'\n… {len(whole):,} characters in all, the rest is not shown'
        return whole[: limit - len(note)] + note

    @property
    def counts(self) -> str:
        """`'+3 −1'`."""
        return f'+{self.added} −{self.removed}'


def diff_files(before: TextFile | None, after: TextFile, *, path: str) -> Diff:
    """Return the unified diff of two states of the file at `path`; `before` is `None` for a new file."""
    old = [] if before is None else _lines(before)
    new = _lines(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    kept_before = min(head, _CONTEXT)
    kept_after = min(tail, _CONTEXT)
    first = head - kept_before
    part_old, part_new = old[first : len(old) - tail + kept_after], new[first : len(new) - tail + kept_after]
    lines = list(_hunks(part_old, part_new, first, (kept_before, kept_after)))
    added = sum(line.startswith('+') for line in lines)
    removed = sum(line.startswith('-') for line in lines)
    if lines:
        lines[:0] = ['--- /dev/null' if before is None else f'--- a/{path}', f'+++ b/{path}']
    return Diff(added, removed, tuple(lines))


def _lines(file: TextFile) -> list[str]:
    lines = list(file.lines[: file.count])
    if lines and file.endings[file.count - 1] == '':
        lines[-1] += f'\n{_NO_NEWLINE}'
    return lines


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    return next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _hunks(old: list[str], new: list[str], first: int, kept: tuple[int, int]) -> Iterator[str]:
    before, after = kept
    changed_old, changed_new = len(old) - before - after, len(new) - before - after
    if not changed_old and not changed_new:
        return
    if changed_old * changed_new > _TOO_MANY:
        yield f'@@ -{first + 1},{len(old)} +{first + 1},{len(new)} @@'
        yield from (f' {line}' for line in old[:before])
        yield from (f'-{line}' for line in old[before : len(old) - after])
        yield from (f'+{line}' for line in new[before : len(new) - after])
        yield from (f' {line}' for line in old[len(old) - after :])
        return
    for group in difflib.SequenceMatcher(None, old, new).get_grouped_opcodes(_CONTEXT):
        a_start, a_end, b_start, b_end = group[0][1], group[-1][2], group[0][3], group[-1][4]
        yield f'@@ -{_range(first + a_start, a_end - a_start)} +{_range(first + b_start, b_end - b_start)} @@'
        for op, i1, i2, j1, j2 in group:
            if op == 'equal':
                yield from (f' {line}' for line in old[i1:i2])
            else:
                yield from (f'-{line}' for line in old[i1:i2])
                yield from (f'+{line}' for line in new[j1:j2])


def _range(start: int, length: int) -> str:
    """Return a range as unified diffs write it."""
    if length == 1:
        return str(start + 1)
    return f'{start + 1 if length else start},{length}'

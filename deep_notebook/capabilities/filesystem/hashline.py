"""Edits by anchors: a line's number and a short hash of its text, as `read_file` shows them (`12:a3|text`).

The hash proves that the model means the line that is there. Numbers may be out of date for one good reason, that
earlier edits of the same agent moved the line; then the line is looked for where those edits moved it, and failing
that by its hash, if only one line has it. Anything else is a stale anchor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Annotated, Literal, NotRequired

from pydantic import Field
from pydantic_ai.exceptions import ToolFailed
from typing_extensions import TypedDict

from .text_files import Splice

__all__ = ['EditOperation', 'PastEdit', 'find_tags', 'line_tag', 'plan_splices', 'show_lines', 'tagged']

_ANCHOR = re.compile(r'\s*(\d+):([0-9a-f]{2})(?:\||\s*$)')
_TAGGED = re.compile(r'[+\-> ]?\s*(\d+):([0-9a-f]{2})\|(.*)', re.DOTALL)
_AROUND = 2
"""Lines shown before and after a line whose anchor is stale."""


class EditOperation(TypedDict):
    """One change of some lines."""

    op: Literal['replace', 'insert_after', 'insert_before', 'delete']
    anchor: Annotated[str, Field(description="such as '12:a3'")]
    end: NotRequired[Annotated[str, Field(description='last line of a range')]]
    text: NotRequired[Annotated[str, Field(description='new lines, without tags')]]


@dataclass(frozen=True)
class PastEdit:
    """An earlier edit by the same agent in the same run, in the line numbers from before it."""

    step: int
    """The model request whose response asked for it."""
    splices: tuple[Splice, ...]

    def moved(self, line: int) -> int | None:
        """Return where the edit moved `line` (counted from 0), or `None` if it replaced it."""
        shift = 0
        for splice in self.splices:
            if splice.start <= line < splice.end:
                return None
            if splice.end <= line:
                shift += len(splice.new) - (splice.end - splice.start)
        return line + shift


def line_tag(line: str) -> str:
    """Return the hash that stands for the text of a line."""
    return blake2b(line.encode('utf-8', 'surrogatepass'), digest_size=1).hexdigest()


def tagged(at: int, line: str) -> str:
    """Return what stands before line `at` (counted from 0)."""
    return f'{at + 1}:{line_tag(line)}|'


def find_tags(text: str, lines: Sequence[str] = ()) -> list[str]:
    """Return the lines of `text` that begin with a tag: one that fits the rest of the line, or one of `lines`."""
    found: list[str] = []
    for line in text.split('\n'):
        match = _TAGGED.match(line)
        if match is None:
            continue
        number, tag, rest = int(match[1]), match[2], match[3]
        if tag == line_tag(rest) or (0 < number <= len(lines) and tag == line_tag(lines[number - 1])):
            found.append(line)
    return found


def plan_splices(
    operations: Sequence[EditOperation],
    lines: Sequence[str],
    *,
    shown: str,
    history: Sequence[PastEdit] = (),
    step: int = 0,
    search: bool = False,
) -> tuple[Splice, ...]:
    """Return `operations` as splices of `lines`, in the order of the file.

    Args:
        operations: What to do; all anchors mean the file as it is, whatever the other operations do.
        lines: The lines as a person counts them.
        shown: The path, for messages.
        history: Earlier edits of this file in this run, oldest first.
        step: The model request whose response holds these operations: its model has not seen edits of that step.
        search: Whether an anchor may be found by its hash alone, because all changes since the model saw the file
            are its own.

    Raises:
        ToolFailed: An anchor is stale or malformed, operations overlap, or tags slipped into new text.
    """
    if not operations:
        raise ToolFailed('There are no operations. Nothing was written.')
    finder = _Finder(lines, history, step, search)
    splices = [finder.splice(operation) for operation in operations]
    if finder.stale:
        raise ToolFailed(finder.stale_message(shown))
    for operation in operations:
        if slipped := find_tags(operation.get('text', ''), lines):
            raise ToolFailed(
                f'The new text holds a line tag: {slipped[0][:80]!r}. Give the text of the lines alone, without '
                "the 'number:hash|' before them. Nothing was written."
            )
    ordered = sorted(splices, key=lambda splice: (splice.start, splice.end))
    for first, second in pairwise(ordered):
        if second.start < first.end:
            raise ToolFailed(
                f'Two operations change line {second.start + 1} of {shown}. Make them one. Nothing was written.'
            )
    return tuple(ordered)


class _Finder:
    """Looks up the anchors of one edit and remembers those that are stale."""

    def __init__(self, lines: Sequence[str], history: Sequence[PastEdit], step: int, search: bool) -> None:
        self._lines = lines
        self._history = history
        self._step = step
        self._search = search
        self.stale: list[tuple[str, int]] = []

    def splice(self, operation: EditOperation) -> Splice:
        op, new = operation['op'], _new_lines(operation.get('text', ''))
        if op in ('insert_after', 'insert_before') and not new:
            raise ToolFailed(f'{op} at {operation["anchor"]!r} has no text. Nothing was written.')
        if op == 'delete' and new:
            raise ToolFailed(f'delete at {operation["anchor"]!r} has text: use replace. Nothing was written.')
        start = self._find(operation['anchor'])
        if op == 'insert_before':
            return Splice(start, start, new)
        if op == 'insert_after':
            return Splice(start + 1, start + 1, new)
        end = self._find(operation.get('end') or operation['anchor'])
        if end < start and not self.stale:
            raise ToolFailed(
                f'The end {operation.get("end")!r} is before {operation["anchor"]!r}. Nothing was written.'
            )
        return Splice(start, end + 1, new)

    def _find(self, anchor: str) -> int:
        match = _ANCHOR.match(anchor)
        if match is None:
            raise ToolFailed(f"{anchor!r} is not an anchor: give 'number:hash' as read_file shows it, such as '12:a3'.")
        number, tag = int(match[1]) - 1, match[2]
        found = self._positions(number, tag)
        if found is None:
            self.stale.append((f'{match[1]}:{tag}', min(max(number, 0), len(self._lines) - 1)))
        return found or 0

    def _positions(self, number: int, tag: str) -> int | None:
        """Return the line that an anchor means: where it is, where edits moved it, the only one with its hash."""
        seen = sum(edit.step < self._step for edit in self._history)
        now = self._moved(number, seen)
        if self._has(now, tag):
            return now
        earlier = {self._moved(number, since) for since in range(seen)}
        candidates = [at for at in earlier if self._has(at, tag)]
        if not candidates and self._search:
            candidates = [at for at, line in enumerate(self._lines) if line_tag(line) == tag]
        return candidates[0] if len(candidates) == 1 else None

    def _moved(self, number: int, since: int) -> int | None:
        """Return where a line that was `number` after the first `since` edits is now."""
        at: int | None = number
        for edit in self._history[since:]:
            at = None if at is None else edit.moved(at)
        return at

    def _has(self, at: int | None, tag: str) -> bool:
        return at is not None and 0 <= at < len(self._lines) and line_tag(self._lines[at]) == tag

    def stale_message(self, shown: str) -> str:
        """Return what to tell the model: the anchors that are stale, and the fresh ones around them."""
        anchors = ', '.join(dict.fromkeys(anchor for anchor, _ in self.stale))
        if not self._lines:
            return f'Stale anchor {anchors}: {shown} is empty now. Nothing was written. Use write_file.'
        around = {
            at
            for _, line in self.stale
            for at in range(line - _AROUND, line + _AROUND + 1)
            if 0 <= at < len(self._lines)
        }
        fresh = show_lines(self._lines, around)
        return f'Stale anchor {anchors}: nothing was written. {shown} has these lines there now:\n{fresh}'


def show_lines(lines: Sequence[str], which: Iterable[int], *, width: int = 300) -> str:
    """Return some lines with their tags, `…` between those that do not follow each other."""
    shown: list[str] = []
    before: int | None = None
    for at in sorted(which):
        if before is not None and at > before + 1:
            shown.append('…')
        text = lines[at] if len(lines[at]) <= width else lines[at][:width] + '…'
        shown.append(tagged(at, lines[at]) + text)
        before = at
    return '\n'.join(shown)


def _new_lines(text: str) -> tuple[str, ...]:
    """Return the lines of new text; a newline at its end ends the last line and begins no other."""
    lines = text.replace('\r\n', '\n').split('\n')
    return tuple(lines[:-1] if not lines[-1] else lines)

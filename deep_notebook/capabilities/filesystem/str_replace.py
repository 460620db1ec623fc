"""Edits by quoting: the text that stands there, and the text that shall stand there."""

from __future__ import annotations

from pydantic_ai.exceptions import ToolFailed

from .text_files import Splice, TextFile

__all__ = ['plan_replacement']

_SHOWN = 5
"""Places that are named when a text is found more than once."""


def plan_replacement(file: TextFile, old: str, new: str, *, replace_all: bool, shown: str) -> tuple[Splice, ...]:
    """Return the splices that put `new` where `old` stands.

    Line endings in `old` and `new` do not matter: what is written ends as the file's own lines do.

    Raises:
        ToolFailed: `old` is empty, not there, or there more than once without `replace_all`.
    """
    old, new = old.replace('\r\n', '\n'), new.replace('\r\n', '\n')
    if not old:
        raise ToolFailed('old_string is empty: quote the text that shall be replaced. Nothing was written.')
    text = file.text
    starts = _occurrences(text, old)
    if not starts:
        raise ToolFailed(f'old_string is not in {shown}. {_closest(file, old)}Nothing was written.')
    if len(starts) > 1 and not replace_all:
        lines = [str(text.count('\n', 0, start) + 1) for start in starts[:_SHOWN]]
        more = ', …' if len(starts) > _SHOWN else ''
        raise ToolFailed(
            f'old_string is in {shown} {len(starts)} times (lines {", ".join(lines)}{more}): quote more of what stands '
            'around it, or set replace_all. Nothing was written.'
        )
    return _splices(text, starts, old, new)


def _occurrences(text: str, old: str) -> list[int]:
    starts: list[int] = []
    at = text.find(old)
    while at >= 0:
        starts.append(at)
        at = text.find(old, at + len(old))
    return starts


def _splices(text: str, starts: list[int], old: str, new: str) -> tuple[Splice, ...]:
    """Return one splice of whole lines for the occurrences that share lines."""
    spans: list[tuple[int, int]] = []
    for start in starts:
        begin = text.rfind('\n', 0, start) + 1
        newline = text.find('\n', start + len(old))
        end = len(text) if newline < 0 else newline
        if spans and begin <= spans[-1][1]:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((begin, end))
    splices: list[Splice] = []
    line = position = 0
    for begin, end in spans:
        line += text.count('\n', position, begin)
        position = begin
        changed = text[begin:end]
        splices.append(Splice(line, line + changed.count('\n') + 1, tuple(changed.replace(old, new).split('\n'))))
    return tuple(splices)


def _closest(file: TextFile, old: str) -> str:
    """Return a hint when the first line of `old` is there with other blanks."""
    first = next((line.split() for line in old.split('\n') if line.strip()), None)
    for at, line in enumerate(file.lines):
        if first is not None and line.split() == first:
            return f'Line {at + 1} is close: {line[:200]!r}; blanks must match exactly. '
    return 'Read it again and quote it exactly. '

"""Cut a file into pages that fit, by lines and inside lines, so that the pages joined are the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ['Page', 'cut_page']


@dataclass(frozen=True)
class Page:
    """A piece of a file: from `char_offset` in line `offset` (both counted from 0) up to where `next` goes on."""

    body: str
    offset: int
    char_offset: int
    last: int
    """The last line in the page, counted from 0."""
    next: tuple[int, int] | None
    """The `offset` and `char_offset` of the next page, or `None` at the end of the file."""


def cut_page(
    lines: Sequence[str],
    *,
    offset: int,
    char_offset: int,
    limit: int,
    max_chars: int,
    prefix: Callable[[int, str], str],
    closed: bool,
) -> Page:
    """Return the page that begins at `char_offset` in line `offset`.

    A line goes into a page whole if it fits into one; a longer one is cut where the page is full.

    Args:
        lines: All lines of the file, without their endings.
        offset: How many lines to skip.
        char_offset: How many characters to skip in the first line after that.
        limit: The largest number of lines.
        max_chars: The largest length of the page, prefixes included.
        prefix: What stands before a line, from its number (counted from 0) and its whole text.
        closed: Whether the last line ends with a newline too.
    """
    pieces: list[str] = []
    room = max_chars
    for at in range(offset, min(offset + limit, len(lines))):
        start = char_offset if at == offset else 0
        before = prefix(at, lines[at])
        ending = '\n' if closed or at + 1 < len(lines) else ''
        piece = before + lines[at][start:] + ending
        if len(piece) <= room:
            pieces.append(piece)
            room -= len(piece)
            continue
        if pieces:
            return Page(''.join(pieces), offset, char_offset, at - 1, (at, 0))
        cut = start + max(room - len(before), 1)
        return Page(before + lines[at][start:cut], offset, char_offset, at, (at, cut))
    after = offset + len(pieces)
    return Page(''.join(pieces), offset, char_offset, after - 1, (after, 0) if after < len(lines) else None)

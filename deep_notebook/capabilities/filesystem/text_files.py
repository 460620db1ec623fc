"""A text file as lines, so that an edit changes what it means to change and nothing else.

Encoding, byte order mark and the ending of every line are kept: what an edit does not touch comes back byte
for byte. A file of which that cannot be said is not text here.
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from .encodings import guess_encodings

__all__ = ['Splice', 'TextFile', 'UnencodableError', 'decode_text', 'join_lines', 'split_lines']

_LOOKED_AT = 64 * 1024
"""Characters that are looked at to tell text from something else that happens to decode."""
_MAX_CONTROL_SHARE = 0.02
_TEXT_CONTROLS = frozenset('\t\n\r\f\b\x1b')
_CONTROLS = [chr(code) for code in (*range(32), *range(0x7F, 0xA0)) if chr(code) not in _TEXT_CONTROLS]

# UTF-32 comes first: its little-endian mark begins with UTF-16's.
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, 'utf-8'),
    (codecs.BOM_UTF32_LE, 'utf-32-le'),
    (codecs.BOM_UTF32_BE, 'utf-32-be'),
    (codecs.BOM_UTF16_LE, 'utf-16-le'),
    (codecs.BOM_UTF16_BE, 'utf-16-be'),
)


class UnencodableError(ValueError):
    """New text holds a character that the file's encoding does not have."""

    def __init__(self, character: str, line: int, encoding: str) -> None:
        super().__init__(
            f'the file is in {encoding}, which has no {character!r} (U+{ord(character):04X}, line {line} of the result)'
        )


@dataclass(frozen=True)
class Splice:
    """Lines `start` up to but not including `end` (counted from 0) become `new`; `start == end` inserts."""

    start: int
    end: int
    new: Sequence[str]


@dataclass(frozen=True)
class TextFile:
    """The text of a file and how it is written.

    `lines[i]` ends with `endings[i]`: `'\\n'`, `'\\r\\n'`, or `''` for the last line only. A text that ends with a
    newline has an empty last line.
    """

    lines: tuple[str, ...] = ('',)
    endings: tuple[str, ...] = ('',)
    encoding: str = 'utf-8'
    mark: bytes = field(default=b'', repr=False)
    """The byte order mark."""

    @property
    def text(self) -> str:
        """The text with `'\\n'` between its lines, whatever the file has there."""
        return '\n'.join(self.lines)

    @property
    def count(self) -> int:
        """The number of lines as a person counts them."""
        return len(self.lines) - (not self.lines[-1])

    @property
    def ending(self) -> str:
        """The line ending that the file uses most."""
        used = Counter(self.endings[:-1])
        return max(used, key=lambda ending: (used[ending], ending), default='\n')

    @property
    def mixed(self) -> bool:
        """Whether lines end in different ways."""
        return len(set(self.endings[:-1])) > 1

    def spliced(self, splices: Sequence[Splice]) -> TextFile:
        """Return the file with `splices` applied; they refer to the lines as they are now and must not overlap.

        A new line ends as the line in whose place it stands, else as its neighbour.
        """
        lines, endings = list(self.lines), list(self.endings)
        from_below = sorted(splices, key=lambda each: (each.start, each.end))[::-1]
        for splice in from_below:
            neighbour = (self.endings[splice.start - 1] if splice.start else '') or self.ending
            new_endings = [
                self.endings[at] if at < splice.end else neighbour
                for at in range(splice.start, splice.start + len(splice.new))
            ]
            if new_endings and splice.end == len(self.lines):
                new_endings[-1] = ''
            lines[splice.start : splice.end] = splice.new
            endings[splice.start : splice.end] = new_endings
        endings[:-1] = [ending or self.ending for ending in endings[:-1]]
        if not endings or endings[-1]:
            lines.append('')
            endings.append('')
        return replace(self, lines=tuple(lines), endings=tuple(endings))

    def with_text(self, text: str) -> TextFile:
        """Return a file with all of its text replaced, written the way this one is.

        Line endings are taken over when this file has only one kind, else `text` is written as it is.
        """
        lines, endings = split_lines(text)
        if self.count and not self.mixed and len(self.endings) > 1:
            endings = (*(self.ending for _ in endings[:-1]), '')
        return replace(self, lines=lines, endings=endings)

    def encode(self) -> bytes:
        """Return the bytes of the file.

        Raises:
            UnencodableError: A character does not exist in the file's encoding.
        """
        text = join_lines(self.lines, self.endings)
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            line = text.count('\n', 0, error.start) + 1
            raise UnencodableError(text[error.start], line, self.encoding) from None


def split_lines(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the lines of `text` and how each ends. Only `\\n` and `\\r\\n` end a line."""
    raw = text.split('\n')
    endings = ['\r\n' if line.endswith('\r') else '\n' for line in raw[:-1]]
    lines = [line.removesuffix('\r') for line in raw[:-1]]
    return (*lines, raw[-1]), (*endings, '')


def join_lines(lines: Sequence[str], endings: Sequence[str]) -> str:
    """Return the text that `split_lines` took apart."""
    return ''.join(part for pair in zip(lines, endings, strict=True) for part in pair)


def decode_text(data: bytes) -> TextFile | None:
    """Return `data` as text, or `None` if it is not text or could not be written back byte for byte."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding, mark)
    if b'\0' in data:
        return None
    for encoding in chain(['utf-8'], guess_encodings(data)):
        if (file := _decoded(data, encoding)) is not None:
            return file
    return None


def _decoded(data: bytes, encoding: str, mark: bytes = b'') -> TextFile | None:
    try:
        text = data.decode(encoding)
        if encoding != 'utf-8' and text.encode(encoding) != data:
            return None
    except UnicodeError:
        return None
    beginning = text[:_LOOKED_AT]
    if sum(map(beginning.count, _CONTROLS)) > len(beginning) * _MAX_CONTROL_SHARE:
        return None
    lines, endings = split_lines(text)
    return TextFile(lines, endings, encoding, mark)

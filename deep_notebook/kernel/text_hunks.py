"""The places at which two states of a text file differ, each of which can be taken back or put back alone.

A hunk is switched in the file as it is now, whoever else changed it meanwhile: its lines are found by comparing what
the file would hold had nobody else touched it with what it holds. Lines are bytes, so that what is not switched stays
exactly as it is, in every encoding and with every line ending.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from ..capabilities.filesystem.text_files import TextFile, decode_text

__all__ = ['Side', 'TextChange', 'TextPlace', 'text_change']

_CONTEXT = 3
_TOO_MANY = 4_000_000
"""Pairs of lines above which differences are not searched for; difflib's time grows with their number."""
_NO_NEWLINE = '\\ No newline at end of file'
_CARRIAGE_RETURN = '␍'

_Block = tuple[str, int, int, int, int]
"""As difflib's opcodes: what to do, lines of the old state from and to, lines of the new state from and to."""


@dataclass(frozen=True)
class Side:
    """One state of a text file, line by line."""

    lines: tuple[bytes, ...]
    shown: tuple[str, ...]
    """The same lines for a person, without their endings."""
    endings: tuple[str, ...]

    @classmethod
    def of(cls, file: TextFile) -> Side:
        """Return the lines of `file`; joined they are its bytes."""
        count = max(file.count, 1 if file.mark else 0)
        shown, endings = file.lines[:count], file.endings[:count]
        lines = [f'{line}{ending}'.encode(file.encoding) for line, ending in zip(shown, endings, strict=True)]
        if file.mark:
            lines[0] = file.mark + lines[0]
        return cls(tuple(lines), shown, endings)


@dataclass(frozen=True)
class TextPlace:
    """One hunk: lines `old` of the state before became lines `new` of the state after (from, to, counted from 0)."""

    id: str
    old: tuple[int, int]
    new: tuple[int, int]
    header: str
    text: str
    """Its lines as a unified diff has them."""
    added: int
    removed: int


@dataclass(frozen=True)
class TextChange:
    """What happened to a text file."""

    before: Side
    after: Side
    places: tuple[TextPlace, ...]

    def switched(self, now: bytes, place: str, *, undone: Collection[str]) -> bytes | None:
        """Return the file with one hunk the other way round, or `None` if its lines are not there any more.

        Args:
            now: The file as it is.
            place: The id of the hunk: what was taken back is put back, and the other way round.
            undone: The ids of the hunks that are taken back in the file as it is, in our knowledge.
        """
        file = decode_text(now)
        if file is None:
            return None
        lines = Side.of(file).lines
        known, spans = self._lines(undone)
        here = next(each for each in self.places if each.id == place)
        found = _find(known, lines, *spans[place])
        if found is None:
            return None
        start, end = found
        wanted = self.after.lines[slice(*here.new)] if place in undone else self.before.lines[slice(*here.old)]
        return b''.join((*lines[:start], *wanted, *lines[end:]))

    def _lines(self, undone: Collection[str]) -> tuple[list[bytes], dict[str, tuple[int, int]]]:
        """Return the lines with the hunks `undone` taken back, and where each hunk is in them."""
        lines: list[bytes] = []
        spans: dict[str, tuple[int, int]] = {}
        at = 0
        for place in self.places:
            lines += self.after.lines[at : place.new[0]]
            start = len(lines)
            lines += self.before.lines[slice(*place.old)] if place.id in undone else self.after.lines[slice(*place.new)]
            spans[place.id] = start, len(lines)
            at = place.new[1]
        lines += self.after.lines[at:]
        return lines, spans

    @cached_property
    def counts(self) -> tuple[int, int]:
        """How many lines were added and removed."""
        return sum(place.added for place in self.places), sum(place.removed for place in self.places)


def text_change(before: bytes, after: bytes) -> TextChange | None:
    """Return what changed from `before` to `after`, or `None` if one of them is not text."""
    old, new = decode_text(before), decode_text(after)
    if old is None or new is None:
        return None
    sides = Side.of(old), Side.of(new)
    mark = blake2b(before, digest_size=8)
    mark.update(blake2b(after).digest())
    places = _places(*sides, mark=mark.hexdigest())
    return TextChange(*sides, tuple(places))


def _places(old: Side, new: Side, *, mark: str) -> Iterator[TextPlace]:
    blocks = _blocks(old.lines, new.lines)
    for number, group in enumerate(_grouped(blocks), start=1):
        changed = [block for block in group if block[0] != 'equal']
        first, last = changed[0], changed[-1]
        yield TextPlace(
            id=f'{mark}-{number}',
            old=(first[1], last[2]),
            new=(first[3], last[4]),
            header=f'@@ -{_range(group[0][1], group[-1][2])} +{_range(group[0][3], group[-1][4])} @@',
            text='\n'.join(_drawn(group, old, new)),
            added=sum(block[4] - block[3] for block in changed),
            removed=sum(block[2] - block[1] for block in changed),
        )


def _drawn(group: Sequence[_Block], old: Side, new: Side) -> Iterator[str]:
    endings = {*old.endings[group[0][1] : group[-1][2]], *new.endings[group[0][3] : group[-1][4]]}
    both = {'\n', '\r\n'} <= endings

    def drawn(sign: str, side: Side, start: int, end: int) -> Iterator[str]:
        for line, ending in zip(side.shown[start:end], side.endings[start:end], strict=True):
            has_return = both and ending == '\r\n'
            yield f'{sign}{line}{_CARRIAGE_RETURN if has_return else ""}'
            if not ending:
                yield _NO_NEWLINE

    for what, i1, i2, j1, j2 in group:
        if what == 'equal':
            yield from drawn(' ', old, i1, i2)
        else:
            yield from drawn('-', old, i1, i2)
            yield from drawn('+', new, j1, j2)


def _grouped(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    """Yield the differences with the lines around them; those that are close to each other together."""
    group: list[_Block] = []
    for at, (what, i1, i2, j1, j2) in enumerate(blocks):
        is_last = at == len(blocks) - 1
        if what != 'equal' or (group and not is_last and i2 - i1 <= 2 * _CONTEXT):
            group.append((what, i1, i2, j1, j2))
            continue
        size = min(_CONTEXT, i2 - i1)
        if group:
            yield [*group, ('equal', i1, i1 + size, j1, j1 + size)]
        group = [] if is_last else [('equal', i2 - size, i2, j2 - size, j2)]
    if group:
        yield group


def _range(start: int, end: int) -> str:
    """Return a range as unified diffs write it."""
    length = end - start
    if length == 1:
        return str(start + 1)
    return f'{start + 1 if length else start},{length}'


def _find(known: Sequence[bytes], lines: Sequence[bytes], start: int, end: int) -> tuple[int, int] | None:
    """Return where `known[start:end]` is in `lines`, or `None` if that cannot be said for certain.

    What stood right before or right after it has to stand there still, or it has to be the only such place; a place
    without lines needs both sides.
    """
    if start == end:
        return _find_between(known, lines, start)
    for what, i1, i2, j1, _ in _blocks(known, lines):
        if what == 'equal' and i1 <= start and end <= i2:
            at = j1 + start - i1
            to = at + end - start
            touches = i1 < start or end < i2 or start == at == 0 or (end == len(known) and to == len(lines))
            return (at, to) if touches or _is_alone(known[start:end], lines) else None
    return None


def _find_between(known: Sequence[bytes], lines: Sequence[bytes], at: int) -> tuple[int, int] | None:
    for what, i1, i2, j1, j2 in _blocks(known, lines):
        at_start = at == i1 == j1 == 0
        at_end = at == i2 == len(known) and j2 == len(lines)
        if what == 'equal' and (i1 < at < i2 or at_start or at_end):
            return j1 + at - i1, j1 + at - i1
    return None if known or lines else (0, 0)


def _is_alone(wanted: Sequence[bytes], lines: Sequence[bytes]) -> bool:
    size = len(wanted)
    return sum(list(lines[at : at + size]) == list(wanted) for at in range(len(lines) - size + 1)) == 1


def _blocks(old: Sequence[bytes], new: Sequence[bytes]) -> list[_Block]:
    """Return how `old` becomes `new`, equal blocks as long as they can be."""
    head = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    rest = min(len(old), len(new)) - head
    tail = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    middle = old[head : len(old) - tail], new[head : len(new) - tail]
    blocks: list[_Block] = [('equal', 0, head, 0, head)]
    if len(middle[0]) * len(middle[1]) > _TOO_MANY:
        blocks.append(('replace', head, len(old) - tail, head, len(new) - tail))
    else:
        for what, i1, i2, j1, j2 in difflib.SequenceMatcher(None, *middle).get_opcodes():
            blocks.append((what, i1 + head, i2 + head, j1 + head, j2 + head))
    blocks.append(('equal', len(old) - tail, len(old), len(new) - tail, len(new)))
    return list(_merged(blocks))


def _merged(blocks: Sequence[_Block]) -> Iterator[_Block]:
    last: _Block | None = None
    for block in blocks:
        if block[1] == block[2] and block[3] == block[4]:
            continue
        if last is not None and (last[0] == 'equal') == (block[0] == 'equal'):
            last = (last[0] if last[0] == block[0] else 'replace', last[1], block[2], last[3], block[4])
            continue
        if last is not None:
            yield last
        last = block
    if last is not None:
        yield last

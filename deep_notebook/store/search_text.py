"""Words in every script: how text is prepared for the index, and how a query is understood.

A query is words, nothing else: quotes, operators and signs have no meaning. Scripts that put no spaces between words
are indexed sign by sign, and a word of theirs is a phrase of signs; so is an identifier like `read_file`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, islice

__all__ = ['Query', 'parse_query', 'spaced', 'unescaped', 'window']

_UNSPACED = re.compile(
    '[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035'
    '\u3040-\u30ff\u3100-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff'
    '\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff]'
)
"""Thai, Lao, Tibetan, Myanmar, Khmer, Chinese, Japanese, Korean."""
_SEPARATORS = re.compile(r'[\W_]+')
_MIN_PREFIX = 3
"""Characters of a word that may also be the beginning of a longer one."""
_MAX_CHARS = 1000
_MAX_WORDS = 24
"""How much of a query counts."""
_MAX_MATCHES = 1000
"""Matches of a word in one text that are looked at."""
_PIECE = re.compile(r'.{1,20000}(?=\s|\Z)|.{1,20000}', re.DOTALL)
"""What is translated at once: other threads wait as long, a millisecond or two."""

_ESCAPES = re.compile(r'(?:\\u[0-9a-fA-F]{4})+|\\.', re.DOTALL)
_ESCAPED = {'n': '\n', 'r': '\r', 't': '\t', 'b': ' ', 'f': ' '}


class _Indexed(dict[int, str]):
    """For `str.translate`: letters without marks, and a space on both sides of each sign that is a word of its own."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        if _UNSPACED.match(sign) or unicodedata.category(sign) == 'So':
            self[code] = f' {sign} '
        else:
            self[code] = '' if unicodedata.category(sign) == 'Mn' else _base(sign)
        return self[code]


class _Folded(dict[int, str]):
    """For `str.translate`: each character in lower case and without its marks, so that positions stay the same."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        self[code] = sign if _UNSPACED.match(sign) else (_base(sign).lower() or sign)[0]
        return self[code]


def _base(sign: str) -> str:
    """Return the letter in `sign`, which may be a letter with marks."""
    parts = unicodedata.normalize('NFKD', sign)
    return parts[0] if all(unicodedata.category(mark) == 'Mn' for mark in parts[1:]) else sign


_INDEXED, _FOLDED = _Indexed(), _Folded()


def unescaped(json_text: object) -> str:
    """Return JSON with its strings as they are meant, so that the lines of code in it are lines; it may be torn."""
    return _ESCAPES.sub(_unescape, str(json_text))


def _unescape(match: re.Match[str]) -> str:
    escape = match[0]
    if len(escape) > 2:
        return str(json.loads(f'"{escape}"')).encode('utf-8', 'replace').decode()
    return _ESCAPED.get(escape[1], escape[1])


def spaced(text: str) -> str:
    """Return `text` as the index takes it."""
    if text.isascii():
        return text
    return ''.join(unicodedata.normalize('NFKC', piece).translate(_INDEXED) for piece in _PIECE.findall(text))


def _folded(text: str) -> str:
    return text.lower() if text.isascii() else ''.join(piece.translate(_FOLDED) for piece in _PIECE.findall(text))


@dataclass(frozen=True)
class Query:
    """What to search for."""

    words: Sequence[str]
    """As they were written."""

    def expressions(self) -> tuple[list[str], list[str]]:
        """Return FTS5 expressions for texts with all words, and for texts with any; the most exact come first."""
        exact, begun = [_phrase(word) for word in self.words], [_beginning(word) for word in self.words]
        pieces = [_phrase(piece) for piece in self._pieces()]
        every = dict.fromkeys([' AND '.join(exact), ' AND '.join(begun)])
        return list(every), list(dict.fromkeys(' OR '.join(phrases) for phrases in (exact, begun, pieces or exact)))

    def _pieces(self) -> list[str]:
        return [piece for word in self.words for piece in _SEPARATORS.split(word) if _tokens(piece)]

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        return [_pattern(word) for word in dict.fromkeys([*self.words, *self._pieces()])]

    def ranges(self, text: str) -> list[tuple[int, int]]:
        """Return where the words are in `text`, in order and without overlaps."""
        folded = _folded(text)
        matches = (match for pattern in self._patterns for match in islice(pattern.finditer(folded), _MAX_MATCHES))
        found = sorted({match.span() for match in matches})
        ranges: list[tuple[int, int]] = []
        for start, end in found:
            if ranges and start <= ranges[-1][1]:
                ranges[-1] = (ranges[-1][0], max(end, ranges[-1][1]))
            else:
                ranges.append((start, end))
        return ranges

    def best_line(self, lines: Sequence[str]) -> int:
        """Return the index of the first of the lines that hold the most words."""
        ends = list(accumulate(len(line) + 1 for line in lines))
        folded = _folded('\n'.join(lines))
        counts: Counter[int] = Counter()
        for pattern in self._patterns:
            found = islice(pattern.finditer(folded), _MAX_MATCHES)
            counts.update({bisect_right(ends, match.start()) for match in found})
        return min(counts, key=lambda line: (-counts[line], line), default=0)


def parse_query(text: str) -> Query | None:
    """Return the query in `text`, or `None` if there is no word in it."""
    words = [
        word for word in unicodedata.normalize('NFKC', text[:_MAX_CHARS].replace('\0', ' ')).split() if _tokens(word)
    ]
    return Query(words[:_MAX_WORDS]) if words else None


def window(text: str, ranges: Sequence[tuple[int, int]], size: int) -> tuple[str, list[tuple[int, int]]]:
    """Return the part of `text` around its first range, and the ranges in it.

    Args:
        text: One line.
        ranges: What to show, in order.
        size: The most characters of `text`.
    """
    if len(text) <= size:
        return text, list(ranges)
    first = ranges[0][0] if ranges else 0
    start = max(min(first - size // 3, len(text) - size), 0)
    before, after = '…' if start else '', '…' if start + size < len(text) else ''
    shift = len(before) - start
    kept = [(low + shift, min(high, start + size) + shift) for low, high in ranges if start <= low < start + size]
    return f'{before}{text[start : start + size]}{after}', kept


def _phrase(word: str) -> str:
    return '"' + spaced(word).replace('"', ' ') + '"'


def _beginning(word: str) -> str:
    return f'{_phrase(word)} *' if len(word) >= _MIN_PREFIX else _phrase(word)


def _tokens(word: str) -> list[str]:
    """Return what the index knows `word` as."""
    tokens: list[str] = []
    for piece in _folded(spaced(word)).split():
        inner = [token for token in _SEPARATORS.split(piece) if token]
        tokens.extend(inner or ([piece] if unicodedata.category(piece[0]) == 'So' else []))
    return tokens


@lru_cache(maxsize=128)
def _pattern(word: str) -> re.Pattern[str]:
    """Return what matches `word` in folded text, where marks may still stand between letters."""
    tokens = _tokens(word)
    inside = '' if word.isascii() else r'[^\w\s]{0,2}'
    first, *others = (inside.join(map(re.escape, token)) for token in tokens)
    # The literal comes first, which makes it a fast search; what stands before it is looked at after.
    if not _UNSPACED.match(tokens[0]):
        first = rf'(?<![^\W_]){first}' if inside else rf'{first}(?<![^\W_]{first})'
    return re.compile(r'[\W_]*'.join([first, *others]))

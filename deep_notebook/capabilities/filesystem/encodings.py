"""Tell the encoding of text that is neither UTF-8 nor marked.

charset-normalizer says what fits; on short texts, which notebooks' data files often are, the characters that
come out decide between what fits equally well.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator

from charset_normalizer import from_bytes

__all__ = ['guess_encodings']

_SAMPLE = 64 * 1024
"""Bytes that are looked at."""
_MIN_LIKELIHOOD = 0.9


def guess_encodings(data: bytes) -> Iterator[str]:
    """Yield the encodings that `data` may be in, the most likely first, and nothing if it does not look like text.

    Of an encoding and its superset the narrower comes first, so that an edit writes nothing that another reader of
    the file would not understand.
    """
    if not data or data.isascii():
        return
    sample = data[:_SAMPLE]
    for encoding in (*_east_asian(sample), *_single_byte(sample)):
        yield from _NARROWER.get(encoding, ())
        yield encoding


def _east_asian(sample: bytes) -> Iterator[str]:
    likely = sorted(((_likelihood(sample, encoding), encoding) for encoding in _EAST_ASIAN), key=lambda each: -each[0])
    yield from (encoding for likelihood, encoding in likely if likelihood >= _MIN_LIKELIHOOD)


def _single_byte(sample: bytes) -> Iterator[str]:
    fits = {match.encoding: match.coherence for match in from_bytes(sample, cp_isolation=[*_LATIN, *_OTHER_SCRIPTS])}
    ascii_letters = sum(byte < 0x80 and chr(byte).isalpha() for byte in sample)
    foreign = sum(byte >= 0x80 for byte in sample)
    latin = ascii_letters >= foreign or foreign < 3
    if latin:
        rank = {encoding: _likelihood(sample, encoding) + fits.get(encoding, 0) for encoding in _LATIN}
        yield from sorted((each for each in rank if rank[each] >= _MIN_LIKELIHOOD), key=lambda each: -rank[each])
    others = [encoding for encoding in fits if not (latin and encoding in _LATIN)]
    # In text with few ASCII letters the others are the letters of another script, not accents.
    yield from sorted(others, key=lambda each: (each in _LATIN, -fits[each], each in _RARE))


def _likelihood(sample: bytes, encoding: str) -> float:
    """Return the share of characters beyond ASCII that are usual in text of this encoding."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(sample)  # its last character may be cut
    except UnicodeError:
        return 0
    foreign = [character for character in text if character > '\x7f']
    is_usual = _EAST_ASIAN.get(encoding, _is_latin)
    return sum(map(is_usual, foreign)) / len(foreign) if foreign else 0


_WESTERN_SIGNS = frozenset('“”„‘’‚–—…•€£§°©®™«»¿¡·±²µ×¼½¾ºª\u00a0')
_EAST_ASIAN_SIGNS = frozenset('、。「」『』《》【】〈〉・ー…—“”‘’・〜～\u3000')


def _is_latin(character: str) -> bool:
    return character in _WESTERN_SIGNS or (character.isalpha() and character < '\u0250')


def _is_east_asian_sign(character: str) -> bool:
    return character in _EAST_ASIAN_SIGNS or '\uff01' <= character <= '\uff5e'


def _is_common(
    charset: str, first: int, last: int, *, script: tuple[str, str] = ('\u4e00', '\u9fff'), kana: bool = False
) -> Callable[[str], bool]:
    """Say whether a character of `script` is in the part of `charset` for everyday use, going by its lead byte."""

    def is_common(character: str) -> bool:
        if _is_east_asian_sign(character) or (kana and '\u3041' <= character <= '\u30fe'):
            return True
        try:
            return script[0] <= character <= script[1] and first <= character.encode(charset)[0] <= last
        except UnicodeEncodeError:
            return False

    return is_common


# Each table in the order of preference when the characters leave it open.
_EAST_ASIAN: dict[str, Callable[[str], bool]] = {
    'cp949': _is_common('euc_kr', 0xB0, 0xC8, script=('가', '힣')),
    'gb18030': _is_common('gb2312', 0xB0, 0xD7),
    'big5': _is_common('big5', 0xA4, 0xC6),
    'cp932': _is_common('euc_jp', 0xB0, 0xCF, kana=True),
    'euc_jp': _is_common('euc_jp', 0xB0, 0xCF, kana=True),
}
_LATIN = ('cp1252', 'cp1250', 'cp1254', 'cp1257')
_OTHER_SCRIPTS = ('cp1251', 'koi8_r', 'cp1253', 'cp1255', 'cp1256', 'cp874', 'cp866', 'mac_cyrillic', 'iso8859_5')
_RARE = ('cp874', 'cp866', 'mac_cyrillic', 'iso8859_5')
_NARROWER = {'cp1252': ('latin-1',), 'gb18030': ('gbk',), 'cp949': ('euc_kr',), 'cp932': ('shift_jis',)}

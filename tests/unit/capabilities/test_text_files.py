"""What an edit does not touch comes back byte for byte: encoding, byte order mark, the ending of every line."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_notebook.capabilities.filesystem.text_files import Splice, TextFile, UnencodableError, decode_text


@dataclass(frozen=True)
class Case:
    name: str
    before: bytes
    splices: tuple[Splice, ...]
    after: bytes


CASES = [
    Case('crlf stays', b'a\r\nb\r\nc\r\n', (Splice(1, 2, ['B']),), b'a\r\nB\r\nc\r\n'),
    Case('inserted lines end as their neighbour', b'a\r\nb\r\n', (Splice(1, 1, ['x', 'y']),), b'a\r\nx\r\ny\r\nb\r\n'),
    Case('mixed endings stay where they are', b'a\r\nb\nc\r\n', (Splice(1, 2, ['B']),), b'a\r\nB\nc\r\n'),
    Case('a last line without newline stays so', b'a\nb', (Splice(1, 2, ['B', 'C']),), b'a\nB\nC'),
    Case('after a last line without newline', b'a\nb', (Splice(2, 2, ['c']),), b'a\nb\nc'),
    Case('after the last newline', b'a\nb\n', (Splice(2, 2, ['c']),), b'a\nb\nc\n'),
    Case('the last line goes, the one before is untouched', b'a\nb', (Splice(1, 2, []),), b'a\n'),
    Case('everything goes', b'a\nb\n', (Splice(0, 2, []),), b''),
    Case('into an empty file', b'', (Splice(0, 0, ['a']),), b'a\n'),
    Case(
        'several at once',
        b'a\nb\nc\nd\n',
        (Splice(0, 1, []), Splice(2, 2, ['x']), Splice(3, 4, ['D'])),
        b'b\nx\nc\nD\n',
    ),
    Case(
        'other separators are text',
        'a\u2028b\x0cc\x85d\ne\n'.encode(),
        (Splice(1, 2, ['E']),),
        'a\u2028b\x0cc\x85d\nE\n'.encode(),
    ),
    Case('utf-8 with mark', codecs.BOM_UTF8 + b'a\nb\n', (Splice(0, 1, ['A']),), codecs.BOM_UTF8 + b'A\nb\n'),
    Case(
        'utf-16 with mark',
        'ä\r\nb'.encode('utf-16'),
        (Splice(1, 2, ['ö']),),
        'ä\r\nö'.encode('utf-16'),
    ),
    Case(
        'utf-16 big endian with mark',
        codecs.BOM_UTF16_BE + 'ä\n'.encode('utf-16-be'),
        (Splice(0, 1, ['ö']),),
        codecs.BOM_UTF16_BE + 'ö\n'.encode('utf-16-be'),
    ),
    Case(
        'latin-1',
        'café\nà la carte\n'.encode('latin-1'),
        (Splice(0, 1, ['thé é']),),
        'thé é\nà la carte\n'.encode('latin-1'),
    ),
    Case('gbk', '销售数据\n北京\n'.encode('gbk'), (Splice(1, 2, ['上海']),), '销售数据\n上海\n'.encode('gbk')),
]


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.name)
def test_a_splice_changes_its_lines_and_nothing_else(case: Case) -> None:
    file = decode_text(case.before)
    assert file is not None
    assert file.spliced(case.splices).encode() == case.after


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.name)
def test_no_splice_changes_nothing(case: Case) -> None:
    file = decode_text(case.before)
    assert file is not None
    assert file.spliced([]).encode() == case.before


@given(st.text(alphabet=st.characters(exclude_categories=['Cs', 'Cc']) | st.sampled_from('\r\n\t'), max_size=200))
def test_any_text_comes_back_byte_for_byte(text: str) -> None:
    file = decode_text(text.encode())
    assert file is not None
    assert file.encode() == text.encode()


@pytest.mark.parametrize(
    ('before', 'text', 'after'),
    [
        (b'a\r\nb\r\n', 'x\ny\n', b'x\r\ny\r\n'),
        (b'a\nb\n', 'x\ny', b'x\ny'),
        (b'a\nb\r\n', 'x\r\ny\n', b'x\r\ny\n'),
        (b'', 'x\r\ny\n', b'x\r\ny\n'),
        (codecs.BOM_UTF8 + b'a', 'x', codecs.BOM_UTF8 + b'x'),
    ],
)
def test_a_whole_new_text_is_written_as_the_file_was(before: bytes, text: str, after: bytes) -> None:
    file = decode_text(before)
    assert file is not None
    assert file.with_text(text).encode() == after


def test_a_character_that_the_encoding_lacks_is_named() -> None:
    file = decode_text('café\n'.encode('latin-1'))
    assert file is not None
    with pytest.raises(UnencodableError, match=r"latin-1, which has no '€' \(U\+20AC, line 2"):
        file.with_text('a\nb €\n').encode()


@pytest.mark.parametrize(
    'data',
    [
        b'\x89PNG\r\n\x1a\n\0\0\0',
        b'\x00\x01\x02',
        bytes(range(1, 256)),
        codecs.BOM_UTF16_LE + b'a',
        b'\x01\x02\x03\x04text',
    ],
)
def test_what_is_not_text_is_not_taken_for_it(data: bytes) -> None:
    assert decode_text(data) is None


def test_random_bytes_are_not_text() -> None:
    assert decode_text(bytes(byte or 1 for byte in os.urandom(4000))) is None


def test_lines_are_counted_as_a_person_counts_them() -> None:
    counts = {text: TextFile().with_text(text).count for text in ('', 'a', 'a\n', 'a\nb', '\n', 'a\n\n')}
    assert counts == {'': 0, 'a': 1, 'a\n': 1, 'a\nb': 2, '\n': 1, 'a\n\n': 2}


def test_what_would_not_come_back_byte_for_byte_is_not_text() -> None:
    japanese = 'こんにちは世界、売上データ'.encode('cp932')
    assert decode_text(japanese) is not None
    # Two codes of one character, of which writing would choose the other.
    assert decode_text(japanese + b'\xee\xf9') is None

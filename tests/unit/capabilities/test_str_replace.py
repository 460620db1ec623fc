"""Quoted edits: exactly one place unless all are meant, and line endings do not matter."""

from __future__ import annotations

import pytest
from pydantic_ai.exceptions import ToolFailed

from deep_notebook.capabilities.filesystem.str_replace import plan_replacement
from deep_notebook.capabilities.filesystem.text_files import decode_text


def replaced(before: bytes, old: str, new: str, *, replace_all: bool = False) -> bytes:
    file = decode_text(before)
    assert file is not None
    return file.spliced(plan_replacement(file, old, new, replace_all=replace_all, shown='a.txt')).encode()


@pytest.mark.parametrize(
    ('before', 'old', 'new', 'after'),
    [
        (b'a\nb\nc\n', 'b', 'B', b'a\nB\nc\n'),
        (b'a\r\nb\r\nc\r\n', 'a\nb', 'x', b'x\r\nc\r\n'),
        (b'a\r\nb\r\n', 'a\r\nb', 'x\r\ny', b'x\r\ny\r\n'),
        (b'a\r\nb', 'b', 'x\ny', b'a\r\nx\r\ny'),
        (b'a\nb', 'b', 'b\n', b'a\nb\n'),
        (b'a\nb\n', 'b\n', '', b'a\n'),
        (b'a b c', 'b ', '', b'a c'),
        (b'a\r\nb\nc', '\n', ' ', None),
    ],
)
def test_the_quoted_text_is_replaced(before: bytes, old: str, new: str, after: bytes | None) -> None:
    if after is None:
        with pytest.raises(ToolFailed, match='2 times'):
            replaced(before, old, new)
    else:
        assert replaced(before, old, new) == after


def test_all_places_are_replaced_when_that_is_asked_for() -> None:
    assert replaced(b'x=1; x=2\r\ny\r\nx\r\n', 'x', 'zz', replace_all=True) == b'zz=1; zz=2\r\ny\r\nzz\r\n'
    assert replaced(b'a\nb\na\nb\n', 'a\nb\n', 'c\n', replace_all=True) == b'c\nc\n'


@pytest.mark.parametrize(
    ('old', 'message'),
    [
        ('', 'empty'),
        ('nothing like it', 'Read it again'),
        ('  x = 1', r"Line 2 is close: '    x = 1'; blanks must match"),
        ('def', r'2 times \(lines 1, 3\)'),
    ],
)
def test_what_cannot_be_found_once_says_what_to_do(old: str, message: str) -> None:
    with pytest.raises(ToolFailed, match=message):
        replaced(b'def f():\n    x = 1\ndef g(): pass\n', '  x = 1  ' if 'close' in message else old, 'y')

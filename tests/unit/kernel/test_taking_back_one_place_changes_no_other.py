"""A hunk is taken back in the file as it is: nothing else in it changes, in any encoding, in any order."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_notebook.kernel.text_hunks import TextChange, text_change

FEW = st.sampled_from(['a', 'b', 'x = 1', '', 'é', '}', 'long line of text'])
ENDINGS = st.sampled_from(['\n', '\r\n'])
LINES = st.lists(st.tuples(FEW, ENDINGS), max_size=30)


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, str]:
    """A text and what somebody made of it: mostly the same lines, so that there are several hunks."""
    lines = draw(LINES)
    before = [f'{line}{ending}' for line, ending in lines]
    after: list[str] = []
    for line in before:
        match draw(st.integers(0, 9)):
            case 0:
                pass
            case 1:
                after += [f'new {draw(FEW)}\n', line]
            case 2:
                after.append(f'{draw(FEW)}!\n')
            case _:
                after.append(line)
    texts = [''.join(before), ''.join(after)]
    return tuple(text.removesuffix('\n') if draw(st.booleans()) else text for text in texts)  # type: ignore[return-value]


MARKS = {'utf-8': b'', 'utf-8-sig': codecs.BOM_UTF8, 'utf-16-le': codecs.BOM_UTF16_LE, 'utf-16-be': codecs.BOM_UTF16_BE}


def encoded(text: str, encoding: str) -> bytes:
    return MARKS[encoding] + text.encode(encoding.removesuffix('-sig'))


def taken_back(change: TextChange, undone: Collection[str]) -> bytes:
    """The file with exactly the hunks `undone` taken back: from the last to the first, so that no place moves."""
    lines = list(change.after.lines)
    for place in reversed(change.places):
        if place.id in undone:
            lines[slice(*place.new)] = change.before.lines[slice(*place.old)]
    return b''.join(lines)


@given(texts=edited(), encoding=st.sampled_from(sorted(MARKS)), data=st.data())
def test_any_hunks_in_any_order_leave_exactly_those_reversed(
    texts: tuple[str, str], encoding: str, data: st.DataObject
) -> None:
    before, after = (encoded(text, encoding) for text in texts)
    change = text_change(before, after)
    assert change is not None
    ids = [place.id for place in change.places]
    assert len(set(ids)) == len(ids)
    assert bool(ids) == (before != after)
    now, undone = after, set[str]()
    for id in data.draw(st.lists(st.sampled_from(ids), max_size=8) if ids else st.just([])):
        switched = change.switched(now, id, undone=undone)
        assert switched is not None
        now, undone = switched, undone ^ {id}
        assert now == taken_back(change, undone)
    for id in data.draw(st.permutations([id for id in ids if id not in undone])):
        switched = change.switched(now, id, undone=undone)
        assert switched is not None
        now, undone = switched, undone | {id}
    assert now == before


@given(texts=edited(), data=st.data())
def test_what_somebody_else_wrote_meanwhile_stays(texts: tuple[str, str], data: st.DataObject) -> None:
    before, after = (encoded(text, 'utf-8') for text in texts)
    change = text_change(before, after)
    assert change is not None
    if not change.places:
        return
    lines = after.splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines)))
    if at and not lines[at - 1].endswith(b'\n'):
        return
    theirs = b'nobody else writes this\n'
    now = b''.join([*lines[:at], theirs, *lines[at:]])
    for place in change.places:
        switched = change.switched(now, place.id, undone=())
        start, end = place.new
        if start < at < end or start == end == at:
            assert switched is None
        elif switched is not None:
            assert switched.count(theirs) == 1
            assert switched.replace(theirs, b'') == taken_back(change, {place.id})
        else:
            # Only what touches the other's line may be refused: a place of no lines of its own, at an edge.
            assert at in (start, end)


NUMBERS = [f'line {number}\n' for number in range(1, 31)]


def changed(after: Sequence[str]) -> TextChange:
    change = text_change(''.join(NUMBERS).encode(), ''.join(after).encode())
    assert change is not None
    return change


def test_a_hunk_whose_lines_were_changed_is_not_found() -> None:
    after = [*NUMBERS[:9], 'by the agent\n', *NUMBERS[10:]]
    change = changed(after)
    [place] = change.places
    assert (place.header, place.added, place.removed) == ('@@ -7,7 +7,7 @@', 1, 1)
    assert place.text == ' line 7\n line 8\n line 9\n-line 10\n+by the agent\n line 11\n line 12\n line 13'
    mine = [*NUMBERS[:9], 'by the agent and me\n', *NUMBERS[10:]]
    assert change.switched(''.join(mine).encode(), place.id, undone=()) is None
    moved = [*NUMBERS[:3], 'mine\n', *after[3:8], 'also mine\n', 'by the agent\n', 'mine too\n', *NUMBERS[10:]]
    expected = [*NUMBERS[:3], 'mine\n', *after[3:8], 'also mine\n', 'line 10\n', 'mine too\n', *NUMBERS[10:]]
    assert change.switched(''.join(moved).encode(), place.id, undone=()) == ''.join(expected).encode()


def test_a_line_that_stands_elsewhere_too_is_not_taken_for_the_hunk() -> None:
    change = changed([*NUMBERS[:9], '\n', *NUMBERS[9:]])
    [place] = change.places
    gone = [*NUMBERS[:9], 'mine\n', *NUMBERS[9:20], '\n', *NUMBERS[20:]]
    assert change.switched(''.join(gone).encode(), place.id, undone=()) is None
    beside = [*NUMBERS[:8], 'mine\n', '\n', 'mine, too\n', *NUMBERS[10:]]
    assert change.switched(''.join(beside).encode(), place.id, undone=()) is not None
    twice = [*beside, '\n']
    assert change.switched(''.join(twice).encode(), place.id, undone=()) is None


def test_line_endings_that_change_are_seen() -> None:
    change = text_change(b'a\r\nb\r\n', b'a\nb\r\n')
    assert change is not None
    [place] = change.places
    assert place.text == '-a␍\n+a\n b␍'


def test_a_missing_newline_at_the_end_is_seen() -> None:
    change = text_change(b'a\nb', b'a\nb\nc\n')
    assert change is not None
    assert change.places[0].text == ' a\n-b\n\\ No newline at end of file\n+b\n+c'


@pytest.mark.parametrize('data', [b'\x00\x01\x02', b'\x89PNG\r\n\x1a\n\x00'])
def test_what_is_not_text_has_no_hunks(data: bytes) -> None:
    assert text_change(data, b'text\n') is None
    assert text_change(b'text\n', data) is None
    change = text_change(b'text\n', b'other\n')
    assert change is not None
    assert change.switched(data, change.places[0].id, undone=()) is None


def test_a_very_large_change_is_one_hunk_and_quick() -> None:
    before = ''.join(f'{number}\n' for number in range(30_000)).encode()
    after = ''.join(f'{number * 7}\n' for number in range(30_000)).encode()
    change = text_change(before, after)
    assert change is not None
    [place] = change.places
    assert change.switched(after, place.id, undone=()) == before

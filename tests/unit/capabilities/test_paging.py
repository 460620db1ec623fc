"""Pages joined are the file, and no page is larger than it may be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deep_notebook.capabilities.filesystem.paging import Page, cut_page

LINES = st.lists(st.text(alphabet='abä \r', max_size=30), max_size=12)


def pages(lines: list[str], *, limit: int, max_chars: int, closed: bool, prefix: str = '') -> list[Page]:
    found: list[Page] = []
    at: tuple[int, int] | None = (0, 0)
    while at is not None:
        page = cut_page(
            lines,
            offset=at[0],
            char_offset=at[1],
            limit=limit,
            max_chars=max_chars,
            prefix=lambda number, line: prefix,
            closed=closed,
        )
        found.append(page)
        at = page.next
    return found


@given(LINES, st.integers(1, 5), st.integers(1, 40), st.booleans())
def test_pages_joined_are_the_file(lines: list[str], limit: int, max_chars: int, closed: bool) -> None:
    whole = '\n'.join(lines) + ('\n' if closed and lines else '')
    assert ''.join(page.body for page in pages(lines, limit=limit, max_chars=max_chars, closed=closed)) == whole


@given(LINES, st.integers(1, 5), st.integers(10, 40))
def test_no_page_is_too_large(lines: list[str], limit: int, max_chars: int) -> None:
    for page in pages(lines, limit=limit, max_chars=max_chars, closed=True, prefix='12:a3|'):
        assert len(page.body) <= max_chars
        assert page.last - page.offset < limit


def test_a_line_that_fits_into_a_page_is_not_cut() -> None:
    assert [page.body for page in pages(['aaaa', 'bbbb'], limit=9, max_chars=8, closed=True)] == ['aaaa\n', 'bbbb\n']

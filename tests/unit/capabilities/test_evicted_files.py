"""The file of an evicted result is read to its end, and no other file is read in its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_notebook.capabilities.evicted_files import EvictedFiles, pages_of

PREVIEW = 'Tool result too large, saved to: {path}\n\nRead the result …\n\nPreview (head/tail):\nrow 1'
SPOT = '.deep/large_tool_results'


@pytest.fixture
def spot(tmp_path: Path) -> Path:
    spot = tmp_path / SPOT
    spot.mkdir(parents=True)
    return spot


def test_the_whole_text_is_found_by_its_preview(tmp_path: Path, spot: Path) -> None:
    (spot / 'call_1').write_bytes(b'row 1\nrow 2\xff')
    files = EvictedFiles(tmp_path)
    assert files.whole(PREVIEW.format(path=f'{SPOT}/call_1')) == (
        f'{SPOT}/call_1',
        'row 1\nrow 2\N{REPLACEMENT CHARACTER}',
    )
    assert files.size(f'{SPOT}/call_1') == 12
    assert files.whole('row 1') is None
    assert files.whole(PREVIEW.format(path=f'{SPOT}/gone')) is None


@pytest.mark.parametrize(
    'path',
    [
        'secret',
        '/etc/passwd',
        f'{SPOT}/../../secret',
        f'{SPOT}/..',
        f'{SPOT}/',
        '.deep/memory/secret',
        f'{SPOT}/link',
        '',
    ],
)
def test_a_made_up_preview_reaches_no_other_file(tmp_path: Path, spot: Path, path: str) -> None:
    (tmp_path / 'secret').write_text('hunter2')
    (tmp_path / '.deep/memory').mkdir()
    (tmp_path / '.deep/memory/secret').write_text('hunter2')
    (spot / 'link').symlink_to(tmp_path / 'secret')
    files = EvictedFiles(tmp_path)
    assert (files.read(path), files.size(path)) == (None, None)


def test_a_spot_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / 'elsewhere').mkdir()
    (tmp_path / 'elsewhere/call_1').write_text('hunter2')
    (tmp_path / '.deep').mkdir()
    (tmp_path / SPOT).symlink_to(tmp_path / 'elsewhere')
    assert EvictedFiles(tmp_path).read(f'{SPOT}/call_1') is None


def test_pages_end_at_lines_and_say_where_they_begin() -> None:
    pages = pages_of('\n'.join(f'row {number}' for number in range(1, 451)))
    assert [page.first_line for page in pages] == [1, 201, 401]
    assert pages[1].text.splitlines()[::199] == ['row 201', 'row 400']


def test_one_long_line_is_read_to_its_end() -> None:
    pages = pages_of('head\n' + 'x' * 1_000_000 + 'the end\nlast')
    assert max(len(page.text) for page in pages) == 20_000
    assert [page.first_line for page in pages] == [1, *[2] * 51]
    assert pages[-1].text.endswith('the end\nlast')
    assert len(pages) == 52


def test_a_result_without_text_has_one_page() -> None:
    assert [page.text for page in pages_of('')] == ['']


@given(st.text(alphabet='ab\n\r\u2028', max_size=60), st.integers(1, 4), st.integers(1, 7))
def test_the_pages_together_are_the_text(text: str, lines: int, chars: int) -> None:
    pages = pages_of(text, max_lines=lines, max_chars=chars)
    assert ''.join(page.text for page in pages) == text
    for page in pages:
        assert len(page.text) <= chars
        assert page.text.rstrip('\n').count('\n') < lines

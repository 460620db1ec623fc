from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from deep_notebook.capabilities.filesystem.diffs import diff_files
from deep_notebook.capabilities.filesystem.text_files import TextFile

TEXTS = st.lists(st.sampled_from(['a', 'b', 'c', '']), max_size=10).map('\n'.join)


def file(text: str) -> TextFile:
    return TextFile().with_text(text)


def applied(before: str, diff: str) -> str:
    """Apply a unified diff, trusting nothing but its hunks."""
    old = before.splitlines(keepends=True)
    out: list[str] = []
    at = 0
    for line in diff.replace('\n\\ No newline at end of file', '\0').split('\n')[2:]:
        if line.startswith('@@'):
            start, _, length = line.split()[1][1:].partition(',')
            begin = int(start) - (0 if length == '0' else 1)
            out += old[at:begin]
            at = begin
            continue
        text = line[1:-1] if line.endswith('\0') else f'{line[1:]}\n'
        if line[0] in ' -':
            assert old[at] == text
            at += 1
        if line[0] in ' +':
            out.append(text)
    return ''.join([*out, *old[at:]])


@given(TEXTS, TEXTS)
def test_a_diff_says_exactly_what_changes(before: str, after: str) -> None:
    diff = diff_files(file(before), file(after), path='x')
    if before == after:
        assert diff.lines == ()
    else:
        assert applied(before, diff.text()) == after


def test_a_new_file_is_all_added() -> None:
    diff = diff_files(None, file('# Report\n\nFine.\n'), path='report.md')
    assert diff.counts == '+3 −0'
    assert diff.text() == snapshot("""\
--- /dev/null
+++ b/report.md
@@ -0,0 +1,3 @@
+# Report
+
+Fine.\
""")


def test_a_lost_newline_at_the_end_is_a_change() -> None:
    assert diff_files(file('a\nb\n'), file('a\nb'), path='x').text() == snapshot("""\
--- a/x
+++ b/x
@@ -1,2 +1,2 @@
 a
-b
+b
\\ No newline at end of file\
""")


def test_a_long_diff_is_cut_and_says_so() -> None:
    diff = diff_files(None, file('line\n' * 10_000), path='x').text(limit=500)
    assert len(diff) <= 500
    assert 'the rest is not shown' in diff


@pytest.mark.parametrize('size', [3_000, 30_000])
def test_a_file_changed_all_over_is_compared_quickly(size: int) -> None:
    before = file(''.join(f'{number}\n' for number in range(size)))
    after = file(''.join(f'{number * 7919 % 104729}x\n' for number in range(size)))
    assert diff_files(before, after, path='x').counts == f'+{size} −{size}'

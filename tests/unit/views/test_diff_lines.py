"""A diff's lines, as `diff.ts` reads them too."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from deep_notebook.views.diff_lines import diff_lines


@dataclass(frozen=True)
class Case:
    name: str
    diff: str
    kinds: tuple[str, ...]


CASES = [
    Case(
        'the two names share a line, and a new file needs no place',
        '--- /dev/null\n+++ b/a.md\n@@ -0,0 +1,2 @@\n+# A\n+\n',
        ('file', 'add', 'add'),
    ),
    Case(
        'removed and added lines that look like names are lines',
        '--- a.sql\n+++ a.sql\n@@ -1,2 +1,2 @@\n--- old comment\n+++ counter\n keep\n',
        ('file', 'hunk', 'remove', 'add', 'context'),
    ),
    Case(
        'an empty context line stays in its hunk',
        '--- a\n+++ a\n@@ -1,3 +1,3 @@\n x\n\n-y\n+z\n@@ -9 +9 @@\n-p\n+q\n\\ No newline at end of file\n',
        ('file', 'hunk', 'context', 'context', 'remove', 'add', 'hunk', 'remove', 'add', 'note'),
    ),
    Case(
        'several files follow each other',
        '--- a\n+++ a\n@@ -1 +1 @@\n-p\n+q\n--- b\n+++ /dev/null\n@@ -1 +0,0 @@\n-r\n',
        ('file', 'hunk', 'remove', 'add', 'file', 'remove'),
    ),
    Case(
        'a diff that was cut short is read as far as it goes',
        '--- a\n+++ a\n@@ -1,9 +1,9 @@\n-p\n',
        ('file', 'hunk', 'remove'),
    ),
    Case('a name alone is a name', '--- a/x\nand then a remark', ('file', 'note')),
]


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.name)
def test_each_line_knows_what_it_is(case: Case) -> None:
    assert tuple(kind for kind, _ in diff_lines(case.diff)) == case.kinds


@pytest.mark.parametrize(
    ('diff', 'words'),
    [
        ('--- /dev/null\n+++ b/a.md\n', '--- (new)   +++ a.md'),
        ('--- a/a.md\n+++ /dev/null\n', '--- a.md   +++ (gone)'),
        ('--- a/b/c.md\n+++ b/b/c.md\n', '--- b/c.md   +++ b/c.md'),
    ],
)
def test_what_comes_and_what_goes_is_said_in_words(diff: str, words: str) -> None:
    assert list(diff_lines(diff)) == [('file', words)]

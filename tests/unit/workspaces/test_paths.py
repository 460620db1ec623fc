from __future__ import annotations

from dataclasses import dataclass

import pytest

from deep_notebook.workspaces import relative_path


@dataclass(frozen=True)
class Case:
    path: str
    working_dir: str
    shown: str


@pytest.mark.parametrize(
    'case',
    [
        Case('/work/data/a.csv', '/work', 'data/a.csv'),
        Case('data/./a.csv', '/work', 'data/a.csv'),
        Case('/work', '/work', '.'),
        Case('', '/work', '.'),
        Case('/work-2/a', '/work', '/work-2/a'),
        Case('../a', '/work', '/a'),
        Case('/uploads/a.csv', '/', 'uploads/a.csv'),
        Case('/', '/', '.'),
    ],
)
def test_a_path_is_shown_relative_to_the_workspace(case: Case) -> None:
    assert relative_path(case.path, case.working_dir) == case.shown

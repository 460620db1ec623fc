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
        Case('/project/data/a.csv', '/project', 'data/a.csv'),
        Case('data/./a.csv', '/project', 'data/a.csv'),
        Case('/project', '/project', '.'),
        Case('', '/project', '.'),
        Case('/project-2/a', '/project', '/project-2/a'),
        Case('../a', '/project', '/a'),
        Case('/uploads/a.csv', '/', 'uploads/a.csv'),
        Case('/', '/', '.'),
    ],
)
def test_a_path_is_shown_relative_to_the_workspace(case: Case) -> None:
    assert relative_path(case.path, case.working_dir) == case.shown

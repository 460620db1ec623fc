from __future__ import annotations

from dataclasses import dataclass

import pytest

from deep_notebook.capabilities.agent_paths import agent_path, is_agents_own, safe_name


@dataclass(frozen=True)
class Case:
    path: str
    in_directory: str
    own: bool


@pytest.mark.parametrize(
    'case',
    [
        Case('/plans', '.deep/plans', own=True),
        Case('/plans/', '.deep/plans', own=True),
        Case('/.deep/memory', '.deep/memory', own=True),
        Case('/large_tool_results/run-1', '.deep/large_tool_results/run-1', own=True),
        Case('.deep/skills', '.deep/skills', own=True),
        Case('/.deep', '.deep', own=False),
        Case('/.deep/sessions', '.deep/sessions', own=False),
        Case('/.deep/memory/../sessions', '.deep/sessions', own=False),
        Case('.deep/memory/../../src', '.deep/memory/../../src', own=False),
        Case('/plans/../etc', '/plans/../etc', own=False),
        Case('plans', 'plans', own=False),
        Case('docs/plans', 'docs/plans', own=False),
        Case('/data/plans', '/data/plans', own=False),
        Case('/', '/', own=False),
    ],
    ids=lambda case: case.path,
)
def test_the_agents_own_spots_are_in_deep_and_everything_else_stays(case: Case) -> None:
    assert agent_path(case.path, '/home/me/notebooks') == case.in_directory
    assert is_agents_own(case.path) is case.own


def test_in_a_workspace_of_its_own_paths_mean_what_they_say() -> None:
    assert [agent_path(path, '/') for path in ('/plans', '/.deep/memory', 'x')] == ['/plans', '/.deep/memory', 'x']


@pytest.mark.parametrize(
    ('text', 'name'),
    [
        ('Move to Parquet!', 'move-to-parquet'),
        ('v1.2 of   the_plan', 'v1-2-of-the_plan'),
        ('Größe ändern', 'größe-ändern'),
        ('Gro\u0308ße', 'größe'),
        ('डेटा योजना', 'डेटा-योजना'),
        ('数据 迁移', '数据-迁移'),
        ('plan ❤\ufe0f', 'plan'),
        ('../../etc/passwd', 'etc-passwd'),
        ('a\u202eb\0c', 'a-b-c'),
        ('-rf', 'rf'),
        ('', 'plan'),
        ('🚀', 'plan'),
        ('_', 'plan'),
        ('\u0301', 'plan'),
        ('\ud800', 'plan'),
        ('x' * 100, 'x' * 60),
        ('𠮷' * 100, '𠮷' * 45),
    ],
)
def test_any_text_makes_one_part_of_a_path(text: str, name: str) -> None:
    assert safe_name(text, fallback='plan') == name

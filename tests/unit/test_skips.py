"""A skip is a failure where nothing may be lacking, unless the thing can never run there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from harness.skips import fail_unless_inherent


@dataclass(frozen=True)
class Case:
    id: str
    reason: str
    require_all: str
    outcome: Literal['skipped', 'failed']


CASES = [
    Case('a missing tool where skipping is allowed', 'no Chromium', '', 'skipped'),
    Case('a missing tool where nothing may be lacking', 'no Chromium', '1', 'failed'),
    Case('what can never run', 'in-memory fake has no permissions', '1', 'skipped'),
    Case('a reason that only begins like an inherent one', 'fake browser', '1', 'failed'),
]


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.id)
def test_skip(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('DEEP_NOTEBOOK_REQUIRE_ALL', case.require_all)
    where = ('test_x.py', 1, f'Skipped: {case.reason}')
    report = pytest.TestReport('test_x.py::test_x', ('test_x.py', 0, 'test_x'), {}, 'skipped', where, 'call')

    assert fail_unless_inherent(report).outcome == case.outcome
    assert case.reason in str(report.longrepr)

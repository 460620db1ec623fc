"""Skipping is for machines that lack a tool. Where nothing may be lacking, a skip is a failure.

Set `DEEP_NOTEBOOK_REQUIRE_ALL=1` (continuous integration does) and every skipped test fails, but for those that
can never run: `INHERENT`.
"""

from __future__ import annotations

import os
import re
from typing import TypeVar

import pytest

INHERENT = {
    # What an in-memory workspace does not have, pydantic-ai's conformance suite cannot check on it.
    r'in-memory fake .*': 'StateBackend keeps files in memory: no links, FIFOs, permissions or paths of a disk',
    r'fake has no .*': 'StateBackend runs no processes',
    r'backend does not implement SupportsCommands': 'StateBackend runs no commands',
    r'backend does not run real POSIX processes': 'StateBackend runs no processes',
    r'backend does not implement SupportsRealpath': 'StateBackend has no links to resolve',
    # Continuous integration is root in a container.
    r'root bypasses filesystem permissions': 'root reads and writes everything; other users run these tests',
}
"""Patterns of skip reasons that hold on every machine of a kind → why."""

Report = TypeVar('Report', pytest.TestReport, pytest.CollectReport)


def fail_unless_inherent(report: Report) -> Report:
    """Turn the report of a skipped test into a failure, unless its reason is inherent or skips are allowed."""
    if os.environ.get('DEEP_NOTEBOOK_REQUIRE_ALL') != '1' or not report.skipped or hasattr(report, 'wasxfail'):
        return report
    reason = _reason(report)
    if not any(re.fullmatch(pattern, reason) for pattern in INHERENT):
        report.outcome = 'failed'
        report.longrepr = f'skipped where nothing may be skipped (DEEP_NOTEBOOK_REQUIRE_ALL=1): {reason}'
    return report


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix('Skipped: ')

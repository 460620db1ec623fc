"""Style and types, as `make lint` checks them."""

from __future__ import annotations

import sys

from harness.processes import succeed


def test_style_is_clean() -> None:
    succeed(sys.executable, '-m', 'ruff', 'check')


def test_format_is_ruffs() -> None:
    succeed(sys.executable, '-m', 'ruff', 'format', '--check')


def test_types_are_strict() -> None:
    assert 'no issues found' in succeed(sys.executable, '-m', 'mypy')

"""The TypeScript: style, types, tests, size; and the bundles in the package are what it builds to."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.environment import ROOT, missing_node
from harness.processes import succeed

FRONTEND = ROOT / 'deep_notebook' / 'views' / 'frontend'
BUNDLE = ROOT / 'deep_notebook' / 'views' / 'static'


@pytest.fixture(scope='module', autouse=True)
def installed() -> None:
    """Install what package-lock.json names, unless that is what is there."""
    if (missing := missing_node()) is not None:
        pytest.skip(missing)
    lock, marker = FRONTEND / 'package-lock.json', FRONTEND / 'node_modules' / '.package-lock.json'
    if not marker.exists() or marker.stat().st_mtime < lock.stat().st_mtime:
        succeed('npm', 'ci', cwd=FRONTEND)


@pytest.mark.parametrize('script', ['lint', 'typecheck', 'test', 'check-size'])
def test_script_passes(script: str) -> None:
    succeed('npm', 'run', script, cwd=FRONTEND)


def test_the_bundle_in_the_package_is_what_the_source_builds_to(tmp_path: Path) -> None:
    succeed('npm', 'run', 'build', '--', '--outdir', tmp_path, cwd=FRONTEND)
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in BUNDLE.iterdir()}

    assert built.keys() == kept.keys()
    assert [name for name in built if built[name] != kept[name]] == [], 'run `make widget` and commit the result'

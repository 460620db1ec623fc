"""Every tutorial runs from start to end and shows what it showed when it was written; then once more."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from harness.environment import (
    KERNEL_VERSIONS,
    ROOT,
    clean_env,
    embedded_model_env,
    kernel_name,
    write_kernelspecs,
)
from harness.processes import succeed

NOTEBOOKS = ROOT / 'notebooks'
EMBEDDED = {'01-quickstart.ipynb'}
"""Run on the real embedded model, minutes each time, so on one ipykernel; the others replay what they recorded."""
SANITIZE = Path(__file__).with_name('sanitize.cfg')
CASES = [
    pytest.param(notebook, version, id=f'{notebook.stem}-ipykernel-{version}', marks=marks)
    for notebook in sorted(NOTEBOOKS.glob('*.ipynb'))
    for marks in [[pytest.mark.embedded] if notebook.name in EMBEDDED else []]
    for version in (KERNEL_VERSIONS[-1:] if notebook.name in EMBEDDED else KERNEL_VERSIONS)
]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(('notebook', 'version'), CASES)
def test_tutorial_passes_nbval_twice_in_a_row(notebook: Path, version: str, tmp_path: Path) -> None:
    place, home = tmp_path / 'notebooks', tmp_path / 'home'
    shutil.copytree(NOTEBOOKS, place, ignore=shutil.ignore_patterns('.deep', '.ipynb_checkpoints'))
    (place / 'pytest.ini').write_text('[pytest]\n', encoding='utf-8')  # nbval's own run takes nothing from ours
    write_kernelspecs(home / 'specs')
    found = {'JUPYTER_PATH': str(home / 'specs')}
    env = clean_env(home, found | (embedded_model_env() if notebook.name in EMBEDDED else {}))
    nbval = ('--nbval', '--nbval-sanitize-with', SANITIZE, '--nbval-kernel-name', kernel_name(version))
    limits = ('--nbval-cell-timeout', '600', '-p', 'no:cacheprovider')

    for _ in range(2):
        succeed(sys.executable, '-m', 'pytest', *nbval, *limits, notebook.name, cwd=place, env=env, timeout=900)

"""What people install: the wheel holds what runs and nothing else, the source archive what builds it."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from deep_notebook import __version__
from harness.processes import succeed

NAME = f'deep_notebook-{__version__}'


@pytest.fixture(scope='module')
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that holds the wheel and the source archive."""
    directory = tmp_path_factory.mktemp('dist')
    succeed(sys.executable, '-m', 'uv', 'build', '--quiet', '--out-dir', directory)
    return directory


def test_the_wheel_holds_the_package_its_types_and_its_widget(built: Path) -> None:
    names = set(zipfile.ZipFile(built / f'{NAME}-py3-none-any.whl').namelist())

    assert {name.split('/')[0] for name in names} == {'deep_notebook', f'{NAME}.dist-info'}
    assert {
        'deep_notebook/py.typed',
        'deep_notebook/views/static/widget.js',
        'deep_notebook/views/static/widget.css',
        'deep_notebook/views/static/panels.js',
        'deep_notebook/views/static/panels.css',
        'deep_notebook/views/panels_html.css',
        'deep_notebook/bundled_skills/plotting/SKILL.md',
        'deep_notebook/bundled_skills/plotting/chart-choice.md',
        'deep_notebook/bundled_skills/data-cleaning/profile_csv.py',
        f'{NAME}.dist-info/licenses/LICENSE',
    } <= names
    assert [name for name in names if 'frontend' in name or 'node_modules' in name] == []


def test_the_source_archive_holds_what_the_bundle_is_built_from(built: Path) -> None:
    with tarfile.open(built / f'{NAME}.tar.gz') as archive:
        names = {name.removeprefix(f'{NAME}/') for name in archive.getnames()}

    assert {'pyproject.toml', 'deep_notebook/views/frontend/package-lock.json', 'tests/conftest.py'} <= names
    assert [name for name in names if 'node_modules' in name or name.startswith(('.venv', 'build/'))] == []

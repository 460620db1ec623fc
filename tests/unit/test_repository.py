"""What is true of the repository as a whole."""

from __future__ import annotations

import importlib
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import deep_notebook

ROOT = Path(__file__).parents[2]
LONGEST = 400
"""Lines. A longer file wants splitting."""

MACHINE_PATH = re.compile(rf'(?<![\w.~<>}}])(?:/(?:root|work)/\w|{re.escape(str(ROOT))}\b)')
"""A path that is true on one machine only: a container's, or that of this very checkout."""


def tracked_files() -> list[Path]:
    listing = subprocess.run(['git', 'ls-files', '-z'], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in listing.split('\0') if name and (path := ROOT / name).is_file()]


def text_of(path: Path) -> str | None:
    try:
        return path.read_text(encoding='utf-8')
    except UnicodeDecodeError:
        return None


def test_no_module_is_too_long_to_read() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding='utf-8').count('\n')
        for suffix in ('py', 'ts', 'tsx')
        for path in (ROOT / 'deep_notebook').rglob(f'*.{suffix}')
        if not {'node_modules', 'test'} & set(path.parts)
    }

    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def test_no_tracked_file_names_a_path_of_one_machine() -> None:
    found = [
        f'{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}'
        for path in tracked_files()
        if path != Path(__file__)
        for number, line in enumerate((text_of(path) or '').splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]

    assert found == []


def test_the_version_is_kept_in_one_place() -> None:
    project = tomllib.loads((ROOT / 'pyproject.toml').read_text(encoding='utf-8'))['project']

    assert project['dynamic'] == ['version']
    assert f"'{deep_notebook.__version__}'" in (ROOT / 'deep_notebook' / '_version.py').read_text(encoding='utf-8')
    assert f'## {deep_notebook.__version__}' in (ROOT / 'CHANGELOG.md').read_text(encoding='utf-8')


@pytest.mark.parametrize('name', deep_notebook.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(importlib.import_module('deep_notebook'), name) is not None

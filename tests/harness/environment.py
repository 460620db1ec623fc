"""Where the repository, its tools and its kernel environments are, and what a clean process environment is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from deep_notebook.models.weights import cache_dir, installed

ROOT = Path(__file__).parents[2]
ARTIFACTS = ROOT / 'test-artifacts'

KERNEL_VERSIONS = ('7.3', '7.4')
"""The ipykernel releases that every kernel and browser test runs on."""

NODE_MAJOR = 20
"""What the TypeScript tools ask for."""

_KEPT = ('PATH', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE')


def kernel_python(version: str) -> Path:
    """The interpreter of the environment that has this ipykernel; skips the test where it was not set up."""
    python = ROOT / '.venvs' / f'ipykernel{version.replace(".", "")}' / 'bin' / 'python'
    if not python.exists():
        pytest.skip(f'no environment with ipykernel {version}: run `make kernels`')
    return python


def kernel_name(version: str) -> str:
    """The name of the kernelspec for this ipykernel: `'py73'`, `'py74'`."""
    return f'py{version.replace(".", "")}'


def write_kernelspecs(jupyter_path: Path) -> None:
    """Make `py73` and `py74` known to whatever has `jupyter_path` on its JUPYTER_PATH.

    `py73-embedded` and `py74-embedded` are the same with the pulled model in reach, where it was pulled.
    """
    for version in KERNEL_VERSIONS:
        name, display_name = kernel_name(version), f'Python (ipykernel {version})'
        _write_kernelspec(jupyter_path / 'kernels' / name, version, display_name, {})
        if installed() is not None:
            embedded = jupyter_path / 'kernels' / f'{name}-embedded'
            _write_kernelspec(embedded, version, 'Python 3 (ipykernel)', embedded_model_env())


def _write_kernelspec(directory: Path, version: str, display_name: str, env: Mapping[str, str]) -> None:
    spec = {
        'argv': [str(kernel_python(version)), '-m', 'ipykernel_launcher', '-f', '{connection_file}'],
        'display_name': display_name,
        'language': 'python',
        'metadata': {'debugger': False},
        'env': dict(env),
    }
    directory.mkdir(parents=True, exist_ok=True)
    (directory / 'kernel.json').write_text(json.dumps(spec), encoding='utf-8')


def clean_env(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment without keys, configuration or caches of the person who runs the tests.

    `home` holds everything that programs leave behind. The tests' helpers are importable as `harness`.
    """
    home.mkdir(parents=True, exist_ok=True)
    env = {name: os.environ[name] for name in _KEPT if name in os.environ}
    env |= {
        'HOME': str(home),
        'IPYTHONDIR': str(home / 'ipython'),
        'JUPYTER_CONFIG_DIR': str(home / 'jupyter' / 'config'),
        'JUPYTER_DATA_DIR': str(home / 'jupyter' / 'data'),
        'JUPYTER_RUNTIME_DIR': str(home / 'jupyter' / 'runtime'),
        'JUPYTER_PLATFORM_DIRS': '1',
        'PYTHONPATH': str(ROOT / 'tests'),
        'PYTHONDONTWRITEBYTECODE': '1',
    }
    return env | dict(extra or {})


def missing_node() -> str | None:
    """Why TypeScript cannot be checked here, or None if there are npm and a new enough Node."""
    node = shutil.which('node')
    if node is not None and shutil.which('npm') is not None:
        version = subprocess.run([node, '--version'], capture_output=True, text=True, check=True).stdout.strip()
        if int(version.lstrip('v').split('.')[0]) >= NODE_MAJOR:
            return None
    return f'no npm with Node {NODE_MAJOR} or newer: get it from https://nodejs.org'


def embedded_model_env() -> dict[str, str]:
    """The variable that lets a process in a clean environment find the pulled model; skips where it was not pulled."""
    if installed() is None:
        pytest.skip('the embedded model is not here: run `make model`')
    return {'DEEP_NOTEBOOK_CACHE': str(cache_dir())}

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deep_notebook.masking import is_secret_name


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No keys, no addresses, no embedded model: what the tests do not set is not there."""
    for name in list(os.environ):
        if is_secret_name(name) or name.endswith('_BASE_URL'):
            monkeypatch.delenv(name)
    monkeypatch.setenv('DEEP_NOTEBOOK_CACHE', str(tmp_path / 'cache'))

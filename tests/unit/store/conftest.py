from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deep_notebook.store import SessionStore, session_path
from harness.journal import Agent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return session_path(tmp_path / 'sales.ipynb')


@pytest.fixture
def store(path: Path) -> Iterator[SessionStore]:
    with SessionStore.open(path) as store:
        yield store


@pytest.fixture
def agent(tmp_path: Path, store: SessionStore) -> Agent:
    return Agent(tmp_path, store)

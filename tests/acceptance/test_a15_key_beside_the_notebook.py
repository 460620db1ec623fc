"""A15: a key in `.env` beside the notebook is found, overrides nothing, and never shows its value."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic_ai.models.openai import OpenAIResponsesModel

from deep_notebook.errors import UsageError
from deep_notebook.models import resolve_model


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ('ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'OPENAI_BASE_URL'):
        monkeypatch.setenv(name, 'restored by pytest after the test')
        monkeypatch.delenv(name)
    monkeypatch.setenv('DEEP_NOTEBOOK_CACHE', str(tmp_path / 'cache'))


def api_key(directory: Path, name: str | None = None) -> str:
    model = resolve_model(name, directory=directory).model
    assert isinstance(model, OpenAIResponsesModel)
    return str(model.client.api_key)


def test_the_key_is_found(tmp_path: Path) -> None:
    (tmp_path / '.env').write_text('export OPENAI_API_KEY="from the file"\n')
    assert api_key(tmp_path) == 'from the file'


def test_a_variable_that_is_set_is_not_overridden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'from the shell')
    (tmp_path / '.env').write_text('OPENAI_API_KEY=from the file\n')
    assert api_key(tmp_path) == 'from the shell'
    assert os.environ['OPENAI_API_KEY'] == 'from the shell'


def test_a_missing_key_names_the_variable_and_shows_no_value(tmp_path: Path) -> None:
    (tmp_path / '.env').write_text('OPENAI_API_KEI=sesame-open\nsesame-open-too\n')
    with pytest.raises(UsageError) as caught:
        resolve_model('openai:gpt-6-luna', directory=tmp_path)
    assert 'OPENAI_API_KEY' in str(caught.value)
    assert 'sesame' not in str(caught.value)


def test_a_line_that_is_ignored_is_named_by_its_number(tmp_path: Path) -> None:
    (tmp_path / '.env').write_text('OPENAI_API_KEY=k\nsesame-open\n')
    assert resolve_model(None, directory=tmp_path).notice == 'Ignored in .env: line 2 is not NAME=value.'

"""A15: a key in `.env` beside the notebook is found, overrides nothing, and never shows its value."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic_ai.models.openai import OpenAIResponsesModel

from deep_notebook.errors import UsageError
from deep_notebook.models import resolve_model
from harness.kernels import RealKernel


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


@pytest.mark.kernel
def test_it_lies_beside_the_notebook_wherever_the_kernel_works(
    start_kernel: Callable[..., RealKernel], tmp_path: Path
) -> None:
    (tmp_path / 'elsewhere').mkdir()
    (tmp_path / '.env').write_text('OPENAI_API_KEY=sesame-open\nANTHROPIC_API_KEY=sesame-too\nbad line\n')
    env = {'JPY_SESSION_NAME': str(tmp_path / 'work.ipynb'), 'ANTHROPIC_API_KEY': 'from-the-shell'}
    kernel = start_kernel('7.4', tmp_path / 'elsewhere', env=env)
    kernel.run('%load_ext deep_notebook')

    assert 'openai:gpt-6-luna' in kernel.run('%deep model openai:gpt-6-luna').stdout
    keys = kernel.run('import os; print(os.environ["OPENAI_API_KEY"], os.environ["ANTHROPIC_API_KEY"])').stdout
    assert keys == 'sesame-open from-the-shell\n'

    (tmp_path / '.env').write_text('OPENAI_API_KEI=sesame-open\n')
    missing = kernel.run('%deep model openai:gpt-6-luna').stderr
    assert missing.splitlines() == [
        'UsageError: openai:gpt-6-luna needs OPENAI_API_KEY: set it in the environment or in .env beside the notebook.'
    ]
    assert 'OPENAI_API_KEY' not in kernel.run('print(sorted(os.environ))').stdout

"""A10: `import deep_notebook` imports no provider SDK, and not pydantic-ai either."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    'pydantic_ai',
    'anthropic',
    'openai',
    'google.genai',
    'huggingface_hub',
    'xllamacpp',
    'ipywidgets',
    'anywidget',
)


@pytest.mark.parametrize(
    'module', ['deep_notebook', 'deep_notebook.errors', 'deep_notebook.masking', 'deep_notebook.models']
)
def test_importing_is_light(module: str) -> None:
    script = f'import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])'
    loaded = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == '[]'

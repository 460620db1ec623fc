"""The whole way with nothing scripted: a real kernel, the real local model, a real file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.environment import embedded_model_env
from harness.kernels import RealKernel

pytestmark = pytest.mark.embedded

WISH = """%%deep --model embedded --approve auto
Write the file greeting.md with this text: Good morning from a local model."""


@pytest.mark.timeout(600)
def test_the_local_model_writes_a_file(start_kernel: Callable[..., RealKernel], tmp_path: Path) -> None:
    kernel = start_kernel('7.4', env=embedded_model_env())
    kernel.run('%load_ext deep_notebook')
    result = kernel.run(WISH, allow_stdin=False, timeout=500)

    assert result.error is None
    assert 'Good morning' in (tmp_path / 'greeting.md').read_text(encoding='utf-8')
    assert 'write_file' in result.text
    assert 'local, limited' in result.text

"""A7 (jupyter-ai#1196): a blank body is answered by one line that says what to write, and no model is asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.deep import deep
from harness.kernels import RealKernel

pytestmark = pytest.mark.kernel

BLANK = [
    '%%deep',
    '%%deep\n',
    '%%deep -m model',
    '%%deep -m model\n\n   \n\t\n',
    '%%deep -m model --\n ',
    '%%deep -m model\n\u200b\u00a0\u3000\ufeff\r\n',
    '%%deep -m model\n\f\0\x1f',
    '%%deep -m model\n{nothing_in_it}{blanks}\n',
    'get_ipython().run_cell_magic("deep", "", " \\n ")',
]


def test_a_blank_prompt_asks_nobody(start_kernel: Callable[..., RealKernel]) -> None:
    kernel = start_kernel('7.4')
    deep(kernel, 'seen = []\nmodel = script("ok", seen=seen)\nnothing_in_it = ""\nblanks = "  "')
    for cell in BLANK:
        result = kernel.run(cell)

        assert result.status == 'error', cell
        assert len(result.stderr.splitlines()) == 1, (cell, result.stderr)
        assert result.stderr.startswith('UsageError: '), cell
        words = 'are empty' if 'nothing_in_it' in cell else 'Write what you want below %%deep'
        assert words in result.stderr, cell
        assert result.displays == [], cell

    assert kernel.run('print(seen)').stdout == '[]\n'
    assert 'Nothing was asked yet.' in kernel.run('%deep status').stdout

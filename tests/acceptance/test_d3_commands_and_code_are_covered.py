"""D3 (claude-code#94657): what commands and code of the agent change goes back too, or is named; never silence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.deep import deep, run_deep
from harness.kernels import RealKernel
from harness.travel import tree

pytestmark = pytest.mark.kernel

LARGE = 40 * 2**20
"""Bytes of a file that is too large to be kept."""


def test_files_changed_by_execute_and_run_python_go_back_or_are_named(
    start_kernel: Callable[..., RealKernel], tmp_path: Path
) -> None:
    kernel = start_kernel('7.4')
    (tmp_path / 'data.csv').write_text('a,b\n')
    with (tmp_path / 'large.bin').open('wb') as large:
        large.truncate(LARGE)
    before = {name: data for name, data in tree(tmp_path).items() if name != 'large.bin'}
    deep(
        kernel,
        """
        model = script(
            [call('execute', command='sed -i s/a/z/ data.csv; echo 1 >> large.bin')],
            [call('run_python', code='import os; os.makedirs("out"); open("out/plot.txt", "w").write("x")')],
            'Done.',
        )
        """,
    )
    run_deep(kernel, '--approve auto', 'Change things.')
    listed = kernel.run('%deep rewind', stdin=['n']).stdout
    for line in ('~ data.csv', '- out/plot.txt', 'large.bin'):
        assert line in listed
    told = kernel.run('%deep rewind --yes').stdout
    assert 'large.bin' in told
    assert {name: data for name, data in tree(tmp_path).items() if name != 'large.bin'} == before

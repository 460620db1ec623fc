"""D7 (marimo#8711): after a restart the session is found, what was said is found, and one can still go back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.deep import deep, run_deep
from harness.kernels import RealKernel
from harness.travel import tree

pytestmark = pytest.mark.kernel

FIND = """
cells = get_ipython().magics_manager.registry['DeepMagics'].cells
store = cells.call(cells.session.store())
print([hit.run for hit in cells.call(store.search('zebra'))])
"""


def test_session_phrase_and_checkpoints_are_found(start_kernel: Callable[..., RealKernel], tmp_path: Path) -> None:
    kernel = start_kernel('7.4')
    deep(
        kernel,
        """
        model = script(
            'The codeword is zebra.',
            [call('write_file', path='a.md', content='x'), call('run_python', code='value = 1')], 'Done.',
        )
        """,
    )
    run_deep(kernel, '', 'Say the codeword.')
    run_deep(kernel, '--approve auto', 'Write.')
    kernel.restart()
    deep(kernel, 'seen = []\nmodel = script("Hello.", seen=seen)')

    assert 'Last run: 2, done' in kernel.run('%deep status').stdout
    assert kernel.run(FIND).stdout == '[1]\n'
    rewound = kernel.run('%deep rewind --yes').stdout
    assert 'a.md removed' in rewound
    assert 'Variables' not in rewound, 'a new kernel has none of them'
    assert tree(tmp_path) == {}
    assert kernel.run(FIND).stdout == '[1]\n'
    kernel.restart()
    assert 'Undid' in kernel.run('%load_ext deep_notebook\n%deep undo').stdout
    assert tree(tmp_path) == {'a.md': b'x'}

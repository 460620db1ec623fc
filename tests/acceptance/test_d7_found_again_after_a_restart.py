"""D7 (marimo#8711): the kernel is restarted, and the session is found, a phrase in it is found, and export works."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.deep import deep, run_deep
from harness.kernels import RealKernel

pytestmark = pytest.mark.kernel


def test_d7_the_session_is_found_searched_and_exported_after_a_restart(kernel: RealKernel, tmp_path: Path) -> None:
    work = "[call('write_file', path='harbour.txt', content='1963'), call('run_python', code='year = 1963')]"
    deep(kernel, f"model = script({work}, 'The harbour froze in 1963.')")
    run_deep(kernel, '--approve auto', 'When did the harbour freeze?')
    kernel.restart()

    assert kernel.run('%load_ext deep_notebook').outputs == []
    assert 'Last run: 1, done' in kernel.run('%deep status').stdout
    found = kernel.run('%deep search froze in 1963').displays[-1]
    assert 'run 1 · Assistant' in found['text/plain']
    assert '<mark' in found['text/html']
    assert 'The harbour froze in 1963.' in kernel.run('%deep show 1').displays[-1]['text/plain']
    assert kernel.run('%deep export harbour.md').stdout == 'The conversation, 4 messages: in harbour.md\n'
    exported = (tmp_path / 'harbour.md').read_text()
    assert exported.index('When did the harbour freeze?') < exported.index('The harbour froze in 1963.')

    # The conversation goes on from there.
    kernel.run("from harness.scripted import prompts, script\nseen = []\nmodel = script('As I said.', seen=seen)")
    run_deep(kernel, '', 'When was that?')
    assert 'When did the harbour freeze?' in kernel.run('print(prompts(seen[0]))').stdout

    # And one can go back to before the restart, and forward again after another one.
    rewound = kernel.run('%deep rewind 1 --yes').stdout
    assert 'harbour.txt removed' in rewound
    assert 'Variables' not in rewound, 'a new kernel has none of them'
    assert not (tmp_path / 'harbour.txt').exists()
    assert 'run 1' in kernel.run('%deep search froze in 1963').displays[-1]['text/plain']
    kernel.restart()
    assert 'Undid' in kernel.run('%load_ext deep_notebook\n%deep undo').stdout
    assert (tmp_path / 'harbour.txt').read_text() == '1963'

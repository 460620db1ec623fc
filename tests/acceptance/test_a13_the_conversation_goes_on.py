"""A13 (jupyter-ai#783): the second request holds the first turn, also after a restart; `%deep reset` clears it."""

from __future__ import annotations

import pytest

from harness.deep import deep, run_deep
from harness.kernels import RealKernel

pytestmark = pytest.mark.kernel


def test_the_conversation_goes_on_until_it_is_reset(kernel: RealKernel) -> None:
    deep(kernel, 'seen = []\nmodel = script("ok", seen=seen)')
    run_deep(kernel, '', 'My colour is green.')
    run_deep(kernel, '', 'Which colour?')
    assert kernel.run('print(prompts(seen[-1]))').stdout == "['My colour is green.', 'Which colour?']\n"

    assert kernel.run('%deep reset').status == 'ok'
    run_deep(kernel, '', 'Which colour now?')
    assert kernel.run('print(prompts(seen[-1]))').stdout == "['Which colour now?']\n"

    run_deep(kernel, '--new', 'Anew.')
    assert kernel.run('print(prompts(seen[-1]))').stdout == "['Anew.']\n"


def test_a_restarted_kernel_finds_its_conversation_and_tells_the_model(kernel: RealKernel) -> None:
    setup = 'seen = []\nmodel = script("ok", seen=seen)'
    deep(kernel, setup)
    run_deep(kernel, '', 'My colour is green.')
    kernel.restart()
    deep(kernel, setup)

    run_deep(kernel, '', 'Which colour?')

    first = kernel.run('print(prompts(seen[-1]))').stdout
    assert 'My colour is green.' in first
    assert 'variables and imports are gone' in first
    run_deep(kernel, '', 'And now?')
    again = kernel.run('print(prompts(seen[-1]))').stdout
    assert again.count('variables and imports are gone') == 1

"""B3 (vscode-jupyter#17360): where no decision can arrive the run is suspended, and the same call resumes later."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.deep import deep, front_end, run_deep
from harness.kernels import CellResult, RealKernel

pytestmark = pytest.mark.kernel

SETUP = """
seen = []
model = script(
    lambda m: f'{len(returns(m))} result, {returns(m)[-1].outcome}: {returns(m)[-1].content}' if returns(m)
    else call('write_file', path='note.txt', content='hello', id='call_x'),
    seen=seen,
)
"""


def resume(kernel: RealKernel, command: str) -> CellResult:
    cell = kernel.start(f'%deep {command}', stop_on_error=False)
    front_end(cell)
    return cell.result()


def suspended(kernel: RealKernel, path: Path) -> None:
    result = run_deep(kernel, '--approve ask --new', 'Write.', allow_stdin=False)
    assert result.status == 'ok', 'the cell ends; Run All goes on'
    text = result.displays[-1]['text/plain']
    for command in ('%deep approve', '%deep deny', '%deep resume'):
        assert command in text
    for shown in ('Write note.txt?', '+hello'):
        assert shown in text
    assert not path.exists()


def test_the_same_call_resumes_also_after_a_restart(kernel: RealKernel, tmp_path: Path) -> None:
    deep(kernel, SETUP)
    suspended(kernel, tmp_path / 'note.txt')
    kernel.restart()
    deep(kernel, SETUP)
    assert 'Write note.txt?' in kernel.run('%deep status').stdout

    approved = resume(kernel, 'approve')
    assert approved.status == 'ok', approved.error
    assert '1 result, success' in approved.displays[-1]['text/plain']
    assert (tmp_path / 'note.txt').read_text() == 'hello'
    assert kernel.run('print(returns(seen[-1])[-1].tool_call_id)').stdout == 'call_x\n'
    assert 'No run waits' in kernel.run('%deep approve').stderr

    (tmp_path / 'note.txt').unlink()
    suspended(kernel, tmp_path / 'note.txt')
    denied = resume(kernel, 'deny not today')
    assert 'not today' in denied.displays[-1]['text/plain']
    assert not (tmp_path / 'note.txt').exists()


def test_a_channel_that_fails_is_no_answer(kernel: RealKernel, tmp_path: Path) -> None:
    deep(kernel, SETUP + '%config DeepMagics.ready_timeout = 0.1\n')
    kernel.run('def closed(prompt=""): raise EOFError\nget_ipython().kernel.raw_input = closed')

    result = kernel.run('%%deep -m model\nWrite.')
    assert result.status == 'ok', result.error
    assert '%deep approve' in result.displays[-1]['text/plain']
    assert not (tmp_path / 'note.txt').exists()

    kernel.run('del get_ipython().kernel.raw_input')
    resumed = kernel.run('%deep resume', stdin=['y'])
    assert resumed.status == 'ok', resumed.error
    assert (tmp_path / 'note.txt').read_text() == 'hello'

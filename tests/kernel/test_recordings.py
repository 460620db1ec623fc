"""Cells that are recorded and replayed in a real kernel, suspended ones too."""

from __future__ import annotations

from pathlib import Path

from harness.deep import deep, front_end, run_deep
from harness.kernels import RealKernel

WRITES = """
model = script(
    lambda m: f'The tool said: {returns(m)[-1].content}' if returns(m)
    else call('write_file', path='note.txt', content='hello')
)
"""


def test_a_suspended_run_is_recorded_and_replayed_to_its_end(kernel: RealKernel, tmp_path: Path) -> None:
    deep(kernel, WRITES)
    run_deep(kernel, '--new --approve ask --record tale', 'Write.', allow_stdin=False)
    recorded = kernel.run('%deep approve', allow_stdin=False)
    assert 'The tool said: Wrote note.txt' in recorded.displays[-1]['text/plain']

    kernel.restart()
    (tmp_path / 'note.txt').unlink()
    deep(kernel, '')
    suspended = kernel.run('%%deep --new --approve ask --replay tale\nWrite.', allow_stdin=False)
    assert 'Replayed · recorded with a scripted model' in suspended.displays[-1]['text/plain']
    kernel.restart()
    deep(kernel, '')
    replayed = kernel.run('%deep approve', allow_stdin=False)

    assert replayed.status == 'ok', replayed.error
    assert 'Replayed · recorded with a scripted model' in replayed.displays[-1]['text/plain']
    assert 'The tool said: Wrote note.txt' in replayed.displays[-1]['text/plain']
    assert (tmp_path / 'note.txt').read_text() == 'hello'
    assert kernel.run('%deep cost').stdout.startswith('1 run, 2 requests, ')


def test_an_answer_that_was_not_recorded_stops_the_resumed_run(kernel: RealKernel, tmp_path: Path) -> None:
    deep(kernel, WRITES)
    run_deep(kernel, '--new --approve ask --record tale', 'Write.', allow_stdin=False)
    kernel.run('%deep approve', allow_stdin=False)
    (tmp_path / 'note.txt').unlink()

    kernel.run('%%deep --new --approve ask --replay tale\nWrite.', allow_stdin=False)
    cell = kernel.start('%deep deny not now', stop_on_error=False)
    front_end(cell)
    result = cell.result()

    assert result.status == 'error'
    assert 'the result of write_file' in result.text
    assert not (tmp_path / 'note.txt').exists()


def test_a_run_that_a_limit_stopped_is_recorded_and_continued(kernel: RealKernel, tmp_path: Path) -> None:
    (tmp_path / 'a.txt').write_text('a')
    calls = "call('read_file', path='a.txt'), call('grep', pattern='a', path='a.txt')"
    deep(kernel, f"model = script({calls}, lambda m: f'{{len(returns(m))}} results')")
    for line in ('-m model --record tale', '--replay tale'):
        limited = kernel.run(f'%%deep --new --max-requests 2 {line}\nLook.', allow_stdin=False)
        goes_on = kernel.run(f'%%deep {line}\nAnd?', allow_stdin=False)

        assert limited.error is not None
        assert limited.error.value.startswith('Stopped after 2 requests')
        assert '2 results' in goes_on.displays[-1]['text/plain']


def test_an_error_of_the_code_is_the_same_in_every_cell(kernel: RealKernel) -> None:
    deep(kernel, "model = script(call('run_python', code='x = 1\\n1 / 0'), lambda m: str(returns(m)[-1].content))")
    recorded = kernel.run('%%deep --new -m model --approve auto --record tale\nDivide.', allow_stdin=False)
    assert 'Your code, line 2' in recorded.displays[-1]['text/plain']

    kernel.run('1')
    replayed = kernel.run('%%deep --new --approve auto --replay tale\nDivide.', allow_stdin=False)

    assert replayed.status == 'ok', replayed.error

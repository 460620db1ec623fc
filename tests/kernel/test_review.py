"""`%%deep --approve review` in a real kernel: writes happen, commands ask, and what was done can be undone later."""

from __future__ import annotations

from pathlib import Path

from harness.deep import asked, decide, deep, front_end, run_deep, start_deep
from harness.kernels import RealKernel

LINES = [f'line {number}\n' for number in range(1, 21)]
AFTER = ['first\n', *LINES[1:19], 'last\n']
UNDONE_IN_PART = ['first\n', *LINES[1:]]


def test_a_run_is_reviewed_at_its_end_and_after_a_restart(kernel: RealKernel, tmp_path: Path) -> None:
    model, report, ran = tmp_path / 'model.py', tmp_path / 'report.md', tmp_path / 'ran.txt'
    model.write_text(''.join(LINES))
    deep(
        kernel,
        """
        after = ''.join(['first\\n', *(f'line {number}\\n' for number in range(2, 20)), 'last\\n'])
        model = script(
            call('read_file', path='model.py'),
            [
                call('write_file', path='model.py', content=after),
                call('write_file', path='report.md', content='# Report\\n'),
            ],
            call('execute', id='command', command='echo run > ran.txt'),
            'Done.',
        )
        """,
    )
    cell = start_deep(kernel, '--approve review', 'Do it.')
    widget = front_end(cell)
    asked(widget, 'command')
    assert (model.read_text(), report.exists(), ran.exists()) == (''.join(AFTER), True, False)
    decide(widget, 'command', 'approve')
    run, changes = cell.result().displays
    assert 'Done.' in run['text/plain']
    assert 'Changes of run 1 · 3 of 3 files to review' in changes['text/plain']
    told = kernel.run('%deep review undo 1 model.py:2').displays[-1]['text/plain']
    assert '[undone]' in told
    assert model.read_text() == ''.join(UNDONE_IN_PART)

    kernel.restart()
    deep(
        kernel,
        """
        seen = []
        model = script(
            'I see.',
            [call('write_file', path='late.md', content='late\\n'), call('execute', command='echo no > no.txt')],
            'That was denied.',
            [call('write_file', path='halt.md', content='x\\n'), call('execute', id='halt', command='true')],
            call('write_file', path='broken.md', content='x\\n'),
            lambda messages: 1 / 0,
            seen=seen,
        )
        """,
    )
    told = kernel.run('%deep review').displays[-1]['text/plain']
    assert 'Changes of run 1 · 3 of 3 files to review' in told
    kernel.run('%deep review undo "report.md"')
    told = kernel.run('%deep review keep').displays[-1]['text/plain']
    assert 'Changes of run 1 · 3 files reviewed' in told
    assert (model.read_text(), report.exists(), ran.exists()) == (''.join(UNDONE_IN_PART), False, True)

    run_deep(kernel, '', 'And now?')
    note = 'Note: you changed model.py, report.md and ran.txt; the person undid model.py (1 of 2 hunks) and report.md.'
    assert kernel.run(f'print({note!r} in prompts(seen[-1]))').stdout == 'True\n'

    alone = run_deep(kernel, '--approve review', 'Go on.', allow_stdin=False)
    assert 'Denied without a question: `execute`' in alone.displays[0]['text/plain']
    assert 'Changes of run 3 · 1 of 1 file to review' in alone.displays[1]['text/plain']
    assert '%deep review undo 3' in alone.displays[1]['text/plain']
    assert (tmp_path / 'late.md').read_text() == 'late\n'
    assert not (tmp_path / 'no.txt').exists()

    cell = start_deep(kernel, '--approve review', 'Halt.', stop_on_error=False)
    asked(front_end(cell), 'halt')
    kernel.interrupt()
    assert 'halt.md   +1   new' in cell.result().displays[-1]['text/plain']
    broken = run_deep(kernel, '--approve review', 'Break.')
    assert broken.status == 'error'
    assert 'broken.md   +1   new' in broken.displays[-1]['text/plain']

"""Stop and interrupt in JupyterLab."""

from __future__ import annotations

import pytest

from harness.lab import NotebookPage
from harness.lab_deep import DEEP, ask, run_view

TALK = "model = script(lambda messages: 'word ' * 5000, pause=0.01)"
ASK = "model = script(call('write_file', path='stopped.md', content='no'))"


@pytest.mark.parametrize('how', ['view', 'toolbar', 'command'])
def test_a_run_that_talks_is_stopped(notebook: NotebookPage, how: str) -> None:
    ask(notebook, TALK, "print('never')", prompt='Talk.')
    notebook.wait_for_text('word word', cell=DEEP)
    _stop(notebook, how)
    notebook.wait_for_prompt(DEEP, timeout=5)

    text = run_view(notebook).inner_text()
    assert text.startswith('Stopped by you')
    assert 'word word' in text
    assert notebook.prompt(2) == '[ ]:'
    notebook.screenshot(f'stopped-{how}-{notebook.kernel}')


@pytest.mark.parametrize('how', ['view', 'toolbar'])
def test_a_run_that_waits_is_stopped_and_nothing_is_written(notebook: NotebookPage, how: str) -> None:
    ask(notebook, ASK)
    notebook.button('Approve', cell=DEEP).wait_for()
    _stop(notebook, how)
    notebook.wait_for_prompt(DEEP, timeout=5)

    assert run_view(notebook).inner_text().startswith('Stopped by you')
    assert not (notebook.directory / 'stopped.md').exists()
    notebook.screenshot(f'stopped-waiting-{how}-{notebook.kernel}')

    notebook.replace_cells(["model = script('Here again.')", '%%deep -m model\nGo on.'])
    notebook.run_all()
    notebook.wait_for_prompt(1)
    assert 'Here again.' in run_view(notebook).inner_text()


def _stop(notebook: NotebookPage, how: str) -> None:
    match how:
        case 'view':
            notebook.click('Stop', cell=DEEP)
        case 'toolbar':
            notebook.press_stop_in_toolbar()
        case _:
            notebook.interrupt()

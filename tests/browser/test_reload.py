"""A page that is loaded anew while a run waits, and a notebook that someone else opens later."""

from __future__ import annotations

import re

from harness.axe import faults
from harness.lab_deep import DEEP, LOAD, ask, run_view, wait_until
from harness.lab_fixtures import OpenNotebook

SETUP = """
model = script(
    call('write_todos', todos=[dict(content='Move the port', status='in_progress')]),
    call('write_file', path='config.yaml', content='host: localhost\\nport: 9090\\n'),
    call('write_todos', todos=[dict(content='Move the port', status='completed')]),
    'The port is **9090** now.',
)
"""
BEFORE = {'config.yaml': 'host: localhost\nport: 8080\n'}


def test_a_question_survives_a_reload_of_the_page(open_notebook: OpenNotebook, lab_kernel: str) -> None:
    notebook = open_notebook([LOAD], kernel=lab_kernel, files=BEFORE)
    notebook.run_all()
    notebook.wait_for_prompt(0)
    ask(notebook, SETUP.replace("call('write_file'", "call('read_file', path='config.yaml'),\n    call('write_file'"))
    notebook.button('Approve', cell=DEEP).wait_for()

    notebook.reload()
    approve = notebook.button('Approve', cell=DEEP)
    approve.wait_for()
    assert 'Waiting for you' in run_view(notebook).inner_text()
    notebook.screenshot(f'reloaded-{lab_kernel}')
    approve.click()
    written = notebook.directory / 'config.yaml'
    wait_until(lambda: '9090' in written.read_text(), timeout=2)

    notebook.wait_for_text('The port is 9090 now.', cell=DEEP)
    assert 'The page was reloaded during the run.' in run_view(notebook).inner_text()
    notebook.screenshot(f'reloaded-done-{lab_kernel}')

    notebook.replace_cells(['%deep show', 'x = 1'])
    notebook.run_all()
    notebook.wait_for_prompt(1)
    shown = run_view(notebook, cell=0).inner_text()
    assert shown.startswith('Done')
    assert 'The port is 9090 now.' in shown
    assert 'Plan · 1 of 1' in shown
    notebook.screenshot(f'shown-again-{lab_kernel}')
    assert notebook.console_errors == []


def test_a_saved_run_is_readable_without_a_kernel(open_notebook: OpenNotebook, lab_kernel: str) -> None:
    notebook = open_notebook([LOAD], kernel=lab_kernel, files=BEFORE)
    notebook.run_all()
    notebook.wait_for_prompt(0)
    ask(notebook, SETUP.replace("call('write_file'", "call('read_file', path='config.yaml'),\n    call('write_file'"))
    notebook.click('Approve', cell=DEEP)
    notebook.wait_for_prompt(DEEP)
    notebook.reopen_without_kernel()

    view = run_view(notebook)
    notebook.wait_for_text('The port is 9090 now.', cell=DEEP)
    notebook.screenshot(f'reopened-{lab_kernel}')
    notebook.page.set_viewport_size({'width': 1280, 'height': 1100})
    for fold in ('Plan · 1 of 1', 'Work · 4 tools', '1 file changed'):
        view.get_by_text(fold).click()
    view.locator('summary', has_text='config.yaml · +1 −1').click()
    words = re.sub(r'\s+', ' ', view.inner_text())
    for said in ('Done', 'Move the port', 'approved by you', '-port: 8080 +port: 9090', 'The port is 9090 now.'):
        assert said in words
    assert faults(notebook.page, '.deep-run') == []
    notebook.screenshot(f'reopened-unfolded-{lab_kernel}')
    assert notebook.console_errors == []

"""Going back in time in JupyterLab: a checkpoint is chosen by a click, its files come back, and that is undone."""

from __future__ import annotations

from playwright.sync_api import expect

from harness.lab_deep import LOAD, wait_until
from harness.lab_fixtures import OpenNotebook

FIRST = """
%%deep -m first --approve auto
Move the port.
"""
SECOND = """
%%deep -m second --approve auto
Write a report.
"""
SCRIPTS = """
first = script(
    call('read_file', path='config.yaml'),
    call('write_file', path='config.yaml', content='port: 9090\\n'),
    'The port is 9090 now.',
)
second = script(
    call('read_file', path='config.yaml'),
    call('write_file', path='config.yaml', content='port: 9090\\nhost: example.org\\n'),
    call('write_file', path='report.md', content='# Report\\n'),
    call('run_python', code='total = 3'),
    'The report is there.',
)
"""
CHECKPOINTS = 4


def test_a_click_goes_back_with_the_files_and_another_one_takes_that_back(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook(
        [LOAD, SCRIPTS.strip(), FIRST.strip(), SECOND.strip(), '%deep checkpoints'],
        files={'config.yaml': 'port: 8080\n', 'notes.txt': 'mine\n'},
    )
    config, report = notebook.directory / 'config.yaml', notebook.directory / 'report.md'
    notebook.run_all()
    notebook.wait_for_prompt(CHECKPOINTS)
    after = config.read_text(), report.read_text()
    panel = notebook.output(CHECKPOINTS).locator('.dn-panel')
    panel.wait_for()
    notebook.screenshot('time-travel')

    panel.get_by_role('button', name='Go back to before run 2').click()
    expect(panel.locator('.dn-title')).to_have_text('Go back to “before run 2”?')
    expect(panel).to_contain_text('report.md')
    expect(panel).to_contain_text('Variables are not taken back: total')
    notebook.screenshot('time-travel-question')
    panel.get_by_role('button', name='Go back', exact=True).click()
    wait_until(lambda: not report.exists())
    assert config.read_text() == 'port: 9090\n'
    assert (notebook.directory / 'notes.txt').read_text() == 'mine\n'

    undo = panel.get_by_role('button', name='Undo')
    undo.wait_for()
    notebook.screenshot('time-travel-done')
    undo.click()
    wait_until(report.exists)
    assert (config.read_text(), report.read_text()) == after
    notebook.screenshot('time-travel-undone')
    assert notebook.console_errors == []

"""Subagents in JupyterLab: at work, asking, done; in each theme, on a narrow page, and in the saved notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from harness.axe import faults
from harness.lab import NotebookPage
from harness.lab_deep import DEEP, ask, run_view

SETUP = """
from harness.cast import Cast
def task(description, **more):
    return ('task', dict(description=description, **more))
def plan(*status):
    items = ['Read report.md', 'Add the amounts up', 'Compare them']
    return ('write_todos', dict(todos=[dict(content=c, status=s) for c, s in zip(items, status)]))
ports = [dict(label='9090', description='Nothing else listens there.', recommended=True), dict(label='8081')]
model = Cast({
    "['Look after the report.']": [
        [task('Check every number in report.md', background=True)],
        [task('Find the months without sales', subagent_type='research'), task('Write gaps.md'),
         task('Plan the move of the server', subagent_type='planner')],
        'I wait for the check.',
        'All is well: the south has **no sales** in October, and the numbers in `report.md` are right.',
    ],
    'Check every number in report.md': [
        [plan('completed', 'in_progress', 'pending')],
        [('execute', dict(command='while [ ! -e go ]; do sleep 0.05; done'))],
        'All 12 numbers are right.',
    ],
    'Find the months without sales': [
        [('read_file', dict(path='missing-sales.csv'))], 'The south has no entry for October.'
    ],
    'Write gaps.md': [
        [('write_file', dict(path='gaps.md', content='# Gaps\\n\\nOctober, in the south.\\n'))], 'I wrote gaps.md.'
    ],
    'Plan the move of the server': [[('ask_user', dict(question='Which port?', options=ports))], 'The plan says 9090.'],
}).model
"""
FITS = """() => [...document.querySelectorAll('.dn-run, .dn-run :is(button, input, .dn-line, summary), .deep-run')]
    .filter(element => {
        const frame = element.closest('.jp-OutputArea-output').getBoundingClientRect();
        const { left, right } = element.getBoundingClientRect();
        return left < frame.left - 1 || right > frame.right + 1 || element.scrollWidth > element.clientWidth + 1;
    }).map(element => element.outerHTML.slice(0, 100))"""


@pytest.fixture(params=['JupyterLab Light', 'JupyterLab Dark'])
def theme(notebook: NotebookPage, request: pytest.FixtureRequest) -> Iterator[str]:
    notebook.set_theme(request.param)
    yield request.param.removeprefix('JupyterLab ').lower()
    notebook.set_theme('JupyterLab Light')


def start(notebook: NotebookPage) -> None:
    """Let four subagents work, until two of them wait for the person and one for the file `go`."""
    for name in ('go', 'gaps.md'):
        (notebook.directory / name).unlink(missing_ok=True)
    ask(notebook, SETUP, prompt='Look after the report.', options='--timeout 60')
    approve = notebook.button('Approve', cell=DEEP)
    approve.wait_for()
    run_view(notebook).locator('.dn-ask', has_text='Run a command?').get_by_role(
        'button', name='Approve', exact=True
    ).click()
    run_view(notebook).locator('.dn-ask', has_text='Write gaps.md?').wait_for()
    run_view(notebook).locator('.dn-choice', has_text='9090').wait_for()
    run_view(notebook).locator('.dn-below', has_text='The south has no entry for October.').wait_for()
    run_view(notebook).locator('.dn-ask', has_text='Run a command?').wait_for(state='detached')


def rows(notebook: NotebookPage) -> str:
    return re.sub(r'\s+', ' ', run_view(notebook).locator('.dn-log').inner_text())


def test_subagents_are_followed_from_their_start_to_the_saved_notebook(notebook: NotebookPage, theme: str) -> None:
    notebook.page.set_viewport_size({'width': 1280, 'height': 1500})
    start(notebook)
    shown = rows(notebook)
    for said in (
        'general t1 in the background · execute · while',
        'Plan · 1 of 3 · Add the amounts up',
        'research The south has no entry for October.',
        'general asks Write gaps.md? · waiting for you',
        'planner asks Which port? · waiting for you',
    ):
        assert said in shown
    assert run_view(notebook).locator('.dn-log > li').count() == 4
    assert faults(notebook.page, '.dn-run') == []
    notebook.screenshot(f'subagents-{theme}-{notebook.kernel}')

    run_view(notebook).locator('.dn-ask', has_text='Write gaps.md?').get_by_role(
        'button', name='Approve', exact=True
    ).click()
    run_view(notebook).locator('.dn-choice', has_text='9090').click()
    run_view(notebook).locator('.dn-below', has_text='The plan says 9090.').wait_for()
    assert 'general asked Write gaps.md? · approved by you' in rows(notebook)
    notebook.screenshot(f'subagents-{theme}-background-{notebook.kernel}')

    (notebook.directory / 'go').touch()
    notebook.wait_for_prompt(DEEP)
    notebook.wait_for_text('All is well', cell=DEEP)
    view = run_view(notebook)
    view.evaluate("run => run.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    words = re.sub(r'\s+', ' ', view.inner_text())
    for said in (
        'general t1 in the background · All 12 numbers are right.',
        'general I wrote gaps.md. · 1 file changed +3',
        'general asked Write gaps.md? · approved by you',
        'planner asked Which port? · you chose: 9090',
    ):
        assert said in words
    assert words.count('1 file changed') == 2, 'beside its subagent and for the run'
    assert faults(notebook.page, '.deep-run') == []
    notebook.screenshot(f'subagents-{theme}-done-{notebook.kernel}')


def test_a_narrow_page_needs_no_sideways_scrolling(notebook: NotebookPage) -> None:
    notebook.command('application:toggle-left-area')
    notebook.page.set_viewport_size({'width': 520, 'height': 1900})
    try:
        start(notebook)
        assert notebook.page.evaluate(FITS) == []
        notebook.screenshot(f'subagents-narrow-{notebook.kernel}')
        notebook.click('Stop', cell=DEEP)
        notebook.wait_for_prompt(DEEP)
        text = re.sub(r'\s+', ' ', run_view(notebook).inner_text())
        assert 'general t1 in the background · stopped before it was done' in text
        assert 'planner asked Which port? · not answered' in text
        assert notebook.page.evaluate(FITS) == []
        notebook.screenshot(f'subagents-narrow-stopped-{notebook.kernel}')
    finally:
        notebook.command('application:toggle-left-area')

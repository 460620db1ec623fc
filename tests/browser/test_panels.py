"""Panels in JupyterLab: used after their cells have ended, kept in the notebook, readable without a kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from harness.axe import faults
from harness.lab import Lab, NotebookPage
from harness.lab_deep import LOAD, wait_until
from harness.lab_fixtures import OpenNotebook

SETUP = f'{LOAD}\nfrom harness.panels import show_changes, show_pages, show_search, show_timeline'
SHOWN = ['show_timeline()', 'show_changes()', 'show_search()', 'show_pages()']
CHECKPOINTS, CHANGES, SEARCH, PAGES = range(1, 5)
WAITING = """
import asyncio, pathlib
while not pathlib.Path('go').exists():
    await asyncio.sleep(0.02)
print('went on')
"""

FITS = """() => [...document.querySelectorAll('.dn-panel, .dn-panel button, .dn-panel input, .dn-panel .dn-row')]
    .filter(element => {
        const frame = element.closest('.jp-OutputArea-output').getBoundingClientRect();
        const { left, right } = element.getBoundingClientRect();
        return left < frame.left - 1 || right > frame.right + 1 || element.scrollWidth > element.clientWidth + 1;
    }).map(element => element.outerHTML.slice(0, 100))"""


@pytest.fixture(scope='module')
def shown(browser: Browser, lab: Lab) -> Iterator[NotebookPage]:
    """A notebook whose cells have shown each panel and ended: one for the tests of this module."""
    page = NotebookPage(lab, browser, 'panels', [SETUP, *SHOWN], 'py74')
    page.run_all()
    page.wait_for_prompt(PAGES, timeout=90)
    yield page
    page.close()


@pytest.fixture
def notebook(shown: NotebookPage) -> Iterator[NotebookPage]:
    shown.console_errors.clear()
    shown.page.set_viewport_size({'width': 1280, 'height': 1600})
    yield shown
    assert shown.console_errors == []


def panel(notebook: NotebookPage, cell: int) -> Locator:
    return notebook.output(cell).locator('.dn-panel')


def saved(notebook: NotebookPage, cell: int) -> str:
    """The HTML that the notebook is saved with, as words."""
    (output,) = notebook.outputs(cell)
    assert output['data'].keys() == {'text/html', 'text/plain'}
    return re.sub(r'<style>.*?</style>|<[^>]*>', '', output['data']['text/html'], flags=re.DOTALL)


def test_going_back_asks_first_and_can_be_undone(notebook: NotebookPage) -> None:
    timeline = panel(notebook, CHECKPOINTS)
    point = timeline.locator('.dn-point', has_text='step 4')
    names = point.locator('.dn-names')
    expect(names).not_to_be_visible()
    point.hover()
    expect(names).to_be_visible()
    assert names.inner_text().startswith('report.md +3')
    notebook.screenshot('panels-timeline-hover', of=notebook.output(CHECKPOINTS))

    timeline.get_by_role('button', name='Go back to before the report').focus()
    notebook.page.keyboard.press('Enter')
    question = timeline.locator('.dn-asks')
    expect(question).to_be_focused()
    expect(question).to_contain_text('changed since by you or another program')
    question.get_by_role('button', name='View diff').first.click()
    question.get_by_label('Todos').uncheck()
    question.get_by_label('Also take back the file that was changed since').check()
    assert faults(notebook.page, '.dn-panel') == []
    notebook.screenshot('panels-timeline-question', of=notebook.output(CHECKPOINTS))
    wait_until(lambda: 'Go back to “before the report”?' in saved(notebook, CHECKPOINTS))

    question.get_by_role('button', name='Go back', exact=True).click()
    expect(timeline.locator('.dn-here .dn-label')).to_have_text('before the report')
    assert (notebook.directory / 'did').read_text() == 'p2 conversation,files True'
    expect(question).to_have_count(0)
    notebook.screenshot('panels-timeline-undo', of=notebook.output(CHECKPOINTS))
    timeline.get_by_role('button', name='Undo').click()
    expect(timeline.locator('.dn-here .dn-label')).to_have_text('start of run 3')
    expect(timeline).to_contain_text('Everything is as it was before.')
    wait_until(lambda: 'Everything is as it was before.' in saved(notebook, CHECKPOINTS))


def test_what_goes_wrong_is_said_in_the_panel(notebook: NotebookPage) -> None:
    timeline = panel(notebook, CHECKPOINTS)
    timeline.get_by_role('button', name='Go back to start of run 1').click()
    expect(timeline.locator('.dn-said')).to_have_text(
        "'start of run 1' is gone: %deep checkpoints lists what there is."
    )
    timeline.get_by_role('button', name='Go back to step 4').click()
    expect(timeline.locator('.dn-said')).to_have_text('It failed. RuntimeError: the disk is full')
    notebook.screenshot('panels-timeline-error', of=notebook.output(CHECKPOINTS))


def test_changes_are_kept_and_undone_by_place(notebook: NotebookPage) -> None:
    changes = panel(notebook, CHANGES)
    changes.get_by_role('button', name='Undo change 2 of config.yaml').click()
    expect(changes).to_contain_text('Change 2 of 2 · undone')
    changes.get_by_role('button', name='Keep change 1 of config.yaml').click()
    expect(changes.locator('.dn-bar')).to_contain_text('2 of 3 files to review')
    notebook.screenshot('panels-changes', of=notebook.output(CHANGES))
    changes.get_by_role('button', name='Keep all').click()
    expect(changes.locator('.dn-bar')).to_contain_text('3 files reviewed')
    assert faults(notebook.page, '.dn-panel') == []
    wait_until(lambda: '3 files reviewed' in saved(notebook, CHANGES))


def test_a_search_finds_runs_on_the_page_and_in_the_store(notebook: NotebookPage) -> None:
    search = panel(notebook, SEARCH)
    field = search.get_by_role('searchbox')
    for query in ('dd', 'port'):
        field.fill('')
        field.press_sequentially(query)
        field.press('Enter')
    expect(search.locator('mark')).to_have_text(['port', 'port', 'port'])
    expect(field).to_be_focused()
    assert field.input_value() == 'port'
    assert len(notebook.sources()) == 5
    notebook.screenshot('panels-search', of=notebook.output(SEARCH))
    search.get_by_role('button', name='Go to run 7').click()
    expect(search.locator('.dn-shown')).to_contain_text('Run 7 as stored')

    source = 'from IPython.display import HTML\nHTML(\'<div class="deep-run deep-run-2">Run 2 in its cell</div>\')'
    notebook.page.evaluate(
        """(source) => {
            const { model, widgets } = window.jupyterapp.shell.currentWidget.content;
            model.sharedModel.insertCell(widgets.length, { cell_type: 'code', source });
        }""",
        source,
    )
    notebook.page.set_viewport_size({'width': 1280, 'height': 600})
    notebook.run_cell(5)
    notebook.wait_for_prompt(5)
    search.get_by_role('button', name='Go to run 2').click()
    run = notebook.output(5).locator('.deep-run-2')
    expect(run).to_be_focused()
    expect(run).to_be_in_viewport()


def test_pages_are_turned_by_keyboard_and_wide_lines_scroll(notebook: NotebookPage) -> None:
    pages = panel(notebook, PAGES)
    forward = pages.get_by_role('button', name='Next page')
    forward.focus()
    for number in (2, 3):
        notebook.page.keyboard.press('Enter')
        expect(pages.locator('.dn-meta')).to_contain_text(f'Page {number} of 7')
        expect(forward).to_be_focused()
    pages.get_by_role('button', name='First page').click()
    pages.get_by_role('button', name='Next page').click()
    sheet = pages.locator('.dn-page')
    expect(sheet).to_contain_text('0121')
    assert sheet.evaluate('sheet => sheet.scrollWidth > sheet.clientWidth')
    notebook.screenshot('panels-pages', of=notebook.output(PAGES))
    pages.get_by_role('button', name='Last page').click()
    expect(forward).to_have_attribute('aria-disabled', 'true')
    wait_until(lambda: 'Page 7 of 7' in saved(notebook, PAGES))


@pytest.mark.parametrize('theme', ['JupyterLab Dark', 'JupyterLab Dark High Contrast'])
def test_a_dark_theme_is_readable(notebook: NotebookPage, theme: str) -> None:
    notebook.set_theme(theme)
    try:
        panel(notebook, CHECKPOINTS).get_by_role('button', name='Go back to before the report').click()
        expect(panel(notebook, CHECKPOINTS).locator('.dn-asks')).to_be_visible()
        assert faults(notebook.page, '.dn-panel') == []
        notebook.screenshot(f'panels-{theme.removeprefix("JupyterLab ").replace(" ", "-").lower()}')
        panel(notebook, CHECKPOINTS).get_by_role('button', name='Cancel').click()
        expect(panel(notebook, CHECKPOINTS).locator('.dn-asks')).to_have_count(0)
    finally:
        notebook.set_theme('JupyterLab Light')


def test_a_narrow_page_needs_no_sideways_scrolling(notebook: NotebookPage) -> None:
    notebook.command('application:toggle-left-area')
    panel(notebook, CHECKPOINTS).get_by_role('button', name='Go back to before the report').click()
    notebook.page.set_viewport_size({'width': 440, 'height': 2200})
    try:
        expect(panel(notebook, CHECKPOINTS).locator('.dn-asks')).to_be_visible()
        notebook.screenshot('panels-narrow')
        assert notebook.page.evaluate(FITS) == []
    finally:
        notebook.command('application:toggle-left-area')
        panel(notebook, CHECKPOINTS).get_by_role('button', name='Cancel').click()


def test_an_action_reaches_the_kernel_when_it_rests_and_while_a_cell_waits(
    open_notebook: OpenNotebook, lab_kernel: str
) -> None:
    notebook = open_notebook([SETUP, 'show_pages()', WAITING], kernel=lab_kernel)
    for cell in (0, 1):
        notebook.run_cell(cell)
        notebook.wait_for_prompt(cell, timeout=90)
    pages = panel(notebook, 1)
    pages.get_by_role('button', name='Next page').click()
    expect(pages.locator('.dn-meta')).to_contain_text('Page 2 of 7')

    notebook.run_cell(2)
    expect(notebook.cell(2).locator('.jp-InputPrompt')).to_have_text('[*]:')
    pages.get_by_role('button', name='Next page').click()
    expect(pages.locator('.dn-meta')).to_contain_text('Page 3 of 7')
    wait_until(lambda: 'Page 3 of 7' in saved(notebook, 1))
    (notebook.directory / 'go').touch()
    notebook.wait_for_prompt(2)
    assert [output['text'] for output in notebook.outputs(2)] == ['went on\n']

    notebook.reload()
    expect(pages.locator('.dn-meta')).to_contain_text('Page 3 of 7')
    pages.get_by_role('button', name='Next page').click()
    expect(pages.locator('.dn-meta')).to_contain_text('Page 4 of 7')
    expect(pages).to_contain_text('the notebook keeps an earlier state')
    notebook.reopen_without_kernel()
    static = notebook.output(1).locator('.deep-panel')
    expect(static).to_be_visible()
    expect(static).to_contain_text('Page 3 of 7')
    assert panel(notebook, 1).count() == 0
    assert faults(notebook.page, '.deep-panel') == []
    notebook.screenshot(f'panels-reopened-{lab_kernel}')
    assert notebook.console_errors == []

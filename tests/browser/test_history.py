"""A large result and what was said long ago are found again in JupyterLab, with nothing but clicks."""

from __future__ import annotations

from playwright.sync_api import expect

from harness.axe import faults
from harness.lab_deep import LOAD
from harness.lab_fixtures import OpenNotebook

SETUP = f"""{LOAD}
rows = 'print("\\\\n".join(f"row {{number}}" for number in range(1, 1001)))'
model = script(call('run_python', code=rows, id='rows'), 'There are 1000 rows, said the heron.', 'Good morning.')
%deep spec agent.yaml"""
ASKED = ['%%deep -m model --approve auto\nCount the rows.', '%%deep -m model --new\nHello.']
SPEC = {'agent.yaml': 'eviction_token_limit: 500\n'}
FIRST, SEARCH, PAGES = 1, 3, 4


def test_a_run_is_found_and_its_large_result_read_to_the_end(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP, *ASKED, '%deep search', '%deep evicted rows'], files=SPEC)
    notebook.run_all()
    notebook.wait_for_prompt(PAGES, timeout=120)
    run = notebook.output(FIRST).locator('.deep-run')
    expect(run.get_by_text('The whole is in .deep/large_tool_results/rows: %deep evicted rows')).to_have_count(1)

    search = notebook.output(SEARCH).locator('.dn-panel')
    field = search.get_by_role('searchbox')
    field.fill('heron')
    field.press('Enter')
    expect(search.locator('mark')).to_have_text(['heron'])
    search.get_by_role('button', name='Go to run 1').click()
    expect(run).to_be_focused()
    field.fill('row 777')
    field.press('Enter')
    expect(search).to_contain_text('Tool [run_python] in .deep/large_tool_results/rows')
    assert faults(notebook.page, '.dn-panel') == []
    notebook.screenshot('history-search', of=notebook.output(SEARCH))

    pages = notebook.output(PAGES).locator('.dn-panel')
    expect(pages.locator('.dn-meta')).to_contain_text('Page 1 of 5')
    expect(pages.locator('.dn-page')).not_to_contain_text('row 201')
    pages.get_by_role('button', name='Last page').click()
    expect(pages.locator('.dn-page')).to_contain_text('row 1000')
    notebook.screenshot('history-pages', of=notebook.output(PAGES))

    # A run that is on no page is shown from the store.
    notebook.command('notebook:clear-all-cell-outputs')
    notebook.run_cell(SEARCH)
    field.fill('heron')
    field.press('Enter')
    search.get_by_role('button', name='Go to run 1').click()
    expect(search.locator('.dn-shown')).to_contain_text('There are 1000 rows, said the heron.')
    assert notebook.console_errors == []

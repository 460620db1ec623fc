"""The run in JupyterLab's themes and on a narrow page: readable, and without a serious fault for axe."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.axe import faults
from harness.lab import NotebookPage
from harness.lab_deep import DEEP, ask, run_view

SALES = 'region,amount\n' + ''.join(f'{region},{amount}\n' for region, amount in (('north', 12480), ('south', 9310)))
REPORT = '# Sales by region\\n\\n| region | amount |\\n|---|---|\\n| north | 12,480 |\\n| south | 9,310 |\\n'
SETUP = f"""
from pathlib import Path
Path('sales.csv').write_text({SALES!r})
Path('report.md').unlink(missing_ok=True)

def plan(*status):
    items = ['Read sales.csv', 'Write report.md with the totals per region', 'Check the file']
    return call('write_todos', todos=[dict(content=c, status=s) for c, s in zip(items, status)])

model = script(
    [plan('in_progress', 'pending', 'pending'), call('read_file', path='sales.csv')],
    [call('read_file', path='sales-of-a-year-that-nobody-has-a-file-for-because-it-has-not-come-yet.csv')],
    [plan('completed', 'in_progress', 'blocked'), call('write_file', path='report.md', content='{REPORT}')],
    '''I wrote `report.md`. **North** leads:

| region | amount |
|---|---:|
| north | 12,480 |
| south | 9,310 |

1. It was read from `sales.csv`, see [the format](https://example.org/csv).
2. The totals were added up.

> One file was not there.
''',
)
"""
PICTURE = """
code = '''
import base64
from IPython.display import Image, display
print("\\\\x1b[31mred\\\\x1b[0m and plain")
display(Image(base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")))
1/0
'''
wait = call('execute', command='while [ ! -e go ]; do sleep 0.02; done')
model = script(call('run_python', code=code), wait, 'Done.')
"""

FITS = """() => [...document.querySelectorAll('.dn-run, .dn-run button, .dn-run textarea, .dn-run input, .deep-run')]
    .filter(element => {
        const frame = element.closest('.jp-OutputArea-output').getBoundingClientRect();
        const { left, right } = element.getBoundingClientRect();
        return left < frame.left - 1 || right > frame.right + 1 || element.scrollWidth > element.clientWidth + 1;
    }).map(element => element.outerHTML.slice(0, 100))"""


@pytest.fixture(params=['JupyterLab Light', 'JupyterLab Dark', 'JupyterLab Dark High Contrast'])
def theme(notebook: NotebookPage, request: pytest.FixtureRequest) -> Iterator[str]:
    notebook.set_theme(request.param)
    yield request.param.removeprefix('JupyterLab ').replace(' ', '-').lower()
    notebook.set_theme('JupyterLab Light')


def test_every_theme_is_readable(notebook: NotebookPage, theme: str) -> None:
    notebook.page.set_viewport_size({'width': 1280, 'height': 1400})
    ask(notebook, SETUP, prompt='Write report.md with the totals per region of sales.csv.')
    notebook.button('Approve', cell=DEEP).wait_for()
    assert faults(notebook.page, '.dn-run') == []
    notebook.screenshot(f'{theme}-waiting-{notebook.kernel}')
    notebook.click('Deny…', cell=DEEP)
    assert faults(notebook.page, '.dn-run') == []
    notebook.click('Back', cell=DEEP)
    notebook.click('Edit first…', cell=DEEP)
    assert faults(notebook.page, '.dn-run') == []
    notebook.screenshot(f'{theme}-edit-{notebook.kernel}')
    notebook.click('Approve edited', cell=DEEP)
    notebook.wait_for_prompt(DEEP)
    _unfold(notebook)
    assert faults(notebook.page, '.deep-run') == []
    notebook.screenshot(f'{theme}-done-{notebook.kernel}')


def test_a_narrow_page_needs_no_sideways_scrolling(notebook: NotebookPage) -> None:
    notebook.command('application:toggle-left-area')
    notebook.page.set_viewport_size({'width': 520, 'height': 1500})
    try:
        ask(notebook, SETUP, prompt='Write report.md with the totals per region of sales.csv.')
        notebook.button('Approve', cell=DEEP).wait_for()
        notebook.button('Approve the rest of this run', cell=DEEP).click()
        notebook.screenshot(f'narrow-waiting-{notebook.kernel}')
        assert notebook.page.evaluate(FITS) == []
        notebook.click('Edit first…', cell=DEEP)
        notebook.screenshot(f'narrow-edit-{notebook.kernel}')
        assert notebook.page.evaluate(FITS) == []
        notebook.click('Approve edited', cell=DEEP)
        notebook.wait_for_prompt(DEEP)
        _unfold(notebook)
        notebook.screenshot(f'narrow-done-{notebook.kernel}')
        assert notebook.page.evaluate(FITS) == []
    finally:
        notebook.command('application:toggle-left-area')


def test_errors_colours_and_pictures_of_the_kernel_are_shown(notebook: NotebookPage) -> None:
    ask(notebook, PICTURE, options='--approve auto')
    row = run_view(notebook).locator('.dn-tool', has_text='run_python')
    row.locator('img').wait_for()
    row.locator('summary').click()
    assert 'ZeroDivisionError' in row.inner_text()
    assert faults(notebook.page, '.dn-run') == []
    notebook.screenshot(f'python-{notebook.kernel}')

    (notebook.directory / 'go').touch()
    notebook.wait_for_prompt(DEEP)
    run_view(notebook).locator('img').wait_for()
    _unfold(notebook)
    assert 'ZeroDivisionError' in run_view(notebook).inner_text()
    notebook.screenshot(f'python-done-{notebook.kernel}')


def _unfold(notebook: NotebookPage) -> None:
    run_view(notebook).evaluate("run => run.querySelectorAll('details').forEach(fold => { fold.open = true; })")

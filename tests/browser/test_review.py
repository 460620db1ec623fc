"""A run in review mode in JupyterLab: what it changed is undone in one place by a click, and the rest kept."""

from __future__ import annotations

from playwright.sync_api import expect

from harness.lab import NotebookPage
from harness.lab_deep import DEEP, ask, wait_until

LINES = [f'line {number}\n' for number in range(1, 31)]
AFTER = [*LINES[:4], 'first\n', *LINES[5:19], 'second\n', *LINES[20:]]
WRITE = f"""
model = script(
    call('read_file', path='model.py'),
    [
        call('write_file', path='model.py', content={''.join(AFTER)!r}),
        call('write_file', path='report.md', content='# Report\\n\\nAll is well.\\n'),
    ],
    'I changed two files.',
)
"""


def test_one_place_is_undone_by_a_click_and_the_rest_is_kept(notebook: NotebookPage) -> None:
    model, report = notebook.directory / 'model.py', notebook.directory / 'report.md'
    model.write_text(''.join(LINES))
    ask(notebook, WRITE, options='--approve review')
    notebook.wait_for_prompt(DEEP)
    assert model.read_text() == ''.join(AFTER)
    notebook.button('Undo change 2 of model.py', cell=DEEP).wait_for()
    notebook.screenshot(f'review-{notebook.kernel}')

    notebook.button('Undo change 2 of model.py', cell=DEEP).click()
    wait_until(lambda: model.read_text() != ''.join(AFTER))
    expected = ''.join([*AFTER[:19], 'line 20\n', *AFTER[20:]])
    assert model.read_text() == expected
    notebook.button('Keep all', cell=DEEP).click()
    expect(notebook.output(DEEP).locator('.dn-panel .dn-bar')).to_contain_text('2 files reviewed')
    assert not notebook.button('Keep all', cell=DEEP).is_visible()
    notebook.screenshot(f'reviewed-{notebook.kernel}')
    assert (model.read_text(), report.read_text()) == (expected, '# Report\n\nAll is well.\n')
    assert len(notebook.outputs(DEEP)) == 2

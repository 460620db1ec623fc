"""The picture in the README is a real run: JupyterLab, the real local model, a real question with its diff.

Written anew with DEEP_NOTEBOOK_UPDATE_PICTURES=1; otherwise the same run is made and its picture is an artefact.
"""

from __future__ import annotations

import os
import shutil

import nbformat
import pytest

from harness.environment import ARTIFACTS, ROOT, embedded_model_env
from harness.lab_fixtures import OpenNotebook

pytestmark = pytest.mark.embedded

PICTURE = ROOT / 'docs' / 'run.png'
MAX_BYTES = 300_000
SIZE = {'width': 980, 'height': 735}
"""Of the page, in pixels of a page; the picture has twice as many."""
DATA = 'data/iowa-electricity.csv'
PATIENCE = 400
"""Seconds for one step of the local model on a busy machine."""


def job() -> str:
    """The job of the quickstart, but with questions."""
    quickstart = nbformat.read(ROOT / 'notebooks' / '01-quickstart.ipynb', as_version=4)
    (cell,) = (cell for cell in quickstart.cells if cell.id == 'job')
    return str(cell.source).replace(' --approve auto', ' --new')


@pytest.mark.timeout(1200)
def test_the_picture_shows_a_real_run(open_notebook: OpenNotebook) -> None:
    embedded_model_env()
    data = (ROOT / 'notebooks' / DATA).read_text(encoding='utf-8')
    notebook = open_notebook(['%load_ext deep_notebook', job()], kernel='py74-embedded', files={DATA: data}, scale=2)
    notebook.command('application:toggle-left-area')
    notebook.page.set_viewport_size(SIZE)
    notebook.run_all()

    title = notebook.output(1).locator('.dn-title')
    title.wait_for(timeout=PATIENCE * 1000)
    while title.inner_text() == 'Run Python in your kernel?':
        notebook.click('Approve', cell=1)
        title.wait_for(state='detached')
        title.wait_for(timeout=PATIENCE * 1000)
    assert title.inner_text() == 'Write out/report.md?'
    assert 'local, limited' in notebook.output(1).inner_text()

    notebook.page.mouse.move(0, 0)
    notebook.cell(0).scroll_into_view_if_needed()
    picture = ARTIFACTS / 'screenshots' / 'run.png'
    notebook.page.screenshot(path=picture)
    assert picture.stat().st_size < MAX_BYTES
    if os.environ.get('DEEP_NOTEBOOK_UPDATE_PICTURES') == '1':
        PICTURE.parent.mkdir(exist_ok=True)
        shutil.copyfile(picture, PICTURE)

    notebook.click('Approve', cell=1)
    notebook.wait_for_prompt(1, timeout=PATIENCE)
    report = (notebook.directory / 'out' / 'report.md').read_text(encoding='utf-8')
    assert all(total in report.replace(',', '') for total in ('620129', '80103', '164220'))


def test_the_readme_shows_it() -> None:
    assert '](docs/run.png)' in (ROOT / 'README.md').read_text(encoding='utf-8')
    assert 0 < PICTURE.stat().st_size < MAX_BYTES

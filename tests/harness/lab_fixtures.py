"""Fixtures for tests in a real JupyterLab.

A module that uses them holds no async tests: Playwright runs an event loop of its own in the thread of the tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import pytest
from playwright.sync_api import Browser
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from .browser import MISSING, find_chromium, launched
from .environment import KERNEL_VERSIONS, kernel_name
from .lab import VIEWPORT, Lab, NotebookPage
from .lab_deep import LOAD

OpenNotebook = Callable[..., NotebookPage]
"""`open_notebook(cells, kernel='py74', files={'sales.csv': 'a,b\\n'})`."""


@pytest.fixture(scope='session')
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One JupyterLab server for the whole session."""
    server = Lab(tmp_path_factory.mktemp('lab'))
    yield server
    server.close()


@pytest.fixture(scope='module')
def browser() -> Iterator[Browser]:
    """One browser for a module's tests; skips them where there is none."""
    executable = find_chromium()
    if executable is None:
        pytest.skip(MISSING)
    with launched(executable) as running:
        yield running


@pytest.fixture(params=KERNEL_VERSIONS, ids='ipykernel-{}'.format)
def lab_kernel(request: pytest.FixtureRequest) -> str:
    """The name of a kernel in the Lab, each ipykernel version in turn."""
    return kernel_name(request.param)


@pytest.fixture
def open_notebook(browser: Browser, lab: Lab, request: pytest.FixtureRequest) -> Iterator[OpenNotebook]:
    """Write a notebook with these cells (and files beside it), and open it; each has a directory of its own.

    Kernels: `py73`, `py74`; with the real local model in reach, `py73-embedded`, `py74-embedded`.
    """
    pages: list[NotebookPage] = []

    def opened(
        cells: Sequence[str], kernel: str = 'py74', files: dict[str, str] | None = None, *, scale: int = 1
    ) -> NotebookPage:
        directory = f'{re.sub(r"[^A-Za-z0-9]+", "-", request.node.name).strip("-")}-{len(pages) + 1}'
        for name, text in (files or {}).items():
            path = lab.root / directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding='utf-8')
        pages.append(NotebookPage(lab, browser, directory, cells, kernel, scale=scale))
        return pages[-1]

    yield opened
    for page in pages:
        page.close()


@pytest.fixture(scope='module', params=KERNEL_VERSIONS, ids='ipykernel-{}'.format)
def deep_page(browser: Browser, lab: Lab, request: pytest.FixtureRequest) -> Iterator[NotebookPage]:
    """A notebook that has deep_notebook loaded: one for all tests of a module, on each ipykernel version in turn."""
    kernel = kernel_name(request.param)
    directory = f'{request.module.__name__.rpartition(".")[2]}-{kernel}'
    page = _loaded(lab, browser, directory, kernel) or _loaded(lab, browser, f'{directory}-again', kernel)
    assert page is not None, f'deep_notebook was not loaded on {kernel} twice: what was captured says what was seen'
    yield page
    page.close()


def _loaded(lab: Lab, browser: Browser, directory: str, kernel: str) -> NotebookPage | None:
    """Open a notebook and load deep_notebook in it; `None`, with a word on what was seen, where its cell never ends.

    A busy machine now and then loses what a page sends to a kernel that has just started, and a page is not what
    these tests are about.
    """
    page = NotebookPage(lab, browser, directory, [LOAD], kernel)
    page.run_all()
    try:
        page.wait_for_prompt(0, timeout=60)
    except PlaywrightTimeoutError:
        print(f'{LOAD!r} has not ended on {kernel}: {page.describe()}')
        page.screenshot(f'not-loaded-{directory}')
        page.close()
        return None
    return page


@pytest.fixture
def notebook(deep_page: NotebookPage) -> Iterator[NotebookPage]:
    """`deep_page` for one test, which leaves nothing behind but files; the page may not complain of anything."""
    deep_page.console_errors.clear()
    yield deep_page
    deep_page.settle()
    deep_page.page.set_viewport_size(VIEWPORT)
    assert deep_page.console_errors == []

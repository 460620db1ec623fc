"""`%%deep` cells in a real JupyterLab, with a scripted model."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable

from playwright.sync_api import Locator

from .lab import NotebookPage

__all__ = ['DEEP', 'LOAD', 'ask', 'run_view', 'wait_until']

LOAD = '%load_ext deep_notebook\nfrom harness.scripted import script, call, prompts, returns'

DEEP = 1
"""The index of the cell that asks."""


def ask(notebook: NotebookPage, setup: str, *later: str, prompt: str = 'Go on.', options: str = '') -> None:
    """Run a cell that binds `model` to a script, a `%%deep` cell that asks it, and the cells that come later."""
    question = f'%%deep -m model --new {options}'.rstrip()
    notebook.replace_cells([textwrap.dedent(setup).strip(), f'{question}\n{prompt}', *later])
    notebook.run_all()


def run_view(notebook: NotebookPage, *, cell: int = DEEP) -> Locator:
    """The view of a cell's run, live or final."""
    return notebook.output(cell).locator('.dn-run, .deep-run')


def wait_until(happened: Callable[[], bool], *, timeout: float = 30) -> None:
    """Wait for something outside the page, such as a file, for up to `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not happened():
        assert time.monotonic() < deadline, f'it did not happen within {timeout} s'
        time.sleep(0.02)

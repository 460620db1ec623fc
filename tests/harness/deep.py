"""`%%deep` cells in a real kernel, with a scripted model."""

from __future__ import annotations

import textwrap
from typing import Any

from .comms import Comm
from .kernels import Cell, CellResult, RealKernel

__all__ = ['deep', 'front_end', 'run_deep', 'start_deep']


def deep(kernel: RealKernel, setup: str) -> None:
    """Load the extension, then run `setup`, which is expected to bind `model` to a script."""
    code = '%load_ext deep_notebook\nfrom harness.scripted import script, call, prompts, returns\n'
    result = kernel.run(code + textwrap.dedent(setup))
    assert (result.status, result.outputs) == ('ok', []), result.error or result.outputs


def start_deep(kernel: RealKernel, line: str, prompt: str, **options: Any) -> Cell:
    """Send a `%%deep` cell that asks `model`."""
    return kernel.start(f'%%deep -m model {line}\n{prompt}', **options)


def run_deep(kernel: RealKernel, line: str, prompt: str, **options: Any) -> CellResult:
    """Run a `%%deep` cell that asks `model`, as a front end that shows the widget."""
    cell = start_deep(kernel, line, prompt, stop_on_error=False, **options)
    if options.get('allow_stdin', True):
        front_end(cell)
    return cell.result()


def front_end(cell: Cell) -> Comm:
    """Be the front end: load the widget of the cell's run and say so."""
    opened = cell.wait_for(lambda message: message.kind in ('comm_open', 'error'))
    assert opened.kind == 'comm_open', cell.result().error
    widget = cell.wait_for_comm(_model_module='anywidget')
    widget.send({'kind': 'ready'})
    return widget

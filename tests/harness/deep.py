"""`%%deep` cells in a real kernel, with a scripted model."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from .comms import Comm
from .kernels import Cell, CellResult, RealKernel

__all__ = ['answer', 'asked', 'decide', 'deep', 'front_end', 'question', 'run_deep', 'start_deep']


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


def asked(widget: Comm, *ids: str) -> None:
    """Wait until the widget has shown these questions as open."""
    widget.wait_for(lambda _: set(ids) <= set(_open_questions(widget.received)))


def _open_questions(value: Any) -> Iterator[str]:
    return (part['id'] for part in _parts(value) if part.get('state') == 'pending')


def _parts(value: Any) -> Iterator[dict[str, Any]]:
    """Every dict within `value`."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _parts(item)


def decide(widget: Comm, id: str, verdict: str, **more: Any) -> None:
    """Press a button of a question in the widget."""
    widget.send(
        {'kind': 'decision', 'id': id, 'verdict': verdict, 'text': None, 'reason': None, 'scope': 'once', **more}
    )


def question(widget: Comm, text: str) -> dict[str, Any]:
    """Wait until the widget has shown a question with this text as open, and return it."""
    found: list[dict[str, Any]] = []

    def is_there(_: object) -> bool:
        found[:] = [it for it in _parts(widget.received) if it.get('text') == text and it.get('state') == 'pending']
        return bool(found)

    widget.wait_for(is_there)
    return found[-1]


def answer(widget: Comm, id: str, answer: int | str) -> None:
    """Choose an option of a question, counted from 0, or answer in words of one's own."""
    is_choice = isinstance(answer, int)
    widget.send(
        {'kind': 'answer', 'id': id, 'option': answer if is_choice else None, 'text': None if is_choice else answer}
    )

"""Import what the first `%%deep` cell needs while the kernel has nothing to do.

It happens on the main thread, a piece at a time: two threads that import one package at once can each find it half
there, and the other thread would be the person's cell.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Sequence

__all__ = ['warm_up']

_PIECES = ('httpx', 'griffe', 'genai_prices', 'pydantic_graph', 'pydantic_ai', 'ipywidgets', 'anywidget')
_PAUSE = 0.05
"""Seconds between two pieces, in which a cell can start."""


def warm_up() -> None:
    """Begin, where there is an event loop that is idle between cells; elsewhere the first cell imports it all."""
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop().call_later(_PAUSE, _go_on, (*_PIECES, f'{__package__}.cells'))


def _go_on(pieces: Sequence[str]) -> None:
    # A failure is shown where it matters, in the cell that needs the agent.
    with contextlib.suppress(Exception):
        importlib.import_module(pieces[0])
    if len(pieces) > 1:
        asyncio.get_running_loop().call_later(_PAUSE, _go_on, pieces[1:])

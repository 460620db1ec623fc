"""Panels in a cell's output: they stay usable after the cell has ended, and leave readable HTML and text."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from IPython.display import display

from ..views import panels_html, panels_text
from ..views.panel_shapes import Action, Panel, masked
from ..views.plain import well_formed
from ..views.text import printable
from .environment import front_end

if TYPE_CHECKING:
    from .cells import DeepCells

__all__ = ['Handle', 'show_panel']

Handle: TypeAlias = Callable[[Panel, Action], Awaitable[Panel]]
"""Does what the person did in a panel, on the agent's thread, and returns the panel's new state."""


def show_panel(cells: DeepCells, panel: Panel, handle: Handle) -> None:
    """Show `panel` in the running cell.

    A terminal gets text. A notebook run without anybody gets static HTML and text. Any other front end gets those
    too, and can use the panel as long as the kernel lives, also after the cell has ended.

    Args:
        cells: The work behind the magics of this kernel.
        panel: What to show; secrets are masked here.
        handle: Called for each thing that the person does, one at a time, with the present state as `handle`
            returned it last. It raises `UsageError` for what the person can mend: its message becomes the notice.
    """
    shown = masked(panel)
    where = front_end(cells.shell)
    if where == 'terminal':
        print(printable(panels_text.render(shown), sys.stdout.encoding))
        return
    times = where != 'headless'
    html = well_formed(panels_html.render(shown, times=times))
    display({'text/html': html, 'text/plain': panels_text.render(shown, times=False)}, raw=True)

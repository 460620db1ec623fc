"""Which view a cell gets: a live widget, one final bundle, or lines of text."""

from __future__ import annotations

import dataclasses

from IPython.display import display

from ..views import RunView
from ..views.plain import well_formed
from ..views.run_state import RunState
from ..views.static_html import render as render_html
from ..views.text import TextView
from ..views.text import render as render_text
from ..views.widget import WidgetView
from .environment import FrontEnd
from .person import DecisionSource

__all__ = ['choose_view']


class FinalView(RunView):
    """One bundle at the end: for readers that keep the first state of an output and miss every update."""

    def open(self, state: RunState) -> None:
        """Show nothing yet."""

    def update(self, state: RunState) -> None:
        """Show nothing yet."""

    def close(self, state: RunState) -> None:
        """Show how the run ended."""
        html = well_formed(render_html(state, times=False))
        display({'text/html': html, 'text/plain': render_text(state)}, raw=True)


class QuietView(RunView):
    """Another view, of the answer only and of whatever needs the person."""

    def __init__(self, view: RunView) -> None:
        self._view = view

    def open(self, state: RunState) -> None:
        """Open the view behind."""
        self._view.open(_quiet(state))

    def update(self, state: RunState) -> None:
        """Update the view behind."""
        self._view.update(_quiet(state))

    def close(self, state: RunState) -> None:
        """Close the view behind."""
        self._view.close(_quiet(state))


def _quiet(state: RunState) -> RunState:
    return dataclasses.replace(state, steps=(), todos=(), thinking='')


def choose_view(front_end: FrontEnd, *, quiet: bool, can_click: bool) -> tuple[RunView, DecisionSource | None]:
    """Return the view for `front_end`, and the same view as a source of decisions if it has buttons.

    Args:
        front_end: Who looks at the output.
        quiet: Whether to leave the plan and the work out.
        can_click: Whether a click can reach the kernel while the cell runs.
    """
    view: RunView
    source: DecisionSource | None = None
    if front_end == 'terminal':
        view = TextView()
    elif front_end == 'headless':
        view = FinalView()
    else:
        view = widget = WidgetView()
        source = widget if can_click else None
    return (QuietView(view) if quiet else view), source

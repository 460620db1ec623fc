"""What a cell shows of a run: one state, drawn as live widget, as static HTML and as text."""

from __future__ import annotations

from .run_shape import RunState, from_json, to_json
from .run_state import reduce
from .run_view import RunView

__all__ = ['RunState', 'RunView', 'from_json', 'reduce', 'to_json']

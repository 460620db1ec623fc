"""The live half of a panel: an anywidget without a view of its own, which draws in the place of the static HTML.

A widget view in a saved notebook is an error message once the kernel is gone, and a panel has no end at which its
view could be replaced. So a panel's output is always static HTML, in a `place` with a class that only this panel has;
the page's half of the widget, which runs as soon as the comm is open, looks for that class and draws over it.

The kernel sends `{'kind': 'panel', 'seq', 'state', 'place', 'unsaved'}`; the front end sends `ready`, `resync` and
`{'kind': 'action', 'seq', 'do', …}` with the number of the state that the person saw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pydantic import JsonValue

from ._message_widget import STATIC, MessageWidget

__all__ = ['OnAction', 'PanelWidget']

OnAction: TypeAlias = Callable[[int, Mapping[str, Any]], None]


class PanelWidget(MessageWidget):
    """The widget itself. Callbacks come on whatever thread the kernel reads messages on.

    Args:
        present: Returns the snapshot as it is now; called on any thread.
        on_ready: Called when a page has just loaded the widget.
        on_resync: Called when a page wants the present state.
        on_action: Called with the number of the state that the person saw, and what they did.
    """

    _esm = STATIC / 'panels.js'
    _css = STATIC / 'panels.css'

    def __init__(
        self,
        *,
        present: Callable[[], dict[str, JsonValue]],
        on_ready: Callable[[], None],
        on_resync: Callable[[], None],
        on_action: OnAction,
    ) -> None:
        self._on_ready = on_ready
        self._on_resync = on_resync
        self._on_action = on_action
        super().__init__('panel', present=present)

    def take(self, content: object) -> bool:
        """Turn a message into a call."""
        match content:
            case {'kind': 'ready'}:
                self._on_ready()
            case {'kind': 'resync'}:
                self._on_resync()
            case {'kind': 'action', 'seq': int(seq), 'do': str(do), **rest}:
                self._on_action(seq, {'do': do, **{str(name): value for name, value in rest.items()}})
            case _:
                return False
        return True

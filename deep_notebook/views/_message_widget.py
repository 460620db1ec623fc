"""What the live widgets share: one trait with the present state, and custom messages for everything else.

A trait change may be swallowed while a cell awaits (ipykernel 7.4), so state travels in custom messages. The one
synced trait holds what a snapshot message holds, so that a view which is created anew, as after a page reload, shows
the present state before it has exchanged a word with the kernel.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import anywidget
import comm
import traitlets
from pydantic import JsonValue

from .plain import well_formed

__all__ = ['STATIC', 'MessageWidget', 'opened', 'send']

STATIC = Path(__file__).parent / 'static'
_log = logging.getLogger(__name__)

W = TypeVar('W', bound='MessageWidget')


def _present(_: object, widget: MessageWidget) -> dict[str, JsonValue]:
    return widget.present()


class MessageWidget(anywidget.AnyWidget):
    """A widget that is told things and tells things; subclasses bring the bundled front end.

    Callbacks come on whatever thread the kernel reads messages on, so they may do no more than hand over.

    Args:
        text: What a front end without widgets shows in its place.
        present: Returns the snapshot as it is now; called on any thread.
    """

    snapshot = traitlets.Any().tag(sync=True, to_json=_present)
    """Never assigned: whoever asks for it gets the present state."""

    def __init__(self, text: str, *, present: Callable[[], dict[str, JsonValue]]) -> None:
        self.text = text
        self.present = present
        self.on_msg(self._received)
        super().__init__()

    def __repr__(self) -> str:
        return self.text

    def close(self) -> None:
        """Close the comm, and that of the layout which every widget brings along."""
        layout = self.layout if self.comm is not None else None
        super().close()
        if layout is not None:
            layout.close()

    def _received(self, _: object, content: object, __: object) -> None:
        if not self.take(content):
            _log.warning('Ignored a message of the front end that says nothing known: %.200r', content)

    def take(self, content: object) -> bool:
        """Take in a message of the front end, and return whether it said something known."""
        raise NotImplementedError


def opened(make: Callable[[], W]) -> W | None:
    """Return the widget that `make` makes, `None` where no comm can be opened."""
    try:
        widget = make()
    except Exception:
        _log.info('No live view: a comm could not be opened.', exc_info=True)
        return None
    return None if isinstance(widget.comm, comm.DummyComm) else widget


def send(widget: MessageWidget, message: dict[str, Any]) -> None:
    """Send a custom message to the front end."""
    try:
        widget.send(message)
    except UnicodeEncodeError:
        # Half a character somewhere, as in a string that the person's code cut. Rare, so not looked for each time.
        widget.send(json.loads(well_formed(json.dumps(message, ensure_ascii=False))))

"""Panels in a cell's output: they stay usable after the cell has ended, and leave readable HTML and text."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
import uuid
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from IPython.display import display
from pydantic import JsonValue

from ..errors import UsageError
from ..masking import mask_secrets
from ..views import panels_html, panels_text
from ..views._message_widget import opened, send
from ..views.panel_shapes import Action, Panel, masked, to_json
from ..views.panel_widget import PanelWidget
from ..views.plain import well_formed
from ..views.text import printable
from .environment import front_end
from .runner import AgentThread

if TYPE_CHECKING:
    from .cells import DeepCells

__all__ = ['LIVE_PANELS', 'Handle', 'show_panel']

Handle: TypeAlias = Callable[[Panel, Action], Awaitable[Panel]]
"""Does what the person did in a panel, on the agent's thread, and returns the panel's new state."""

LIVE_PANELS = 20
"""How many panels of one kernel can be used at a time. The oldest ones become static HTML."""

_live: deque[_LivePanel] = deque()
_log = logging.getLogger(__name__)


def show_panel(cells: DeepCells, panel: Panel, handle: Handle) -> None:
    """Show `panel` in the running cell.

    A terminal gets text. A notebook run without anybody gets static HTML and text. Any other front end gets those
    too, and can use the panel as long as the kernel lives, also after the cell has ended.

    Args:
        cells: The work behind the magics of this kernel.
        panel: What to show; secrets are masked here.
        handle: Called for each thing that the person does, one at a time, with the state that `handle` returned last
            (without its notice). It raises `UsageError` for what the person can mend: its message becomes the notice.
    """
    match front_end(cells.shell):
        case 'terminal':
            print(printable(panels_text.render(masked(panel)), sys.stdout.encoding))
        case 'headless':
            _display(panels_html.render(masked(panel), times=False), panel)
        case 'interactive':
            live = _LivePanel(panel, handle)
            live.open()
            _live.append(live)
            while len(_live) > LIVE_PANELS:
                _live.popleft().close()


def _display(html: str, panel: Panel, **options: Any) -> None:
    text = panels_text.render(masked(panel), times=False)
    display({'text/html': well_formed(html), 'text/plain': text}, raw=True, **options)


class _LivePanel:
    """One panel that can be used: it does what the person does on the agent's thread, one thing after the other."""

    def __init__(self, panel: Panel, handle: Handle) -> None:
        self._panel = panel
        self._handle = handle
        self._display_id = uuid.uuid4().hex
        self._place = f'deep-panel-{self._display_id}'
        self._context = contextvars.copy_context()
        self._turn = asyncio.Lock()
        self._shown: tuple[int, dict[str, JsonValue]] = (0, to_json(masked(panel)))
        self._pages = 0
        self._unsaved = False
        self._widget: PanelWidget | None = None

    def open(self) -> None:
        """Show the panel; where no comm can be opened it stays static."""
        self._widget = opened(
            lambda: PanelWidget(
                present=self._present, on_ready=self._page_loaded, on_resync=self._send, on_action=self._act
            )
        )
        self._draw()

    def close(self) -> None:
        """Leave the static HTML."""
        if self._widget is not None:
            self._try(self._widget.close)
        self._widget = None

    def _draw(self, **options: Any) -> None:
        html = panels_html.render(masked(self._panel))
        _display(f'<div class="{self._place}">{html}</div>', self._panel, display_id=self._display_id, **options)

    def _present(self) -> dict[str, JsonValue]:
        seq, state = self._shown
        return {'seq': seq, 'state': state, 'place': self._place, 'unsaved': self._unsaved}

    def _page_loaded(self) -> None:
        self._pages += 1
        self._send()

    def _send(self) -> None:
        if self._widget is not None:
            widget = self._widget
            self._try(lambda: send(widget, {'kind': 'panel', **self._present()}))

    def _try(self, tell: Callable[[], None]) -> None:
        """Let a front end that cannot be told end the panel's use, and nothing else."""
        try:
            tell()
        except Exception:
            _log.info('A panel is static from here on: its front end cannot be reached.', exc_info=True)
            self._widget = None

    def _act(self, seq: int, action: Action) -> None:
        """Take an action from any thread."""
        self._context.copy().run(AgentThread.get().start, self._do(seq, action))

    async def _do(self, seq: int, action: Action) -> None:
        async with self._turn:
            # The second click of a double click, or one in another window, was meant for what is not there any more.
            if seq == self._shown[0]:
                self._panel = await self._outcome(action)
                self._shown = (seq + 1, to_json(masked(self._panel)))
                # The output of a cell does not reach a page that was loaded after the cell had run.
                self._unsaved = self._pages > 1
                self._send()
                self._try(lambda: self._draw(update=True))
            else:
                self._send()

    async def _outcome(self, action: Action) -> Panel:
        panel = replace(self._panel, notice=None)
        try:
            return await self._handle(panel, action)
        except UsageError as error:
            return replace(panel, notice=str(error))
        except Exception as error:
            _log.info('A panel could not do what was asked of it.', exc_info=True)
            line = str(error).strip().partition('\n')[0]
            return replace(panel, notice=f'It failed. {type(error).__name__}: {mask_secrets(line)}')

"""The live view of a run: an anywidget that is told what changed, and that sends back what the person clicks.

The kernel sends `{'kind': 'snapshot', 'seq', 'state'}` and `{'kind': 'patch', 'seq', 'ops'}`; the front end sends
`ready`, `resync`, `stop`, `decision` and `answer`.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from IPython.display import display
from pydantic import JsonValue

from deep_notebook.capabilities.approvals import ApprovalDecision

from . import RunView, delta, static_html, text
from ._message_widget import STATIC, MessageWidget, opened, send
from .plain import well_formed
from .run_state import RunState, to_json

__all__ = ['PATCH_INTERVAL', 'RunWidget', 'WidgetView']

PATCH_INTERVAL = 0.05
"""Seconds between two patches at least: twenty a second look fluent and leave the page time to draw."""

OnDecision: TypeAlias = Callable[[str, ApprovalDecision], None]
OnAnswer: TypeAlias = Callable[[str, int | str], None]
OnStop: TypeAlias = Callable[[], None]

_log = logging.getLogger(__name__)


class RunWidget(MessageWidget):
    """The widget itself: the bundled front end, and messages turned into calls.

    Callbacks come on whatever thread the kernel reads messages on, so they may do no more than hand over.

    Args:
        text: What a front end without widgets shows in its place.
        present: Returns the snapshot as it is now; called on any thread.
        on_ready: Called when a front end has just loaded the widget.
        on_resync: Called when a front end wants the whole state.
        on_decision: Called with a tool call's id and the answer to it, possibly more than once for one id.
        on_answer: Called with a question's id and the number of an option, counted from 0, or the person's own words;
            possibly more than once for one id.
        on_stop: Called when the person presses Stop.
    """

    _esm = STATIC / 'widget.js'
    _css = STATIC / 'widget.css'

    def __init__(
        self,
        text: str,
        *,
        present: Callable[[], dict[str, JsonValue]],
        on_ready: Callable[[], None],
        on_resync: Callable[[], None],
        on_decision: OnDecision,
        on_answer: OnAnswer,
        on_stop: OnStop,
    ) -> None:
        self._on_ready = on_ready
        self._on_resync = on_resync
        self._on_decision = on_decision
        self._on_answer = on_answer
        self._on_stop = on_stop
        super().__init__(text, present=present)

    def take(self, content: object) -> bool:
        """Turn a message into a call."""
        match content:
            case {'kind': 'ready'}:
                self._on_ready()
            case {'kind': 'resync'}:
                self._on_resync()
            case {'kind': 'stop'}:
                self._on_stop()
            case {'kind': 'decision', 'id': str(id), **rest} if (decision := _decision(rest)) is not None:
                self._on_decision(id, decision)
            case {'kind': 'answer', 'id': str(id), **rest} if (answer := _answer(rest)) is not None:
                self._on_answer(id, answer)
            case _:
                return False
        return True


def _decision(content: Mapping[Any, object]) -> ApprovalDecision | None:
    """Return what the person decided, or `None` when `content` is not one whole decision."""
    edited, reason = content.get('text'), content.get('reason')
    if not (edited is None or isinstance(edited, str)) or not (reason is None or isinstance(reason, str)):
        return None
    match content.get('verdict'), content.get('scope', 'once'):
        case 'approve', 'once' | 'tool' | 'path' as scope:
            return ApprovalDecision(verdict='approve', edited=edited, scope=scope, channel='widget')
        case 'deny', _:
            return ApprovalDecision(verdict='deny', reason=reason, channel='widget')
        case _:
            return None


def _answer(content: Mapping[Any, object]) -> int | str | None:
    """Return the number of the option or the words that the person answered, or `None` when it is neither."""
    match content:
        case {'option': bool()}:
            return None
        case {'option': int(option), 'text': None} if option >= 0:
            return option
        case {'option': None, 'text': str(text)} if text.strip():
            return text.strip()
        case _:
            return None


def _show(output: RunWidget | dict[str, str], **options: Any) -> None:
    if isinstance(output, dict):
        display({kind: well_formed(shown) for kind, shown in output.items()}, raw=True, **options)
    else:
        display(output, raw=False, **options)


def _with_hint(state: RunState) -> RunState:
    hint = f'The page was reloaded during the run. `%deep show {state.run}` draws it so that the notebook keeps it.'
    return replace(state, notice=f'{state.notice} {hint}' if state.notice else hint)


class WidgetView(RunView):
    """Draws a run as a `RunWidget` while it goes on, and leaves static HTML and text at its end.

    Where no comm can be opened it is a `TextView`. A comm that breaks ends the live view, never the run.

    Args:
        interval: Seconds between two patches at least.
    """

    def __init__(self, *, interval: float = PATCH_INTERVAL) -> None:
        self._interval = interval
        self._decision_callbacks: list[OnDecision] = []
        self._answer_callbacks: list[OnAnswer] = []
        self._stop_callbacks: list[OnStop] = []
        self._ready = asyncio.Event()
        self._reloaded = False
        self._widget: RunWidget | None = None
        self._instead: RunView | None = None
        self._display_id = uuid.uuid4().hex
        self._timer: asyncio.TimerHandle | None = None
        self._unsent: RunState | None = None
        self._shown: tuple[int, dict[str, JsonValue]] = (0, {})
        self._asked: set[str] = set()

    def on_decision(self, callback: OnDecision) -> None:
        """Call `callback(id, decision)` for each click, on any thread; an id can come more than once."""
        self._decision_callbacks.append(callback)

    def on_answer(self, callback: OnAnswer) -> None:
        """Call `callback(id, answer)` for each answer to a question, on any thread; an id can come more than once."""
        self._answer_callbacks.append(callback)

    def on_stop(self, callback: OnStop) -> None:
        """Call `callback` when the person presses Stop, on any thread."""
        self._stop_callbacks.append(callback)

    async def wait_ready(self, timeout: float) -> bool:
        """Return whether a front end has loaded the view, waiting for it up to `timeout` seconds."""
        if self._widget is None:
            return False
        try:
            async with asyncio.timeout(timeout):
                await self._ready.wait()
        except TimeoutError:
            return False
        return True

    def open(self, state: RunState) -> None:
        """Show the run."""
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._shown = (0, to_json(state))
        self._widget = self._create(state.model.label or state.model.name)
        if self._widget is None:
            self._instead = text.TextView()
            self._instead.open(state)
        else:
            _show(self._widget, display_id=self._display_id)

    def update(self, state: RunState) -> None:
        """Show `state`: now, or with the next patch that is due."""
        if self._instead is not None:
            self._instead.update(state)
            return
        if not self._ready.is_set():
            self._print_questions(state)
        self._unsent = state
        if self._timer is None:
            self._send_patch()

    def _print_questions(self, state: RunState) -> None:
        """Print what `input()` is going to ask about: nobody can see it in the widget."""
        for approval in state.approvals:
            if approval.state == 'superseded' and approval.id not in self._asked:
                self._asked.add(approval.id)
                print(*text.question_lines(approval), sep='\n', flush=True)
        for question in state.questions:
            if question.state == 'superseded' and question.id not in self._asked:
                self._asked.add(question.id)
                print(*text.choice_lines(question), sep='\n', flush=True)

    def close(self, state: RunState) -> None:
        """Show the final `state` and put static HTML and text in the widget's place."""
        if self._instead is not None:
            self._instead.close(state)
            return
        if self._timer is not None:
            self._timer.cancel()
        self._unsent = _with_hint(state) if self._reloaded else state
        self._send_patch()
        if self._timer is not None:
            self._timer.cancel()
        self._leave({'text/html': static_html.render(state), 'text/plain': text.render(state)})
        # The output of a cell does not reach a page that was reloaded meanwhile: there the widget has to stay.
        if self._widget is not None and not self._reloaded:
            self._try(self._widget.close)

    def _leave(self, bundle: dict[str, str]) -> None:
        if self._ready.is_set():
            _show(bundle, display_id=self._display_id, update=True)
            return
        # Nobody loaded the widget. A front end without comms may not follow updates of an output either.
        _show({'text/plain': ''}, display_id=self._display_id, update=True)
        _show(bundle)

    def _create(self, shown: str) -> RunWidget | None:
        return opened(
            lambda: RunWidget(
                shown,
                present=self._snapshot,
                on_ready=lambda: self._hand_over(self._front_end_loaded),
                on_resync=lambda: self._hand_over(self._send_snapshot),
                on_decision=self._tell_decision,
                on_answer=self._tell_answer,
                on_stop=self._tell_stop,
            )
        )

    def _tell_decision(self, id: str, decision: ApprovalDecision) -> None:
        for tell in self._decision_callbacks:
            tell(id, decision)

    def _tell_answer(self, id: str, answer: int | str) -> None:
        for tell in self._answer_callbacks:
            tell(id, answer)

    def _tell_stop(self) -> None:
        for tell in self._stop_callbacks:
            tell()

    def _hand_over(self, call: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(call, context=self._context)
        except RuntimeError:
            _log.debug('A front end spoke after the run had ended.')

    def _front_end_loaded(self) -> None:
        self._reloaded = self._ready.is_set()
        self._ready.set()
        self._send_snapshot()

    def _send_snapshot(self) -> None:
        self._send({'kind': 'snapshot', **self._snapshot()})

    def _snapshot(self) -> dict[str, JsonValue]:
        """Return the state that was last sent, with the time that has passed since."""
        seq, state = self._shown
        if state.get('phase') in ('starting', 'running', 'waiting'):
            started, elapsed = state['started'], state['elapsed']
            if isinstance(started, float) and isinstance(elapsed, float):
                state = {**state, 'elapsed': max(elapsed, round(time.time() - started, 1))}
        return {'seq': seq, 'state': state}

    def _send_patch(self) -> None:
        self._timer = None
        state, self._unsent = self._unsent, None
        if state is None:
            return
        seq, shown = self._shown
        new = to_json(state)
        ops = delta.diff(shown, new)
        if ops:
            self._shown = (seq + 1, new)
            self._send({'kind': 'patch', 'seq': seq + 1, 'ops': ops})
        self._timer = self._loop.call_later(self._interval, self._send_patch)

    def _send(self, message: dict[str, Any]) -> None:
        if self._widget is not None:
            widget = self._widget
            self._try(lambda: send(widget, message))

    def _try(self, use_comm: Callable[[], None]) -> None:
        """Let a comm that breaks take only the live view with it."""
        try:
            use_comm()
        except Exception:
            _log.info('The live view ends here: its comm is broken.', exc_info=True)
            self._widget = None

"""Bring a question to the person and exactly one answer back.

Channels, best first: the buttons in the cell's widget, then `input()`. Where neither can deliver an answer the
broker says so (`None`) and the run is suspended, to be resumed by `%deep approve`, `deny` or `resume`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Protocol

from ..capabilities.approvals import ApprovalDecision, ApprovalRequest
from ..views.text import printable
from .prompt import as_typed
from .runner import MainThread

__all__ = ['ApprovalBroker', 'DecisionSource']

_YES = frozenset({'y', 'yes'})
_NO = frozenset({'n', 'no'})
_EDIT = frozenset({'e', 'edit'})
_REST = frozenset({'a', 'all'})


class DecisionSource(Protocol):
    """A view with buttons."""

    def on_decision(self, callback: Callable[[str, ApprovalDecision], None]) -> None:
        """Call `callback(id, decision)` for each click, on any thread."""
        ...

    def on_stop(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the person presses Stop, on any thread."""
        ...

    async def wait_ready(self, timeout: float) -> bool:
        """Return whether a front end shows the view, waiting for it up to `timeout` seconds."""
        ...


class ApprovalBroker:
    """An `Approver` for one run in a cell.

    Args:
        main: The main thread, for `input()`.
        source: The widget of the cell, if its front end can show one.
        can_input: Whether `input()` may be tried.
        ready_timeout: Seconds to wait for the widget to report itself; the page may still be loading.
        on_superseded: Called when a question is going to be asked by `input()` and nowhere else.
        on_decided: Called with each answer at once; the run's own stream stands still until all are there.
    """

    def __init__(
        self,
        main: MainThread,
        *,
        source: DecisionSource | None = None,
        can_input: bool = True,
        ready_timeout: float = 10.0,
        on_superseded: Callable[[ApprovalRequest], None] | None = None,
        on_decided: Callable[[ApprovalRequest, ApprovalDecision | None], None] | None = None,
    ) -> None:
        self._main = main
        self._source = source
        self._can_input = can_input
        self._ready_timeout = ready_timeout
        self._on_superseded = on_superseded
        self._on_decided = on_decided
        self._loop = asyncio.get_running_loop()
        self._clicks: dict[str, asyncio.Future[ApprovalDecision]] = {}
        self._answered: set[str] = set()
        self._one_input_at_a_time = asyncio.Lock()
        if source is not None:
            source.on_decision(self._decided)

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
        """Return the person's decision on `request`, or `None` when no channel can bring one."""
        decision = await self._ask(request)
        if self._on_decided is not None:
            self._on_decided(request, decision)
        return decision

    async def _ask(self, request: ApprovalRequest) -> ApprovalDecision | None:
        if self._source is not None:
            self._answered.discard(request.id)
            click = self._click(request.id)
            try:
                if await self._source.wait_ready(self._ready_timeout) or click.done():
                    return await click
            finally:
                self._answered.add(request.id)
                del self._clicks[request.id]
            # Whoever has not shown one question by now will not show the next one either.
            self._ready_timeout = 0
        if not self._can_input:
            return None
        if self._on_superseded is not None:
            self._on_superseded(request)
        async with self._one_input_at_a_time:
            return await self._ask_by_input(request)

    def _decided(self, id: str, decision: ApprovalDecision) -> None:
        """Take a click: the first one on a question counts, all others fall away."""

        def resolve() -> None:
            # The question is on the page a moment before it is asked here, so a click may be early.
            if id not in self._answered and not (click := self._click(id)).done():
                click.set_result(decision)

        self._loop.call_soon_threadsafe(resolve)

    def _click(self, id: str) -> asyncio.Future[ApprovalDecision]:
        return self._clicks.setdefault(id, self._loop.create_future())

    async def _ask_by_input(self, request: ApprovalRequest) -> ApprovalDecision | None:
        keys = '[y]es, [n]o (add a reason if you like)' + (', [e]dit first' if request.editable else '')
        question = f'{request.title} {keys}, [a]ll further {request.tool} of this run: '
        answer = await self._input(question)
        if answer is None:
            return None
        word, _, reason = answer.strip().partition(' ')
        word = word.lower().rstrip('.,:;!')
        if word in _YES:
            return ApprovalDecision(verdict='approve', channel='input')
        if word in _REST:
            return ApprovalDecision(verdict='approve', scope='tool', channel='input')
        if word in _EDIT and request.editable:
            edited = await self._edited(request.editable)
            return None if edited is None else ApprovalDecision(verdict='approve', edited=edited, channel='input')
        told = reason.strip() if word in _NO else answer.strip()
        return ApprovalDecision(verdict='deny', reason=told or None, channel='input')

    async def _edited(self, name: str) -> str | None:
        lines: list[str] = []
        prompt = f'New {name}, line by line; a line with only a full stop ends it:\n'
        while (line := await self._input(prompt)) is not None:
            if line == '.':
                return ''.join(f'{line}\n' for line in lines)
            lines.append(line)
            prompt = ''
        return None

    async def _input(self, prompt: str) -> str | None:
        """Return a line from the person, or `None` where there is no standard input."""

        def ask() -> str | None:
            try:
                return as_typed(input(printable(prompt, sys.stdout.encoding)))
            except (EOFError, OSError, RuntimeError):
                # ipykernel says StdinNotImplementedError, a RuntimeError; a closed terminal says the others.
                return None

        return await self._main.call(ask)

"""The person at a cell, as far as a run can reach them: by the buttons of the widget, or else by `input()`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from ..capabilities.approvals import ApprovalDecision
from .lines import ask_line
from .runner import MainThread

__all__ = ['Clicks', 'DecisionSource', 'Person']

T = TypeVar('T')


class DecisionSource(Protocol):
    """A view with buttons."""

    def on_decision(self, callback: Callable[[str, ApprovalDecision], None]) -> None:
        """Call `callback(id, decision)` for each click on an approval, on any thread."""
        ...

    def on_answer(self, callback: Callable[[str, int | str], None]) -> None:
        """Call `callback(id, answer)` for each answer to a question, on any thread.

        An answer is the number of an option, counted from 0, or words of the person's own.
        """
        ...

    def on_stop(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the person presses Stop, on any thread."""
        ...

    async def wait_ready(self, timeout: float) -> bool:
        """Return whether a front end shows the view, waiting for it up to `timeout` seconds."""
        ...


class Person:
    """The person at one run's cell; whoever asks them something shares it.

    Args:
        main: The main thread, for `input()`.
        source: The widget of the cell, if its front end can show one.
        can_input: Whether `input()` may be tried.
        ready_timeout: Seconds to wait for the widget to report itself; the page may still be loading.
    """

    def __init__(
        self,
        main: MainThread,
        *,
        source: DecisionSource | None = None,
        can_input: bool = True,
        ready_timeout: float = 10.0,
    ) -> None:
        self.source = source
        self.can_input = can_input
        self.one_input_at_a_time = asyncio.Lock()
        """To be held from the first `input()` of a question to its last."""
        self._main = main
        self._ready_timeout = ready_timeout

    @property
    def is_there(self) -> bool:
        """Whether there is any way to reach them."""
        return self.source is not None or self.can_input

    async def sees_buttons(self) -> bool:
        """Return whether the widget is in front of them, waiting for the page while it may still be loading."""
        if self.source is None:
            return False
        if await self.source.wait_ready(self._ready_timeout):
            return True
        # Whoever has not shown one question by now will not show the next one either.
        self._ready_timeout = 0
        return False

    async def input(self, prompt: str) -> str | None:
        """Return a line from them, or `None` where there is no standard input."""
        return await self._main.call(lambda: ask_line(prompt))


class Clicks(Generic[T]):
    """What was clicked on the questions of one kind: the first click on a question counts, all others fall away."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self._loop = asyncio.get_running_loop()
        self._clicks: dict[str, asyncio.Future[T]] = {}
        self._answered: set[str] = set()

    def take(self, id: str, answer: T) -> None:
        """Take a click, on any thread."""

        def resolve() -> None:
            # The question is on the page a moment before it is asked here, so a click may be early.
            if id not in self._answered and not (click := self._click(id)).done():
                click.set_result(answer)

        self._loop.call_soon_threadsafe(resolve)

    async def first(self, id: str) -> T | None:
        """Return the first click on a question, or `None` if no page shows it."""
        if self._person.source is None:
            return None
        self._answered.discard(id)
        click = self._click(id)
        try:
            if await self._person.sees_buttons() or click.done():
                return await click
            return None
        finally:
            self._answered.add(id)
            del self._clicks[id]

    def _click(self, id: str) -> asyncio.Future[T]:
        return self._clicks.setdefault(id, self._loop.create_future())

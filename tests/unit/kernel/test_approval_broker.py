from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from deep_notebook.capabilities.approvals import ApprovalDecision, ApprovalRequest
from deep_notebook.kernel.approvals import ApprovalBroker
from deep_notebook.kernel.person import Person
from deep_notebook.kernel.runner import MainThread

pytestmark = pytest.mark.anyio

REQUEST = ApprovalRequest(title='Write a.txt?', id='call_1', tool='write_file', tool_class='write')
YES = ApprovalDecision(verdict='approve', channel='widget')
NO = ApprovalDecision(verdict='deny', channel='widget')


class Buttons:
    """A view that is shown, and a finger to press its buttons with."""

    press: Callable[[str, ApprovalDecision], None]

    def __init__(self, *, shown: bool = True) -> None:
        self.shown = shown

    def on_decision(self, callback: Callable[[str, ApprovalDecision], None]) -> None:
        self.press = callback

    def on_answer(self, callback: Callable[[str, int | str], None]) -> None: ...

    def on_stop(self, callback: Callable[[], None]) -> None: ...

    async def wait_ready(self, timeout: float) -> bool:
        return self.shown


def broker(buttons: Buttons, **options: object) -> ApprovalBroker:
    main = MainThread(lambda job: None, can_await=True)
    return ApprovalBroker(Person(main, source=buttons, can_input=False), **options)  # type: ignore[arg-type]


async def test_a_click_that_comes_before_the_question_counts() -> None:
    buttons = Buttons()
    asking = broker(buttons)
    buttons.press('call_1', YES)
    await asyncio.sleep(0)
    assert await asking.decide(REQUEST) == YES


async def test_the_first_of_two_clicks_counts() -> None:
    buttons = Buttons()
    asking = broker(buttons)
    buttons.press('call_1', NO)
    buttons.press('call_1', YES)
    assert await asking.decide(REQUEST) == NO


async def test_a_late_click_does_not_answer_the_next_question_of_the_same_call() -> None:
    buttons = Buttons()
    asking = broker(buttons)
    buttons.press('call_1', YES)
    await asking.decide(REQUEST)
    buttons.press('call_1', YES)
    await asyncio.sleep(0)

    again = asyncio.create_task(asking.decide(REQUEST))
    await asyncio.sleep(0)
    buttons.press('call_1', NO)
    assert await again == NO


async def test_where_nobody_can_be_reached_there_is_no_decision() -> None:
    told: list[tuple[ApprovalRequest, ApprovalDecision | None]] = []
    asking = broker(Buttons(shown=False), on_decided=lambda *answer: told.append(answer))
    assert await asking.decide(REQUEST) is None
    assert told == [(REQUEST, None)]

"""One question gets one answer, from whoever can be reached."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from deep_notebook.capabilities.events import QuestionAnsweredEvent, QuestionAskedEvent
from deep_notebook.capabilities.plan import AskOption
from deep_notebook.kernel.person import Person
from deep_notebook.kernel.questions import QuestionBroker, chosen
from deep_notebook.kernel.runner import MainThread
from deep_notebook.views.driver_events import QuestionSuperseded

pytestmark = pytest.mark.anyio

OPTIONS: list[AskOption] = [
    {'label': '9090', 'description': 'free', 'recommended': True},
    {'label': '8081', 'description': '', 'recommended': False},
]
OPEN: list[AskOption] = [{'label': 'now'}, {'label': 'later'}]


class Buttons:
    """A view that is shown, and a finger to press its buttons with."""

    press: Callable[[str, int | str], None]

    def __init__(self, *, shown: bool = True) -> None:
        self.shown = shown

    def on_decision(self, callback: Callable[..., None]) -> None: ...

    def on_answer(self, callback: Callable[[str, int | str], None]) -> None:
        self.press = callback

    def on_stop(self, callback: Callable[[], None]) -> None: ...

    async def wait_ready(self, timeout: float) -> bool:
        return self.shown


class Desk:
    """A broker, the person it asks, and what it told."""

    def __init__(self, buttons: Buttons | None = None, *, can_input: bool = False) -> None:
        self.told: list[Any] = []
        self.on_tell: Callable[[Any], None] = lambda event: None
        main = MainThread(lambda job: job.future.set_result(job.function()), can_await=False)
        self.person = Person(main, source=buttons, can_input=can_input)
        self.ask = QuestionBroker(self.person, tell=self._tell, who_asks=lambda: ('planner', 'c1'))

    def _tell(self, event: Any) -> None:
        self.told.append(event)
        self.on_tell(event)

    @property
    def id(self) -> str:
        return next(event.id for event in reversed(self.told) if isinstance(event, QuestionAskedEvent))


def clicks(desk: Desk, buttons: Buttons, *answers: int | str) -> None:
    """Press these, one after the other, as soon as the question is shown."""

    def press(event: Any) -> None:
        if isinstance(event, QuestionAskedEvent):
            for answer in answers:
                buttons.press(event.id, answer)

    desk.on_tell = press


@pytest.mark.parametrize(
    ('answers', 'answer'),
    [((1,), '8081'), (('80, as before',), '80, as before'), ((0, 1), '9090'), ((7, 1), '8081')],
    ids=['a choice', 'own words', 'two clicks', 'a choice that there is not'],
)
async def test_the_first_click_that_answers_counts(answers: tuple[int | str, ...], answer: str) -> None:
    buttons = Buttons()
    desk = Desk(buttons)
    clicks(desk, buttons, *answers)
    assert await desk.ask('Which port?', OPTIONS) == answer
    asked, answered = desk.told
    assert (asked.question, asked.options, asked.asked_by, asked.tool_call_id) == (
        'Which port?',
        OPTIONS,
        'planner',
        'c1',
    )
    assert answered == QuestionAnsweredEvent(id=asked.id, answer=answer)


async def test_a_late_click_does_not_answer_the_next_question() -> None:
    buttons = Buttons()
    desk = Desk(buttons)
    clicks(desk, buttons, 0)
    await desk.ask('Which port?', OPTIONS)
    first = desk.id
    desk.on_tell = lambda event: None
    again = asyncio.create_task(desk.ask('When?', OPEN))
    await asyncio.sleep(0)
    assert desk.id != first
    buttons.press(first, 1)
    buttons.press(desk.id, 0)
    assert await again == 'now'


async def test_questions_asked_at_once_are_answered_apart() -> None:
    buttons = Buttons()
    desk = Desk(buttons)
    both = [asyncio.create_task(desk.ask(text, options)) for text, options in (('Which?', OPTIONS), ('When?', OPEN))]
    await asyncio.sleep(0)
    ids = [event.id for event in desk.told]
    buttons.press(ids[1], 1)
    buttons.press(ids[0], 1)
    assert await asyncio.gather(*both) == ['8081', 'later']


async def test_a_question_whose_asker_is_stopped_is_closed() -> None:
    desk = Desk(Buttons())
    asking = asyncio.create_task(desk.ask('Which?', OPTIONS))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert desk.told[-1] == QuestionAnsweredEvent(id=desk.id, answer=None)


async def test_nobody_is_reached_where_no_page_shows_the_view_and_nothing_can_be_typed() -> None:
    desk = Desk(Buttons(shown=False))
    assert await desk.ask('Which?', OPTIONS) is None
    assert desk.told[-1].answer is None


def test_someone_is_there_with_a_view_or_a_keyboard() -> None:
    main = MainThread(lambda job: None, can_await=True)

    async def there(**options: Any) -> bool:
        return Person(main, **options).is_there

    assert asyncio.run(there(source=Buttons(), can_input=False))
    assert asyncio.run(there(can_input=True))
    assert not asyncio.run(there(can_input=False))


@pytest.mark.parametrize(
    ('options', 'typed', 'answer', 'prompts'),
    [
        (OPTIONS, [''], '9090', 1),
        (OPTIONS, ['2'], '8081', 1),
        (OPTIONS, [' neither '], 'neither', 1),
        (OPEN, ['', '  ', 'LATER'], 'later', 3),
        (OPEN, [], None, 1),
    ],
    ids=['Enter', 'number', 'own words', 'Enter without a recommendation', 'no input'],
)
async def test_without_a_page_it_is_typed(
    monkeypatch: pytest.MonkeyPatch, options: Sequence[AskOption], typed: list[str], answer: str | None, prompts: int
) -> None:
    lines, shown = list(typed), []

    def typing(prompt: str) -> str:
        shown.append(prompt)
        if not lines:
            raise EOFError
        return lines.pop(0)

    monkeypatch.setattr(builtins, 'input', typing)
    desk = Desk(Buttons(shown=False), can_input=True)
    assert await desk.ask('Which?', options) == answer
    assert [type(event) for event in desk.told] == [QuestionAskedEvent, QuestionSuperseded, QuestionAnsweredEvent]
    assert len(shown) == prompts
    assert ('Enter for 9090' in shown[0]) == (options is OPTIONS)


@pytest.mark.parametrize(
    ('typed', 'labels', 'answer'),
    [
        ('1', ['a', 'b'], 'a'),
        ('2.', ['a', 'b'], 'b'),
        ('B', ['a', 'b'], 'b'),
        ('2', ['2', '4'], '2'),
        ('4', ['2', '4'], '4'),
        ('3', ['a', 'b'], '3'),
        ('0', ['a', 'b'], '0'),
        ('1 or 2', ['a', 'b'], '1 or 2'),
        ('', ['a', 'b'], ''),
    ],
)
def test_a_label_is_meant_before_its_number_and_the_rest_is_said(typed: str, labels: list[str], answer: str) -> None:
    assert chosen(typed, labels) == answer

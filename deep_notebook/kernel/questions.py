"""Let the person decide what the agent asks them, and bring exactly one answer back.

Channels, best first: the buttons in the cell's widget, then `input()`. Where neither reaches anybody the answer is
`None`, and the agent goes on with what it recommends.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

from ..capabilities.events import QuestionAnsweredEvent, QuestionAskedEvent
from ..capabilities.plan import AskOption
from ..masking import mask_secrets
from ..views.driver_events import QuestionSuperseded
from ..views.plain import revealed
from .person import Clicks, Person

__all__ = ['QuestionBroker']


class QuestionBroker:
    """The `deps.ask_user` of one run in a cell.

    Args:
        person: Who is asked.
        tell: Called at once with what the view has to know; the run's own stream stands still until there is an answer.
        who_asks: Returns the name of the agent whose tool is calling, and the call of the run that it belongs to.
    """

    def __init__(
        self, person: Person, *, tell: Callable[[object], None], who_asks: Callable[[], tuple[str, str | None]]
    ) -> None:
        self._person = person
        self._tell = tell
        self._who_asks = who_asks
        self._clicks: Clicks[int | str] = Clicks(person)
        self._labels: dict[str, list[str]] = {}
        """Those of the open questions."""
        if person.source is not None:
            person.source.on_answer(self._clicked)

    async def __call__(self, question: str, options: Sequence[AskOption]) -> str | None:
        """Return the label of the chosen option or what the person said instead, `None` if nobody could be reached."""
        id, (name, call_id) = uuid.uuid4().hex, self._who_asks()
        self._labels[id] = [option['label'] for option in options]
        asked = QuestionAskedEvent(id=id, question=question, options=[{**option} for option in options], asked_by=name)
        asked.tool_call_id = call_id
        self._tell(asked)
        answer = None
        try:
            answer = await self._ask(id, options)
        finally:
            del self._labels[id]
            self._tell(QuestionAnsweredEvent(id=id, answer=answer))
        return answer

    async def _ask(self, id: str, options: Sequence[AskOption]) -> str | None:
        click = await self._clicks.first(id)
        if click is not None:
            return self._labels[id][click] if isinstance(click, int) else click
        if not self._person.can_input:
            return None
        self._tell(QuestionSuperseded(id=id))
        async with self._person.one_input_at_a_time:
            return await self._ask_by_input(options)

    def _clicked(self, id: str, answer: int | str) -> None:
        if isinstance(answer, str) or answer < len(self._labels.get(id, ())):
            self._clicks.take(id, answer)

    async def _ask_by_input(self, options: Sequence[AskOption]) -> str | None:
        labels = [option['label'] for option in options]
        recommended = next((option['label'] for option in options if option.get('recommended')), None)
        default = '' if recommended is None else f', Enter for {mask_secrets(revealed(recommended))}'
        prompt = f'1-{len(labels)}, or an answer of your own{default}: '
        while (typed := await self._person.input(prompt)) is not None:
            answer = chosen(typed.strip(), labels) or recommended
            if answer:
                return answer
        return None


def chosen(typed: str, labels: Sequence[str]) -> str:
    """Return the label that was typed, or whose number was, counted from 1; anything else is an answer itself."""
    for label in labels:
        if label.casefold() == typed.casefold():
            return label
    number = typed.rstrip('.)')
    if number.isascii() and number.isdigit() and 1 <= int(number) <= len(labels):
        return labels[int(number) - 1]
    return typed

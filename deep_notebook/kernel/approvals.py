"""Bring a question to the person and exactly one answer back.

Channels, best first: the buttons in the cell's widget, then `input()`. Where neither can deliver an answer the
broker says so (`None`) and the run is suspended, to be resumed by `%deep approve`, `deny` or `resume`.
"""

from __future__ import annotations

from collections.abc import Callable

from ..capabilities.approvals import ApprovalDecision, ApprovalRequest
from .person import Clicks, Person

__all__ = ['ApprovalBroker']

_YES = frozenset({'y', 'yes'})
_NO = frozenset({'n', 'no'})
_EDIT = frozenset({'e', 'edit'})
_REST = frozenset({'a', 'all'})


class ApprovalBroker:
    """An `Approver` for one run in a cell, which hears of denials too.

    Args:
        person: Who is asked.
        on_superseded: Called when a question is going to be asked by `input()` and nowhere else.
        on_decided: Called with each answer at once; the run's own stream stands still until all are there.
        on_denied: Called with each call that is denied without a question, also of a subagent.
    """

    def __init__(
        self,
        person: Person,
        *,
        on_superseded: Callable[[ApprovalRequest], None] | None = None,
        on_decided: Callable[[ApprovalRequest, ApprovalDecision | None], None] | None = None,
        on_denied: Callable[[ApprovalRequest], None] | None = None,
    ) -> None:
        self._person = person
        self._on_superseded = on_superseded
        self._on_decided = on_decided
        self._on_denied = on_denied
        self._clicks: Clicks[ApprovalDecision] = Clicks(person)
        if person.source is not None:
            person.source.on_decision(self._clicks.take)

    @property
    def attended(self) -> bool:
        """Whether there is a person to ask."""
        return self._person.is_there

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
        """Return the person's decision on `request`, or `None` when no channel can bring one."""
        decision = await self._ask(request)
        if self._on_decided is not None:
            self._on_decided(request, decision)
        return decision

    async def denied(self, request: ApprovalRequest) -> None:
        """Hear of a call that was denied without a question."""
        if self._on_denied is not None:
            self._on_denied(request)

    async def _ask(self, request: ApprovalRequest) -> ApprovalDecision | None:
        decision = await self._clicks.first(request.id)
        if decision is not None or not self._person.can_input:
            return decision
        if self._on_superseded is not None:
            self._on_superseded(request)
        async with self._person.one_input_at_a_time:
            return await self._ask_by_input(request)

    async def _ask_by_input(self, request: ApprovalRequest) -> ApprovalDecision | None:
        keys = '[y]es, [n]o (add a reason if you like)' + (', [e]dit first' if request.editable else '')
        question = f'{request.title} {keys}, [a]ll further {request.tool} of this run: '
        answer = await self._person.input(question)
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
        while (line := await self._person.input(prompt)) is not None:
            if line == '.':
                return ''.join(f'{line}\n' for line in lines)
            lines.append(line)
            prompt = ''
        return None

"""The door at which a child asks: its parent's, under its own name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai.messages import CapabilityEvent

from ..approval_seals import usable
from ..approval_types import HearsDenials
from ..approvals import ApprovalDecision, ApprovalGate, ApprovalRequest, Approver
from ..events import ApprovalAskedEvent, ApprovalDecidedEvent

__all__ = ['child_gate']

Emit = Callable[[CapabilityEvent], Awaitable[None]]

_EARLIER = ApprovalDecision(verdict='approve', channel='earlier')
_NOBODY = ApprovalDecision(verdict='deny', reason='nobody is here to answer', channel='policy')
_UNASKED = ApprovalDecision(verdict='deny', channel='policy')
_WITHDRAWN = ApprovalDecision(verdict='deny', reason='the subagent was stopped', channel='policy')


def child_gate(parent: ApprovalGate[Any], *, name: str, task: str, emit: Emit) -> ApprovalGate[Any]:
    """Return the gate of a child.

    Args:
        parent: The parent's gate in this run.
        name: The child's, for the person.
        task: The id of its task. With it questions get ids of their own: two children may call tools by one id.
        emit: Puts an event into the parent's stream.
    """
    door = _Door(parent.approver, parent, task, emit)
    return replace(parent, approver=door, asked_by=name, parent=parent)


@dataclass
class _Door:
    """Asks whom the parent would ask, and shows the question in the parent's stream."""

    approver: Approver | None
    gate: ApprovalGate[Any]
    task: str
    emit: Emit

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
        request = replace(request, id=f'{self.task}:{request.id}')
        await self.emit(ApprovalAskedEvent(request=request))
        try:
            decision = None if self.approver is None else await self.approver.decide(request)
        except asyncio.CancelledError:
            answered = self.gate.covers(request)
            await self.emit(ApprovalDecidedEvent(request=request, decision=_EARLIER if answered else _WITHDRAWN))
            raise
        shown = _NOBODY if decision is None else usable(decision, request)
        await self.emit(ApprovalDecidedEvent(request=request, decision=shown))
        return decision

    async def denied(self, request: ApprovalRequest) -> None:
        """Show a call that was denied without a question: no step of the parent's says so."""
        request = replace(request, id=f'{self.task}:{request.id}')
        if isinstance(self.approver, HearsDenials):
            await self.approver.denied(request)
        await self.emit(ApprovalAskedEvent(request=request))
        await self.emit(ApprovalDecidedEvent(request=request, decision=_UNASKED))

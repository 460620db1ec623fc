"""What a cell asks of the session, and what the session needs from the cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from ..capabilities.approvals import ApprovalMode, ApprovalRequest
from ..errors import UsageError
from ..store.runs import RunTerms
from ..views import RunView
from .person import DecisionSource
from .runner import MainThread

__all__ = ['Answer', 'CellSide', 'RunLimits', 'RunRequest']


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """How far a run may go; `None` is no limit of the person's."""

    approve: ApprovalMode
    max_requests: int | None = None
    timeout: float | None = None
    """Seconds of work."""
    budget: Decimal | None = None
    """US dollars."""


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """One `%%deep` cell, its options settled."""

    prompt: str
    model: str | None
    model_source: str | None
    """The environment variable that names the model, if one does."""
    limits: RunLimits
    new: bool
    into: str | None
    """The variable for the answer."""
    replay: str | None
    record: str | None

    @property
    def terms(self) -> RunTerms:
        """What still holds when the run is suspended and goes on later."""
        limits = self.limits
        return RunTerms(
            into=self.into, max_requests=limits.max_requests, timeout=limits.timeout, approve=limits.approve
        )


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the person says to a suspended run.

    `numbers` are the waiting calls that the answer is for, counted from 1; none means all of them.
    """

    verdict: Literal['approve', 'deny', 'ask']
    numbers: Sequence[int] = ()
    reason: str | None = None

    def chosen(self, waiting: Sequence[ApprovalRequest]) -> list[ApprovalRequest]:
        """Return which of the waiting calls the answer is for.

        Raises:
            UsageError: There is no call with one of the numbers.
        """
        if not self.numbers:
            return list(waiting)
        unknown = [number for number in self.numbers if not 1 <= number <= len(waiting)]
        if unknown:
            raise UsageError(f'There is no waiting call {unknown[0]}: `%deep status` lists 1 to {len(waiting)}.')
        return [waiting[number - 1] for number in self.numbers]


@dataclass(frozen=True, kw_only=True)
class CellSide:
    """What a run needs from the cell that started it."""

    shell: Any
    main: MainThread
    view: RunView
    source: DecisionSource | None
    """The view, if it has buttons."""
    can_input: bool
    ready_timeout: float
    """Seconds."""

"""What a run costs: counted as it arises, told to whoever wants to know, and stopped at a budget."""

from __future__ import annotations

import inspect
import logging
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic_ai import CostNotFoundWarning, RunContext
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.tools import AgentDepsT

from ..errors import DeepNotebookError
from ..models.resolve import is_local
from .events import NoticeEvent

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult

__all__ = ['BudgetExceededError', 'CostInfo', 'CostTracking', 'OnCostUpdate', 'UnpricedModelWarning']

_LOGGER = logging.getLogger(__name__)


class BudgetExceededError(UsageLimitExceeded, DeepNotebookError):
    """The budget of a run is spent, so the next request was not made.

    Args:
        spent: US dollars.
        budget: US dollars.
    """

    def __init__(self, spent: Decimal, budget: Decimal) -> None:
        line = f'Stopped before the next request: ${spent} spent of a budget of ${budget}. A larger one goes on.'
        super().__init__(line)
        self.message = line
        self.spent = spent
        self.budget = budget

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.spent, self.budget)


class UnpricedModelWarning(CostNotFoundWarning):
    """A run has a budget, and the price of a model that answers in it is unknown: the budget cannot stop it."""


@dataclass(frozen=True, kw_only=True)
class CostInfo:
    """What was spent, after one request.

    Totals hold everything on the run's account: its subagents too, and what it was given of an earlier run.
    """

    model: str
    """Who answered."""
    request_cost: Decimal | None
    """US dollars of this request; `None` if its price is unknown, 0 on this computer."""
    total_cost: Decimal | None
    """US dollars of all requests whose price is known; `None` if there are none."""
    request_input_tokens: int
    request_output_tokens: int
    total_input_tokens: int
    total_output_tokens: int
    requests: int
    """How many there were."""
    priced: bool
    """Whether the price of each request of the run is known, so that `total_cost` is all of it."""


OnCostUpdate: TypeAlias = Callable[[CostInfo], Awaitable[None] | None]


@dataclass
class CostTracking(AbstractCapability[AgentDepsT]):
    """Count what a run costs, and let it make no request once its budget is spent.

    Subagents are on their parent's account: each looks at the sum before it asks its model. Requests that are under
    way at that moment are paid for, so the sum can end up above the budget by what they cost. The answer to a request
    that used up the budget still counts, and its tools run.

    A model whose price nobody knows cannot be stopped by a budget: the stream gets a `NoticeEvent` that says so, once
    for each model, and Python code an `UnpricedModelWarning`. What runs on this computer costs nothing.

    Raises:
        ValueError: The budget is not above 0.
    """

    budget_usd: Decimal | float | None = None
    """US dollars that a run may spend."""
    on_cost_update: OnCostUpdate | None = None
    """Called after each request. What it raises is logged: bookkeeping ends no run."""
    parent: CostTracking[Any] | None = field(default=None, kw_only=True, repr=False)
    """What tracks the run that this one is part of, if it is: it is told what only a whole run can say."""

    id: str | None = field(default='cost', kw_only=True)
    description: str | None = field(default='Count what the run costs and stop it at its budget.', kw_only=True)

    _unpriced: dict[str, bool] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Models whose price is unknown, and whether that was said."""

    def __post_init__(self) -> None:
        if self.budget_usd is None:
            return
        budget = self.budget_usd if isinstance(self.budget_usd, Decimal) else Decimal(str(self.budget_usd))
        if not budget.is_finite() or budget <= 0:
            raise ValueError(f'budget_usd must be an amount above 0, got {self.budget_usd!r}')
        self.budget_usd = budget

    @classmethod
    def from_spec(cls, budget_usd: float | None = None) -> CostTracking[Any]:
        """Return the capability that a spec file describes."""
        return CostTracking(budget_usd)

    def get_ordering(self) -> CapabilityOrdering:
        """Return that it comes before whatever else asks a model before a request."""
        return CapabilityOrdering(position='outermost')

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> CostTracking[AgentDepsT]:
        """Return a copy for one run."""
        tracking = replace(self)
        if self.parent is not None:
            tracking._unpriced = self.parent._unpriced
        return tracking

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Stop the run if its budget is spent.

        Raises:
            BudgetExceededError: It is.
        """
        await self._say_unpriced(ctx)
        spent = ctx.usage.cost
        if isinstance(self.budget_usd, Decimal) and spent is not None and spent >= self.budget_usd:
            raise BudgetExceededError(spent, self.budget_usd)
        return request_context

    async def after_model_request(
        self, ctx: RunContext[AgentDepsT], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Count the request."""
        used, total = response.usage, ctx.usage
        model = response.model_name or ctx.model.model_name
        cost = used.cost
        if cost is None and isinstance(ctx.model, Model) and is_local(ctx.model):
            cost = Decimal(0)
        if cost is None:
            self._unpriced.setdefault(model, False)
        await self._say_unpriced(ctx)
        if self.on_cost_update is not None:
            await self._tell(
                CostInfo(
                    model=model,
                    request_cost=cost,
                    total_cost=total.cost if total.cost is not None or self._unpriced else Decimal(0),
                    request_input_tokens=used.input_tokens,
                    request_output_tokens=used.output_tokens,
                    total_input_tokens=total.input_tokens,
                    total_output_tokens=total.output_tokens,
                    requests=total.requests,
                    priced=not self._unpriced,
                )
            )
        return response

    async def after_run(self, ctx: RunContext[AgentDepsT], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Say what a subagent learned last."""
        await self._say_unpriced(ctx)
        return result

    async def _say_unpriced(self, ctx: RunContext[AgentDepsT]) -> None:
        """Say once of each model that its price is unknown, if there is a budget; the stream of a part is not seen."""
        if self.budget_usd is None or self.parent is not None:
            return
        for model in [model for model, said in self._unpriced.items() if not said]:
            self._unpriced[model] = True
            text = f'The price of {model} is unknown, so the budget of ${self.budget_usd} cannot stop it.'
            await ctx.emit(NoticeEvent(text=text))
            warnings.warn(UnpricedModelWarning(text), stacklevel=2)

    async def _tell(self, info: CostInfo) -> None:
        assert self.on_cost_update is not None
        try:
            told = self.on_cost_update(info)
            if inspect.isawaitable(told):
                await told
        except Exception:
            _LOGGER.exception('on_cost_update failed')

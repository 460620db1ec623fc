"""Who answers a run: a resolved model or agent, live, recorded or replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_ai.agent import AbstractAgent
from pydantic_ai.models import Model

from ..agent import create_deep_agent
from ..models.resolve import ResolvedModel
from ..views.run_state import ModelInfo

__all__ = ['Answering', 'answering']


@dataclass(frozen=True, kw_only=True)
class Answering:
    """The agent and the model of one run."""

    agent: AbstractAgent[Any, Any]
    answers: Model | None
    """The model that answers, or `None` for the agent's own."""
    ours: bool
    """Whether the agent is the deep agent, not one of the person's."""
    model: ModelInfo
    request_limit: int | None
    banner: str | None = None
    notice: str | None = None


def answering(resolved: ResolvedModel) -> Answering:
    """Return who answers as `resolved`."""
    return Answering(
        agent=resolved.agent if resolved.agent is not None else create_deep_agent(),
        answers=resolved.model,
        ours=resolved.agent is None,
        model=ModelInfo(name=resolved.name, label=resolved.label, local=resolved.local),
        request_limit=resolved.request_limit,
        notice=resolved.notice,
    )

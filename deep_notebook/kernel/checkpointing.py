"""Checkpoints that a notebook takes by itself, unless its options say no or take them another way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic_ai.agent.spec import CapabilitySpec

from ..capabilities.checkpoints import CheckpointMiddleware
from ..settling import Settled

if TYPE_CHECKING:
    from .session import NotebookSession

__all__ = ['automatic_checkpoints', 'keeps_checkpoints']


def keeps_checkpoints(settled: Settled) -> bool:
    """Return whether the notebook marks points by itself: always, unless the options say no in so many words."""
    return settled.spec.include_checkpoints or 'include_checkpoints' not in settled.spec.model_fields_set


def automatic_checkpoints(session: NotebookSession) -> list[CheckpointMiddleware[Any]]:
    """Return what takes checkpoints in a run whose agent takes none itself."""
    spec = session.settled.spec
    if not keeps_checkpoints(session.settled) or spec.include_checkpoints or _brings_its_own(session.settled):
        return []
    return [
        CheckpointMiddleware(
            session.checkpoints, spec.checkpoint_frequency, spec.max_checkpoints, annotate=session.travel.notes
        )
    ]


def _brings_its_own(settled: Settled) -> bool:
    return any(map(_takes_checkpoints, (*(settled['middleware'] or ()), *(settled['capabilities'] or ()))))


def _takes_checkpoints(capability: object) -> bool:
    if isinstance(capability, str | Mapping | CapabilitySpec):
        return CapabilitySpec.model_validate(capability).name == CheckpointMiddleware.get_serialization_name()
    return isinstance(capability, CheckpointMiddleware)

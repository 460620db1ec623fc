"""Names of models that pydantic-ai does not know, such as `embedded`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model, ModelResolutionContext
from pydantic_ai.tools import AgentDepsT

from ..models.resolve import resolve_model

__all__ = ['ModelNames']


@dataclass
class ModelNames(AbstractCapability[AgentDepsT]):
    """Resolve the names of models when a run begins, as `resolve_model` does, with keys from `.env` here."""

    id: str | None = field(default='model_names', kw_only=True)
    description: str | None = field(default='Resolve the names of models, such as `embedded`.', kw_only=True)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return `None`: every deep agent has it."""
        return None

    async def resolve_model_id(self, ctx: ModelResolutionContext[AgentDepsT], *, model_id: str) -> Model | None:
        """Return the model.

        Raises:
            UsageError: Nobody answers to the name; the one line says what to do.
        """
        return resolve_model(model_id, directory=Path.cwd()).model

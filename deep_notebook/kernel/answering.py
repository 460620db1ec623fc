"""Who answers a run: a resolved model or agent, live, recorded or replayed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_ai.agent import AbstractAgent
from pydantic_ai.models import Model, infer_model

from ..agent import create_deep_agent
from ..models.resolve import resolve_model
from ..views.run_state import ModelInfo

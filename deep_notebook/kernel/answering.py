"""Who answers a run: a resolved model or agent, live, recorded or replayed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic_ai.agent import AbstractAgent
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models import Model, infer_model

from ..capabilities.tool_classes import tool_class
from ..models.recording import Recording, recording_path
from ..models.replay import RecordingModel, ReplayModel
from ..models.resolve import ResolvedModel
from ..store.runs import RecordingUse
from ..views.run_state import ModelInfo
from .requests import RunRequest

__all__ = ['Answering', 'live', 'recorded', 'recording_key', 'recording_of', 'replayed']


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
    keep: Callable[[], None] | None = None
    """Keeps what was recorded, once the run ended as it should."""


def live(resolved: ResolvedModel, make_agent: Callable[[], AbstractAgent[Any, Any]]) -> Answering:
    """Return who answers: the model that `resolved` names, under the deep agent, or an agent of the person's."""
    return Answering(
        agent=resolved.agent if resolved.agent is not None else make_agent(),
        answers=resolved.model,
        ours=resolved.agent is None,
        model=ModelInfo(name=resolved.name, label=resolved.label, local=resolved.local),
        request_limit=resolved.request_limit,
        notice=resolved.notice,
    )


def recorded(who: Answering, *, directory: Path, name: str, key: str, resumed: bool = False) -> Answering:
    """Return `who`, with the model's answers kept in the recording `name` under `key`.

    Args:
        who: Who answers.
        directory: The notebook's.
        name: The recording's.
        key: What it keeps the answers under.
        resumed: Whether they go on from those that the recording keeps already.

    Raises:
        UsageError: The recording that is there cannot be read, or `name` is no plain name.
    """
    recording = Recording.open(recording_path(directory, name), workspace=directory)
    model = who.answers if who.answers is not None else infer_model(who.agent.model or '')
    draft = recording.record(key, model, name=who.model.name, tool_class=tool_class, go_on=resumed)
    return replace(
        who,
        answers=RecordingModel(model, draft),
        banner=f'Recording into recordings/{name}.yaml',
        keep=draft.save,
    )


def replayed(agent: AbstractAgent[Any, Any], *, directory: Path, name: str, key: str) -> Answering:
    """Return the deep `agent`, answered from the recording `name`.

    Raises:
        UsageError: There is no such recording, or it holds nothing under `key`.
    """
    cell = Recording.load(recording_path(directory, name), workspace=directory).cell(key)
    return Answering(
        agent=agent,
        answers=ReplayModel(cell),
        ours=True,
        model=ModelInfo(name=cell.recorded.name, label=cell.recorded.model.label, local=True),
        request_limit=None,
        banner=cell.banner,
    )


def recording_of(request: RunRequest, history: Sequence[ModelMessage]) -> RecordingUse | None:
    """Return the recording that a request names, and what it keeps the answers to its prompt under."""
    key = recording_key(request.prompt, history)
    if request.replay is not None:
        return RecordingUse(mode='replay', name=request.replay, key=key)
    if request.record is not None:
        return RecordingUse(mode='record', name=request.record, key=key)
    return None


def recording_key(prompt: str, history: Sequence[ModelMessage]) -> str:
    """Return what a recording keeps a cell under: from its prompt, and how often it was asked before.

    Front ends give cells ids, but headless runners do not send them.
    """
    words = '-'.join(re.findall(r'\w+', prompt.lower())[:5])
    digest = hashlib.sha256(prompt.encode()).hexdigest()[:6]
    before = sum(
        prompt in ([part.content] if isinstance(part.content, str) else part.content)
        for message in history
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    )
    return f'{words}-{digest}' + (f'-{before + 1}' if before else '')

"""Who answers: a provider's model, the embedded one, the user's own, or a recording.

Names are imported when they are first used: the command line needs the weights without needing pydantic-ai.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .recording import CellDraft, Recording, ReplayedCell, recording_path
    from .replay import RecordingModel, ReplayModel
    from .resolve import ResolvedModel, known_model_names, list_models, resolve_model

_RECORDING = ('CellDraft', 'Recording', 'ReplayedCell', 'recording_path')
_REPLAY = ('RecordingModel', 'ReplayModel')

__all__ = [
    'CellDraft',
    'Recording',
    'RecordingModel',
    'ReplayModel',
    'ReplayedCell',
    'ResolvedModel',
    'known_model_names',
    'list_models',
    'recording_path',
    'resolve_model',
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    module = '.recording' if name in _RECORDING else '.replay' if name in _REPLAY else '.resolve'
    return getattr(import_module(module, __name__), name)

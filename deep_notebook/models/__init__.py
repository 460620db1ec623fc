"""Who answers: a provider's model, the embedded one, the user's own, or a recording.

Names are imported when they are first used: the command line needs the weights without needing pydantic-ai.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .recording import Recording
    from .replay import RecordingModel, ReplayModel
    from .resolve import ResolvedModel, known_model_names, list_models, resolve_model

__all__ = [
    'Recording',
    'RecordingModel',
    'ReplayModel',
    'ResolvedModel',
    'known_model_names',
    'list_models',
    'resolve_model',
]

_MODULES = {'Recording': 'recording', 'RecordingModel': 'replay', 'ReplayModel': 'replay'}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'.{_MODULES.get(name, "resolve")}', __name__), name)

"""What is remembered: one SQLite file a notebook."""

from __future__ import annotations

from .messages import dump_message, load_message
from .runs import RunChanges, RunPhase, RunRecord
from .session import SessionStore, session_path

__all__ = ['RunChanges', 'RunPhase', 'RunRecord', 'SessionStore', 'dump_message', 'load_message', 'session_path']

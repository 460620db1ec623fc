"""What is remembered: one SQLite file a notebook."""

from __future__ import annotations

from .archive import ConversationArchives, MessageArchive
from .messages import dump_message, load_message
from .runs import RunChanges, RunPhase, RunRecord
from .search import SEARCH_TOOL, HistoryArchive, SearchHit
from .session import SessionStore, session_path

__all__ = [
    'SEARCH_TOOL',
    'ConversationArchives',
    'HistoryArchive',
    'MessageArchive',
    'RunChanges',
    'RunPhase',
    'RunRecord',
    'SearchHit',
    'SessionStore',
    'dump_message',
    'load_message',
    'session_path',
]

"""What is remembered: one SQLite file a notebook."""

from __future__ import annotations

from .archive import ConversationArchives, MessageArchive
from .checkpoint_files import FileCheckpointStore
from .checkpoint_graph import GraphCheckpointStore
from .checkpoint_sqlite import SqliteCheckpointStore
from .checkpoints import (
    Checkpoint,
    CheckpointStore,
    CheckpointSummary,
    InMemoryCheckpointStore,
    SummarisingCheckpointStore,
    fork_from_checkpoint,
    restored_messages,
    save_automatic,
    summaries_of,
)
from .graph import GraphEdge, GraphEngine, GraphNode, SqliteGraph
from .messages import dump_message, load_message
from .runs import RunChanges, RunPhase, RunRecord
from .search import SEARCH_TOOL, HistoryArchive, SearchHit
from .session import SessionStore, session_path

__all__ = [
    'SEARCH_TOOL',
    'Checkpoint',
    'CheckpointStore',
    'CheckpointSummary',
    'ConversationArchives',
    'FileCheckpointStore',
    'GraphCheckpointStore',
    'GraphEdge',
    'GraphEngine',
    'GraphNode',
    'HistoryArchive',
    'InMemoryCheckpointStore',
    'MessageArchive',
    'RunChanges',
    'RunPhase',
    'RunRecord',
    'SearchHit',
    'SessionStore',
    'SqliteCheckpointStore',
    'SqliteGraph',
    'SummarisingCheckpointStore',
    'dump_message',
    'fork_from_checkpoint',
    'load_message',
    'restored_messages',
    'save_automatic',
    'session_path',
    'summaries_of',
]

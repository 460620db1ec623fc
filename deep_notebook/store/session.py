"""What one notebook remembers: its conversation and its runs."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from pydantic_ai.messages import ModelMessage, repair_messages

from deep_notebook.errors import StoreError

from .branches import BRANCHES_SCHEMA, Lines
from .database import Database
from .histories import HISTORIES_SCHEMA
from .journal_tables import JOURNAL_SCHEMA
from .messages import MESSAGES_SCHEMA, Entry, load_entries, sync_entries
from .points import REWINDS_SCHEMA
from .reviews import REVIEWS_SCHEMA
from .runs import (
    END_NOT_KEPT,
    KERNEL_ENDED,
    READ_COLUMN,
    RECORDING_COLUMN,
    RUNS_SCHEMA,
    TERMS_COLUMN,
    RecordingUse,
    RunChanges,
    RunRecord,
    RunTerms,
    find_run,
    find_runs,
    insert_run,
    stop_dead_runs,
    update_run,
)
from .search import REINDEXED_SCHEMA, SEARCH_SCHEMA, SearchHit, WholeResult, index_some, part_ids, search_index
from .transcripts import (
    COMPRESSIONS_SCHEMA,
    ConversationRecord,
    ToolResult,
    find_conversations,
    find_results,
    load_transcript,
    note_compression,
    run_at,
)

__all__ = ['MIGRATIONS', 'SessionStore', 'session_path']

MIGRATIONS = (
    (*MESSAGES_SCHEMA, *RUNS_SCHEMA),
    RECORDING_COLUMN,
    TERMS_COLUMN,
    READ_COLUMN,
    HISTORIES_SCHEMA,
    SEARCH_SCHEMA,
    JOURNAL_SCHEMA,
    REVIEWS_SCHEMA,
    COMPRESSIONS_SCHEMA,
    BRANCHES_SCHEMA,
    REWINDS_SCHEMA,
    REINDEXED_SCHEMA,
)
"""One element a schema version. Append; a version that was released never changes."""


def session_path(notebook: Path) -> Path:
    """Return where the session of `notebook` is kept: `.deep/<its file name>/session.db` beside it.

    The whole name, since the stem of `memory.ipynb` would be a directory that the agent may write.
    """
    return notebook.parent / '.deep' / notebook.name / 'session.db'


class SessionStore:
    """The memory of one notebook, in one SQLite file that is opened on first use.

    Every method that reads or writes awaits a thread of the store's own. One task at a time writes the
    conversation; runs may be saved from anywhere.

    When another kernel holds the file, this one continues on a branch: a conversation of its own that begins
    with what the other held at that moment. It goes on with that branch when it restarts.

    Every method raises `StoreError` when SQLite cannot do what is asked (disk full, file damaged); what was
    stored before stays as it was.
    """

    def __init__(self, path: Path, *, kernel: str | None = None, whole: WholeResult | None = None) -> None:
        self._whole = whole
        self._database = Database(path, MIGRATIONS, prepare=self._find_conversation)
        self.lines = Lines(self._database, kernel or uuid.uuid4().hex)
        """The conversation's lines: the main one and the branches."""
        self._conversation = 0
        self._entries: list[Entry] | None = None

    @classmethod
    def open(cls, path: Path, *, kernel: str | None = None, whole: WholeResult | None = None) -> Self:
        """Return the store in the file `path`; nothing is read or created before it is used.

        Args:
            path: The file.
            kernel: An id that the kernel keeps when it restarts; without one, it has no branch to come back to.
            whole: Finds the text of results that lie in files, to search it.
        """
        return cls(path, kernel=kernel, whole=whole)

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    @property
    def database(self) -> Database:
        """The database behind the file, for what else is kept there."""
        return self._database

    @property
    def current_conversation(self) -> int:
        """The id of the current conversation as work on the database sees it; 0 before the file was opened."""
        return self._conversation

    @property
    def notice(self) -> str | None:
        """One line for the person when the session is not kept as usual; known once the store was used."""
        return self._database.notice or self.lines.notice

    async def conversation(self) -> int:
        """Return the id of the current conversation, which is created if there is none."""
        return await self._database.run(lambda connection: self._conversation)

    async def new_conversation(self, begin: Callable[[sqlite3.Connection, int], object] | None = None) -> int:
        """End the current conversation, which stays in the file, and return the id of a new one.

        Args:
            begin: Called in the same transaction with the id of the new one, to write what it begins with.
        """

        def work(connection: sqlite3.Connection) -> int:
            branch_of = connection.execute(
                'SELECT branch_of FROM conversations WHERE id = ?', (self._conversation,)
            ).fetchone()[0]
            connection.execute('UPDATE conversations SET ended = ? WHERE id = ?', (time.time(), self._conversation))
            new = self.lines.create(connection, branch_of=branch_of)
            if begin is not None:
                begin(connection, new)
            return new

        def committed(conversation: int) -> None:
            self._conversation = conversation
            self._entries = None

        return await self._database.run(work, committed=committed)

    async def move(self, work: Callable[[sqlite3.Connection, int], None]) -> None:
        """Let `work` change what the current conversation, given by its id, holds; it is on the disk then."""

        def committed(result: None) -> None:
            self._entries = None

        await self._database.run(
            lambda connection: work(connection, self._conversation), committed=committed, durable=True
        )

    async def history(self) -> list[ModelMessage]:
        """Return the messages of the current conversation, made valid for a model.

        What a killed kernel left half done is repaired. The last tool calls stay open while a run is suspended.
        """

        def work(connection: sqlite3.Connection) -> tuple[list[Entry], bool]:
            return self._load(connection), self._suspended_run(connection) is not None

        def committed(result: tuple[list[Entry], bool]) -> None:
            self._entries = result[0]

        entries, suspended = await self._database.run(work, committed=committed)
        return repair_messages([entry.message for entry in entries], repair_last_response=not suspended)

    async def append(self, messages: Sequence[ModelMessage]) -> None:
        """Add `messages` to the end of the current conversation."""
        added = list(messages)
        await self._write(lambda known: [*(entry.message for entry in known), *added])

    async def sync(self, messages: Sequence[ModelMessage]) -> None:
        """Make `messages`, the whole present history of a run, the content of the current conversation.

        Only what is new or changed is written: a last message that grew or was replaced takes its place, a
        compressed history takes the place of the longer one. Messages that were replaced stay in the archive.
        Messages other than the last stored one must not be mutated.
        """
        present = list(messages)
        await self._write(lambda known: present)

    async def keep(self, history: Sequence[ModelMessage]) -> None:
        """Do what `sync` does: whatever happens to `history` next, the archive has it."""
        await self.sync(history)

    async def search(self, query: str, *, limit: int = 10, context: int = 5) -> list[SearchHit]:
        """Return what matches in everything that was said in this notebook, the best first.

        All conversations, branches and compressed parts are searched. Only what the run in progress has said itself,
        and still has before it, is left out. A query without words finds nothing.

        Args:
            query: Words in any script; signs have no meaning.
            limit: The most hits.
            context: Lines to show before and after each.
        """

        def work(connection: sqlite3.Connection) -> list[SearchHit] | None:
            if index_some(connection, whole=self._whole):
                return None
            without = part_ids(connection, self._messages_of_running(connection))
            hits = search_index(connection, query, limit=limit, context=context, without=without, whole=self._whole)
            return [_dated(connection, hit) for hit in hits]

        # A batch at a time: what else the store has to do gets its turn.
        while (hits := await self._database.run(work)) is None:
            pass
        return hits

    async def start_run(
        self, *, prompt: str, model: str, recording: RecordingUse | None = None, terms: RunTerms | None = None
    ) -> int:
        """Store a run that starts now, in the phase `starting`, and return its id, which counts from 1."""

        def work(connection: sqlite3.Connection) -> int:
            self.lines.look_for_left(connection)
            # One that still goes on is a run whose end could not be stored.
            stop_dead_runs(connection, END_NOT_KEPT, conversation=self._conversation)
            return insert_run(
                connection, self._conversation, prompt=prompt, model=model, recording=recording, terms=terms
            )

        return await self._database.run(work)

    async def save_run(self, run: int, **changes: Unpack[RunChanges]) -> None:
        """Change what is stored about a run; a phase that ends it also notes when.

        Raises:
            KeyError: There is no such run.
        """
        await self._database.run(lambda connection: update_run(connection, run, changes))

    async def run(self, run: int) -> RunRecord | None:
        """Return a stored run, or `None` if there is none with this id."""
        return await self._database.run(lambda connection: find_run(connection, 'id = ?', run))

    async def last_run(self) -> RunRecord | None:
        """Return the latest run of the current conversation, else of the notebook, else `None`."""
        return await self._database.run(
            lambda connection: find_run(connection, 'true ORDER BY conversation = ? DESC, id DESC', self._conversation)
        )

    async def runs(self, conversation: int | None = None) -> list[RunRecord]:
        """Return the runs of a conversation, by default the current one, oldest first."""
        return await self._database.run(
            lambda connection: find_runs(connection, self._conversation if conversation is None else conversation)
        )

    async def conversations(self) -> list[ConversationRecord]:
        """Return all conversations of the notebook, branches too, oldest first."""
        return await self._database.run(find_conversations)

    async def transcript(self, conversation: int) -> list[ModelMessage]:
        """Return what was said in a conversation from its beginning; each summary stands where it was made."""
        return await self._database.run(lambda connection: load_transcript(connection, conversation))

    async def results(self, beginning: str) -> list[ToolResult]:
        """Return the results of tools, of all conversations, whose text begins with `beginning`, oldest first."""
        return await self._database.run(lambda connection: find_results(connection, beginning))

    async def suspended_run(self) -> RunRecord | None:
        """Return the run of the current conversation that waits for answers, or `None`."""
        return await self._database.run(self._suspended_run)

    def close(self) -> None:
        """Finish what is queued and close the file. Closing twice is fine."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def _write(self, present: Callable[[list[Entry]], Sequence[ModelMessage]]) -> None:
        def work(connection: sqlite3.Connection) -> list[Entry]:
            known = self._load(connection) if self._entries is None else self._entries
            entries = sync_entries(connection, self._conversation, known, present(known))
            note_compression(connection, known, entries)
            return entries

        def committed(entries: list[Entry]) -> None:
            self._entries = entries

        await self._database.run(work, committed=committed)

    def _load(self, connection: sqlite3.Connection) -> list[Entry]:
        try:
            return load_entries(connection, self._conversation)
        except ValueError as error:
            # Such as one that another version of pydantic-ai wrote.
            raise StoreError(
                f'A message of this conversation in {self.path} cannot be read: `%deep reset` begins a new one, and '
                'the old one stays there.'
            ) from error

    def _suspended_run(self, connection: sqlite3.Connection) -> RunRecord | None:
        return find_run(connection, "conversation = ? AND phase = 'suspended' ORDER BY id DESC", self._conversation)

    def _messages_of_running(self, connection: sqlite3.Connection) -> list[int]:
        """Return the messages that the run in progress has added to the conversation."""
        condition = "conversation = ? AND phase IN ('starting', 'running', 'waiting') ORDER BY id DESC"
        running = find_run(connection, condition, self._conversation)
        if running is None:
            return []
        rows = connection.execute(
            'SELECT message FROM entries JOIN messages ON messages.id = entries.message'
            ' WHERE conversation = ? AND created >= ?',
            (self._conversation, running.started),
        )
        return [message for (message,) in rows]

    def _find_conversation(self, connection: sqlite3.Connection) -> None:
        self._conversation, branched = self.lines.begin(connection)
        if branched:
            connection.execute(
                'INSERT INTO entries (conversation, position, message) SELECT id, position, message'
                ' FROM conversations JOIN entries ON conversation = branch_of WHERE id = ?',
                (self._conversation,),
            )
        stop_dead_runs(connection, KERNEL_ENDED, conversation=None if self._database.owner else self._conversation)


def _dated(connection: sqlite3.Connection, hit: SearchHit) -> SearchHit:
    """Return `hit` with its time and its run: the one that was in progress when the message was stored."""
    created = connection.execute('SELECT created FROM messages WHERE id = ?', (hit.message,)).fetchone()[0]
    return replace(hit, run=run_at(connection, created), created=created)

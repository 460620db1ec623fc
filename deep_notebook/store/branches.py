"""The lines of a notebook's conversation: the main one, and the branches of kernels that found it open in another.

A branch belongs to the kernel that it was made for, known by an id that stays when the kernel restarts: it goes on
there then. One whose kernel is gone can be taken over by any other. Which line is open in a living kernel is told by
the database's lock, in which each has a part of its own: 0 is the main line, the others are the branches' ids.
"""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass

from ..errors import UsageError
from .database import Database

__all__ = ['BRANCHES_SCHEMA', 'MAIN', 'ConversationLine', 'Lines']

BRANCHES_SCHEMA = ('ALTER TABLE conversations ADD COLUMN kernel TEXT',)

MAIN = 0
"""The main line, where a branch would be the id of its conversation."""

_OPEN_ELSEWHERE = 'This notebook is open in another kernel: this one continues on its own branch of the conversation.'
_ON_ITS_BRANCH = 'This kernel continues on its own branch of the conversation: `%deep branch` lists them.'
_LEFT = (
    'The latest work in this notebook is on a branch of its conversation whose kernel is gone: `%deep branch {branch}` '
    'goes on there.'
)


@dataclass(frozen=True, kw_only=True)
class ConversationLine:
    """One line that can be gone on with."""

    id: int
    """Of its conversation, or `MAIN`."""
    messages: int
    prompt: str | None
    """What was asked last."""
    asked: float | None
    """When, in unix seconds."""
    here: bool
    """Whether this kernel is on it."""
    elsewhere: bool
    """Whether another living kernel is."""


class Lines:
    """Which line this kernel is on, and which others there are.

    Methods that take a connection are work on the database.

    Args:
        database: The session's.
        kernel: An id that the kernel keeps when it restarts.
    """

    def __init__(self, database: Database, kernel: str) -> None:
        self._database = database
        self._kernel = kernel
        self._branch: int | None = None
        self._notice: str | None = None
        self._left: int | None = None

    @property
    def notice(self) -> str | None:
        """A line for the person where the conversation is not simply the notebook's."""
        return self._notice or (None if self._left is None else _LEFT.format(branch=self._left))

    def begin(self, connection: sqlite3.Connection) -> tuple[int, bool]:
        """Find the line of this kernel; return its conversation, and whether it has just been branched off main."""
        row = connection.execute(
            'SELECT max(id) FROM conversations WHERE ended IS NULL AND branch_of IS NULL'
        ).fetchone()
        main = row[0] if row[0] is not None else self.create(connection)
        mine = self._left_by_restart(connection)
        if mine is not None:
            self._database.release(MAIN)
            self._database.owner = False
            self._branch, self._notice = mine, _ON_ITS_BRANCH
            return mine, False
        if self._database.owner:
            self.look_for_left(connection)
            return main, False
        self._notice = _OPEN_ELSEWHERE
        return self.create(connection, branch_of=main), True

    def create(self, connection: sqlite3.Connection, *, branch_of: int | None = None) -> int:
        """Create a conversation on the main line, or on this kernel's branch of another one; return its id."""
        cursor = connection.execute(
            'INSERT INTO conversations (created, branch_of) VALUES (?, ?)', (time.time(), branch_of)
        )
        assert cursor.lastrowid is not None
        if branch_of is not None:
            self._branch = cursor.lastrowid
            self._database.claim(self._branch)
            connection.execute('UPDATE conversations SET kernel = ? WHERE id = ?', (self._kernel, self._branch))
        return cursor.lastrowid

    def look_for_left(self, connection: sqlite3.Connection) -> None:
        """Look again whether the latest run of the notebook was on a branch that nobody is on any more."""
        asked = [line for line in self._find(connection) if line.asked is not None]
        latest = max(asked, key=lambda line: line.asked or 0.0, default=None)
        is_left = latest is not None and latest.id != MAIN and not latest.here and not latest.elsewhere
        self._left = latest.id if latest is not None and is_left else None

    def journal(self, connection: sqlite3.Connection) -> int:
        """Return what this kernel's journal of files is kept under: the conversation with which its branch began."""
        if self._branch is None:
            return MAIN
        row: tuple[int] = connection.execute(
            'SELECT min(id) FROM conversations WHERE kernel = ?', (self._kernel,)
        ).fetchone()
        return row[0]

    async def all(self) -> list[ConversationLine]:
        """Return the main line, and the branches in which something was asked, oldest first."""
        return await self._database.run(self._find)

    async def take(self, id: int) -> None:
        """Let this kernel go on with another line, `MAIN` or a branch, when it next opens the file.

        Raises:
            UsageError: There is no such line, or it is open in another kernel.
        """

        def work(connection: sqlite3.Connection) -> None:
            line = next((line for line in self._find(connection) if line.id == id), None)
            if line is None:
                raise UsageError(f'There is no branch {id}: `%deep branch` lists those there are.')
            if line.elsewhere:
                name = 'The main line' if id == MAIN else f'Branch {id}'
                raise UsageError(f'{name} is open in another kernel: shut that one down first, or go on there.')
            connection.execute('UPDATE conversations SET kernel = NULL WHERE kernel = ?', (self._kernel,))
            if id != MAIN:
                connection.execute('UPDATE conversations SET kernel = ? WHERE id = ?', (self._kernel, id))

        await self._database.run(work)

    def _left_by_restart(self, connection: sqlite3.Connection) -> int | None:
        """Return the branch that this kernel is to go on with, if anything was ever asked there."""
        row = connection.execute(
            """
            SELECT max(id) FROM conversations WHERE kernel = :kernel AND ended IS NULL AND EXISTS (
                SELECT 1 FROM runs JOIN conversations ON conversations.id = runs.conversation WHERE kernel = :kernel
            )
            """,
            {'kernel': self._kernel},
        ).fetchone()
        branch: int | None = row[0]
        return branch if branch is not None and self._database.claim(branch) else None

    def _find(self, connection: sqlite3.Connection) -> list[ConversationLine]:
        rows = connection.execute(
            """
            SELECT CASE WHEN branch_of IS NULL THEN 0 ELSE id END,
                (SELECT count(*) FROM entries WHERE conversation = conversations.id), prompt, started
            FROM conversations LEFT JOIN (SELECT conversation, prompt, started, max(id) FROM runs GROUP BY conversation)
                ON conversation = id
            WHERE ended IS NULL AND (prompt IS NOT NULL OR branch_of IS NULL OR id = ?)
            ORDER BY branch_of IS NOT NULL, id
            """,
            (self._branch,),
        )
        current = self._branch or MAIN
        return [
            ConversationLine(
                id=id,
                messages=count,
                prompt=prompt,
                asked=asked,
                here=id == current,
                elsewhere=id != current and not self._is_free(id),
            )
            for id, count, prompt, asked in rows
        ]

    def _is_free(self, id: int) -> bool:
        free = self._database.claim(id)
        if free:
            self._database.release(id)
        return free

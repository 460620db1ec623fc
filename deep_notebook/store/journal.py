"""The before-image of everything that the agent changed: what rewind, undo and review stand on.

What our own tools write passes through here (`Keeper`): what a file held is on the disk before the file is changed.
For commands and code, all files are looked at before and after (`journal_scans` has the limits). A change by somebody
else while a command is at work counts as the command's; one that a command's background process makes later counts as
somebody else's. Changes while no call of the agent is at work are nobody's business here.

Never touched: version control (`.git`, `.hg`, `.svn`), and what lies in `.deep`. Not looked at after commands: what
`workspaces.walk.NOT_ENTERED` names, the running notebook, and directories that are empty or only change their mode.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

import anyio.to_thread
from pydantic_ai.workspaces import WorkspaceUnavailableError

from ..errors import UsageError
from ..workspaces.confinement import ConfinedDirectory, Parts
from .journal_calls import Watching
from .journal_files import FILE_LIMIT, contents_state, look
from .journal_keeping import JournalCall, Keeping, acting
from .journal_ledger import Ledger
from .journal_restoring import Replacement, parts_of, plan_back, replace_all
from .journal_tables import changes_in, gaps_in, runs_in
from .journal_types import NOTHING, FileChangeRecord, FileState, Gap, PathPlan, Source
from .session import SessionStore

__all__ = ['FileChangeRecord', 'FileState', 'Gap', 'Journal', 'JournalCall', 'PathPlan', 'Source', 'at_work']

T = TypeVar('T')


def at_work() -> JournalCall | None:
    """Return the call that changes made here are of, if there is one."""
    return acting.get()


class Journal:
    """The journal of one notebook, in its session's database; give it to the workspace as its `keeper`.

    Its coroutines do their work in a thread. They raise `StoreError` when the database cannot do what is asked.

    Args:
        store: The session.
        root: The directory of the workspace.
        notebook: The running notebook, absolute or relative to `root`: the front end saves it, and nobody else
            writes it.
    """

    def __init__(self, store: SessionStore, root: Path, *, notebook: Path | None = None) -> None:
        self._store = store
        self._root = root
        self._notebook = notebook
        self._ledger = Ledger(store)
        self._lock = threading.RLock()
        self._keeping = Keeping(self._ledger, self._lock)
        self._watching = Watching(self._ledger, self._keeping, self._lock, self._tree, self._untouched)

    @property
    def here(self) -> int:
        """The latest position, without waiting; 0 before the first use."""
        return self._ledger.here

    async def position(self) -> int:
        """Return the id of the last entry, 0 if there is none."""
        await self._work(lambda: self._ledger.read(lambda connection, line: None))
        return self.here

    async def changes(
        self, *, after: int = 0, until: int | None = None, run: int | None = None
    ) -> list[FileChangeRecord]:
        """Return the changes with an id over `after` and up to `until`, oldest first; with `run`, only those of it."""
        return await self._work(
            lambda: self._ledger.read(
                lambda connection, line: changes_in(connection, line, after=after, until=until, run=run)
            )
        )

    async def runs(self) -> list[int]:
        """Return the runs in which the agent changed a file, the latest first."""
        return await self._work(lambda: self._ledger.read(runs_in))

    async def gaps(self, *, after: int = 0, run: int | None = None) -> list[Gap]:
        """Return what could not be covered after the position `after`, oldest first; with `run`, only what is of it."""
        return await self._work(
            lambda: self._ledger.read(lambda connection, line: gaps_in(connection, line, after=after, run=run))
        )

    async def plan(self, position: int, *, until: int | None = None) -> list[PathPlan]:
        """Look at the disk and return what takes files back to how they were at `position`, sorted by path.

        Args:
            position: Where to.
            until: The last change to take back; by default the latest.
        """

        def work() -> list[PathPlan]:
            with self._lock:
                tree = self._tree()
                return plan_back(self._ledger, tree, position=position, until=until, untouched=self._untouched(tree))

        return await self._work(work)

    async def restore(self, plans: Sequence[PathPlan], *, source: Source) -> tuple[int, int]:
        """Do what `plans` say, and write that down.

        Returns:
            The ids of the first and the last entry about it: `plan(first - 1, until=last)` takes it back. Without
            plans, the first is one more than the last.

        Raises:
            UsageError: A file has changed since `plan`, or something failed. All files are as they were; the message
                names those for which that could not be done.
        """
        steps = [
            Replacement(path=plan.path, now=plan.now, target=plan.target, removes=plan.removes, makes=plan.makes)
            for plan in plans
        ]
        return await self._work(lambda: self._replace(steps, source=source))

    async def write(
        self,
        path: str,
        data: bytes | None,
        *,
        mode: int | None = None,
        expected: FileState,
        source: Source,
        run: int | None = None,
    ) -> int:
        """Put `data` into a file, or remove it, and write that down; return the id of the entry.

        Args:
            path: Relative to the workspace.
            data: The new contents; `None` for nothing.
            mode: Permission bits; by default those it has, or a new file gets.
            expected: What is there now.
            source: Why.
            run: Of which run's changes.

        Raises:
            UsageError: Something else is there now, or it could not be done.
        """

        def work() -> int:
            target = NOTHING
            if data is not None:
                target = contents_state(data, mode=expected.mode if mode is None else mode)
                if not target.kept:
                    raise UsageError(f'{path} would be larger than the {FILE_LIMIT // 2**20} MiB that can be written.')
            with self._lock:
                if data is not None and target.digest is not None:
                    self._ledger.save({target.digest: data})
                step = Replacement(path=path, now=expected, target=target)
                return self._replace([step], source=source, run=run)[0]

        return await self._work(work)

    async def content(self, digest: str) -> bytes | None:
        """Return the contents with a digest, of a link `b'link:'` and its target; `None` if they are not kept."""
        return await self._work(lambda: self._ledger.content(digest))

    async def state_of(self, path: str) -> FileState:
        """Return what is at `path` now.

        Raises:
            UsageError: It is no path in the workspace, or cannot be reached.
        """

        def work() -> FileState:
            try:
                return look(self._tree(), parts_of(path)).state
            except OSError as error:
                raise UsageError(f'{path} cannot be reached: {error.strerror or error}.') from error

        return await self._work(work)

    @contextmanager
    def during(self, call: JournalCall) -> Iterator[None]:
        """Let what the workspace is asked to change in this context, and in tasks that begin in it, be of `call`."""
        token = acting.set(call)
        try:
            yield
        finally:
            acting.reset(token)

    async def begin(self, call: JournalCall) -> None:
        """Look at all files before `call` runs commands or code.

        Raises:
            NotKeptError: What they hold could not be kept: do not run it.
            WorkspaceUnavailableError: The directory is not there.
        """
        await self._work(lambda: self._watching.begin(call))

    async def end(self, call: JournalCall) -> list[str]:
        """Look at all files after `call`, write down what it changed, and return what could not be covered."""
        return await self._work(lambda: self._watching.end(call))

    async def by_others(self) -> list[str]:
        """Return the files that somebody else changed since commands or code of the agent last ran in this kernel.

        That may be what they left running.
        """
        return await self._work(self._watching.by_others)

    def writing(self, tree: ConfinedDirectory, parts: Parts, data: bytes) -> AbstractContextManager[None]:
        """Keep what a file held before a tool writes it."""
        return self._keeping.writing(tree, parts, data)

    def removing(self, tree: ConfinedDirectory, parts: Parts) -> AbstractContextManager[None]:
        """Keep what files held before a tool removes them."""
        return self._keeping.removing(tree, parts)

    def making(self, tree: ConfinedDirectory, parts: Parts) -> AbstractContextManager[None]:
        """Note which directories a tool makes."""
        return self._keeping.making(tree, parts)

    def _replace(self, steps: Sequence[Replacement], *, source: Source, run: int | None = None) -> tuple[int, int]:
        with self._lock:
            tree = self._tree()
            untouched = self._untouched(tree)
            for step in steps:
                if step.path in untouched:
                    raise UsageError(f'{step.path} is the notebook that is running: nothing was changed.')
            return replace_all(self._ledger, self._keeping, tree, steps, source=source, run=run)

    def _tree(self) -> ConfinedDirectory:
        real = os.path.realpath(self._root)
        if not os.path.isdir(real):
            raise WorkspaceUnavailableError(f'the workspace directory {self._root} does not exist')
        return ConfinedDirectory(real)

    def _untouched(self, tree: ConfinedDirectory) -> frozenset[str]:
        """Return the paths of the running notebook and of the session, where they are in the workspace."""
        database = self._store.path
        own = [database.with_name(f'{database.name}{suffix}') for suffix in ('', '-wal', '-shm', '-journal')]
        own.append(database.with_suffix('.lock'))
        if self._notebook is not None:
            notebook = Path(tree.root, self._notebook)
            own += [notebook, notebook.with_name(f'.~{notebook.name}')]
        real = (os.path.join(os.path.realpath(path.parent), path.name) for path in own)
        return frozenset(os.path.relpath(path, tree.root) for path in real)

    async def _work(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work)

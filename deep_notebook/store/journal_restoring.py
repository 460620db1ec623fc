"""Going back: what it would do to each path, and doing it, all of it or nothing."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

from ..errors import StoreError, UsageError
from ..workspaces.confinement import ConfinedDirectory, Parts
from .journal_files import Seen, is_kept_out, look, matches, missing_directories, put
from .journal_keeping import Keeping
from .journal_ledger import Ledger
from .journal_tables import Entry, changes_in, directories_in, put_entries
from .journal_types import NOTHING, FileChangeRecord, FileState, PathPlan, Source, same

__all__ = ['Replacement', 'parts_of', 'plan_back', 'replace_all']

_ELSEWHERE = FileState(digest='elsewhere', mode=None, kept=False)
"""The state of a path that cannot be reached, such as one in a directory that may not be entered."""


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """One file that is to be put in the place of what is there."""

    path: str
    now: FileState
    """What has to be there, or nothing is done."""
    target: FileState
    removes: tuple[str, ...] = ()
    """Directories that go if they are empty then."""
    makes: tuple[str, ...] = ()
    """Directories that come back."""


def parts_of(path: str) -> Parts:
    """Return the names that lead to `path`.

    Raises:
        UsageError: It is no path in the workspace, or one that is never written.
    """
    parts = tuple(path.split('/'))
    if any(name in ('', '.', '..') or '\0' in name for name in parts):
        raise UsageError(f'{path!r} is not a path relative to the workspace.')
    if is_kept_out(parts):
        raise UsageError(f'{path} is never written: it belongs to version control or to deep_notebook.')
    return parts


def plan_back(
    ledger: Ledger, tree: ConfinedDirectory, *, position: int, until: int | None, untouched: Collection[str]
) -> list[PathPlan]:
    """Return what takes files back to how they were at `position`, sorted by path; none where they are so already."""

    def work(
        connection: sqlite3.Connection, line: int
    ) -> tuple[list[FileChangeRecord], list[tuple[str, int | None, int | None]]]:
        return (
            changes_in(connection, line, after=position, until=until),
            directories_in(connection, line, after=position, until=until),
        )

    records, directories = ledger.read(work)
    by_path: defaultdict[str, list[FileChangeRecord]] = defaultdict(list)
    for record in records:
        by_path[record.path].append(record)
    first: dict[str, int | None] = {}
    for path, before, _ in directories:
        first.setdefault(path, before)
    made = {path for path, before in first.items() if before is None}
    removed = first.keys() - made
    planning = _Planning(tree, untouched, made, removed)
    plans = [plan for path, history in sorted(by_path.items()) if (plan := planning.plan(path, history)) is not None]
    known = {plan.path: plan for plan in plans}
    return [_given_others(plan, known, _in_the_way(tree, plan, known)) for plan in plans]


@dataclass(frozen=True)
class _Planning:
    tree: ConfinedDirectory
    untouched: Collection[str]
    made: Collection[str]
    removed: Collection[str]

    def plan(self, path: str, history: Sequence[FileChangeRecord]) -> PathPlan | None:
        target, left = history[0].before, history[-1].after
        try:
            seen = look(self.tree, tuple(path.split('/')))
        except OSError:
            seen = Seen(_ELSEWHERE)
        if matches(seen, target) or (seen.is_directory and target.digest is None):
            return None
        between = any(not same(one.after, other.before) for one, other in pairwise(history))
        return PathPlan(
            path=path,
            action='delete' if target.digest is None else 'create' if seen.info is None else 'edit',
            now=seen.state,
            target=target,
            left=left,
            yours=between or not (matches(seen, left) or (seen.is_directory and path in self.made)),
            possible=target.kept and (seen.state.kept or seen.is_directory) and path not in self.untouched,
            removes=_near(path, self.made),
            makes=_near(path, self.removed),
        )


def _near(path: str, directories: Collection[str]) -> tuple[str, ...]:
    """Return those of `directories` that lie under the same name of the workspace as `path`."""
    top = path.split('/')[0]
    return tuple(sorted(each for each in directories if each.split('/')[0] == top))


def _in_the_way(tree: ConfinedDirectory, plan: PathPlan, known: Collection[str]) -> list[str]:
    """Return the files and links that `plan` has to wait for: those above its path, and those in a directory there."""
    if plan.action == 'delete':
        return []
    parts = tuple(plan.path.split('/'))
    found: list[str] = []
    for length in range(1, len(parts)):
        above = '/'.join(parts[:length])
        place = tree.absolute(parts[:length])
        if above in known or os.path.islink(place) or (os.path.lexists(place) and not os.path.isdir(place)):
            found.append(above)
    there = tree.absolute(parts)
    for place, _, names in os.walk(there) if not os.path.islink(there) else ():
        found += [os.path.relpath(os.path.join(place, name), tree.root) for name in names]
    return found


def _given_others(plan: PathPlan, known: Mapping[str, PathPlan], waits_for: Sequence[str]) -> PathPlan:
    """Return `plan` as it is when it has to wait until others were deleted: no better than they are."""
    others = [known.get(path) for path in waits_for]
    possible = all(other is not None and other.action == 'delete' and other.possible for other in others)
    yours = any(other is not None and other.yours for other in others)
    return replace(plan, possible=plan.possible and possible, yours=plan.yours or yours)


def replace_all(
    ledger: Ledger,
    keeping: Keeping,
    tree: ConfinedDirectory,
    replacements: Iterable[Replacement],
    *,
    source: Source,
    run: int | None = None,
) -> tuple[int, int]:
    """Put all in place, or leave all as it was; return the ids of the first and the last entry about it.

    Raises:
        UsageError: Something else is there now, or it could not be done; the message says how the files are.
        StoreError: What is there could not be kept; nothing was done.
    """
    steps = sorted(replacements, key=lambda step: (step.target.digest is not None, step.path))
    for step in steps:
        seen = _check(tree, step)
        if seen.data is not None and seen.state.digest is not None:
            ledger.save({seen.state.digest: seen.data})
        if step.target.digest is not None and ledger.content(step.target.digest) is None:
            raise UsageError(f'The journal does not have what {step.path} held: leave it out. Nothing was changed.')
    entries = [
        Entry(
            kind='file',
            path=step.path,
            before=step.now if step.now.kept else NOTHING,
            after=step.target,
            source=source,
            run=run,
        )
        for step in steps
    ]
    before = ledger.here
    ids = ledger.record(entries, {})
    work = _Replacing(ledger, tree)
    try:
        work.do(steps)
    except (OSError, StoreError, UsageError) as error:
        stuck = work.undo()
        with suppress(StoreError):
            ledger.forget([id for step, id in zip(steps, ids, strict=True) if step not in stuck])
        raise UsageError(_failed(error, work.at, stuck)) from error
    finally:
        for entry in [*entries, *work.entries]:
            keeping.noted(tree, entry)
    if work.entries:
        noted = [replace(entry, source=source, run=run) for entry in work.entries]
        with suppress(StoreError):
            ledger.write(lambda connection, line: put_entries(connection, line, noted))
    return (ids[0] if ids else before + 1), ledger.here


class _Replacing:
    """Replaces files one by one, and can take that back."""

    def __init__(self, ledger: Ledger, tree: ConfinedDirectory) -> None:
        self._ledger = ledger
        self._tree = tree
        self._modes = ledger.read(_modes_of_removed)
        self._done: list[Replacement] = []
        self.at = ''
        """The path that is being replaced."""
        self.entries: list[Entry] = []
        """What was done to directories."""

    def do(self, steps: Sequence[Replacement]) -> None:
        deletes = [step for step in steps if step.target.digest is None]
        for step in deletes:
            self._step(step)
        emptied = {directory for step in steps for directory in step.removes}
        for directory in sorted(emptied, key=lambda path: path.count('/'), reverse=True):
            self._remove_if_empty(parts_of(directory))
        for step in steps[len(deletes) :]:
            self._step(step)
        for directory in sorted({directory for step in steps for directory in step.makes}):
            for missing in missing_directories(self._tree, parts_of(directory)):
                with suppress(OSError):
                    self._make(missing)

    def undo(self) -> list[Replacement]:
        """Put back what was there, and return the steps where that failed."""
        stuck: list[Replacement] = []
        directories = self.entries
        self.entries = []
        for step in reversed(self._done):
            try:
                self._put(parts_of(step.path), step.now if step.now.kept else NOTHING)
            except (OSError, StoreError):
                stuck.append(step)
        for entry in reversed(directories):
            parts = parts_of(entry.path)
            if entry.after.mode is not None:
                self._remove_if_empty(parts)
            else:
                with suppress(OSError):
                    self._make(parts)
        self.entries = []
        return stuck

    def _step(self, step: Replacement) -> None:
        self.at = step.path
        _check(self._tree, step)
        self._put(parts_of(step.path), step.target)
        self._done.append(step)

    def _put(self, parts: Parts, state: FileState) -> None:
        data = None if state.digest is None else self._ledger.content(state.digest)
        if data is None and state.digest is not None:
            raise StoreError('The journal does not have its contents any more.')
        if data is not None:
            for above in missing_directories(self._tree, parts[:-1]):
                self._make(above)
        try:
            put(self._tree, parts, state, data)
        except (FileNotFoundError, NotADirectoryError):
            if data is not None:
                raise

    def _make(self, parts: Parts) -> None:
        path = '/'.join(parts)
        with self._tree.directory(parts[:-1]) as parent:
            with suppress(FileExistsError):
                os.mkdir(parts[-1], dir_fd=parent)
            with self._tree.directory(parts, listing=True) as made:
                if (mode := self._modes.get(path)) is not None:
                    os.fchmod(made, mode)
                mode = stat.S_IMODE(os.fstat(made).st_mode)
        self.entries.append(Entry(kind='directory', path=path, after=replace(NOTHING, mode=mode)))

    def _remove_if_empty(self, parts: Parts) -> None:
        with suppress(OSError), self._tree.directory(parts[:-1]) as parent:
            mode = stat.S_IMODE(os.stat(parts[-1], dir_fd=parent, follow_symlinks=False).st_mode)
            os.rmdir(parts[-1], dir_fd=parent)
            self._modes['/'.join(parts)] = mode
            self.entries.append(Entry(kind='directory', path='/'.join(parts), before=replace(NOTHING, mode=mode)))


def _check(tree: ConfinedDirectory, step: Replacement) -> Seen:
    """Return what is at the path of `step`, or raise a `UsageError` if that is not what should be there."""
    parts = parts_of(step.path)
    try:
        seen = look(tree, parts)
    except OSError as error:
        raise UsageError(f'{step.path} cannot be reached ({error.strerror or error}).') from error
    if not same(seen.state, step.now) and not (step.now.digest == 'directory' and seen.info is None):
        raise UsageError(f'{step.path} has changed meanwhile.')
    if not seen.state.kept and not seen.is_directory:
        raise UsageError(f'What {step.path} holds now could not be kept, so it was left alone.')
    return seen


def _modes_of_removed(connection: sqlite3.Connection, line: int) -> dict[str, int]:
    return {path: before for path, before, after in directories_in(connection, line) if after is None and before}


def _failed(error: Exception, path: str, stuck: Sequence[Replacement]) -> str:
    reason = (isinstance(error, OSError) and error.strerror) or str(error)
    what = reason if isinstance(error, UsageError) else f'{path}: {reason.rstrip(".")}.'
    if not stuck:
        return f'{what} All files are as they were before.'
    names = ', '.join(step.path for step in stuck)
    return f'{what} All files are as they were before, but for {names}: there the change could not be taken back.'

"""What a command or code did to files, found by comparing how they are with how they were.

A look reads a file only when its size, times, inode or mode say that it may have changed. A file that was read soon
after it was written is read again at the next look: a second write within one tick of the file system's clock leaves
no other trace (git calls such entries of its index racy).

The limits below bound the time of a look and the size of the session file. What does not fit is known by its metadata
only, smallest files first; when it changes, the journal can say so, but not put it back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from ..workspaces.confinement import ConfinedDirectory
from ..workspaces.walk import Walk, walk
from .journal_files import is_unread, look, unread
from .journal_tables import Entry
from .journal_types import NOTHING, FileState, same

__all__ = ['ENTRY_LIMIT', 'READ_LIMIT', 'SECONDS', 'TOTAL_LIMIT', 'Baseline', 'Known', 'Save', 'Scan', 'known', 'scan']

ENTRY_LIMIT = 20_000
"""Files and directories that are looked at."""
READ_LIMIT = 16 * 2**20
"""The largest file, in bytes, whose contents are kept."""
TOTAL_LIMIT = 64 * 2**20
"""Bytes of all contents that are kept to compare with, before compression."""
SECONDS = 2.0
"""How long a look may take."""
OLD_NS = 300 * 1_000_000_000
"""How long before a look a file was there for sure, in nanoseconds; the clocks of file servers are not ours."""
RACY_NS = 2_000_000_000
"""The coarsest clock of a file system in use (FAT: 2 s), in nanoseconds."""

_BATCH = 4 * 2**20
"""Bytes of contents that are handed over at once."""
_UNKNOWN = FileState(digest='unknown', mode=None, kept=False)

_Key: TypeAlias = tuple[int, int, int, int, int]

Save: TypeAlias = Callable[[Mapping[str, bytes]], None]
"""Keeps contents by digest; what it raises ends the look."""


@dataclass(frozen=True)
class Known:
    """How a file was when it was last looked at."""

    key: _Key
    state: FileState
    sure: bool
    """Whether an equal key means equal contents."""

    @property
    def size(self) -> int:
        """How many bytes of it are kept."""
        return self.key[0] if self.state.kept else 0


@dataclass
class Baseline:
    """How all files were when they were last looked at."""

    files: dict[str, Known] = field(default_factory=dict)
    directories: dict[str, int] = field(default_factory=dict)
    """Their modes."""
    walked: Walk = field(default_factory=Walk)
    """How far the look came; nothing is known before the first."""


@dataclass
class Scan:
    """What one look found."""

    baseline: Baseline
    entries: list[Entry] = field(default_factory=list)
    """What is different from before."""
    unkept: list[str] = field(default_factory=list)
    """Paths among them that cannot be put back."""
    moved_in: list[str] = field(default_factory=list)
    """New paths that hold what was there before, but where no look comes; they count as no difference."""
    stopped: Literal['entries', 'time'] | None = None
    """Which limit kept the look from seeing all changes, if one did."""


def known(info: os.stat_result, state: FileState) -> Known:
    """Return how a file that was read just now is known."""
    return Known(key_of(info), state, sure=max(info.st_mtime_ns, info.st_ctime_ns) < time.time_ns() - RACY_NS)


def key_of(info: os.stat_result) -> _Key:
    """Return what is different when a file has changed, unless that was within one tick of the clock."""
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_mode


def scan(before: Baseline, tree: ConfinedDirectory, *, skip: frozenset[str], save: Save, since: int) -> Scan:
    """Look at all files and compare them with `before`, which stays as it is.

    Args:
        before: How they were.
        tree: The workspace.
        skip: Paths that do not count.
        save: Keeps what was read; called before the look is over.
        since: Unix nanoseconds. Where `before` did not come so far, only what has changed since is a difference.

    Raises:
        WorkspaceUnavailableError: The workspace is gone.
    """
    deadline = time.monotonic() + SECONDS
    walked = walk(tree, limit=ENTRY_LIMIT, deadline=deadline, skip=skip)
    return _Comparison(before, tree, walked, save, since, deadline).compare()


class _Comparison:
    def __init__(
        self, before: Baseline, tree: ConfinedDirectory, walked: Walk, save: Save, since: int, deadline: float
    ) -> None:
        self.before = before
        self.tree = tree
        self.walked = walked
        self.save = save
        self.since = since
        self.deadline = deadline
        self.files = dict(before.files)
        self.inodes = {each.key[3] for each in before.files.values()}
        self.room = TOTAL_LIMIT - sum(each.size for each in before.files.values())
        self.batch: dict[str, bytes] = {}
        self.scan = Scan(Baseline(self.files, {}, walked), stopped=walked.stopped)

    def compare(self) -> Scan:
        for path in self.before.files.keys() - self.walked.files.keys():
            self._gone(path)
        for path, info in self._to_look_at():
            self._look(path, info)
        if self.batch:
            self.save(self.batch)
        self._directories()
        return self.scan

    def _to_look_at(self) -> list[tuple[str, os.stat_result]]:
        """Return the files that may be different: those that are known first, then small ones first."""
        found: list[tuple[bool, int, str, os.stat_result]] = []
        for path, info in self.walked.files.items():
            old = self.files.get(path)
            unchanged = old is not None and old.key == key_of(info)
            if old is not None and unchanged and is_unread(old.state):
                if self._fits(info):
                    found.append((True, info.st_size, path, info))
            elif old is None or not unchanged or not old.sure:
                found.append((old is None, info.st_size, path, info))
        return [(path, info) for _, _, path, info in sorted(found, key=lambda each: each[:3])]

    def _fits(self, info: os.stat_result) -> bool:
        return info.st_size <= min(READ_LIMIT, self.room)

    def _look(self, path: str, info: os.stat_result) -> None:
        old = self.files.get(path)
        late = time.monotonic() > self.deadline
        if old is not None and late and old.key == key_of(info):
            self.scan.stopped = self.scan.stopped or (None if is_unread(old.state) else 'time')
            return
        read = not late and (old is not None or self._fits(info))
        try:
            seen = look(self.tree, tuple(path.split('/')), limit=READ_LIMIT if read else -1)
        except OSError:
            # It cannot be reached just now, or a directory above it became a link: the next look decides.
            return
        if seen.info is None:
            if old is not None:
                self._gone(path)
            return
        state = seen.state
        if old is not None:
            self.room += old.size
        if seen.data is not None and len(seen.data) <= self.room:
            self.room -= len(seen.data)
            self._keep(state, seen.data)
        else:
            state = replace(state, kept=False)
        self.files[path] = known(seen.info, state)
        self._differs(path, old, state, seen.info)

    def _differs(self, path: str, old: Known | None, state: FileState, info: os.stat_result) -> None:
        if old is None:
            if not self.before.walked.covers(path):
                if info.st_ctime_ns >= self.since - RACY_NS:
                    self._changed(path, _UNKNOWN, state)
            elif info.st_ctime_ns < self.since - OLD_NS and info.st_ino not in self.inodes:
                # What comes along when its directory is renamed keeps its times. To remove it would lose it.
                self.scan.moved_in.append(path)
            else:
                self.scan.entries.append(Entry(kind='file', path=path, after=state))
        elif not same(old.state, unread(info) if is_unread(old.state) else state):
            self._changed(path, old.state, state)

    def _changed(self, path: str, before: FileState, after: FileState) -> None:
        self.scan.entries.append(Entry(kind='file', path=path, before=before, after=after))
        if not before.kept:
            self.scan.unkept.append(path)

    def _gone(self, path: str) -> None:
        if path not in self.walked.directories and not self.walked.covers(path):
            try:
                seen = look(self.tree, tuple(path.split('/')), limit=-1)
            except OSError:
                return
            if seen.info is not None and not seen.is_directory:
                return
        old = self.files.pop(path)
        self.room += old.size
        self._changed(path, old.state, NOTHING)

    def _keep(self, state: FileState, data: bytes) -> None:
        assert state.digest is not None
        self.batch[state.digest] = data
        if sum(map(len, self.batch.values())) >= _BATCH:
            self.save(self.batch)
            self.batch = {}

    def _directories(self) -> None:
        now = {path: info.st_mode & 0o7777 for path, info in self.walked.directories.items()}
        for path in self.before.directories.keys() - now.keys():
            if self.walked.covers(path):
                self._directory(path, before=self.before.directories[path])
            else:
                now[path] = self.before.directories[path]
        for path in now.keys() - self.before.directories.keys():
            if self.before.walked.covers(path):
                self._directory(path, after=now[path])
        self.scan.baseline.directories = now

    def _directory(self, path: str, *, before: int | None = None, after: int | None = None) -> None:
        self.scan.entries.append(
            Entry(
                kind='directory',
                path=path,
                before=replace(NOTHING, mode=before),
                after=replace(NOTHING, mode=after),
            )
        )

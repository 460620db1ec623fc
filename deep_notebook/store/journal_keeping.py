"""What our own tools change: before each change of a file, what it held goes into the journal."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace

from ..errors import NotKeptError, StoreError
from ..workspaces.confinement import ConfinedDirectory, Parts
from .journal_files import (
    FILE_LIMIT,
    Seen,
    belongs_to_version_control,
    contents_state,
    is_kept_out,
    look,
    missing_directories,
)
from .journal_ledger import Ledger
from .journal_scans import Baseline, known
from .journal_tables import Entry, put_modes
from .journal_types import NOTHING, FileState

__all__ = ['JournalCall', 'Keeping', 'acting']

_OF_VERSION_CONTROL = '{tool} changed {path}: what belongs to version control is never put back.'
_TOO_LARGE = '{tool} changed {path}, which cannot be put back: the journal keeps files up to {limit} MiB.'


@dataclass(eq=False)
class JournalCall:
    """A call of the agent, for whose changes the journal has a name."""

    run: int | None
    call: str | None
    tool: str
    began: int = 0
    """Unix nanoseconds; 0 before files were looked at for it."""
    row: int | None = None
    """Its place among the calls that are looked at, while it is at work."""
    ended: bool = False

    def entry(self, entry: Entry) -> Entry:
        """Return an entry as one of this call."""
        return replace(entry, run=self.run, call=self.call)

    def gap(self, what: str) -> Entry:
        """Return an entry for what could not be covered."""
        return Entry(kind='gap', path=what, run=self.run, call=self.call)


acting: ContextVar[JournalCall | None] = ContextVar('deep_notebook.journal_call', default=None)
"""The call that is at work here; without one, changes are not the agent's, and are not kept."""


class Keeping:
    """The `Keeper` of a workspace. `lock` is held from the look at a file until after its change."""

    def __init__(self, ledger: Ledger, lock: threading.RLock) -> None:
        self._ledger = ledger
        self._lock = lock
        self.baseline = Baseline()
        """How files were at the last look; what is changed here is no difference at the next."""

    @contextmanager
    def writing(self, tree: ConfinedDirectory, parts: Parts, data: bytes) -> Iterator[None]:
        """Keep what a file held, and what it is about to hold."""
        with self._at_work() as call:
            if call is None:
                yield
                return
            entries: list[Entry] = []
            contents: dict[str, bytes] = {}
            if not is_kept_out(parts):
                old = look(tree, parts, limit=FILE_LIMIT)
                after = contents_state(data, mode=old.state.mode)
                entries += _made(missing_directories(tree, parts[:-1]))
                entries.append(_file(parts, old, after, contents))
                if after.kept and after.digest is not None:
                    contents[after.digest] = data
            with self.recorded(tree, call, [*entries, *_gaps(call, parts, entries)], contents):
                yield

    @contextmanager
    def removing(self, tree: ConfinedDirectory, parts: Parts) -> Iterator[None]:
        """Keep what a file held, or what all files in a directory did."""
        with self._at_work() as call:
            if call is None:
                yield
                return
            entries: list[Entry] = []
            contents: dict[str, bytes] = {}
            room = FILE_LIMIT
            for found, mode in _below(tree, parts):
                if mode is not None:
                    entries.append(_directory(found, before=mode))
                else:
                    old = look(tree, found, limit=room)
                    room -= len(old.data or b'')
                    entries.append(_file(found, old, NOTHING, contents))
            with self.recorded(tree, call, [*entries, *_gaps(call, parts, entries)], contents):
                yield

    @contextmanager
    def making(self, tree: ConfinedDirectory, parts: Parts) -> Iterator[None]:
        """Note which directories are made."""
        with self._at_work() as call:
            if call is None or is_kept_out(parts):
                yield
                return
            with self.recorded(tree, call, _made(missing_directories(tree, parts)), {}):
                yield

    @contextmanager
    def recorded(
        self, tree: ConfinedDirectory, call: JournalCall, entries: Sequence[Entry], contents: Mapping[str, bytes]
    ) -> Iterator[None]:
        """Write entries before the block, and take them back if it fails.

        Raises:
            NotKeptError: They could not be written; the block was not entered.
        """
        try:
            ids = self._ledger.record([call.entry(entry) for entry in entries], contents) if entries else []
        except StoreError as error:
            raise NotKeptError(str(error)) from error
        try:
            yield
        except BaseException:
            # Where this fails too, the entries that stay say of a file that is as it was that it changed: no harm.
            with suppress(StoreError):
                self._ledger.forget(ids)
            raise
        modes = {id: mode for entry, id in zip(entries, ids, strict=True) if (mode := self.noted(tree, entry))}
        if modes:
            with suppress(StoreError):
                self._ledger.write(lambda connection, _: put_modes(connection, modes))

    def noted(self, tree: ConfinedDirectory, entry: Entry) -> int | None:
        """Take what an entry says has happened into the baseline; return the mode of what is new there."""
        if entry.kind == 'gap':
            return None
        is_directory = entry.kind == 'directory'
        there = self.baseline.directories if is_directory else self.baseline.files
        try:
            info = tree.look_at(tuple(entry.path.split('/')), accept_link=True)
        except OSError:
            there.pop(entry.path, None)
            return None
        mode = stat.S_IMODE(info.st_mode)
        if is_directory:
            self.baseline.directories[entry.path] = mode
        else:
            self.baseline.files[entry.path] = replace(known(info, replace(entry.after, mode=mode)), sure=False)
        return mode if entry.after.mode is None or is_directory else None

    @contextmanager
    def _at_work(self) -> Iterator[JournalCall | None]:
        call = acting.get()
        with self._lock if call is not None else nullcontext():
            yield call


def _made(directories: Sequence[Parts]) -> list[Entry]:
    return [_directory(parts, after=0o777) for parts in directories]


def _directory(parts: Parts, *, before: int | None = None, after: int | None = None) -> Entry:
    path = '/'.join(parts)
    return Entry(kind='directory', path=path, before=replace(NOTHING, mode=before), after=replace(NOTHING, mode=after))


def _file(parts: Parts, old: Seen, after: FileState, contents: dict[str, bytes]) -> Entry:
    """Return the entry for a change of a file, whose present contents are added to those to keep."""
    if old.data is not None and old.state.digest is not None:
        contents[old.state.digest] = old.data
    return Entry(kind='file', path='/'.join(parts), before=old.state, after=after)


def _gaps(call: JournalCall, parts: Parts, entries: Sequence[Entry]) -> list[Entry]:
    """Return what cannot be put back of a change at `parts`."""
    if belongs_to_version_control(parts):
        return [call.gap(_OF_VERSION_CONTROL.format(tool=call.tool, path='/'.join(parts)))]
    lost = [entry.path for entry in entries if not entry.before.kept]
    return [call.gap(_TOO_LARGE.format(tool=call.tool, path=path, limit=FILE_LIMIT // 2**20)) for path in lost]


def _below(tree: ConfinedDirectory, parts: Parts) -> Iterator[tuple[Parts, int | None]]:
    """Yield what is at and below `parts` and no business of version control: where, and the mode of a directory."""
    if is_kept_out(parts):
        return
    info = tree.look_at(parts, accept_link=True)
    if not stat.S_ISDIR(info.st_mode):
        yield parts, None
        return
    yield parts, stat.S_IMODE(info.st_mode)
    with tree.directory(parts, listing=True) as fd:
        names = sorted(os.listdir(fd))
    for name in names:
        yield from _below(tree, (*parts, name))

"""Calls that run commands or code: all files are looked at before and after."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from pydantic_ai.workspaces import WorkspaceError

from ..errors import NotKeptError, StoreError
from ..workspaces.confinement import ConfinedDirectory
from .journal_keeping import JournalCall, Keeping
from .journal_ledger import Ledger
from .journal_scans import ENTRY_LIMIT, READ_LIMIT, SECONDS, TOTAL_LIMIT, Scan, scan
from .journal_tables import drop_unused, put_call, put_entries, remove_calls

__all__ = ['Watching']

_SHOWN = 5
_NEVER = 2**63
"""A time after all others: what no look has covered is no difference."""
_LIMITS = f'files up to {READ_LIMIT // 2**20} MiB, and {TOTAL_LIMIT // 2**20} MiB in all'
_ENTRIES = (
    f'The journal looked at the first {ENTRY_LIMIT:,} files and directories only: what {{tool}} changed in others '
    'cannot be put back.'
)
_TIME = (
    f'The journal looked at the files for {SECONDS:g} s and did not see all: what {{tool}} changed in the others '
    'cannot be put back.'
)


class Watching:
    """Finds what calls have changed. While several are at work, a change counts as one of any of them.

    What is different when the first of them begins was done by somebody else.
    """

    def __init__(
        self,
        ledger: Ledger,
        keeping: Keeping,
        lock: threading.RLock,
        tree: Callable[[], ConfinedDirectory],
        skip: Callable[[ConfinedDirectory], frozenset[str]],
    ) -> None:
        self._ledger = ledger
        self._keeping = keeping
        self._lock = lock
        self._tree = tree
        self._skip = skip
        self._at_work: list[JournalCall] = []

    def begin(self, call: JournalCall) -> None:
        """Look at all files, and keep what they hold.

        Raises:
            NotKeptError: It could not be kept.
            WorkspaceUnavailableError: The workspace is gone.
        """
        with self._lock:
            if not call.ended:
                try:
                    self._begin(call)
                except StoreError as error:
                    raise NotKeptError(str(error)) from error

    def end(self, call: JournalCall) -> list[str]:
        """Look at all files again, write down what is different, and return what could not be covered.

        Raises:
            StoreError: It could not be written. The call counts as one at work until a later look.
        """
        with self._lock:
            call.ended = True
            if call.row is None:
                return []
            try:
                found = self._scan(call)
            except WorkspaceError as error:
                found = Scan(self._keeping.baseline)
                gaps = [f'After {call.tool}, files could not be looked at: {error}.']
            else:
                gaps = _gaps(call.tool, found)
            entries = [call.entry(entry) for entry in found.entries] + [call.gap(gap) for gap in gaps]
            over = [each for each in self._at_work if each.ended]

            def work(connection: sqlite3.Connection, line: int) -> None:
                put_entries(connection, line, entries)
                remove_calls(connection, [each.row for each in over])

            self._ledger.write(work)
            self._keeping.baseline = found.baseline
            self._at_work = [each for each in self._at_work if each not in over]
            return gaps

    def by_others(self) -> list[str]:
        """Return the files that are not as at the last look, sorted; none while a call is at work."""
        with self._lock:
            if self._at_work or not self._keeping.baseline.walked.listed:
                return []
            tree = self._tree()
            found = scan(self._keeping.baseline, tree, skip=self._skip(tree), save=lambda _: None, since=_NEVER)
            return sorted([entry.path for entry in found.entries if entry.kind == 'file'] + found.moved_in)

    def _begin(self, call: JournalCall) -> None:
        call.began = time.time_ns()
        found = self._scan(call)
        over = [each for each in self._at_work if each.ended]
        entries = [self._at_work[-1].entry(entry) for entry in found.entries] if self._at_work else []
        used = {each.state.digest for each in found.baseline.files.values() if each.state.digest is not None}

        def work(connection: sqlite3.Connection, line: int) -> int:
            put_entries(connection, line, entries)
            remove_calls(connection, [each.row for each in over])
            drop_unused(connection, used=used, limit=TOTAL_LIMIT)
            return put_call(connection, line, run=call.run, call=call.call, tool=call.tool)

        call.row = self._ledger.write(work, durable=True)
        self._at_work = [*(each for each in self._at_work if each not in over), call]
        self._keeping.baseline = found.baseline

    def _scan(self, call: JournalCall) -> Scan:
        tree = self._tree()
        since = min(each.began for each in [call, *self._at_work])
        found = scan(self._keeping.baseline, tree, skip=self._skip(tree), save=self._ledger.save, since=since)
        found.entries = [replace(entry, source='scan') for entry in found.entries]
        return found


def _gaps(tool: str, found: Scan) -> list[str]:
    """Return what one look did not cover, a line each."""
    lines = [f'{tool} changed {path}, which cannot be put back: the journal keeps {_LIMITS}.' for path in found.unkept]
    if len(lines) > _SHOWN:
        more = len(lines) - _SHOWN
        lines[_SHOWN:] = [f'{tool} changed {more} more files that cannot be put back: the journal keeps {_LIMITS}.']
    if found.moved_in:
        first, *others = sorted(found.moved_in)
        along = f' and {len(others)} more' if others else ''
        lines.append(f'{tool} moved {first}{along} here from where the journal does not look: they stay.')
    if found.stopped is not None:
        lines.append((_ENTRIES if found.stopped == 'entries' else _TIME).format(tool=tool))
    return lines

"""What a rewind does to files, and what changed between two points, as a person reads it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from itertools import pairwise

from pydantic_ai.workspaces import Workspace

from ..capabilities.checkpoints import Foreseen
from ..capabilities.filesystem.diffs import DIFF_LIMIT, Diff, diff_files
from ..capabilities.filesystem.text_files import TextFile, decode_text
from ..store.journal import Journal
from ..store.journal_types import FileChangeRecord, FileState, PathPlan, same
from ..views.panel_shapes import PlannedFile
from ..views.run_shape import FileChange
from ..workspaces import BackendProtocol

__all__ = ['changed_files', 'foreseen', 'planned_files']

DIFFS_SHOWN = 100
"""Files whose differences are worked out at once; further ones are only named."""
_POINT_DIFF_LIMIT = 2_000
"""Characters of a diff between two points; the question before a rewind has more."""
_READ_LIMIT = 1_000_000
"""Bytes of contents that are compared."""


async def changed_files(journal: Journal, positions: Sequence[int | None]) -> list[tuple[FileChange, ...]]:
    """Return the files that changed up to each of `positions`, which ascend, since the one before it."""
    known = [position for position in positions if position is not None]
    if not known:
        return [() for _ in positions]
    changes = await journal.changes(after=known[0], until=known[-1])
    left = DIFFS_SHOWN
    found: list[tuple[FileChange, ...]] = []
    for before, now in reversed([*pairwise(known)]):
        net = _net([change for change in changes if before < change.id <= now])
        files = [await _file_change(journal, path, *states, with_diff=left > n) for n, (path, states) in enumerate(net)]
        left -= len(files)
        found.append(tuple(files))
    rest = iter([(), *reversed(found)])
    return [() if position is None else next(rest) for position in positions]


async def planned_files(
    journal: Journal, backend: BackendProtocol, paths: Sequence[PathPlan]
) -> tuple[PlannedFile, ...]:
    """Return what going back does to `paths`, with the differences from now."""
    planned = []
    for number, path in enumerate(paths):
        diff = None
        if number < DIFFS_SHOWN:
            now = await _content(journal, path.now)
            if now is None and path.now.digest is not None and not path.now.link:
                now = await _on_disk(backend, path.path)
            diff = await _diff(path.path, path.now, now, path.target, await _content(journal, path.target))
        planned.append(
            PlannedFile(
                path=path.path,
                action=path.action,
                yours=path.yours,
                possible=path.possible,
                diff='' if diff is None else diff.text(),
                added=0 if diff is None else diff.added,
                removed=0 if diff is None else diff.removed,
            )
        )
    return tuple(planned)


def foreseen(files: Sequence[PlannedFile], paths: Sequence[PathPlan]) -> Foreseen:
    """Return what going back would do to files, in a few words and as one diff, without those that stay."""
    going = [file for file in files if file.possible and not file.yours]
    words = [
        (sum(file.action == action for file in going), word)
        for action, word in (('edit', 'changed back'), ('create', 'brought back'), ('delete', 'deleted'))
    ]
    parts = [f'{count} file{"" if count == 1 else "s"} {word}' for count, word in words if count]
    kept = [file.path for file in files if file.yours]
    if kept:
        parts.append(f'{", ".join(kept[:3])}{" …" if len(kept) > 3 else ""} kept as the person changed it')
    diff = '\n'.join(file.diff for file in going if file.diff)
    if len(diff) > DIFF_LIMIT:
        diff = f'{diff[:DIFF_LIMIT]}\n… the rest is not shown'
    states = repr([(path.path, path.now, path.target, path.yours) for path in paths])
    return Foreseen(
        detail=' · '.join(parts) or 'no file changes',
        diff=diff or None,
        before=hashlib.sha256(states.encode('utf-8', 'surrogatepass')).hexdigest(),
    )


def _net(changes: Sequence[FileChangeRecord]) -> list[tuple[str, tuple[FileState, FileState]]]:
    """Return the states of each changed path before and after all of `changes`."""
    states: dict[str, tuple[FileState, FileState]] = {}
    for change in changes:
        first = states[change.path][0] if change.path in states else change.before
        states[change.path] = first, change.after
    return [(path, both) for path, both in sorted(states.items()) if not same(*both)]


async def _file_change(
    journal: Journal, path: str, before: FileState, after: FileState, *, with_diff: bool
) -> FileChange:
    diff = None
    if with_diff:
        diff = await _diff(path, before, await _content(journal, before), after, await _content(journal, after))
    if diff is None:
        return FileChange(path=path)
    return FileChange(path=path, added=diff.added, removed=diff.removed, diff=diff.text(limit=_POINT_DIFF_LIMIT))


async def _content(journal: Journal, state: FileState) -> bytes | None:
    if state.digest is None or state.link or not state.kept:
        return None
    return await journal.content(state.digest)


async def _on_disk(backend: BackendProtocol, path: str) -> bytes | None:
    try:
        return await Workspace(backend).read_bytes(path)
    except OSError:
        return None


async def _diff(path: str, before: FileState, old: bytes | None, after: FileState, new: bytes | None) -> Diff | None:
    """Return the differences, or `None` where there is no text to compare."""

    def work() -> Diff | None:
        texts = []
        for state, data in ((before, old), (after, new)):
            if state.digest is None:
                texts.append(TextFile())
            elif data is None or len(data) > _READ_LIMIT or (text := decode_text(data)) is None:
                return None
            else:
                texts.append(text)
        return diff_files(None if before.digest is None else texts[0], texts[1], path=path)

    return await asyncio.to_thread(work)

"""What one run changed: for each file, what it held before the run and how the agent left it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from ..store.journal_types import FileChangeRecord, FileState, same
from ..store.reviews import ReviewState
from ..views.panel_shapes import FileAction, Hunk, ReviewFile, ReviewStatus
from .text_hunks import TextChange, text_change

__all__ = ['ChangedFile', 'Footprint', 'changed_file', 'footprints', 'review_files']

_SHOWN = 20_000
"""Characters of a hunk that are shown."""
_SHOWN_IN_ALL = 300_000
"""Characters of all hunks together: a notebook with the output of each run has to stay small."""
_OF_THE_AGENT = frozenset({'tool', 'scan'})


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """One path that a run changed."""

    path: str
    first: int
    """The id of the run's first change of it."""
    before: FileState
    after: FileState
    shared: bool
    """Whether somebody else changed it, too, between two changes of the agent."""


def footprints(records: Iterable[FileChangeRecord]) -> list[Footprint]:
    """Return what the changes of a run come to, in the order in which its files were first changed.

    What came and went again within the run is no change.
    """
    found: dict[str, Footprint] = {}
    for record in records:
        if record.source not in _OF_THE_AGENT:
            continue
        known = found.get(record.path)
        if known is None:
            known = Footprint(path=record.path, first=record.id, before=record.before, after=record.after, shared=False)
        else:
            shared = known.shared or not same(known.after, record.before)
            known = Footprint(
                path=record.path, first=known.first, before=known.before, after=record.after, shared=shared
            )
        found[record.path] = known
    return [each for each in found.values() if not same(each.before, each.after)]


@dataclass(frozen=True, kw_only=True)
class ChangedFile:
    """One file that a run changed, with the places that can be decided about one by one."""

    footprint: Footprint
    text: TextChange | None
    """Its lines, where both states are text and kept."""
    places: tuple[str, ...]
    """The ids of its places; one for all of a file that is new, gone, or no text."""
    states: Mapping[str, ReviewState]
    """What was decided about places."""
    now: FileState
    """As it is."""

    @property
    def path(self) -> str:
        """The file, relative to the workspace."""
        return self.footprint.path

    @property
    def action(self) -> FileAction:
        """What the run did to it."""
        if self.footprint.before.digest is None:
            return 'create'
        return 'delete' if self.footprint.after.digest is None else 'edit'

    @property
    def by_place(self) -> bool:
        """Whether its places can be undone one by one."""
        return self.action == 'edit' and self.text is not None and bool(self.text.places)

    def state(self, place: str) -> Literal['open', 'kept', 'undone']:
        """Return what was decided about one of its places."""
        return self.states.get(place, 'open')

    @property
    def undone(self) -> frozenset[str]:
        """The places that are undone."""
        return frozenset(place for place in self.places if self.state(place) == 'undone')

    @property
    def is_open(self) -> bool:
        """Whether something about it is left to decide."""
        return any(self.state(place) == 'open' for place in self.places)

    @property
    def note(self) -> str | None:
        """What the person should know before they decide."""
        old, new = self.footprint.before, self.footprint.after
        notes = []
        if not old.kept:
            notes.append('cannot be undone: what it held before was not kept')
        elif self.action == 'edit' and not self.by_place:
            if old.digest == new.digest and old.mode is not None and new.mode is not None:
                notes.append(f'mode {old.mode:o} → {new.mode:o}')
            else:
                notes.append('a link' if old.link or new.link else 'not text, so only as a whole')
        if self.footprint.shared:
            notes.append('somebody else changed it during the run, too')
        if not self.undone and not same(self.now, new):
            notes.append('deleted since' if self.now.digest is None else 'changed since')
        return ', '.join(notes) or None


def changed_file(
    footprint: Footprint,
    *,
    before: bytes | None,
    after: bytes | None,
    now: FileState,
    states: Mapping[tuple[str, str], ReviewState],
) -> ChangedFile:
    """Return a file as it stands in a review.

    Args:
        footprint: What the run did to it.
        before: The contents before the run; `None` if nothing was there, or they were not kept.
        after: As the agent left it; `None` likewise.
        now: As it is. What was undone is not undone any more where it is as the agent left it, and all is undone
            where it is as it was before the run, whoever put it there.
        states: What was decided, by path and place.
    """
    old, new = footprint.before, footprint.after
    text = None if not _readable(old) or not _readable(new) else text_change(before or b'', after or b'')
    if text is not None and text.places:
        places = tuple(place.id for place in text.places)
    else:
        mark = f'{old.digest}:{old.mode}:{new.digest}:{new.mode}'
        places = (blake2b(mark.encode(), digest_size=8).hexdigest(),)
    decided = {place: states[footprint.path, place] for place in places if (footprint.path, place) in states}
    if same(now, old):
        decided = dict.fromkeys(places, 'undone')
    elif same(now, new):
        decided = {place: state for place, state in decided.items() if state != 'undone'}
    return ChangedFile(footprint=footprint, text=text, places=places, states=decided, now=now)


def review_files(files: Iterable[ChangedFile]) -> Iterator[ReviewFile]:
    """Yield the files as they are shown."""
    room = _SHOWN_IN_ALL
    for file in files:
        shown = _review_file(file, room)
        room -= sum(len(hunk.text) for hunk in shown.hunks)
        yield shown


def _review_file(file: ChangedFile, room: int) -> ReviewFile:
    added, removed = file.text.counts if file.text is not None else (0, 0)
    states = {file.state(place) for place in file.places}
    status: ReviewStatus = 'open' if 'open' in states else states.pop() if len(states) == 1 else 'mixed'
    hunks: list[Hunk] = []
    for place in file.text.places if file.text is not None else ():
        text = _clipped(place.text, min(_SHOWN, room))
        room = max(room - len(text), 0)
        hunks.append(Hunk(id=place.id, header=place.header, text=text, state=file.state(place.id)))
    return ReviewFile(
        path=file.path,
        action=file.action,
        state=status,
        hunks=tuple(hunks),
        note=file.note,
        added=added,
        removed=removed,
    )


def _readable(state: FileState) -> bool:
    return state.kept and not state.link


def _clipped(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    shown = text[: max(limit, 0)].rpartition('\n')[0]
    more = text.count('\n') - shown.count('\n') + (not shown)
    return f'{shown}\n… {more:,} more lines'.lstrip('\n')

"""Review what a run changed: keep it or undo it, as a whole, by file, or hunk by hunk.

Everything stands on the journal: what a run changed is read from it, at any later time, and what is undone is written
through it, so that it can be gone back on. What the person decided is kept beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic_ai.workspaces import Workspace

from ..errors import StoreError, UsageError, did_you_mean
from ..store.journal import FileState, Journal, PathPlan
from ..store.journal_types import same
from ..store.reviews import ReviewedPlace, ReviewState, news_of, put_states, put_told, states_of
from ..views.panel_shapes import Action, ChangeSet, Panel
from .change_sets import ChangedFile, changed_file, footprints, review_files

if TYPE_CHECKING:
    from .session import NotebookSession

__all__ = ['Reviewer', 'Verb']

Verb: TypeAlias = Literal['keep', 'undo']

_REVIEWED = 'reviewed'
"""Stands where the digest of a file is that the agent saw: no file has it, so the agent has to read it again."""
_OUT_OF_REACH = FileState(digest='out of reach', mode=None, kept=False)
"""Of a file whose directory is not any more what it was, such as a link that leads elsewhere."""
_CLEAN_UP = 3.0
"""Seconds that a cell waits for the clean-up of an interrupted run."""
_NAMED = 8
"""Files that the agent is told by name."""


class Reviewer:
    """The reviews of one notebook's runs."""

    def __init__(self, session: NotebookSession) -> None:
        self._session = session
        self._one = asyncio.Lock()

    async def latest(self) -> int:
        """Return the latest run with something left to decide, else the latest that changed files.

        Raises:
            UsageError: No run changed a file.
        """
        runs = await (await self._journal()).runs()
        for run in runs:
            if any(file.is_open for file in await self._files(run)):
                return run
        if not runs:
            raise UsageError('No run has changed a file in this notebook.')
        return runs[0]

    async def changes(self, run: int) -> ChangeSet:
        """Return what a run changed and what became of it.

        Raises:
            UsageError: There is no such run.
        """
        record = await self._session.stored_run(run)
        if record is None:
            raise UsageError(f'There is no run {run}.')
        files = await self._files(run)
        gaps = await (await self._journal()).gaps(run=run)
        return ChangeSet(run=run, files=tuple(review_files(files)), gaps=tuple(gap.what for gap in gaps))

    async def decide(self, run: int, verb: Verb, path: str | None = None, place: str | None = None) -> ChangeSet:
        """Keep or undo what a run changed, and return how the review stands then.

        Without `place`, what is left to decide is decided; where nothing is, what was kept is undone, or, of one file,
        what was undone is put back. What cannot be done to one file does not hold up the others and is said in the
        notice.

        Args:
            run: The run.
            verb: What to do.
            path: One file; `None` for all.
            place: One of its places, by the id of the hunk.

        Raises:
            UsageError: There is no such file or place, or nothing could be done.
        """
        async with self._one:
            files = await self._files(run)
            refused: list[str] = []
            done = False
            for file in _chosen(run, files, verb, path):
                try:
                    done |= await self._decide(run, file, verb, place)
                except UsageError as error:
                    refused.append(str(error))
            if refused and not done:
                raise UsageError(' '.join(refused))
            return replace(await self.changes(run), notice=' '.join(refused) or None)

    async def act(self, changes: Panel, action: Action) -> ChangeSet:
        """Do what the person did in the panel of a change set.

        What cannot be done is said in the notice: the panel may be older than what was decided elsewhere, so it is
        drawn anew also then.
        """
        assert isinstance(changes, ChangeSet)
        assert changes.run is not None
        try:
            return await self.decide(changes.run, action['do'], action.get('path'), action.get('hunk'))
        except UsageError as error:
            return replace(await self.changes(changes.run), notice=str(error))

    async def after(self, run: int) -> ChangeSet | None:
        """Return what a run that ended has changed, if it ran in review mode and something is left to decide."""
        try:
            record = await self._session.stored_run(run)
            if record is None or record.terms.approve != 'review' or record.phase == 'suspended':
                return None
            changes = await self.changes(run)
        except StoreError:
            return None  # what is wrong with the store is said by the run
        return changes if changes.gaps or any(file.state != 'undone' for file in changes.files) else None

    async def after_interrupt(self) -> ChangeSet | None:
        """Do as `after` for the run that was just interrupted, if its clean-up is done soon."""
        record = await self._session.stored_run(None)
        if record is None or record.terms.approve != 'review':
            return None
        try:
            async with asyncio.timeout(_CLEAN_UP), self._session.one_run:
                return await self.after(record.id)
        except TimeoutError:
            return None

    async def news(self) -> list[str]:
        """Return what the agent has to be told of what was undone, one line a run; it counts as told then."""
        store = await self._session.store()
        conversation = await store.conversation()
        news = await store.database.run(lambda connection: news_of(connection, conversation))
        lines = []
        for run in sorted({each.run for each in news}):
            lines.append(_news(await self._files(run), [each for each in news if each.run == run]))
        await store.database.run(lambda connection: put_told(connection, news))
        return [line for line in lines if line]

    async def _decide(self, run: int, file: ChangedFile, verb: Verb, place: str | None) -> bool:
        """Keep or undo places of one file, and return whether there was anything to do."""
        places = _places(file, verb, place)
        state: ReviewState = 'undone' if verb == 'undo' else 'kept'
        turned = [each for each in places if (verb == 'undo') != (each in file.undone)]
        if turned:
            await self._turn(run, file, turned)
        decided = [ReviewedPlace(run=run, path=file.path, place=each, state=state) for each in places]
        store = await self._session.store()
        await store.database.run(lambda connection: put_states(connection, decided))
        return bool(places)

    async def _turn(self, run: int, file: ChangedFile, places: Sequence[str]) -> None:
        """Take places of a file back, or put them back, in the file as it is."""
        journal = await self._journal()
        undone = file.undone ^ set(places)
        if file.by_place:
            data = await self._turned(file, places)
            mode = _mode(file, undone)
            await journal.write(file.path, data, mode=mode, expected=file.now, source='review', run=run)
        else:
            await self._put(journal, file, back=not undone)
        await self._see_again(file.path)

    async def _turned(self, file: ChangedFile, places: Sequence[str]) -> bytes:
        assert file.text is not None
        if file.now.digest is None:
            raise UsageError(f'{file.path} was deleted since, so there is nothing in it to undo or to put back.')
        try:
            data = await Workspace(self._session.deps.backend).read_bytes(file.path)
        except OSError as error:
            raise UsageError(f'{file.path} cannot be read any more, so it is left as it is.') from error
        if sha256(data).hexdigest() != file.now.digest:
            raise UsageError(f'{file.path} is being changed by somebody else at this moment: try again.')
        undone = set(file.undone)
        for place in places:
            turned = file.text.switched(data, place, undone=undone)
            if turned is None:
                raise UsageError(_changed_since(file, place, alone=len(places) == 1))
            data = turned
            undone ^= {place}
        return data

    async def _put(self, journal: Journal, file: ChangedFile, *, back: bool) -> None:
        """Make a file as a whole what it was before the run, or, to put it back, as the run left it."""
        target, left = file.footprint.before, file.footprint.after
        if back:
            target, left = left, target
        if not target.kept:
            raise UsageError(f'{file.path}: its contents were not kept, so it is left as it is.')
        if not same(file.now, left):
            raise UsageError(f'{file.path} was changed since, so it is left as it is: undoing would take that, too.')
        plan = None if back else await self._plan(journal, file)
        await journal.restore([plan or _plan(file, target=target, left=left)], source='review')

    async def _plan(self, journal: Journal, file: ChangedFile) -> PathPlan | None:
        """Return the journal's own plan, which knows the directories that the run made for the file."""
        plans = await journal.plan(file.footprint.first - 1)
        wanted = file.footprint.before
        return next((plan for plan in plans if plan.path == file.path and same(plan.target, wanted)), None)

    async def _see_again(self, path: str) -> None:
        """Have the agent read a file again before it writes there."""
        digests = self._session.deps.read_digests
        state = await (await self._journal()).state_of(path)
        if state.digest is None:
            digests.pop(path, None)
        else:
            digests[path] = _REVIEWED
        store = await self._session.store()
        last = await store.last_run()
        if last is not None:
            await store.save_run(last.id, read_digests=dict(digests))

    async def _files(self, run: int) -> list[ChangedFile]:
        store, journal = await self._session.store(), await self._journal()
        states = await store.database.run(lambda connection: states_of(connection, run))
        found = []
        for footprint in footprints(await journal.changes(run=run)):
            before, after = await _content(journal, footprint.before), await _content(journal, footprint.after)
            now = await _now(journal, footprint.path)
            found.append(
                await asyncio.to_thread(changed_file, footprint, before=before, after=after, now=now, states=states)
            )
        return found

    async def _journal(self) -> Journal:
        await self._session.store()
        assert self._session.journal is not None
        return self._session.journal


async def _content(journal: Journal, state: FileState) -> bytes | None:
    return None if state.digest is None or not state.kept else await journal.content(state.digest)


async def _now(journal: Journal, path: str) -> FileState:
    try:
        return await journal.state_of(path)
    except UsageError:
        return _OUT_OF_REACH


def _chosen(run: int, files: Sequence[ChangedFile], verb: Verb, path: str | None) -> Sequence[ChangedFile]:
    if path is None:
        open = [file for file in files if file.is_open]
        if not open and verb == 'keep':
            how = f' `%deep review keep {run} PATH` takes an undo back.'
            raise UsageError(f'Nothing is left to decide.{how if any(file.undone for file in files) else ""}')
        return open or files
    chosen = [file for file in files if file.path == path]
    if not chosen:
        names = [file.path for file in files]
        raise UsageError(f'Run {run} did not change {path!r}.{did_you_mean(path, names)}')
    return chosen


def _places(file: ChangedFile, verb: Verb, place: str | None) -> Sequence[str]:
    """Return which places of a file are to be decided about."""
    if place is not None:
        if place not in file.places:
            raise UsageError(f'{file.path} has no such hunk any more: `%deep review` shows those that it has.')
        return [place]
    open = [each for each in file.places if file.state(each) == 'open']
    settled = 'undone' if verb == 'undo' else 'kept'
    return open or [each for each in file.places if file.state(each) != settled]


def _changed_since(file: ChangedFile, place: str, *, alone: bool) -> str:
    count = len(file.places)
    which = f', change {file.places.index(place) + 1} of {count}' if count > 1 else ''
    rest = '' if alone else ' Its other changes can be tried one by one.'
    return f'{file.path}{which}: these lines were changed since, so the file is left as it is.{rest}'


def _mode(file: ChangedFile, undone: Collection[str]) -> int | None:
    """Return the mode that goes with the contents, once all of them are of before the run, or of after it."""
    before, after = file.footprint.before.mode, file.footprint.after.mode
    if before == after or 0 < len(undone) < len(file.places):
        return None
    return before if undone else after


def _plan(file: ChangedFile, *, target: FileState, left: FileState) -> PathPlan:
    action: Any = 'delete' if target.digest is None else 'create' if left.digest is None else 'edit'
    return PathPlan(path=file.path, action=action, now=file.now, target=target, left=left, yours=False, possible=True)


def _news(files: Sequence[ChangedFile], news: Sequence[ReviewedPlace]) -> str | None:
    """Return what the agent is told, such as `You changed a.md and b.py; the person undid b.py (1 of 3 hunks).`"""
    undone, back = [], []
    for file in files:
        places = [each.place for each in news if each.path == file.path and each.place in file.places]
        count = sum(file.state(place) == 'undone' for place in file.places)
        of = f' ({count} of {len(file.places)} hunks)' if 0 < count < len(file.places) else ''
        what = f'the deletion of {file.path}' if file.action == 'delete' else file.path + of
        if file.undone.intersection(places):
            undone.append(what)
        elif places:
            back.append(what)
    told = [*([f'undid {_listed(undone)}'] if undone else []), *([f'put back {_listed(back)}'] if back else [])]
    changed = _listed([file.path for file in files])
    return f'Note: you changed {changed}; the person {" and ".join(told)}.' if told else None


def _listed(names: Sequence[str]) -> str:
    if len(names) > _NAMED:
        return f'{", ".join(names[:_NAMED])} and {len(names) - _NAMED} more files'
    return ' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))

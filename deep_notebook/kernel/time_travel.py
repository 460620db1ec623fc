"""Going back in time: the points of the conversation, what a rewind would do, the rewind, and its undo.

A rewind takes the conversation, the plan and the agent's files back together. What the person changed since stays
unless they say otherwise. Variables of the kernel stay: they are named. How the agent last saw each file belongs to
the conversation, so that it reads again what is not as it remembers it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ..capabilities.checkpoints import Foreseen
from ..capabilities.todos import Todo
from ..errors import RewindRequested, UsageError
from ..store.journal import Journal
from ..store.points import Moment, Point
from ..store.rewinds import PARTS, Part, Rewind, Rewinds
from ..views.panel_shapes import RewindQuestion, TimelinePoint
from .checkpointing import keeps_checkpoints
from .travel_files import changed_files, foreseen, planned_files
from .travel_targets import before_last_run, check_label, find_point
from .travel_words import STATE_MOVED, changed_by_others, interrupted, rewound_by_agent, waiting

if TYPE_CHECKING:
    from ..store.journal_types import PathPlan
    from .session import NotebookSession

__all__ = ['TravelPlan', 'Traveller']

_POINTS_SHOWN = 100
_VARIABLES_SHOWN = 20
"""Names of variables that are listed as not rewound."""


@dataclass(frozen=True, kw_only=True)
class TravelPlan:
    """What a rewind or an undo would do: to be shown, and to be carried out if nothing has moved by then."""

    kind: Literal['rewind', 'undo']
    label: str
    checkpoint: str | None
    undoes: int | None
    parts: tuple[Part, ...]
    before: Moment
    after: Moment
    paths: tuple[PathPlan, ...]
    question: RewindQuestion
    suspended: int | None
    """The run that waits for an answer, if the conversation would leave it behind."""
    later: tuple[int, ...] = ()
    """Runs since the rewind that is undone: what they did goes with it."""

    @property
    def changes_todos(self) -> bool:
        """Whether the plan (the todos) would be another."""
        return 'todos' in self.parts and self.before.todos != self.after.todos

    def files(self, *, mine: bool) -> list[PathPlan]:
        """Return what would be done to files; with `mine`, also to those that the person changed."""
        return [path for path in self.paths if path.possible and (mine or not path.yours)]


class Traveller:
    """Time travel in the session of one notebook."""

    def __init__(self, session: NotebookSession) -> None:
        self.session = session
        self.kernel = str(uuid.uuid4())
        """Tells the variables of this kernel from those of one before it."""
        self.run: int | None = None
        """The run in progress, or the latest."""

    async def restore(self) -> None:
        """Take the plan and the files seen from the latest rewind, if nothing was asked since."""
        # The journal knows its place from its first use on, and `notes` cannot wait for that.
        await self._journal.position()
        moved = await (await self._rewinds()).in_force()
        if moved is not None:
            self._take_over(moved.after, PARTS)

    async def before_run(self, number: int) -> str | None:
        """Mark the beginning of a run, and return a line for the person if a rewind was interrupted before it."""
        rewinds = await self._rewinds()
        if not keeps_checkpoints(self.session.settled):
            return None
        present = await self._present(before_run=number)
        await rewinds.mark(f'before run {number}', present, kind='run', before_run=number)
        latest = await rewinds.latest()
        return interrupted(latest) if latest is not None and not latest.done else None

    def notes(self, ctx: object = None) -> Mapping[str, Any]:
        """Return what to remember with a checkpoint that is taken now, beside its history."""
        return {
            'run_number': self.run,
            'journal': self._journal.here,
            'todos': self._todos(),
            'read_digests': dict(self.session.deps.read_digests),
        }

    async def note_variables(self, names: Sequence[str]) -> None:
        """Note that the agent's code changed variables of this kernel."""
        if names and self.run is not None:
            await (await self._rewinds()).note_variables(self.kernel, self.run, names)

    async def points(self) -> list[TimelinePoint]:
        """Return the points of the conversation, oldest first, each with what changed since the one before.

        Of those that nobody asked for, the latest.
        """
        rewinds = await self._rewinds()
        points, present = await rewinds.points(), await self._present()
        latest = {point.id for point in points[-_POINTS_SHOWN:]}
        points = [point for point in points if point.id in latest or point.is_named]
        files = await changed_files(self._journal, [point.moment.journal for point in points])
        here = await self._here(points, present)
        return [
            TimelinePoint(
                id=point.id,
                label=point.label,
                turn=point.turn,
                messages=point.moment.messages,
                at=point.at,
                automatic=not point.is_named,
                run=point.run,
                tool=point.tool,
                files=files[number],
                here=point.id == here,
            )
            for number, point in enumerate(points)
        ]

    async def save(self, label: str) -> str:
        """Make the present a point called `label`, and return the label as it is kept.

        Raises:
            UsageError: There is one already, or it can be no label.
        """
        rewinds = await self._rewinds()
        label = check_label(label, await rewinds.points())
        async with self._alone():
            await rewinds.mark(label, await self._present())
        return label

    async def undoable(self) -> Rewind | None:
        """Return the rewind that `undo` would take back, or `None`."""
        return await (await self._rewinds()).undoable()

    async def plan(self, target: str | None, parts: Collection[Part] = PARTS) -> TravelPlan:
        """Return what going back to `target` would do.

        Args:
            target: A checkpoint's label or id, or the number of a run, which means before it; by default before the
                last run.
            parts: What goes back.

        Raises:
            UsageError: There is no such point, or more than one.
        """
        rewinds = await self._rewinds()
        points, present = await rewinds.points(), await self._present()
        if target is not None:
            point = find_point(target, points, elsewhere=await rewinds.other_points())
            return await self._plan(point, parts, present)
        return await self._plan(before_last_run(points, present.run), parts, present)

    async def rewind(self, plan: TravelPlan, *, mine: bool = False, give_up: bool = False) -> Rewind:
        """Carry out a plan: a rewind or an undo.

        Args:
            plan: As `plan` or `plan_undo` returned it.
            mine: Whether files that the person changed go back, too.
            give_up: Whether a run that waits for an answer is given up.

        Raises:
            UsageError: A run is in progress or waits, something has moved since it was planned, or a file cannot be
                written; what was done by then can be undone.
        """
        async with self._alone():
            present = await self._present()
            if (present.history, present.run) != (plan.before.history, plan.before.run):
                raise UsageError(STATE_MOVED)
            if plan.suspended is not None:
                if not give_up:
                    raise UsageError(waiting(plan.suspended, plan.kind))
                await (await self.session.store()).save_run(plan.suspended, phase='stopped')
            return await self._carry_out(plan, mine=mine)

    async def plan_undo(self) -> TravelPlan:
        """Return what taking back the latest rewind would do.

        Raises:
            UsageError: There is none.
        """
        rewind = await self.undoable()
        if rewind is None:
            raise UsageError('There is no rewind to undo.')
        present = await self._present()
        target = rewind.before
        paths: list[PathPlan] = []
        if 'files' in rewind.parts and target.journal is not None:
            paths = await self._journal.plan(target.journal)
        plan = await self._planned('undo', rewind.label, target, rewind.parts, present, paths, undoes=rewind.id)
        later = await (await self._rewinds()).runs_since(rewind)
        # After `%deep compact` the longer history shares nothing with what comes again: that takes nothing back.
        question = plan.question if later else replace(plan.question, messages=0)
        return replace(plan, later=tuple(later), question=question)

    async def fork(self, target: str, *, give_up: bool = False) -> str:
        """Go on from `target` in a new conversation, files as they are; return the label of the point.

        Raises:
            UsageError: There is no such point, or more than one, or a run is in progress or waits.
        """
        rewinds = await self._rewinds()
        async with self._alone():
            point = find_point(target, await rewinds.points(), others=await rewinds.other_points())
            suspended = await self._suspended()
            if suspended is not None:
                if not give_up:
                    raise UsageError(waiting(suspended, 'fork'))
                await (await self.session.store()).save_run(suspended, phase='stopped')
            await rewinds.fork(point, await self._present())
            self._take_over(point.moment, ('conversation', 'todos'))
        return point.label

    async def foresee(self, checkpoint: str) -> Foreseen:
        """Return what the agent's going back to a checkpoint would do to files, for the question before it does."""
        rewinds = await self._rewinds()
        point = next((point for point in await rewinds.points() if point.id == checkpoint), None)
        if point is None or point.moment.journal is None:
            return Foreseen(detail='files stay as they are', diff=None, before='')
        plan = await self._plan(point, PARTS, await self._present())
        return foreseen(plan.question.files, plan.paths)

    async def go_back(self, asked: RewindRequested) -> str | None:
        """Go back where the agent asked to, within its run; return a line for the person.

        `None` if the checkpoint is none of this conversation: then nothing was done.
        """
        rewinds = await self._rewinds()
        point = next((point for point in await rewinds.points() if point.id == asked.checkpoint_id), None)
        if point is None:
            return None
        plan = await self._plan(point, PARTS, await self._present())
        await self._carry_out(plan, mine=False)
        return rewound_by_agent(plan)

    async def _plan(self, point: Point, parts: Collection[Part], present: Moment) -> TravelPlan:
        paths: list[PathPlan] = []
        gaps: list[str] = []
        if 'files' in parts:
            if point.moment.journal is None:
                raise UsageError(
                    f'The checkpoint {point.label!r} does not know how files were: go back with --conversation.'
                )
            paths = await self._journal.plan(point.moment.journal)
            gaps = [gap.what for gap in await self._journal.gaps(after=point.moment.journal)]
            gaps += changed_by_others({*await self._journal.by_others()} - {path.path for path in paths})
        variables = await (await self._rewinds()).variables_since(self.kernel, point)
        there = [name for name in variables if name in self.session.namespace]
        more = [f'and {len(there) - _VARIABLES_SHOWN} more'] if len(there) > _VARIABLES_SHOWN else []
        return await self._planned(
            'rewind',
            point.label,
            point.moment,
            parts,
            present,
            paths,
            checkpoint=point.id,
            gaps=gaps,
            variables=[*there[:_VARIABLES_SHOWN], *more],
        )

    async def _planned(
        self,
        kind: Literal['rewind', 'undo'],
        label: str,
        target: Moment,
        parts: Collection[Part],
        present: Moment,
        paths: Sequence[PathPlan],
        *,
        checkpoint: str | None = None,
        undoes: int | None = None,
        gaps: Sequence[str] = (),
        variables: Sequence[str] = (),
    ) -> TravelPlan:
        after = replace(present, journal=target.journal if 'files' in parts else present.journal)
        messages = 0
        if 'conversation' in parts:
            after = replace(
                after, history=target.history, messages=target.messages, run=target.run, digests=target.digests
            )
            messages = await (await self._rewinds()).taken_back(present, target)
        if 'todos' in parts:
            after = replace(after, todos=target.todos)
        question = RewindQuestion(
            id=checkpoint or '',
            label=label,
            files=await planned_files(self._journal, self.session.deps.backend, paths),
            gaps=tuple(dict.fromkeys(gaps)),
            variables=tuple(variables),
            messages=messages,
        )
        return TravelPlan(
            kind=kind,
            label=label,
            checkpoint=checkpoint,
            undoes=undoes,
            parts=tuple(part for part in PARTS if part in parts),
            before=present,
            after=after,
            paths=tuple(paths),
            question=question,
            suspended=await self._suspended() if 'conversation' in parts else None,
        )

    async def _carry_out(self, plan: TravelPlan, *, mine: bool) -> Rewind:
        rewinds = await self._rewinds()
        rewind = await rewinds.begin(
            plan.kind,
            label=plan.label,
            checkpoint=plan.checkpoint,
            parts=plan.parts,
            before=plan.before,
            after=plan.after,
            undoes=plan.undoes,
        )
        changes = None
        if files := plan.files(mine=mine):
            try:
                changes = await self._journal.restore(files, source=plan.kind)
            except UsageError as error:
                if not await self._journal.changes(after=rewind.before.journal or 0):
                    await rewinds.drop(rewind)
                    raise
                raise UsageError(f'{error} {interrupted(rewind)}') from None
        await rewinds.finish(rewind, changes)
        self._take_over(plan.after, plan.parts)
        return rewind

    def _take_over(self, moment: Moment, parts: Collection[Part]) -> None:
        deps = self.session.deps
        if 'todos' in parts:
            deps.todos[:] = [Todo(**todo) for todo in moment.todos]
        if 'conversation' in parts:
            deps.read_digests.clear()
            deps.read_digests.update(moment.digests)

    async def _present(self, *, before_run: int | None = None) -> Moment:
        rest = Moment(
            history=0,
            messages=0,
            journal=await self._journal.position(),
            todos=self._todos(),
            digests=dict(self.session.deps.read_digests),
        )
        return await (await self._rewinds()).present(rest, before_run=before_run)

    async def _here(self, points: Sequence[Point], present: Moment) -> str | None:
        """Return the id of the latest point at which the conversation stands."""
        rewinds = await self._rewinds()
        for point in reversed(points):
            if point.moment.messages == present.messages and await rewinds.taken_back(present, point.moment) == 0:
                return point.id
        return None

    def _todos(self) -> list[dict[str, Any]]:
        return [asdict(todo) for todo in self.session.deps.todos]

    async def _suspended(self) -> int | None:
        record = await (await self.session.store()).suspended_run()
        return None if record is None else record.id

    def _alone(self) -> asyncio.Lock:
        lock = self.session.one_run
        if lock.locked():
            raise UsageError('A run is in progress: wait for it, or stop it, and try again.')
        return lock

    @property
    def _journal(self) -> Journal:
        journal = self.session.journal
        assert journal is not None
        return journal

    async def _rewinds(self) -> Rewinds:
        return Rewinds(await self.session.store())

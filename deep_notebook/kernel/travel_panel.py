"""The timeline as a panel: what its buttons do."""

from __future__ import annotations

from dataclasses import replace

from ..errors import UsageError
from ..store.rewinds import PARTS
from ..views.panel_shapes import Action, Panel, Timeline
from .time_travel import Traveller
from .travel_words import STATE_MOVED, can_undo, done, later_runs

__all__ = ['TimelinePanel']


class TimelinePanel:
    """The timeline of one notebook.

    Every action that changes something begins with a look at how things are then.
    """

    def __init__(self, travel: Traveller) -> None:
        self._travel = travel

    async def draw(self, *, notice: str | None = None) -> Timeline:
        """Return the timeline as it is now."""
        points, rewind = await self._travel.points(), await self._travel.undoable()
        return Timeline(points=tuple(points), undo=can_undo(rewind), notice=notice)

    async def handle(self, panel: Panel, action: Action) -> Timeline:
        """Do what the person did and return the timeline after it.

        Raises:
            UsageError: It cannot be done now.
        """
        asked = panel.ask if isinstance(panel, Timeline) else None
        match action:
            case {'do': 'ask', 'id': str(id)}:
                plan = await self._travel.plan(id)
                return replace(await self.draw(), ask=plan.question)
            case {'do': 'cancel'}:
                return await self.draw()
            case {'do': 'rewind', 'id': str(id), 'parts': list(parts), 'mine': bool(mine)}:
                if asked is None or asked.id != id:
                    raise UsageError('Choose a checkpoint first.')
                chosen = [part for part in PARTS if part in parts]
                if not chosen:
                    raise UsageError('Choose what goes back: the conversation, the files or the plan.')
                plan = await self._travel.plan(id, chosen)
                if 'files' in chosen and plan.question.files != asked.files:
                    whole = await self._travel.plan(id)
                    return replace(await self.draw(notice=STATE_MOVED), ask=whole.question)
                await self._travel.rewind(plan, mine=mine)
                return await self.draw(notice=done(plan, mine=mine))
            case {'do': 'undo'}:
                plan = await self._travel.plan_undo()
                if plan.later:
                    raise UsageError(f'{later_runs(plan.later).capitalize()}: `%deep undo` in a cell asks first.')
                await self._travel.rewind(plan)
                return await self.draw(notice=done(plan, mine=False))
        raise UsageError('This timeline is of another version: run %deep checkpoints again.')

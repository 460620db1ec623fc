"""Time travel in words: the list of points, what a rewind would do, what it did."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ..masking import mask_secrets
from ..store.rewinds import Rewind
from ..views.panel_shapes import PlannedFile, TimelinePoint
from .travel_targets import SHORT

if TYPE_CHECKING:
    from .time_travel import TravelPlan

__all__ = ['STATE_MOVED', 'done', 'interrupted', 'needs_question', 'planned', 'rewound_by_agent', 'timeline', 'waiting']

STATE_MOVED = 'The conversation went on since this was planned, so nothing was changed: look again, and decide anew.'

_FILES_SHOWN = 40
"""Files in a list; more are counted."""
_POINT_FILES_SHOWN = 3
_VARIABLES_SHOWN = 20
"""Names of variables that are listed as not rewound."""
_DONE = {'edit': 'changed back', 'create': 'brought back', 'delete': 'deleted'}


def timeline(points: Sequence[TimelinePoint]) -> str:
    """Return the list of points, oldest first: label, id, run, time, and what changed."""
    if not points:
        return 'There are no checkpoints yet: the next %%deep makes the first.'
    width = max(len(point.label) for point in points)
    lines = []
    for point in points:
        words = [
            f'{">" if point.here else " "} {point.label:<{width}}  {point.id[:SHORT]}',
            f'{datetime.fromtimestamp(point.at):%H:%M:%S}',
            f'run {point.run}' if point.run is not None else '',
            f'after {point.tool}' if point.tool is not None else '',
            _counted(point.messages, 'message'),
            _changed(point),
        ]
        lines.append('  '.join(word for word in words if word))
    return mask_secrets('\n'.join(lines))


def planned(plan: TravelPlan, *, mine: bool) -> str:
    """Return what carrying out `plan` would do, one line each; with `mine`, also to files that the person changed."""
    title = f'Back to {plan.label!r}:' if plan.kind == 'rewind' else f'Undo, to {plan.label}:'
    return mask_secrets('\n'.join([title, *(f'  {line}' for line in _consequences(plan, mine=mine))]))


def needs_question(plan: TravelPlan) -> bool:
    """Return whether something would stay that the person may want to go back."""
    return plan.suspended is not None or any(file.yours or not file.possible for file in plan.question.files)


def done(plan: TravelPlan, *, mine: bool) -> str:
    """Return what was done, in a sentence or two."""
    went = f'Went back to {plan.label!r}' if plan.kind == 'rewind' else f'Undone: all is as {plan.label}'
    return mask_secrets(' '.join([f'{went}{_summary(plan, mine=mine)}.', *_left(plan, mine=mine)]))


def rewound_by_agent(plan: TravelPlan) -> str:
    """Return the notice of a run that ended with the agent going back."""
    went = f'Went back to the checkpoint “{plan.label}”: the conversation goes on from there'
    rest = [*_left(plan, mine=False), '`%deep undo` takes it back.']
    return mask_secrets(' '.join([f'{went}{_summary(plan, mine=False, messages=False)}.', *rest]))


def interrupted(rewind: Rewind) -> str:
    """Return what to do about a rewind that did not come to its end."""
    if rewind.kind == 'undo':
        return 'An undo was interrupted: `%deep undo` completes it.'
    again = f'%deep rewind {rewind.label}' + ('' if len(rewind.parts) > 1 else f' --{rewind.parts[0]}')
    return f'A rewind was interrupted: `{again}` completes it, `%deep undo` takes back what was done.'


def waiting(run: int, command: str) -> str:
    """Return that a suspended run is in the way, and what to do."""
    return (
        f'Run {run} waits for your answer: `%deep resume` goes on with it, `%deep {command} … --give-up` leaves it '
        'behind. Nothing was changed.'
    )


def _consequences(plan: TravelPlan, *, mine: bool) -> list[str]:
    question = plan.question
    lines = []
    if question.messages:
        lines.append(f'{_counted(question.messages, "message")} of the conversation will be taken back')
    elif plan.before.history != plan.after.history:
        lines.append(f'the conversation will have {_counted(plan.after.messages, "message")} again')
    if plan.changes_todos:
        lines.append('the plan will be as it was then')
    if plan.suspended is not None:
        lines.append(f'run {plan.suspended}, which waits for your answer, will be given up')
    lines += [_file_line(file, mine=mine) for file in question.files[:_FILES_SHOWN]]
    if len(question.files) > _FILES_SHOWN:
        lines.append(f'… and {len(question.files) - _FILES_SHOWN} more files')
    lines += [f'not covered: {gap}' for gap in question.gaps]
    if question.variables:
        lines.append(f'variables stay as they are: {_names(question.variables, _VARIABLES_SHOWN)}')
    return lines or ['nothing changes']


def _file_line(file: PlannedFile, *, mine: bool) -> str:
    counts = f'  +{file.added} −{file.removed}' if file.added or file.removed else ''
    if not file.possible:
        return f'keep    {file.path}  (what it held then was not kept)'
    if file.yours and not mine:
        return f'keep    {file.path}{counts}  (changed by you since: --mine overwrites it)'
    word = {'edit': 'change', 'create': 'create', 'delete': 'delete'}[file.action]
    return f'{word}  {file.path}{counts}' + ('  (with your changes)' if file.yours else '')


def _summary(plan: TravelPlan, *, mine: bool, messages: bool = True) -> str:
    parts = []
    if messages and plan.question.messages:
        parts.append(f'{_counted(plan.question.messages, "message")} taken back')
    going = [file for file in plan.question.files if file.possible and (mine or not file.yours)]
    for action, word in _DONE.items():
        names = [file.path for file in going if file.action == action]
        if names:
            parts.append(f'{word}: {_names(names, 5)}')
    return f' ({"; ".join(parts)})' if parts else ''


def _left(plan: TravelPlan, *, mine: bool) -> list[str]:
    """Return what did not go back, one sentence each."""
    question = plan.question
    sentences = []
    yours = [file.path for file in question.files if file.yours and file.possible and not mine]
    if yours:
        sentences.append(f'Kept as you changed it: {_names(yours, 5)}.')
    lost = [file.path for file in question.files if not file.possible]
    if lost:
        sentences.append(f'Not kept, so as it is now: {_names(lost, 5)}.')
    sentences += [f'Not covered: {gap.rstrip(".")}.' for gap in question.gaps]
    if question.variables:
        sentences.append(f'Variables stay as they are: {_names(question.variables, _VARIABLES_SHOWN)}.')
    return sentences


def _changed(point: TimelinePoint) -> str:
    names = [
        f'{file.path} +{file.added} −{file.removed}' if file.added or file.removed else file.path
        for file in point.files
    ]
    return _names(names, _POINT_FILES_SHOWN)


def _names(names: Sequence[str], limit: int) -> str:
    more = f' and {len(names) - limit} more' if len(names) > limit else ''
    return ', '.join(names[:limit]) + more


def _counted(count: int, what: str) -> str:
    return f'{count} {what}' if count == 1 else f'{count} {what}s'

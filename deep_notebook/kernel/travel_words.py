"""Time travel in words: what a rewind would do, what it did, and what to do about one that was interrupted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ..masking import mask_secrets
from ..store.rewinds import PARTS, Rewind
from ..views.panel_shapes import PlannedFile
from ..views.panel_wording import counted_words, planned_words, variables_words
from ..views.plain import revealed
from .travel_targets import SHORT

if TYPE_CHECKING:
    from .time_travel import TravelPlan

__all__ = [
    'STATE_MOVED',
    'can_undo',
    'changed_by_others',
    'done',
    'interrupted',
    'later_runs',
    'needs_question',
    'planned',
    'rewound_by_agent',
    'waiting',
]

STATE_MOVED = 'Something has changed since this was planned, so nothing was done: look again, and decide anew.'

_FILES_SHOWN = 40
"""Files in a list; more are counted."""
_NAMES_SHOWN = 5
_MARKS = {'edit': '~', 'create': '+', 'delete': '-'}
_DONE = {'edit': 'changed back', 'create': 'brought back', 'delete': 'removed'}


def planned(plan: TravelPlan, *, mine: bool) -> str:
    """Return what carrying out `plan` would do, one line each; with `mine`, also to files that the person changed."""
    title = f'Go back to {plan.label!r}:' if plan.kind == 'rewind' else f'Undo the rewind to {plan.label!r}:'
    return mask_secrets('\n'.join([title, *(f'  {_on_one_line(line)}' for line in _consequences(plan, mine=mine))]))


def needs_question(plan: TravelPlan) -> bool:
    """Return whether something would stay, or go with it, that the person may want otherwise."""
    return (
        plan.suspended is not None
        or bool(plan.later)
        or any(file.yours or not file.possible for file in plan.question.files)
    )


def done(plan: TravelPlan, *, mine: bool) -> str:
    """Return what was done, in a sentence or two."""
    went = f'Went back to {plan.label!r}' if plan.kind == 'rewind' else f'Undid the rewind to {plan.label!r}'
    messages = counted_words(plan.question.messages, 'message') if plan.question.messages else ''
    parts = [f'{messages} taken back' if messages else '', *_files_done(plan, mine=mine)]
    return mask_secrets(_on_one_line(' '.join([_with(went, parts), *_left(plan, mine=mine)])))


def rewound_by_agent(plan: TravelPlan) -> str:
    """Return the notice of a run that ended with the agent going back."""
    went = f'Went back to the checkpoint “{plan.label}”, and the conversation goes on from there'
    sentences = [_with(went, _files_done(plan, mine=False)), *_left(plan, mine=False), '`%deep undo` takes it back.']
    return mask_secrets(_on_one_line(' '.join(sentences)))


def can_undo(rewind: Rewind | None) -> str | None:
    """Return what an undo would take back, in a sentence."""
    return None if rewind is None else mask_secrets(f'Went back to {rewind.label!r}.')


def changed_by_others(paths: Collection[str]) -> list[str]:
    """Return that nobody knows whether these files are the person's or of what the agent left running; or nothing."""
    if not paths:
        return []
    return [
        f"after the agent's last command or code, you or another program changed {_names(sorted(paths))}: that stays"
    ]


def interrupted(rewind: Rewind) -> str:
    """Return what to do about a rewind that did not come to its end."""
    if rewind.kind == 'undo':
        return 'An undo was interrupted: `%deep undo` completes it.'
    target = (rewind.checkpoint or rewind.label)[:SHORT]
    alone = [f'--{part}' for part in rewind.parts] if len(rewind.parts) < len(PARTS) else []
    again = ' '.join(['%deep rewind', target, *alone])
    return f'A rewind was interrupted: `{again}` completes it, `%deep undo` takes back what was done.'


def later_runs(runs: Sequence[int]) -> str:
    """Return that what runs did since a rewind goes back with it when it is undone."""
    since = f'run {runs[0]}' if len(runs) == 1 else f'the {len(runs)} runs'
    return f'what {since} did since then goes back, too'


def waiting(run: int, command: str) -> str:
    """Return that a suspended run is in the way, and what to do."""
    return (
        f'Run {run} waits for your answer, so nothing was changed: `%deep resume` goes on with it, '
        f'`%deep {command} … --give-up` leaves it behind.'
    )


def _consequences(plan: TravelPlan, *, mine: bool) -> list[str]:
    question = plan.question
    lines = []
    if question.messages:
        lines.append(f'{counted_words(question.messages, "message")} of the conversation taken back')
    elif plan.before.history != plan.after.history:
        lines.append(f'the conversation has {counted_words(plan.after.messages, "message")} then')
    if plan.changes_todos:
        lines.append('the plan is as it was then')
    if plan.later:
        lines.append(later_runs(plan.later))
    if plan.suspended is not None:
        lines.append(f'run {plan.suspended}, which waits for your answer, is given up')
    lines += [_file_line(file, mine=mine) for file in question.files[:_FILES_SHOWN]]
    if len(question.files) > _FILES_SHOWN:
        lines.append(f'… and {counted_words(len(question.files) - _FILES_SHOWN, "more file")}')
    lines += [f'! {gap}' for gap in question.gaps]
    if question.variables:
        lines.append(variables_words(question))
    return lines or ['nothing changes']


def _file_line(file: PlannedFile, *, mine: bool) -> str:
    counts = ' '.join([*([f'+{file.added}'] if file.added else []), *([f'−{file.removed}'] if file.removed else [])])
    mark, words = _MARKS[file.action], planned_words(file)
    if not file.possible:
        mark = '!'
    elif file.yours and not mine:
        mark, words = '!', 'stays: changed since by you or another program (--mine takes it back as well)'
    return f'{mark} {file.path}  {" · ".join(filter(None, [counts, words]))}'


def _files_done(plan: TravelPlan, *, mine: bool) -> list[str]:
    going = [file for file in plan.question.files if file.possible and (mine or not file.yours)]
    named = {word: [file.path for file in going if file.action == action] for action, word in _DONE.items()}
    return [f'{_names(paths)} {word}' for word, paths in named.items() if paths]


def _left(plan: TravelPlan, *, mine: bool) -> list[str]:
    """Return what did not go back, one sentence each."""
    question = plan.question
    yours = [file.path for file in question.files if file.possible and file.yours and not mine]
    lost = [file.path for file in question.files if not file.possible]
    sentences = [f'Kept, since somebody else changed it too: {_names(yours)}.'] if yours else []
    if lost:
        sentences.append(f'Left as it is, since what it held then, or holds now, could not be kept: {_names(lost)}.')
    sentences += [f'Not covered: {gap.rstrip(".")}.' for gap in question.gaps]
    return sentences + ([f'{variables_words(question)}.'] if question.variables else [])


def _with(sentence: str, details: Sequence[str]) -> str:
    shown = '; '.join(filter(None, details))
    return f'{sentence}: {shown}.' if shown else f'{sentence}.'


def _on_one_line(text: str) -> str:
    """Return `text` with a sign for what in the name of a file would look like a line of ours."""
    return revealed(text).replace('\n', '␊')


def _names(names: Sequence[str]) -> str:
    more = f' and {len(names) - _NAMES_SHOWN} more' if len(names) > _NAMES_SHOWN else ''
    return ', '.join(names[:_NAMES_SHOWN]) + more

"""The words that all views of panels use. The live widget says the same in TypeScript; one table checks both."""

from __future__ import annotations

import time

from .panel_shapes import ChangeSet, Hit, Pages, PlannedFile, ReviewFile, RewindQuestion, Search, TimelinePoint

__all__ = [
    'HOW_TO_GO_BACK',
    'NOTHING_CHANGED',
    'NOTHING_SEARCHED',
    'NO_CHECKPOINTS',
    'counted_words',
    'going_back_words',
    'hit_words',
    'pages_words',
    'planned_words',
    'point_words',
    'review_words',
    'reviewed_words',
    'searched_words',
    'timeline_words',
    'variables_words',
    'when_words',
]

NO_CHECKPOINTS = 'There are no checkpoints yet. `%deep checkpoint LABEL` makes one.'
HOW_TO_GO_BACK = '`%deep rewind LABEL` goes back to one of them.'
NOTHING_CHANGED = 'No file was changed.'
NOTHING_SEARCHED = 'Nothing was searched for yet.'

_PLANNED = {'edit': 'goes back to how it was', 'create': 'comes back', 'delete': 'is removed'}
_DID = {'edit': '', 'create': 'new', 'delete': 'deleted'}
_REVIEWED = {'open': '', 'kept': 'kept', 'undone': 'undone', 'mixed': 'kept in part'}


def counted_words(count: int, what: str) -> str:
    """Return a number of things: `1 file`, `3 files`."""
    return f'{count} {what}' if count == 1 else f'{count} {what}s'


def when_words(at: float) -> str:
    """Return a moment (Unix seconds) in local time, such as `2025-12-01 14:03`."""
    return time.strftime('%Y-%m-%d %H:%M', time.localtime(at))


def timeline_words(points: int) -> str:
    """Return the heading of a timeline, such as `Checkpoints · 5`."""
    return f'Checkpoints · {points}' if points else 'Checkpoints'


def point_words(point: TimelinePoint) -> str:
    """Return what is beside a checkpoint's label, such as `run 3 · after write_file · 12 messages`."""
    parts = [
        f'run {point.run}' if point.run is not None else '',
        f'after {point.tool}' if point.tool else '',
        counted_words(point.messages, 'message'),
    ]
    return ' · '.join(filter(None, parts))


def going_back_words(question: RewindQuestion) -> str:
    """Return what going back takes with it, besides files."""
    if not question.messages:
        return 'The conversation stays as it is.'
    verb = 'is' if question.messages == 1 else 'are'
    return f'{counted_words(question.messages, "message")} {verb} taken back.'


def planned_words(file: PlannedFile) -> str:
    """Return what becomes of one file, such as `comes back`."""
    if not file.possible:
        return 'stays as it is: what it held then, or holds now, could not be kept'
    words = _PLANNED[file.action]
    return f'{words} · changed since by you or another program' if file.yours else words


def variables_words(question: RewindQuestion) -> str:
    """Return which variables changed and are left alone; nothing if none."""
    if not question.variables:
        return ''
    return f'Variables are not taken back: {", ".join(question.variables)}'


def reviewed_words(changes: ChangeSet) -> str:
    """Return the heading of a change set, such as `Changes of run 3 · 2 of 3 files to review`."""
    title = f'Changes of run {changes.run}' if changes.run is not None else 'Changes'
    open = sum(file.state == 'open' or any(hunk.state == 'open' for hunk in file.hunks) for file in changes.files)
    if not changes.files:
        return title
    files = counted_words(len(changes.files), 'file')
    return f'{title} · {open} of {files} to review' if open else f'{title} · {files} reviewed'


def review_words(file: ReviewFile) -> str:
    """Return what was done to a file and what became of that, such as `new · kept`."""
    return ' · '.join(filter(None, [_DID[file.action], _REVIEWED[file.state], file.note or '']))


def searched_words(search: Search) -> str:
    """Return what a search has found, such as `2 places`."""
    if not search.query.strip():
        return ''
    if not search.hits:
        return 'Nothing found.'
    places = counted_words(len(search.hits), 'place')
    return f'The best {places}' if search.more else places


def hit_words(hit: Hit) -> str:
    """Return where a hit is and who said it, such as `run 3 · you`."""
    return ' · '.join(filter(None, [f'run {hit.run}' if hit.run is not None else '', hit.speaker]))


def pages_words(pages: Pages) -> str:
    """Return where a page lies, such as `Page 2 of 7 · lines 101–200 of 640`."""
    where = f'Page {pages.page} of {pages.pages}'
    if not pages.text:
        return where
    shown = pages.text.removesuffix('\n').count('\n') + 1
    last = pages.first_line + shown - 1
    lines = f'lines {pages.first_line}–{last}' if shown > 1 else f'line {last}'
    return f'{where} · {lines} of {pages.lines}'

"""Which point the person means: a label, an id, or a run, which means before it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ..errors import UsageError, did_you_mean
from ..store.points import Point

__all__ = ['SHORT', 'before_last_run', 'check_label', 'find_point']

SHORT = 8
"""Characters of an id that are shown; half of them are enough to find it."""
_LABEL_LIMIT = 100
"""Characters of a label."""
_OURS = re.compile(r'auto-\d+|before (run|rewind|undo) \d+|\d+')
"""Labels that mean something else than what the person would save under them."""


def find_point(
    wanted: str, points: Sequence[Point], *, others: Sequence[Point] = (), elsewhere: Sequence[Point] = ()
) -> Point:
    """Return the point that `wanted` means.

    Args:
        wanted: A label, an id or its beginning, or a run (`3`, `run 3`).
        points: Those that may be meant.
        others: Those that may be meant if none of `points` is.
        elsewhere: Those of other conversations, where that is no place to go.

    Raises:
        UsageError: There is none, or more than one.
    """
    wanted = _normal(wanted)
    for among in (points, others):
        found = _meant(wanted, among)
        if len(found) == 1:
            return found[0]
        if found:
            some = ', '.join(f'{point.id[:SHORT]} (run {point.run})' for point in found[-5:])
            raise UsageError(f'{len(found)} checkpoints are called {wanted!r}: say which by its id, {some}.')
    if _meant(wanted, elsewhere):
        raise UsageError(
            f'{wanted!r} is in another conversation of this notebook: `%deep fork {wanted}` goes on from it.'
        )
    if not points and not others:
        raise UsageError('There are no checkpoints yet: the next %%deep makes the first.')
    hint = did_you_mean(wanted, [point.label for point in (*points, *others)])
    raise UsageError(f'There is no checkpoint or run {wanted!r}.{hint} `%deep checkpoints` lists them.')


def before_last_run(points: Sequence[Point], run: int | None) -> Point:
    """Return the point at which the run that the conversation ends with began.

    Raises:
        UsageError: It ends with none, or nothing was marked then.
    """
    if run is None:
        raise UsageError('The conversation is at its beginning: there is no run to take back.')
    found = [point for point in points if point.before_run == run]
    if not found:
        raise UsageError(
            f'This conversation has no checkpoint before run {run}: `%deep checkpoints` lists those it has.'
        )
    return found[-1]


def check_label(label: str, points: Sequence[Point]) -> str:
    """Return `label` on one line, if a point can be called so.

    Raises:
        UsageError: It cannot.
    """
    label = _normal(label)
    if not label or len(label) > _LABEL_LIMIT:
        raise UsageError(f'A label has 1 to {_LABEL_LIMIT} characters: %deep checkpoint before the refactoring.')
    if _OURS.fullmatch(label) or any(word.startswith('--') for word in label.split()):
        raise UsageError(f'{label!r} means something else to %deep rewind: take another label.')
    if any(_normal(point.label) == label for point in points):
        raise UsageError(f'There is a checkpoint {label!r} already: take another label.')
    return label


def _meant(wanted: str, points: Sequence[Point]) -> list[Point]:
    run = re.fullmatch(r'(?:run )?(\d+)', wanted)
    return (
        [point for point in points if point.id == wanted]
        or [point for point in points if _normal(point.label) == wanted]
        or [point for point in points if run is not None and point.before_run == int(run[1])][-1:]
        or [point for point in points if len(wanted) >= SHORT // 2 and point.id.startswith(wanted)]
    )


def _normal(label: str) -> str:
    """Return a label on one line, without quotes around it, in the one form of several that look the same."""
    return unicodedata.normalize('NFC', ' '.join(label.split()).strip('\'"').strip())

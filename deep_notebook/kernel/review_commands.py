"""`%deep review`, and the change set below a run in review mode."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..views.panel_shapes import ChangeSet
from .environment import front_end
from .panels import show_panel
from .prompt import expand

if TYPE_CHECKING:
    from .cells import DeepCells

__all__ = ['COMMANDS', 'show_changes']

_VERBS = ('keep', 'undo')
_HOW = (
    '`%deep review undo {run}` undoes this, `%deep review undo {run} PATH` one file, `PATH:2` its second hunk; '
    '`%deep review keep {run}` keeps it.'
)
_HOW_AFTER_ALL = (
    '`%deep review undo {run} PATH` and `%deep review keep {run} PATH` change what you decided about a file.'
)
_PLACE = re.compile(r'(?P<path>.+):(?P<number>\d+)')


def show_changes(cells: DeepCells, changes: ChangeSet) -> None:
    """Show a change set in the running cell: with buttons where a page can show them, else with the commands."""
    if changes.notice is None and changes.files and front_end(cells.shell) in ('terminal', 'headless'):
        is_open = any(file.state == 'open' for file in changes.files)
        changes = replace(changes, notice=(_HOW if is_open else _HOW_AFTER_ALL).format(run=changes.run))
    reviewer = cells.session.review
    show_panel(cells, changes, reviewer.act)


def _review(cells: DeepCells, rest: str) -> None:
    reviewer = cells.session.review
    words = rest.split()
    verb = words.pop(0) if words and words[0] in _VERBS else None
    run = int(words.pop(0)) if words and words[0].isdecimal() else cells.call(reviewer.latest())
    if verb is None:
        if words:
            raise UsageError(
                f'%deep review takes the number of a run, or keep or undo with a run and a file, not {rest!r}.'
            )
        show_changes(cells, cells.call(reviewer.changes(run)))
        return
    path, place = _place(cells.call(reviewer.changes(run)), expand(' '.join(words), cells.session.namespace))
    show_changes(cells, cells.call(reviewer.decide(run, 'keep' if verb == 'keep' else 'undo', path, place)))


def _place(changes: ChangeSet, text: str) -> tuple[str | None, str | None]:
    """Return the file that is meant, and its hunk where `:N` stands behind the name."""
    paths = {file.path for file in changes.files}
    if len(text) > 2 and text[0] == text[-1] and text[0] in '"\'' and text not in paths:
        text = text[1:-1]
    if not text or text in paths:
        return text or None, None
    match = _PLACE.fullmatch(text)
    file = next((file for file in changes.files if match is not None and file.path == match['path']), None)
    if match is None or file is None:
        return text, None
    number = int(match['number'])
    if not 1 <= number <= len(file.hunks):
        raise UsageError(f'{file.path} has no hunk {number}: it has {len(file.hunks)}.')
    return file.path, file.hunks[number - 1].id


COMMANDS: dict[str, Callable[[DeepCells, str], None]] = {'review': _review}

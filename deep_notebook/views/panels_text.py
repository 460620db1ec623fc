"""Panels as text: what a terminal prints, and the `text/plain` of a saved cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .panel_shapes import ChangeSet, Pages, Panel, PlannedFile, ReviewFile, RewindQuestion, Search, Timeline
from .panel_wording import (
    HOW_TO_GO_BACK,
    NO_CHECKPOINTS,
    NOTHING_CHANGED,
    NOTHING_SEARCHED,
    going_back_words,
    hit_words,
    pages_words,
    planned_words,
    point_words,
    review_words,
    reviewed_words,
    searched_words,
    timeline_words,
    variables_words,
    when_words,
)
from .plain import plain, revealed, well_formed

__all__ = ['render']

_ID = 8
"""Characters of a checkpoint's id that are enough to name it."""
_PLAN_MARKS = {'edit': '~', 'create': '+', 'delete': '-'}


def render(panel: Panel, *, times: bool = True) -> str:
    """Return `panel` as text without colours.

    Args:
        panel: What to show, masked by whoever shows it.
        times: Whether to say times and ids, which differ each time a notebook is run.
    """
    match panel:
        case Timeline():
            lines = [*_timeline(panel, times=times)]
        case ChangeSet():
            lines = [*_changes(panel)]
        case Search():
            lines = [*_search(panel, times=times)]
        case Pages():
            lines = [*_page(panel)]
    if panel.notice:
        if isinstance(panel, ChangeSet):
            lines.append('')  # the last line of a diff is no place to begin a sentence after
        lines.append(plain(panel.notice).replace('`', ''))
    return well_formed('\n'.join(lines))


def _timeline(timeline: Timeline, *, times: bool) -> Iterator[str]:
    yield timeline_words(len(timeline.points)) if timeline.points else NO_CHECKPOINTS.replace('`', '')
    for point in timeline.points:
        beside = [point_words(point), *([when_words(point.at), point.id[:_ID]] if times else [])]
        here = '   <- here' if point.here else ''
        yield _line(f'  {"○" if point.automatic else "●"} {point.label}   {" · ".join(beside)}{here}')
        for file in point.files:
            yield _line(f'      {file.path}  {_counts(file.added, file.removed)}')
    if timeline.ask is not None:
        yield ''
        yield from _question(timeline.ask)
    if timeline.points and timeline.ask is None:
        yield HOW_TO_GO_BACK.replace('`', '')
    if timeline.undo:
        yield _line(f'{timeline.undo} %deep undo takes it back.')


def _question(question: RewindQuestion) -> Iterator[str]:
    yield _line(f'Go back to {question.label!r}? {going_back_words(question)}')
    for file in question.files:
        yield from _planned(file)
    for gap in question.gaps:
        yield _line(f'  ! {gap}')
    if question.variables:
        yield _line(f'  {variables_words(question)}')


def _planned(file: PlannedFile) -> Iterator[str]:
    mark = _PLAN_MARKS[file.action] if file.possible else '!'
    beside = filter(None, [_counts(file.added, file.removed), planned_words(file)])
    yield _line(f'  {mark} {file.path}  {" · ".join(beside)}')


def _changes(changes: ChangeSet) -> Iterator[str]:
    yield reviewed_words(changes)
    if not changes.files:
        yield NOTHING_CHANGED
    for file in changes.files:
        yield from _reviewed(file)
    for gap in changes.gaps:
        yield _line(f'! {gap}')


def _reviewed(file: ReviewFile) -> Iterator[str]:
    yield ''
    yield _line('   '.join(filter(None, [file.path, _counts(file.added, file.removed), review_words(file)])))
    for hunk in file.hunks:
        state = f'   [{hunk.state}]' if hunk.state != 'open' else ''
        yield _line(f'    {hunk.header}{state}')
        for line in revealed(hunk.text).removesuffix('\n').split('\n'):
            yield f'    {line}'


def _search(search: Search, *, times: bool) -> Iterator[str]:
    title = f'Search for {search.query!r}'
    yield _line(': '.join(filter(None, [title, searched_words(search)])) if search.query else NOTHING_SEARCHED)
    for hit in search.hits:
        when = [when_words(hit.at)] if times and hit.at is not None else []
        yield ''
        yield _line(' · '.join([hit_words(hit), *when]))
        yield from (_line(f'    {line}') for line in hit.before)
        yield from (f'  > {line}' for line in plain(_marked(hit.snippet, hit.matches)).split('\n'))
        yield from (_line(f'    {line}') for line in hit.after)


def _marked(snippet: str, matches: Iterable[tuple[int, int]]) -> str:
    """Return a snippet with what matches between asterisks."""
    parts, last = [], 0
    for start, end in matches:
        parts += [snippet[last:start], f'*{snippet[start:end]}*']
        last = end
    return ''.join([*parts, snippet[last:]])


def _page(pages: Pages) -> Iterator[str]:
    yield _line(' · '.join(filter(None, [pages.title, pages.path])))
    yield pages_words(pages)
    if pages.text:
        yield plain(pages.text).removesuffix('\n')


def _counts(added: int, removed: int) -> str:
    return ' '.join([*([f'+{added}'] if added else []), *([f'−{removed}'] if removed else [])])


def _line(text: str) -> str:
    return ' '.join(plain(text).rstrip().splitlines())

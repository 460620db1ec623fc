"""Panels as static HTML: what stays in a saved notebook. Nothing in it can be clicked but folds; see `static_html`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from importlib import resources

from ._html_parts import counted, diff_block, escaped, fold, sentence
from .panel_shapes import (
    ChangeSet,
    Hit,
    Hunk,
    Pages,
    Panel,
    PlannedFile,
    ReviewFile,
    RewindQuestion,
    Search,
    Timeline,
    TimelinePoint,
)
from .panel_wording import (
    HOW_TO_GO_BACK,
    NO_CHECKPOINTS,
    NOTHING_CHANGED,
    NOTHING_SEARCHED,
    counted_words,
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
from .plain import plain, revealed

__all__ = ['render']


def render(panel: Panel, *, times: bool = True) -> str:
    """Return `panel` as self-contained HTML.

    Args:
        panel: What to show, masked by whoever shows it.
        times: Whether to say when things happened, which differs each time a notebook is run.
    """
    match panel:
        case Timeline():
            body = ''.join(_timeline(panel, times=times))
        case ChangeSet():
            body = ''.join(_changes(panel))
        case Search():
            body = ''.join(_search(panel, times=times))
        case Pages():
            body = ''.join(_page(panel))
    notice = f'<p class="deep-part deep-banner">{sentence(panel.notice)}</p>' if panel.notice else ''
    return (
        '<div class="deep-run deep-panel mathjax_ignore tex2jax_ignore">'
        f'<style>{_style_sheet()}</style>{body}{notice}</div>'
    )


@cache
def _style_sheet() -> str:
    package = resources.files(__package__)
    sheets = [package.joinpath(name).read_text(encoding='utf-8') for name in ('static_html.css', 'panels_html.css')]
    return re.sub(r'\s*\n\s*', '', ''.join(sheets))


def _bar(title: str, beside: str = '') -> str:
    return f'<div class="deep-bar"><strong>{escaped(title)}</strong> {beside}</div>'


def _muted(text: str) -> str:
    return f'<span class="deep-muted">{escaped(text)}</span>'


def _timeline(timeline: Timeline, *, times: bool) -> Iterator[str]:
    yield _bar(timeline_words(len(timeline.points)))
    if timeline.undo:
        yield f'<p class="deep-part">{sentence(timeline.undo)} <code>%deep undo</code> takes it back.</p>'
    if timeline.ask is not None:
        yield _question(timeline.ask)
    points = ''.join(_point(point, times=times) for point in reversed(timeline.points))
    yield f'<ol class="deep-part deep-list deep-line">{points}</ol>{_empty(HOW_TO_GO_BACK)}' if points else ''
    yield '' if points else _empty(NO_CHECKPOINTS)


def _empty(text: str) -> str:
    return f'<p class="deep-part deep-muted">{sentence(text)}</p>'


def _point(point: TimelinePoint, *, times: bool) -> str:
    label = f'<span>{escaped(point.label)}</span>' if point.automatic else f'<b>{escaped(point.label)}</b>'
    here = ' <span class="deep-tag">you are here</span>' if point.here else ''
    beside = ' · '.join([point_words(point), *([when_words(point.at)] if times else [])])
    files = ''
    if point.files:
        added, removed = (sum(getattr(file, side) for file in point.files) for side in ('added', 'removed'))
        summary = f'{counted_words(len(point.files), "file")} {_counts(added, removed)}'
        listed = ''.join(
            f'<li><code>{escaped(file.path)}</code> {_counts(file.added, file.removed)}{diff_block(file.diff)}</li>'
            for file in point.files
        )
        files = fold(summary, f'<ul class="deep-list">{listed}</ul>', open=False, kind='deep-more')
    kinds = ' '.join(filter(None, ['deep-named' if not point.automatic else '', 'deep-here' if point.here else '']))
    return f'<li class="{kinds}">{label}{here} {_muted(beside)}{files}</li>'


def _question(question: RewindQuestion) -> str:
    title = f'<strong>Go back to “{escape(revealed(question.label))}”?</strong> {escaped(going_back_words(question))}'
    files = ''.join(map(_planned, question.files))
    listed = f'<ul class="deep-list">{files}</ul>' if files else ''
    lines = [*question.gaps, variables_words(question)]
    beside = ''.join(f'<p>{sentence(line)}</p>' for line in lines if line)
    return f'<div class="deep-part deep-ask">{title}{listed}{beside}</div>'


def _planned(file: PlannedFile) -> str:
    counts = _counts(file.added, file.removed)
    return f'<li><code>{escape(revealed(file.path))}</code> {counts} {_muted(planned_words(file))}</li>'


def _counts(added: int, removed: int) -> str:
    return counted(added, removed) if added or removed else ''


def _changes(changes: ChangeSet) -> Iterator[str]:
    added, removed = (sum(getattr(file, side) for file in changes.files) for side in ('added', 'removed'))
    yield _bar(reviewed_words(changes), _counts(added, removed))
    yield from map(_reviewed, changes.files)
    if not changes.files:
        yield _empty(NOTHING_CHANGED)
    if changes.gaps:
        yield f'<div class="deep-part">{"".join(f"<p>{sentence(gap)}</p>" for gap in changes.gaps)}</div>'


def _reviewed(file: ReviewFile) -> str:
    summary = f'<code>{escaped(file.path)}</code> {_counts(file.added, file.removed)} {_muted(review_words(file))}'
    if not file.hunks:
        return f'<div class="deep-part">{summary}</div>'
    return fold(summary, ''.join(map(_hunk, file.hunks)), open=file.state in ('open', 'mixed'))


def _hunk(hunk: Hunk) -> str:
    state = f'<div class="deep-label">{hunk.state}</div>' if hunk.state != 'open' else ''
    diff = diff_block('\n'.join([hunk.header, hunk.text]))
    return f'<div class="deep-hunk">{state}{diff}</div>'


def _search(search: Search, *, times: bool) -> Iterator[str]:
    beside = f'<code>{escaped(search.query)}</code> {_muted(searched_words(search))}' if search.query else ''
    yield _bar('Search', beside)
    if not search.query:
        yield _empty(NOTHING_SEARCHED)
    yield from (_hit(hit, times=times) for hit in search.hits)
    if search.shown:
        yield f'<div class="deep-part">{search.shown}</div>'


def _hit(hit: Hit, *, times: bool) -> str:
    when = [when_words(hit.at)] if times and hit.at is not None else []
    beside = _muted(' · '.join([hit_words(hit), *when]))
    lines = [*map(_context, hit.before), _marked(hit.snippet, hit.matches), *map(_context, hit.after)]
    return f'<div class="deep-part deep-hit">{beside}<pre class="deep-wrap">{"<br>".join(lines)}</pre></div>'


def _context(line: str) -> str:
    return f'<i class="deep-muted">{escaped(line)}</i>'


def _marked(snippet: str, matches: Iterable[tuple[int, int]]) -> str:
    parts, last = [], 0
    for start, end in matches:
        parts += [escaped(snippet[last:start]), f'<mark>{escaped(snippet[start:end])}</mark>']
        last = end
    return ''.join([*parts, escaped(snippet[last:])])


def _page(pages: Pages) -> Iterator[str]:
    yield _bar(pages.title or 'Text', f'<code>{escaped(pages.path)}</code> {_muted(pages_words(pages))}')
    if pages.text:
        yield f'<div class="deep-part"><pre class="deep-page" tabindex="0">{escape(plain(pages.text))}</pre></div>'

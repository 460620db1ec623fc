"""The shapes of panels: what stays usable in a cell's output after the cell has ended, as small frozen dataclasses.

A panel is a timeline of checkpoints, a change set to review, a search through the history, or one page of a long
text. Live widget, static HTML and text draw the same shape; the JSON form is what the live widget gets. `masked`
takes out every secret that `mask_secrets` recognises; whoever shows a panel shows it masked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeAlias

from pydantic import JsonValue, TypeAdapter

from deep_notebook.masking import mask_secrets

from .run_shape import FileChange

__all__ = [
    'Action',
    'ChangeSet',
    'FileAction',
    'Hit',
    'Hunk',
    'Pages',
    'Panel',
    'PlannedFile',
    'ReviewFile',
    'ReviewStatus',
    'RewindQuestion',
    'Search',
    'Timeline',
    'TimelinePoint',
    'masked',
    'to_json',
]

FileAction: TypeAlias = Literal['edit', 'create', 'delete']
HunkStatus: TypeAlias = Literal['open', 'kept', 'undone']
ReviewStatus: TypeAlias = Literal['open', 'kept', 'undone', 'mixed']
Action: TypeAlias = Mapping[str, Any]
"""What the person did, such as `{'do': 'search', 'query': 'port'}`."""


@dataclass(frozen=True, kw_only=True)
class TimelinePoint:
    """One checkpoint."""

    id: str
    label: str
    turn: int
    messages: int
    """How many messages the history has at this point."""
    at: float
    """Unix seconds."""
    automatic: bool = False
    """Whether nobody asked for it."""
    run: int | None = None
    """The number of the run it was made in."""
    tool: str | None = None
    """The tool after which it was made."""
    files: tuple[FileChange, ...] = ()
    """What changed from the point before it to this one."""
    here: bool = False
    """Whether the conversation stands here."""


@dataclass(frozen=True, kw_only=True)
class PlannedFile:
    """What going back would do to one file."""

    path: str
    action: FileAction
    """`create` brings a file back that is gone, `delete` removes one that was not there then."""
    yours: bool = False
    """Whether somebody else than the agent has changed it since."""
    possible: bool = True
    """Whether the contents of then were kept."""
    diff: str = ''
    """From how the file is now to how it would be."""
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, kw_only=True)
class RewindQuestion:
    """What going back to a checkpoint would do, for the person to say yes or no to."""

    id: str
    label: str
    files: tuple[PlannedFile, ...] = ()
    gaps: tuple[str, ...] = ()
    """What the journal does not cover, one line each."""
    variables: tuple[str, ...] = ()
    """Names of variables that changed since and stay as they are."""
    messages: int = 0
    """How many messages are taken back."""


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """The checkpoints of a conversation, oldest first.

    Its actions: `{'do': 'ask', 'id': str}`, `{'do': 'rewind', 'id': str, 'parts': list, 'mine': bool}` with parts of
    `conversation`, `files` and `todos`, and `mine` whether files that the person changed are overwritten,
    `{'do': 'cancel'}` and `{'do': 'undo'}`.
    """

    kind: Literal['timeline'] = 'timeline'
    points: tuple[TimelinePoint, ...] = ()
    ask: RewindQuestion | None = None
    undo: str | None = None
    """What can be undone, in a sentence such as `Went back to 'before the refactoring'.`; `None` if nothing can."""
    notice: str | None = None


@dataclass(frozen=True, kw_only=True)
class Hunk:
    """One place of a file that a run changed."""

    id: str
    header: str
    """Such as `@@ -1,3 +1,4 @@`."""
    text: str
    """Its lines as a unified diff has them, without the header."""
    state: HunkStatus = 'open'


@dataclass(frozen=True, kw_only=True)
class ReviewFile:
    """One file that a run changed."""

    path: str
    action: FileAction
    state: ReviewStatus = 'open'
    hunks: tuple[Hunk, ...] = ()
    note: str | None = None
    """Why it cannot be undone, or not by place, such as `changed since` or `binary`."""
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, kw_only=True)
class ChangeSet:
    """What one run changed, to be kept or undone.

    Its actions: `{'do': 'keep' | 'undo', 'path': str | None, 'hunk': str | None}`; without a path, all of it.
    """

    kind: Literal['changes'] = 'changes'
    run: int | None = None
    files: tuple[ReviewFile, ...] = ()
    gaps: tuple[str, ...] = ()
    notice: str | None = None


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One place of the history that a search found."""

    run: int | None = None
    speaker: str = ''
    snippet: str = ''
    matches: tuple[tuple[int, int], ...] = ()
    """Where the snippet matches: start and end in characters, in order and without overlap."""
    before: tuple[str, ...] = ()
    """Lines of context before the snippet."""
    after: tuple[str, ...] = ()
    at: float | None = None
    """Unix seconds."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search through everything that was said in the notebook.

    Its actions: `{'do': 'search', 'query': str}` and `{'do': 'show', 'run': int}`.
    """

    kind: Literal['search'] = 'search'
    query: str = ''
    hits: tuple[Hit, ...] = ()
    more: bool = False
    """Whether there are more places than the best ones in `hits`."""
    shown: str | None = None
    """A run that the person asked to see, as the static HTML of `static_html.render`."""
    notice: str | None = None


@dataclass(frozen=True, kw_only=True)
class Pages:
    """One page of a long text.

    Its action: `{'do': 'page', 'page': int}`, counted from 1.
    """

    kind: Literal['pages'] = 'pages'
    title: str = ''
    path: str = ''
    page: int = 1
    pages: int = 1
    first_line: int = 1
    """The number of the page's first line in the whole."""
    lines: int = 0
    """How many lines the whole has."""
    text: str = ''
    """The lines of this page."""
    notice: str | None = None


Panel: TypeAlias = Timeline | ChangeSet | Search | Pages


@cache
def _adapter() -> TypeAdapter[Panel]:
    return TypeAdapter(Panel)


def to_json(panel: Panel) -> dict[str, JsonValue]:
    """Return the JSON form of `panel`: dicts, lists, strings, numbers and `None` only."""
    data: dict[str, JsonValue] = _adapter().dump_python(panel, mode='json')
    return data


def masked(panel: Panel) -> Panel:
    """Return `panel` without secrets. Paths and ids stay as they are: they are what an action names."""
    match panel:
        case Timeline():
            points = tuple(_point(point) for point in panel.points)
            ask = _question(panel.ask) if panel.ask is not None else None
            return replace(panel, points=points, ask=ask, undo=_text(panel.undo), notice=_text(panel.notice))
        case ChangeSet():
            files = tuple(replace(file, hunks=tuple(map(_hunk, file.hunks))) for file in panel.files)
            return replace(panel, files=files, gaps=_texts(panel.gaps), notice=_text(panel.notice))
        case Search():
            hits = tuple(map(_hit, panel.hits))
            return replace(panel, query=mask_secrets(panel.query), hits=hits, notice=_text(panel.notice))
        case Pages():
            return replace(
                panel, title=mask_secrets(panel.title), text=mask_secrets(panel.text), notice=_text(panel.notice)
            )


def _point(point: TimelinePoint) -> TimelinePoint:
    files = tuple(replace(file, diff=mask_secrets(file.diff)) for file in point.files)
    return replace(point, label=mask_secrets(point.label), files=files)


def _question(question: RewindQuestion) -> RewindQuestion:
    files = tuple(replace(file, diff=mask_secrets(file.diff)) for file in question.files)
    return replace(question, label=mask_secrets(question.label), files=files, gaps=_texts(question.gaps))


def _hunk(hunk: Hunk) -> Hunk:
    return replace(hunk, header=mask_secrets(hunk.header), text=mask_secrets(hunk.text))


def _hit(hit: Hit) -> Hit:
    snippet = mask_secrets(hit.snippet)
    # A mask moves what follows it, so what matched cannot be said any more.
    matches = hit.matches if snippet == hit.snippet else ()
    return replace(hit, snippet=snippet, matches=matches, before=_texts(hit.before), after=_texts(hit.after))


def _text(text: str | None) -> str | None:
    return mask_secrets(text) if text else text


def _texts(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(mask_secrets, texts))

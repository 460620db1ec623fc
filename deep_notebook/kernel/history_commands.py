"""The `%deep` subcommands about what was said and done before: searched, shown, compressed, taken elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..store.search import SearchHit
from ..views.panel_shapes import Action, Hit, Pages, Panel, Search
from ..views.run_state import from_json
from ..views.static_html import render as render_html
from . import export
from .agent_commands import path_given
from .compacting import compact
from .environment import front_end
from .evicted import evicted_page, list_evicted
from .panels import show_panel
from .runner import is_within_run, run_blocking

if TYPE_CHECKING:
    from .cells import DeepCells
    from .session import NotebookSession

__all__ = ['COMMANDS']

_HITS = 20
_CONTEXT_LINES = 3
"""What a person is shown of a search, who can search again."""


def _search(cells: DeepCells, rest: str) -> str | None:
    if not rest and not cells.shows_html:
        return 'Write what to look for: %deep search WORDS'
    session = cells.session

    async def handle(panel: Panel, action: Action) -> Panel:
        assert isinstance(panel, Search)
        match action.get('do'):
            case 'search':
                return await _found(session, str(action.get('query', '')))
            case 'show':
                return replace(panel, shown=await _run_html(session, action.get('run')), notice=None)
            case _:
                return panel

    show_panel(cells, cells.call(_found(session, rest)), handle)
    return None


async def _found(session: NotebookSession, query: str) -> Search:
    hits = await (await session.store()).search(query, limit=_HITS + 1, context=_CONTEXT_LINES)
    return Search(query=query, hits=tuple(map(_hit, hits[:_HITS])), more=len(hits) > _HITS)


def _hit(hit: SearchHit) -> Hit:
    return Hit(
        run=hit.run,
        speaker=hit.speaker,
        snippet=hit.snippet,
        matches=tuple(hit.matches),
        before=tuple(hit.before),
        after=tuple(hit.after),
        at=hit.created,
    )


async def _run_html(session: NotebookSession, number: object) -> str:
    record = await session.stored_run(number) if isinstance(number, int) else None
    if record is None or record.state is None:
        raise UsageError(f'Run {number} is not stored any more.')
    return render_html(from_json(record.state))


def _evicted(cells: DeepCells, rest: str) -> str | None:
    session = cells.session
    if not rest:
        listed: str = cells.call(list_evicted(session, times=front_end(cells.shell) != 'headless'))
        return listed
    wanted, number = _id_and_page(rest)

    async def handle(panel: Panel, action: Action) -> Panel:
        assert isinstance(panel, Pages)
        page = action.get('page')
        return await evicted_page(session, panel.path, page if isinstance(page, int) else panel.page)

    show_panel(cells, cells.call(evicted_page(session, wanted, number)), handle)
    return None


def _id_and_page(rest: str) -> tuple[str, int]:
    words = rest.split()
    if len(words) > 2 or not all(word.isdecimal() for word in words[1:]):
        raise UsageError(f'%deep evicted takes an id and maybe the number of a page, not {rest!r}.')
    return words[0], int(words[1]) if len(words) == 2 else 1


def _export(cells: DeepCells, rest: str) -> str:
    request = export.parse_export(rest)
    session = cells.session
    path = path_given(session, request.file)
    export.check_target(path, request, session)
    conversations, prompts = cells.call(export.collect(session, everything=request.everything))
    if not conversations:
        raise UsageError('Nothing was said yet: there is nothing to export.')
    name = session.notebook.name if session.notebook is not None else 'this kernel'
    export.write(path, export.rendered(path, conversations, notebook=name, prompts=prompts))
    messages = sum(len(conversation.messages) for conversation in conversations)
    what = f'{len(conversations)} conversations' if len(conversations) > 1 else 'The conversation'
    return f'{what}, {messages:,} messages: in {request.file}'


def _compact(cells: DeepCells, rest: str) -> str:
    if is_within_run():
        raise UsageError('A run cannot compress its own conversation with %deep.')
    session, magics = cells.session, cells.magics
    who = session.resolve(magics.model or None, source=magics.model_source)
    try:
        return run_blocking(lambda main: compact(session, who, rest or None))
    except KeyboardInterrupt:
        raise UsageError('Stopped by you. The conversation is as it was.') from None


COMMANDS: dict[str, Callable[[DeepCells, str], str | None]] = {
    'compact': _compact,
    'evicted': _evicted,
    'export': _export,
    'search': _search,
}

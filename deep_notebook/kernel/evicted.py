"""`%deep evicted`: the results that were too large for the conversation, and what is in their files."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ..capabilities.evicted_files import EvictedFiles, pages_of
from ..capabilities.eviction import EVICTED, evicted_path
from ..errors import UsageError, did_you_mean
from ..masking import mask_secrets
from ..store.transcripts import ToolResult
from ..views.panel_shapes import Pages
from ..views.panel_wording import when_words

if TYPE_CHECKING:
    from .session import NotebookSession

__all__ = ['evicted_page', 'list_evicted']

_MAX_LISTED = 50


async def list_evicted(session: NotebookSession, *, times: bool = True) -> str:
    """Return the evicted results of the notebook as text, one a line, the newest last.

    Args:
        session: The notebook's.
        times: Whether to say when each was evicted.
    """
    results = await _results(session)
    if not results:
        return 'No result was too large for the conversation yet.'
    files = EvictedFiles(session.directory)
    lines = [_line(path, result, files, times=times) for path, result in [*results.items()][-_MAX_LISTED:]]
    if len(lines) < len(results):
        lines.insert(0, f'  … {len(results) - len(lines)} older ones')
    return '\n'.join(['Too large for the conversation, the newest last. `%deep evicted ID` shows one:', *lines])


async def evicted_page(session: NotebookSession, wanted: str, number: int) -> Pages:
    """Return page `number`, counted from 1, of the evicted result that is meant.

    Args:
        session: The notebook's.
        wanted: Its id or the beginning of it, or the path of its file.
        number: Which page.

    Raises:
        UsageError: There is no such result or page, or its file is gone.
    """
    results = await _results(session)
    files = EvictedFiles(session.directory)
    path = _meant(wanted, results, files)
    text = await asyncio.to_thread(files.read, path)
    if text is None:
        if path not in results:
            raise UsageError(f'There is no evicted result {wanted!r}: `%deep evicted` lists them.')
        run = results[path].run
        how = '' if run is None else f' `%deep show {run}` has its beginning and its end.'
        raise UsageError(f'The file of {_id(path)} is gone: only the newest results are kept.{how}')
    # Masked as a whole: a secret may lie across two pages.
    text = await asyncio.to_thread(mask_secrets, text)
    pages = pages_of(text)
    if not 1 <= number <= len(pages):
        raise UsageError(f'{_id(path)} has the pages 1 to {len(pages)}.')
    page = pages[number - 1]
    return Pages(
        title=results[path].tool if path in results else _id(path),
        path=path,
        page=number,
        pages=len(pages),
        first_line=page.first_line,
        lines=text.count('\n') + (not text.endswith('\n')),
        text=page.text,
    )


async def _results(session: NotebookSession) -> dict[str, ToolResult]:
    """Return the evicted results of the notebook by path, the oldest first."""
    found: dict[str, ToolResult] = {}
    for result in await (await session.store()).results(EVICTED):
        path = evicted_path(result.text)
        if path is not None:
            found.setdefault(path, result)
    return found


def _meant(wanted: str, results: dict[str, ToolResult], files: EvictedFiles) -> str:
    ids = {_id(path): path for path in results}
    if wanted in results or '/' in wanted:
        return wanted.removeprefix('./')
    if wanted in ids:
        return ids[wanted]
    begun = [id for id in ids if id.startswith(wanted)]
    if len(begun) == 1:
        return ids[begun[0]]
    if begun:
        raise UsageError(f'{wanted!r} is how {len(begun)} evicted results begin: {", ".join(begun[:5])}')
    if files.size(path := files.path(wanted)) is not None:
        return path  # of a subagent, whose conversation is not stored
    raise UsageError(f'There is no evicted result {wanted!r}.{did_you_mean(wanted, ids)} `%deep evicted` lists them.')


def _id(path: str) -> str:
    return path.rpartition('/')[2]


def _line(path: str, result: ToolResult, files: EvictedFiles, *, times: bool) -> str:
    size = files.size(path)
    about = [
        result.tool,
        'gone' if size is None else _size_words(size),
        '' if result.run is None else f'run {result.run}',
        when_words(result.created) if times else '',
        path,
    ]
    return f'  {_id(path)}   {" · ".join(filter(None, about))}'


def _size_words(size: int) -> str:
    return f'{size / 1e6:.1f} MB' if size >= 1e6 else f'{max(size // 1000, 1):,} kB'

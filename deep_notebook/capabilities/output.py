"""Bound what tools return."""

from __future__ import annotations

__all__ = ['head_and_tail']


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

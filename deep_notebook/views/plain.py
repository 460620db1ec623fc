"""Text of tools and models without what a terminal or a page would take for commands."""

from __future__ import annotations

import re

__all__ = ['plain']

_ESCAPES = re.compile(
    r'\x1b(?:\[[0-?]*[ -/]*[@-~]'  # colours, cursor movements
    r'|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?'  # titles, links, strings for the terminal
    r'|[ -/]*[0-~])'
    r'|\x9b[0-?]*[ -/]*[@-~]'
)
_CONTROLS = re.compile(r'[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]')
_OVERWRITTEN = re.compile(r'[^\n]*\r(?!\n|$)', re.MULTILINE)


def plain(text: str) -> str:
    """Return `text` without escape sequences, control characters and marks that turn the direction of writing.

    A line that was drawn over itself, such as a progress bar, appears as it looked last.
    """
    if '\x1b' in text or '\x9b' in text:
        text = _ESCAPES.sub('', text)
    if '\r' in text:
        text = _OVERWRITTEN.sub('', text)
    return _CONTROLS.sub('', text)

"""Text of tools and models without what a terminal or a page would take for commands."""

from __future__ import annotations

import re

__all__ = ['plain', 'revealed', 'well_formed']

_ESCAPES = re.compile(
    r'\x1b(?:\[[0-?]*[ -/]*[@-~]'  # colours, cursor movements
    r'|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?'  # titles, links, strings for the terminal
    r'|[ -/]*[0-~])'
    r'|\x9b[0-?]*[ -/]*[@-~]'
)
# Besides control characters those that turn the direction of writing, and so can make code read differently.
_CONTROLS = re.compile(r'[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]')
_OVERWRITTEN = re.compile(r'[^\n]*\r(?!\n|$)', re.MULTILINE)
_CONTROL_PICTURES = 0x2400


def plain(text: str) -> str:
    """Return `text` without escape sequences and control characters.

    A line that was drawn over itself, such as a progress bar, appears as it looked last.
    """
    if '\x1b' in text or '\x9b' in text:
        text = _ESCAPES.sub('', text)
    if '\r' in text:
        text = _OVERWRITTEN.sub('', text)
    return _CONTROLS.sub('', text)


def revealed(text: str) -> str:
    """Return `text` with a sign in the place of each control character: what is approved must not hide anything."""
    return _CONTROLS.sub(_picture, text.replace('\r\n', '\n'))


def well_formed(text: str) -> str:
    """Return `text` with a sign in the place of halves of characters, which no front end can be sent."""
    return text.encode('utf-8', 'replace').decode()


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(_CONTROL_PICTURES + code) if code < 0x20 else f'[U+{code:04X}]'

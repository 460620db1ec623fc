"""Lines to the person and from them, on the kernel's main thread."""

from __future__ import annotations

import sys

from ..views.text import printable
from .prompt import as_typed

__all__ = ['ask_line', 'say']


def say(text: str) -> None:
    """Print `text` as this terminal or cell can show it."""
    print(printable(as_typed(text), sys.stdout.encoding))


def ask_line(question: str) -> str | None:
    """Return a line from the person, or `None` where there is no standard input."""
    try:
        return as_typed(input(printable(question, sys.stdout.encoding)))
    except (EOFError, OSError, RuntimeError):
        # ipykernel says StdinNotImplementedError, a RuntimeError; a closed terminal says the others.
        return None

"""What whoever drives a run needs of a view."""

from __future__ import annotations

from typing import Protocol

from .run_shape import RunState

__all__ = ['RunView']


class RunView(Protocol):
    """Shows one run, from its first state to its last.

    The methods are called from the agent thread's event loop in the context of the cell, often many times a
    second: a view throttles itself, and never loses the last state. None of them may block.
    """

    def open(self, state: RunState) -> None:
        """Begin to show a run."""
        ...

    def update(self, state: RunState) -> None:
        """Show what has changed."""
        ...

    def close(self, state: RunState) -> None:
        """Show how the run ended, and leave behind what is to be saved."""
        ...

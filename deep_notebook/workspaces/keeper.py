"""Whoever keeps what files held before they are changed."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from .confinement import ConfinedDirectory, Parts

__all__ = ['Keeper']


class Keeper(Protocol):
    """Is told of every change that file operations make, in the thread that makes it.

    Each method returns a context that the change happens in. Entering it keeps what is there now; what it raises is
    the operation's error, and nothing is changed then. A change that fails leaves the context with its error.
    """

    def writing(self, tree: ConfinedDirectory, parts: Parts, data: bytes) -> AbstractContextManager[None]:
        """A file will hold `data`; missing directories above it are made."""
        ...

    def removing(self, tree: ConfinedDirectory, parts: Parts) -> AbstractContextManager[None]:
        """A file, a link, or a directory with all that is in it goes."""
        ...

    def making(self, tree: ConfinedDirectory, parts: Parts) -> AbstractContextManager[None]:
        """A directory is made, with those above it that are missing."""
        ...

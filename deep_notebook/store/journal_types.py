"""What the journal speaks of: states of files, changes, gaps, and what going back would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ['NOTHING', 'FileChangeRecord', 'FileState', 'Gap', 'PathPlan', 'Source', 'same']

Source: TypeAlias = Literal['tool', 'scan', 'rewind', 'undo', 'review']
"""How a change came about: a tool of ours wrote a file; a scan found what a command or code of the agent did; or we
put it there for the person."""


@dataclass(frozen=True, kw_only=True)
class FileState:
    """What a path held.

    `digest` is the SHA-256 of the contents, of `b'link:' + target` for a symbolic link; `None` if nothing was there.
    What was not read has a word of another form there (`stat:…`, `directory`), and `kept` is false.
    """

    digest: str | None
    mode: int | None
    """Permission bits; `None` for a link, and where they are not known."""
    kept: bool
    """Whether the journal has the contents; true where nothing was there."""
    link: bool = False


NOTHING = FileState(digest=None, mode=None, kept=True)


def same(one: FileState, other: FileState) -> bool:
    """Return whether two states are of the same contents and, where both are known, the same mode."""
    modes_differ = one.mode != other.mode and None not in (one.mode, other.mode)
    return (one.digest, one.link) == (other.digest, other.link) and not modes_differ


@dataclass(frozen=True, kw_only=True)
class FileChangeRecord:
    """One change of one file by the agent, or by us for the person."""

    id: int
    run: int | None
    call: str | None
    """The run's own call, also where a subagent did it."""
    source: Source
    path: str
    """Relative to the workspace, separated by `/`."""
    before: FileState
    after: FileState
    at: float
    """Unix seconds."""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Something that the journal could not cover."""

    position: int
    """Its place among the changes."""
    run: int | None
    call: str | None
    what: str
    """One line for the person."""


@dataclass(frozen=True, kw_only=True)
class PathPlan:
    """What going back does to one path."""

    path: str
    action: Literal['edit', 'create', 'delete']
    now: FileState
    target: FileState
    left: FileState
    """As the agent left it."""
    yours: bool
    """Whether somebody else changed it, too: since the agent did, or between two changes of the agent."""
    possible: bool
    """Whether it can be done: the target's contents are kept, and those of now can be."""
    removes: tuple[str, ...] = ()
    """Directories that the agent made, and that go if they are empty then."""
    makes: tuple[str, ...] = ()
    """Directories that the agent removed, and that come back."""

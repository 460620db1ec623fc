"""The files of a workspace as one agent knows them: what it has seen, what it changed, and where."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Protocol, runtime_checkable
from weakref import WeakValueDictionary

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.workspaces import Workspace, WorkspaceBackend

from .hashline import PastEdit
from .places import Place, answering, locate, missing

__all__ = ['Files', 'HasBackend', 'HasReadDigests', 'Memory', 'digest', 'run_workspace']


@runtime_checkable
class HasBackend(Protocol):
    """Deps that say where the files are."""

    backend: WorkspaceBackend


@runtime_checkable
class HasReadDigests(Protocol):
    """Deps that remember, from run to run, how the agent last saw each file (path → digest)."""

    read_digests: dict[str, str]


@dataclass
class Memory:
    """What one run remembers: its edits, and what it has seen when deps do not remember that."""

    digests: dict[str, str] = field(default_factory=dict)
    edits: defaultdict[str, list[PastEdit]] = field(default_factory=lambda: defaultdict(list))


def digest(data: bytes) -> str:
    """Return what stands for the contents of a file."""
    return blake2b(data, digest_size=16).hexdigest()


def run_workspace(ctx: RunContext[Any]) -> Workspace:
    """Return the workspace of the run or, where no capability attached one, that of `deps.backend`."""
    if not ctx.workspace.attached and isinstance(ctx.deps, HasBackend):
        return Workspace(ctx.deps.backend)
    return ctx.workspace


class Files:
    """The files of the run's workspace, for one tool call."""

    def __init__(self, ctx: RunContext[Any], memory: Memory) -> None:
        self.step = ctx.run_step
        self.workspace = run_workspace(ctx)
        self._digests = ctx.deps.read_digests if isinstance(ctx.deps, HasReadDigests) else memory.digests
        self._edits = memory.edits

    async def locate(self, path: str) -> Place:
        """Return where `path` is; a path out of the workspace is a `ToolFailed`."""
        return await locate(self.workspace, path)

    async def read(self, place: Place) -> bytes:
        """Return the contents of a file; a missing one is a `ToolFailed`."""
        data = await self.read_if_there(place)
        if data is None:
            raise await missing(self.workspace, place)
        return data

    async def read_if_there(self, place: Place) -> bytes | None:
        """Return the contents of a file, or `None` if it does not exist."""
        with answering(place.shown):
            try:
                return await self.workspace.read_bytes(place.path)
            except FileNotFoundError:
                return None
            except IsADirectoryError:
                raise ToolFailed(f'{place.shown} is a directory: use ls.') from None

    async def write(self, place: Place, data: bytes) -> None:
        """Write a file; the agent knows what it holds then."""
        with answering(place.shown):
            await self.workspace.write_bytes(place.path, data)
        self._digests[place.key] = digest(data)

    def saw(self, place: Place, data: bytes) -> None:
        """Note that the agent sees the file as it is now."""
        now = digest(data)
        if self._digests.get(place.key) != now:
            self._edits.pop(place.key, None)
        self._digests[place.key] = now

    def has_seen(self, place: Place) -> bool:
        """Return whether the agent has read or written the file."""
        return place.key in self._digests

    def check_unchanged(self, place: Place, data: bytes) -> None:
        """Raise a `ToolFailed` if somebody else changed the file since the agent saw it."""
        if self._digests.get(place.key, digest(data)) != digest(data):
            raise ToolFailed(
                f'{place.shown} has changed since you read it, so nothing was written: read it again, then make '
                'your change to what is there now.'
            )

    def edits(self, place: Place) -> list[PastEdit]:
        """Return the edits of this file in this run, oldest first, to look at or to add to."""
        return self._edits[place.key]

    @asynccontextmanager
    async def alone(self, place: Place) -> AsyncIterator[None]:
        """Keep other agents in this process from changing the file between a look at it and a write."""
        lock = _lock(self.workspace.backend, place.key)
        async with lock:
            yield


# A lock lives as long as somebody holds or waits for it. Its loop is in the key because it belongs to one.
_LOCKS: WeakValueDictionary[tuple[int, int, str], asyncio.Lock] = WeakValueDictionary()


def _lock(backend: WorkspaceBackend, key: str) -> asyncio.Lock:
    where = (id(asyncio.get_running_loop()), id(backend), key)
    lock = _LOCKS.get(where)
    if lock is None:
        lock = _LOCKS[where] = asyncio.Lock()
    return lock

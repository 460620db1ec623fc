"""The files of one skill, which no path and no link leaves."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from pathlib import Path

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.workspaces import LocalWorkspaceBackend, SupportsCommands, Workspace

from ...workspaces import KernelWorkspace
from ..filesystem.kinds import size_text
from ..filesystem.places import answering

__all__ = ['SkillFolder', 'is_here', 'runs_commands']

_MAX_BYTES = 10_000_000
"""The largest file of a skill that is read."""


@dataclass(frozen=True)
class SkillFolder:
    """The directory of one skill."""

    workspace: Workspace
    """The files that it is among."""
    path: str
    """Absolute and real, in `workspace`."""
    shown: str
    """How messages name it."""
    outside: bool = False
    """Whether it is on this machine beside the workspace that agents work in, such as a bundled skill."""

    @classmethod
    def around(cls, file: str) -> tuple[SkillFolder, str]:
        """Return the folder of a file on this machine, and the name of the file in it."""
        path = Path.cwd() / Path(file).expanduser()
        parent = path.parent.resolve()
        return cls(Workspace(KernelWorkspace(parent)), str(parent), str(path.parent), outside=True), path.name

    async def locate(self, name: str) -> str:
        """Return the absolute real path of a file.

        Args:
            name: Its path in the folder.

        Raises:
            ToolFailed: It leads out of the folder.
        """
        with answering(self.name_of(name)):
            real = await self.workspace.realpath(await self.workspace.resolve(name, base=self.path))
        if not real.startswith(self.path.rstrip('/') + '/'):
            raise ToolFailed(f'{self.name_of(name)} leads out of its skill, so it is not used.')
        return real

    async def read(self, name: str) -> bytes:
        """Return what a file holds.

        Raises:
            ToolFailed: It leads out of the folder, or cannot be read.
        """
        real = await self.locate(name)
        with answering(self.name_of(name)):
            size = (await self.workspace.stat(real)).size or 0
            if size > _MAX_BYTES:
                raise ToolFailed(f'{self.name_of(name)} is too large: {size_text(size)}.')
            return await self.workspace.read_bytes(real)

    def name_of(self, name: str) -> str:
        """Return how messages name a file of the folder."""
        return posixpath.join(self.shown, name)


def runs_commands(workspace: Workspace) -> bool:
    """Return whether commands can be run in `workspace`."""
    return workspace.attached and isinstance(workspace.backend, SupportsCommands) and not workspace.read_only


def is_here(workspace: Workspace) -> bool:
    """Return whether the commands of `workspace` see the files of this machine."""
    return isinstance(workspace.backend, (KernelWorkspace, LocalWorkspaceBackend))

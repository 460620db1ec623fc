"""The notebook's directory as a workspace."""

from __future__ import annotations

import errno
import os
import posixpath
import shutil
import stat as stat_module
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TypeVar

import anyio.to_thread
from pydantic_ai.workspaces import (
    CommandResult,
    FileEntry,
    LocalWorkspaceBackend,
    SupportsCommands,
    SupportsFilesystem,
    SupportsRealpath,
    WorkspaceBackend,
    WorkspaceCommand,
    WorkspaceRef,
    WorkspaceUnavailableError,
)

from deep_notebook.errors import PathRefusedError, UsageError

from .confinement import AGENT_SPOTS, DEEP_DIRECTORY, ConfinedDirectory, Parts, is_deep, opened, protected
from .environment import command_environment
from .files import check_regular, errors_naming, file_entry, os_error, replace_file
from .keeper import Keeper
from .paths import relative_path
from .running_notebook import check_holds_no_notebook, check_not_notebook

__all__ = ['KernelWorkspace']

_T = TypeVar('_T')


class KernelWorkspace(WorkspaceBackend, SupportsCommands, SupportsFilesystem, SupportsRealpath):
    """The files under one directory, and commands that start there (Linux and macOS).

    File operations cannot leave the directory, whatever links it holds, and cannot touch what deep_notebook keeps in
    `.deep/` beside the agent's own spots, nor change the running notebook: such paths raise `PathRefusedError` before
    anything there is looked at. A link that leads out is left out of listings. Paths are absolute or relative to the
    directory.

    A write replaces the file in one step: readers see the old contents or the new, never a part. The file keeps its
    mode; other hard links to it keep the old contents.

    Commands are not confined, only put in place: they run as the person, start in the directory, and get
    `command_environment()` instead of the kernel's variables. The tool that runs them asks before it does.

    Args:
        root: The directory. It is not created; while it is missing, every operation raises
            `WorkspaceUnavailableError`. Nothing is looked at before the first operation.
        notebook: The file of the running notebook, absolute or relative to `root`.
        env: Variables for every command, on top of `command_environment()`.

    Raises:
        UsageError: This system cannot open files relative to a directory (Windows).
    """

    notebook: Path | None
    """The running notebook, which can be read but not written; set it anew when the notebook is renamed."""
    keeper: Keeper | None = None
    """Who keeps what files hold before file operations change them; commands are not its business."""

    def __init__(
        self, root: str | Path, *, notebook: str | Path | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        if os.open not in os.supports_dir_fd:
            raise UsageError(
                'The files of this directory cannot be confined on this system: run the kernel on Linux or macOS '
                '(on Windows, in WSL), or give the agent a StateBackend().'
            )
        self._given = Path.cwd() / Path(root).expanduser()
        self.notebook = None if notebook is None else Path(notebook)
        self._env = dict(env or {})
        self._commands = LocalWorkspaceBackend(self._given)
        self._resolved: ConfinedDirectory | None = None
        self._ref: WorkspaceRef | None = None
        self._changing = threading.Lock()

    def __repr__(self) -> str:
        return f'KernelWorkspace({str(self._given)!r})'

    @property
    def root(self) -> Path:
        """The real path of the directory."""
        return Path(self._tree().root)

    @property
    def ref(self) -> WorkspaceRef | None:
        """The directory, from the first operation on: `KernelWorkspace(ref.id)` attaches to it."""
        return self._ref

    def allows(self, path: str) -> bool:
        """Return whether file operations accept `path`; it need not exist. To filter what other programs found."""
        try:
            self._tree().real_parts(path)
        except OSError:
            return False
        return True

    async def working_dir(self) -> str:
        """Return the real path of the directory."""
        return await anyio.to_thread.run_sync(lambda: self._tree().root)

    async def realpath(self, path: str) -> str:
        """Return where `path` really leads; directories above the root, which are real, come back as they are."""

        def resolve(tree: ConfinedDirectory) -> str:
            try:
                return tree.absolute(tree.real_parts(path))
            except PathRefusedError:
                if posixpath.isabs(path) and tree.is_below(path):
                    return posixpath.normpath(path)
                raise

        return await self._file_operation(path, resolve)

    async def read_bytes(self, path: str) -> bytes:
        """Return the contents of a regular file; anything else, such as a FIFO, raises `OSError`."""

        def read(tree: ConfinedDirectory) -> bytes:
            parts = tree.real_parts(path)
            if not parts:
                raise os_error(errno.EISDIR)
            with tree.directory(parts[:-1]) as parent, opened(parts[-1], os.O_RDONLY, parent) as fd:
                check_regular(os.fstat(fd))
                with open(fd, 'rb', closefd=False) as file:
                    return file.read()

        return await self._file_operation(path, read)

    async def write_bytes(self, path: str, data: bytes) -> None:
        """Replace the contents of a file in one step, making the directories above it; a link is written through."""

        def write(tree: ConfinedDirectory) -> None:
            parts = tree.real_parts(path)
            if not parts:
                raise os_error(errno.EISDIR)
            if is_deep(parts[-1]):
                raise protected(tree.shown(path))
            check_not_notebook(self.notebook, tree, parts)
            with (
                self._change(lambda keeper: keeper.writing(tree, parts, data)),
                tree.directory(parts[:-1], create=True) as parent,
            ):
                replace_file(parts[-1], data, parent)

        await self._file_operation(path, write)

    async def stat(self, path: str) -> FileEntry:
        """Return what is known of a file or directory, links followed."""

        def look(tree: ConfinedDirectory) -> FileEntry:
            absolute = posixpath.join(tree.root, path)
            return file_entry(posixpath.normpath(absolute), tree.look_at(tree.real_parts(path)))

        return await self._file_operation(path, look)

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        """Return the entries of a directory, sorted by name, without those that file operations would refuse."""

        def entries(tree: ConfinedDirectory) -> list[FileEntry]:
            parts = tree.real_parts(path)
            above = posixpath.normpath(posixpath.join(tree.root, path))
            inside_deep = bool(parts) and is_deep(parts[-1])
            found: list[FileEntry] = []
            with tree.directory(parts, listing=True) as fd, os.scandir(fd) as scan:
                for child in scan:
                    if inside_deep and child.name not in AGENT_SPOTS:
                        continue
                    try:
                        info = _look_through(tree, (*parts, child.name), child)
                    except PathRefusedError:
                        continue
                    found.append(file_entry(posixpath.join(above, child.name), info))
            return sorted(found, key=lambda entry: entry.name)

        return await self._file_operation(path, entries)

    async def make_dir(self, path: str) -> None:
        """Make a directory, with the directories above it."""

        def make(tree: ConfinedDirectory) -> None:
            parts = tree.real_parts(path)
            check_not_notebook(self.notebook, tree, parts)
            with self._change(lambda keeper: keeper.making(tree, parts)):
                with tree.directory(parts[:-1], create=True):
                    pass
                try:
                    with tree.directory(parts, create=True):
                        pass
                except NotADirectoryError as error:
                    raise os_error(errno.EEXIST) from error

        await self._file_operation(path, make)

    async def remove(self, path: str) -> None:
        """Remove a file, a link, or a directory with all that is in it.

        A directory that holds the running notebook or a `.deep` is refused as a whole.
        """

        def remove(tree: ConfinedDirectory) -> None:
            if tree.is_below(posixpath.join(tree.root, path)) or not (parts := tree.real_parts(path, follow=False)):
                raise ValueError('the workspace directory and those above it cannot be removed')
            if is_deep(parts[-1]):
                raise protected(tree.shown(path))
            with self._changing, tree.directory(parts[:-1]) as parent:
                if not stat_module.S_ISDIR(os.stat(parts[-1], dir_fd=parent, follow_symlinks=False).st_mode):
                    check_not_notebook(self.notebook, tree, parts)
                    with self._kept(lambda keeper: keeper.removing(tree, parts)):
                        os.unlink(parts[-1], dir_fd=parent)
                    return
                check_holds_no_notebook(self.notebook, tree, parts)
                for where, directories, files, _ in os.fwalk(parts[-1], dir_fd=parent):
                    if any(map(is_deep, (*directories, *files))):
                        raise protected(posixpath.join(*parts[:-1], where, DEEP_DIRECTORY))
                with self._kept(lambda keeper: keeper.removing(tree, parts)):
                    shutil.rmtree(parts[-1], dir_fd=parent)

        await self._file_operation(path, remove)

    async def exists(self, path: str) -> bool:
        """Return whether there is a file or directory, links followed; for a path that is refused, raise."""
        try:
            await self.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            if error.errno == errno.ELOOP:
                return False
            raise
        return True

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        """Run a command in the directory, in a process group of its own, and wait for it.

        A timeout or a cancellation kills the whole group. More than 10 MiB of output raise
        `WorkspaceOutputLimitError` with its beginning.

        Args:
            command: The program with its arguments, or a line for `sh` with `shell=True`.
            shell: Whether `command` is a line for the shell.
            env: More variables, on top of the workspace's.
            timeout: Seconds until `WorkspaceTimeoutError`.
        """
        await self.working_dir()
        variables = {**command_environment(), **self._env, **(env or {})}
        return await self._commands.run(_utf8(command), shell=shell, env=variables, timeout=timeout)

    @contextmanager
    def _change(self, kept: Callable[[Keeper], AbstractContextManager[None]]) -> Iterator[None]:
        with self._changing, self._kept(kept):
            yield

    def _kept(self, kept: Callable[[Keeper], AbstractContextManager[None]]) -> AbstractContextManager[None]:
        return nullcontext() if self.keeper is None else kept(self.keeper)

    def _tree(self) -> ConfinedDirectory:
        if self._resolved is None:
            real = os.path.realpath(self._given)
            if not os.path.isdir(real):
                raise WorkspaceUnavailableError(f'the workspace directory {self._given} does not exist')
            self._resolved = ConfinedDirectory(real, spelled=str(self._given))
            self._ref = WorkspaceRef(provider='deep_notebook.kernel', id=str(self._given))
        elif not os.path.isdir(self._resolved.root):
            raise WorkspaceUnavailableError(f'the workspace directory {self._given} does not exist any more')
        return self._resolved

    async def _file_operation(self, path: str, operation: Callable[[ConfinedDirectory], _T]) -> _T:
        """Run `operation` in a thread; its errors name the path as the workspace knows it, not a part of it."""

        def call() -> _T:
            tree = self._tree()
            with errors_naming(relative_path(path, tree.root)):
                return operation(tree)

        return await anyio.to_thread.run_sync(call)


def _utf8(command: WorkspaceCommand) -> WorkspaceCommand:
    """Return `command` so that its program gets UTF-8, whatever the encoding of this system's locale."""
    if isinstance(command, str):
        return os.fsdecode(command.encode('utf-8', 'surrogateescape'))
    return [os.fsdecode(part.encode('utf-8', 'surrogateescape')) for part in command]


def _look_through(tree: ConfinedDirectory, parts: Parts, child: os.DirEntry[str]) -> os.stat_result | None:
    """Return the metadata of an entry, or of what it leads to if it is a link; `None` if that cannot be had."""
    try:
        return tree.look_at(tree.follow(parts)) if child.is_symlink() else child.stat(follow_symlinks=False)
    except PathRefusedError:
        raise
    except OSError:
        return None

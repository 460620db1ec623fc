"""Find skills: every directory that holds a `SKILL.md` is one, with the files below it."""

from __future__ import annotations

import asyncio
import posixpath
from collections import deque
from collections.abc import Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.workspaces import FileEntry, SupportsFilesystem, Workspace, WorkspaceError

from ...errors import SkillError, did_you_mean
from ...workspaces import BackendProtocol, KernelWorkspace, relative_path
from ..agent_paths import agent_path
from .executors import SkillScriptExecutor
from .folders import SkillFolder, runs_commands
from .skill_file import SKILL_FILE, parse_skill
from .types import Skill, SkillResource, SkillScript

__all__ = ['BUNDLED_SKILLS', 'BackendSkillsDirectory', 'FoundSkills', 'SkillsDirectory']

BUNDLED_SKILLS = Path(__file__).parents[2] / 'bundled_skills'
"""The skills that come with deep_notebook."""

_MAX_DIRECTORIES = 1_000
"""Directories that are looked into for skills."""
_MAX_FILES = 200
"""Files of one skill that are listed."""
_FILES_DEPTH = 3
"""Levels of directories in a skill whose files are listed."""
_T = TypeVar('_T')


@dataclass
class FoundSkills:
    """What a search for skills came to."""

    skills: dict[str, Skill] = field(default_factory=dict)
    """By name, in the order of their names."""
    problems: list[str] = field(default_factory=list)
    """What cannot be used, a line each that names the file and the fix."""

    def add(self, skills: Iterable[Skill]) -> None:
        """Take in skills; of two with one name, the first stays."""
        for skill in skills:
            first = self.skills.setdefault(skill.name, skill)
            if first is not skill:
                self.problems.append(
                    f'{_origin(skill)}: it is not used, because {_origin(first)} is called {skill.name!r} too: '
                    'rename one of them.'
                )
        self.skills = dict(sorted(self.skills.items()))

    def get(self, name: str) -> Skill:
        """Return a skill.

        Raises:
            SkillError: There is none of that name.
        """
        if name in self.skills:
            return self.skills[name]
        unusable = next((problem for problem in self.problems if f'/{name}/{SKILL_FILE}' in problem), None)
        if unusable is not None:
            raise SkillError(f'The skill {name!r} cannot be used. {unusable}')
        known = f' The skills are: {", ".join(self.skills)}.' if 0 < len(self.skills) <= 30 else ''
        raise SkillError(f'There is no skill {name!r}.{did_you_mean(name, self.skills)}{known}')


@dataclass
class SkillsDirectory:
    """Skills in a directory of this machine.

    Links to directories are not followed, and no file of a skill is read that lies outside of it.
    """

    root_dir: str | Path
    """The directory, absolute or relative to the one that the process is in when this object is made."""
    validate: bool = True
    """Whether skills must follow the rules of `SKILL.md`; those that do not are left out and told in `problems`."""
    max_depth: int | None = 3
    """Levels of directories below the root in which skills are looked for."""
    script_executor: SkillScriptExecutor | None = field(default=None, kw_only=True)
    """Runs the scripts; by default, they run in the workspace of the run."""

    problems: list[str] = field(default_factory=list, init=False, repr=False, compare=False)
    """What the last search found that cannot be used."""

    def __post_init__(self) -> None:
        self.root_dir = Path.cwd() / Path(self.root_dir).expanduser()

    def get_skills(self) -> list[Skill]:
        """Return the skills, in the order of their names.

        Raises:
            SkillError: The directory does not exist.
        """
        return list(_wait_for(self.find()).skills.values())

    def load_skill(self, name: str) -> Skill:
        """Return a skill.

        Raises:
            SkillError: The directory has none of that name, or it cannot be used.
        """
        return _wait_for(self.find()).get(name)

    async def find(self, workspace: Workspace | None = None) -> FoundSkills:
        """Return the skills and what is wrong with others; `workspace` is not looked at.

        Raises:
            SkillError: The directory does not exist.
        """
        root = Path(self.root_dir)
        if not await asyncio.to_thread(root.is_dir):
            siblings = await asyncio.to_thread(_names, root.parent)
            raise SkillError(f'{root}: there is no such directory of skills.{did_you_mean(root.name, siblings)}')
        outside = Workspace(KernelWorkspace(root))
        search = _Search(outside, shown=_shown_locally(root), outside=True, options=self)
        found = await search.run(await outside.working_dir())
        self.problems = found.problems
        return found


@dataclass
class BackendSkillsDirectory:
    """Skills in a directory of a workspace backend."""

    backend: BackendProtocol | None = None
    """By default the workspace of the run."""
    root_path: str = '/skills'
    """The directory; the default is `.deep/skills` in a workspace that is not rooted at `/`."""
    validate: bool = True
    """Whether skills must follow the rules of `SKILL.md`; those that do not are left out and told in `problems`."""
    max_depth: int | None = 3
    """Levels of directories below the root in which skills are looked for."""
    script_executor: SkillScriptExecutor | None = field(default=None, kw_only=True)
    """Runs the scripts; by default, they run in the backend."""

    problems: list[str] = field(default_factory=list, init=False, repr=False, compare=False)
    """What the last search found that cannot be used."""

    async def get_skills(self) -> list[Skill]:
        """Return the skills, in the order of their names; none if there is no such directory."""
        return list((await self.find()).skills.values())

    async def load_skill(self, name: str) -> Skill:
        """Return a skill.

        Raises:
            SkillError: There is none of that name, or it cannot be used.
        """
        return (await self.find()).get(name)

    async def find(self, workspace: Workspace | None = None) -> FoundSkills:
        """Return the skills and what is wrong with others.

        Args:
            workspace: Of the run, for a directory that has no backend.

        Raises:
            ValueError: There is neither a backend nor a workspace.
        """
        where = workspace if self.backend is None else Workspace(self.backend)
        if where is None:
            raise ValueError('a BackendSkillsDirectory without a backend can only be searched in a run')
        if not (isinstance(where.backend, SupportsFilesystem) or runs_commands(where)):
            return FoundSkills()
        found = FoundSkills()
        try:
            working_dir = await where.working_dir()
            path = await where.resolve(agent_path(self.root_path, working_dir))
            root = await where.realpath(path)
            if (await where.stat(root)).is_dir:
                search = _Search(where, shown=relative_path(path, working_dir), outside=False, options=self)
                found = await search.run(root)
            else:
                found.problems.append(f'{self.root_path}: it is a file: make it a directory of skills.')
        except FileNotFoundError:
            pass  # no skills yet
        except (OSError, WorkspaceError) as error:
            found.problems.append(_unreadable(self.root_path, error))
        self.problems = found.problems
        return found


@dataclass
class _Search:
    """A walk through a directory, level by level."""

    workspace: Workspace
    shown: str
    outside: bool
    options: SkillsDirectory | BackendSkillsDirectory
    found: FoundSkills = field(default_factory=FoundSkills)

    async def run(self, root: str) -> FoundSkills:
        """Look for skills below the absolute real path `root`."""
        pending = deque([(root, self.shown, 0)])
        looked_into = 0
        while pending:
            directory, shown, depth = pending.popleft()
            if looked_into == _MAX_DIRECTORIES:
                self.found.problems.append(
                    f'{self.shown}: only {_MAX_DIRECTORIES:,} directories were looked into: move its skills to a '
                    'directory of their own.'
                )
                break
            looked_into += 1
            try:
                entries = await self._entries(directory)
            except (OSError, WorkspaceError) as error:
                self.found.problems.append(_unreadable(shown, error))
                continue
            files = [entry.name for entry in entries if not entry.is_dir]
            if SKILL_FILE in files:
                await self._add(SkillFolder(self.workspace, directory, shown, self.outside))
                continue
            self.found.problems += [
                f'{posixpath.join(shown, name)}: it is not looked into: rename it to {SKILL_FILE}.'
                for name in files
                if name.lower() == SKILL_FILE.lower()
            ]
            if self.options.max_depth is None or depth < self.options.max_depth:
                pending += [
                    (posixpath.join(directory, entry.name), posixpath.join(shown, entry.name), depth + 1)
                    for entry in entries
                    if entry.is_dir
                ]
        return self.found

    async def _add(self, folder: SkillFolder) -> None:
        file = folder.name_of(SKILL_FILE)
        try:
            text = parse_skill(
                await folder.read(SKILL_FILE),
                file=file,
                directory=posixpath.basename(folder.path),
                validate=self.options.validate,
            )
            names = await self._files(folder.path)
        except SkillError as error:
            self.found.problems.append(str(error))
            return
        except (OSError, WorkspaceError, ToolFailed) as error:
            self.found.problems.append(_unreadable(file, error))
            return
        resources = [
            SkillResource(name, uri=folder.name_of(name), folder=folder) for name in names if not _is_script(name)
        ]
        scripts = [
            SkillScript(name, uri=folder.name_of(name), folder=folder, executor=self.options.script_executor)
            for name in names
            if _is_script(name)
        ]
        skill = Skill(text.name, text.description, text.content, resources, scripts, text.metadata, uri=folder.shown)
        self.found.add([skill])

    async def _files(self, directory: str) -> list[str]:
        """Return the paths of the files of a skill, relative to it."""
        names: list[str] = []
        pending = deque([(directory, 1)])
        while pending and len(names) < _MAX_FILES:
            current, depth = pending.popleft()
            for entry in await self._entries(current):
                path = posixpath.join(current, entry.name)
                if not entry.is_dir:
                    names.append(posixpath.relpath(path, directory))
                elif depth < _FILES_DEPTH:
                    pending.append((path, depth + 1))
        return sorted(name for name in names if name != SKILL_FILE)[:_MAX_FILES]

    async def _entries(self, directory: str) -> list[FileEntry]:
        """Return what is in a directory but for hidden names, caches, and links to directories."""
        entries: list[FileEntry] = []
        for entry in await self.workspace.list_dir(directory):
            path = posixpath.join(directory, entry.name)
            if entry.name.startswith('.') or entry.name == '__pycache__':
                continue
            if not entry.is_dir or await self.workspace.realpath(path) == path:
                entries.append(entry)
        return entries


def _origin(skill: Skill) -> str:
    return skill.uri or 'a skill given in code'


def _is_script(name: str) -> bool:
    return name.endswith('.py')


def _unreadable(shown: str, error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) else None
    return f'{shown}: it cannot be read: {reason or str(error) or type(error).__name__}.'


def _shown_locally(path: Path) -> str:
    """Return how messages name a directory of this machine."""
    if path == BUNDLED_SKILLS:
        return 'bundled'
    home = Path.home()
    return f'~/{path.relative_to(home)}' if path.is_relative_to(home) else str(path)


def _names(directory: Path) -> list[str]:
    try:
        return [path.name for path in directory.iterdir()]
    except OSError:
        return []


def _wait_for(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Return what a coroutine returns, also where a loop is running."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, coroutine).result()

"""What a skill is: instructions for one kind of work, with files to read and scripts to run."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

from pydantic import ValidationError
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import BinaryContent
from pydantic_ai.tools import Tool

from ..filesystem.files import run_workspace
from ..filesystem.kinds import image_type, kind_of, size_text
from ..filesystem.text_files import decode_text
from .executors import BackendSkillScriptExecutor, ScriptArgs, SkillScriptExecutor
from .folders import SkillFolder, is_here, runs_commands

__all__ = ['Skill', 'SkillResource', 'SkillScript', 'SkillWrapper']

_Function = TypeVar('_Function', bound=Callable[..., Any])


@dataclass
class SkillResource:
    """Something that a skill lets the model read: a text, a file, or what a function returns.

    Raises:
        ValueError: It has none of these.
    """

    name: str
    description: str | None = None
    content: str | None = None
    """A fixed text."""
    function: Callable[..., Any] | None = None
    """Makes the content when it is read; it may be async and take a `RunContext` first."""
    uri: str | None = None
    """The path of a file: on this machine, or in `folder`."""
    folder: SkillFolder | None = field(default=None, repr=False, compare=False, kw_only=True)
    """Where the file `name` is, when the skill was found in a directory."""

    def __post_init__(self) -> None:
        if self.content is None and self.function is None and self.uri is None:
            raise ValueError(f'the resource {self.name!r} needs content, a function or a uri')

    async def load(self, ctx: RunContext[Any], args: Mapping[str, Any] | None = None) -> Any:
        """Return the content: text, a picture, or whatever the function returns.

        Args:
            ctx: The run.
            args: For the function.

        Raises:
            ToolFailed: The arguments do not fit, or the file cannot be read or is neither text nor a picture.
        """
        if self.function is not None:
            return await _call(self.function, ctx, args, self.name)
        if self.content is not None:
            return self.content
        folder, name = _place(self.name, self.uri, self.folder)
        return await _readable(await folder.read(name), folder.name_of(name))


@dataclass
class SkillScript:
    """Something that a skill lets the model run: a Python file, or a function.

    Raises:
        ValueError: It is neither.
    """

    name: str
    description: str | None = None
    function: Callable[..., Any] | None = None
    """May be async and take a `RunContext` first."""
    uri: str | None = None
    """The path of a Python file: on this machine, or in `folder`."""
    executor: SkillScriptExecutor | None = field(default=None, repr=False, compare=False, kw_only=True)
    """Runs the file; by default, it runs in the workspace of the run."""
    folder: SkillFolder | None = field(default=None, repr=False, compare=False, kw_only=True)
    """Where the file `name` is, when the skill was found in a directory."""

    def __post_init__(self) -> None:
        if self.function is None and self.uri is None:
            raise ValueError(f'the script {self.name!r} needs a function or a uri')

    async def run(self, ctx: RunContext[Any], args: ScriptArgs = None) -> Any:
        """Return what the script wrote and how it ended, or what the function returns.

        Args:
            ctx: The run.
            args: Words for the command line of a file, or a mapping of options; arguments by name for a function.

        Raises:
            ToolFailed: The arguments do not fit, or the file cannot be run here.
        """
        if self.function is not None:
            return await _call(self.function, ctx, args, self.name)
        folder, name = _place(self.name, self.uri, self.folder)
        path = await folder.locate(name)
        return await (self.executor or self._executor(ctx, folder)).run(path, args)

    async def source(self) -> bytes | None:
        """Return what the file holds, or `None` for a function."""
        if self.function is not None:
            return None
        folder, name = _place(self.name, self.uri, self.folder)
        return await folder.read(name)

    def _executor(self, ctx: RunContext[Any], folder: SkillFolder) -> SkillScriptExecutor:
        workspace = run_workspace(ctx) if folder.outside else folder.workspace
        if not runs_commands(workspace):
            raise ToolFailed(
                f'{self.name} cannot be run: this workspace runs no commands. Read it with read_skill_resource and do '
                'its work another way.'
            )
        if folder.outside and not is_here(workspace):
            raise ToolFailed(
                f'{self.name} cannot be run: it is not on the machine that the workspace is on. Read it with '
                'read_skill_resource, write it to a file of the workspace and run that.'
            )
        return BackendSkillScriptExecutor(workspace)


@dataclass
class Skill:
    """Instructions for one kind of work."""

    name: str
    """Lower-case words joined by hyphens."""
    description: str
    """What it is for and when to use it, in a sentence or two."""
    content: str
    """The instructions, in Markdown."""
    resources: list[SkillResource] = field(default_factory=list)
    scripts: list[SkillScript] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    """Whatever else its front matter says."""
    uri: str | None = field(default=None, kw_only=True)
    """The directory that it was found in."""


class SkillWrapper:
    """Make a skill of a function that returns its instructions.

    Args:
        function: Takes nothing and returns the instructions, as Markdown.
        name: Of the skill; by default, the function's with hyphens.
        description: Of the skill; by default, the first paragraph of the function's docstring.
        metadata: Of the skill.

    Raises:
        ValueError: There is no description.

    Example:
        ```python
        @SkillWrapper
        def units() -> str:
            '''Convert between the units of our instruments.'''
            return 'Run the script convert with a value and its unit.'


        @units.script
        def convert(value: float, unit: str) -> str: ...


        create_deep_agent(skills=[units.to_skill()])
        ```
    """

    def __init__(
        self,
        function: Callable[[], str],
        *,
        name: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.function = function
        self.name = name or _function_name(function).replace('_', '-')
        self.description = description or _about(function) or ''
        if not self.description:
            raise ValueError(f'the skill {self.name!r} needs a description: give its function a docstring')
        self.metadata = dict(metadata or {})
        self.resources: list[SkillResource] = []
        self.scripts: list[SkillScript] = []

    @overload
    def resource(self, function: _Function) -> _Function: ...

    @overload
    def resource(
        self, *, name: str | None = None, description: str | None = None
    ) -> Callable[[_Function], _Function]: ...

    def resource(
        self, function: _Function | None = None, *, name: str | None = None, description: str | None = None
    ) -> _Function | Callable[[_Function], _Function]:
        """Add a function as a resource of the skill; with or without arguments, as a decorator."""

        def add(function: _Function) -> _Function:
            self.resources.append(
                SkillResource(name or _function_name(function), description or _about(function), function=function)
            )
            return function

        return add if function is None else add(function)

    @overload
    def script(self, function: _Function) -> _Function: ...

    @overload
    def script(
        self, *, name: str | None = None, description: str | None = None
    ) -> Callable[[_Function], _Function]: ...

    def script(
        self, function: _Function | None = None, *, name: str | None = None, description: str | None = None
    ) -> _Function | Callable[[_Function], _Function]:
        """Add a function as a script of the skill; with or without arguments, as a decorator."""

        def add(function: _Function) -> _Function:
            self.scripts.append(
                SkillScript(name or _function_name(function), description or _about(function), function=function)
            )
            return function

        return add if function is None else add(function)

    def to_skill(self) -> Skill:
        """Return the skill, with the resources and scripts it has by now."""
        return Skill(
            name=self.name,
            description=self.description,
            content=self.function(),
            resources=list(self.resources),
            scripts=list(self.scripts),
            metadata=dict(self.metadata),
        )


def _place(name: str, uri: str | None, folder: SkillFolder | None) -> tuple[SkillFolder, str]:
    return (folder, name) if folder is not None else SkillFolder.around(uri or name)


async def _readable(data: bytes, shown: str) -> str | BinaryContent:
    media_type = image_type(data)
    if media_type is not None:
        return BinaryContent(data=data, media_type=media_type, identifier=shown)
    file = await asyncio.to_thread(decode_text, data)
    if file is None:
        raise ToolFailed(f'{shown} is not text: {kind_of(data, shown)}, {size_text(len(data))}.')
    return file.text


async def _call(function: Callable[..., Any], ctx: RunContext[Any], args: ScriptArgs, name: str) -> Any:
    schema = Tool(function, name=name).function_schema
    if args is not None and not isinstance(args, Mapping):
        takes = ', '.join(schema.json_schema.get('properties', {})) or 'none'
        raise ToolFailed(f'{name} takes its arguments by name: {takes}.')
    try:
        valid = schema.validator.validate_python(dict(args or {}))
    except ValidationError as error:
        wrong = '; '.join(f'{".".join(map(str, each["loc"]))}: {each["msg"]}' for each in error.errors())
        raise ToolFailed(f'The arguments of {name} do not fit: {wrong}.') from error
    return await schema.call(valid, ctx)


def _function_name(function: Callable[..., Any]) -> str:
    return getattr(function, '__name__', type(function).__name__)


def _about(function: Callable[..., Any]) -> str | None:
    """Return the first paragraph of a function's docstring, on one line."""
    documentation = inspect.getdoc(function)
    return ' '.join(documentation.split('\n\n')[0].split()) if documentation else None

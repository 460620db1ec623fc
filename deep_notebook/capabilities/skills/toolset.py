"""The tools on skills."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from annotated_types import Ge
from pydantic import BeforeValidator
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import InstructionPart, ToolReturn
from pydantic_ai.tools import AgentDepsT, Tool, ToolDefinition
from pydantic_ai.toolsets import FunctionToolset

from ...errors import SkillError, UsageError, did_you_mean
from ..approvals import PREVIEW, Preview
from ..arguments import parse_json_text
from ..filesystem.files import run_workspace
from ..output import MOVED_ABOVE, returned
from ..tool_classes import EXECUTE, READ
from ..tools import MethodTool
from .directories import BUNDLED_SKILLS, BackendSkillsDirectory, FoundSkills, SkillsDirectory
from .executors import command_line
from .folders import runs_commands
from .skill_file import SKILL_FILE, check_skill
from .texts import PLACEHOLDER, TEMPLATE, catalogue, listing, one_line, skill_text
from .types import Skill, SkillResource, SkillScript, SkillWrapper

__all__ = ['SkillsDirectories', 'SkillsToolset', 'default_directories']

SkillsDirectories: TypeAlias = Sequence[str | Path | SkillsDirectory | BackendSkillsDirectory]

_TOOLS = ('list_skills', 'load_skill', 'read_skill_resource', 'run_skill_script')
_PAGE = 30_000
"""Characters of a skill or resource that are returned at once."""
_OUTPUT = 30_000
"""Characters of what a script wrote that stay in the history."""
_SHOWN_SCRIPT = 20_000
"""Characters of a script that are shown before it runs."""


def default_directories() -> list[SkillsDirectory | BackendSkillsDirectory]:
    """Return where skills are looked for by default: `/skills` in the workspace of the run, then the bundled ones."""
    return [BackendSkillsDirectory(), SkillsDirectory(BUNDLED_SKILLS)]


class SkillsToolset(FunctionToolset[AgentDepsT]):
    """Instructions for kinds of work, which the model loads when it does such work.

    Directories are searched once a run, and again when skills are listed or one is not known. A skill that cannot be
    used never keeps the others away; `list_skills` says what is wrong with it. Of two skills with one name the first
    is used: those given in code come first, then those of the directories, in their order.

    Args:
        skills: Given in code.
        directories: Where to look. A string or path is a directory of this machine. By default `default_directories()`.
        validate: Whether skills must follow the rules of `SKILL.md`.
        max_depth: Levels of directories below each directory in which skills are looked for.
        instruction_template: What the model is told at first, with `{skills_list}` where the skills are listed.
        exclude_tools: Names of tools to leave out.
        id: Of the toolset.

    Raises:
        UsageError: A tool to leave out does not exist, or the template has no `{skills_list}`.
        SkillError: A skill given in code does not follow the rules, or two have one name.
    """

    def __init__(
        self,
        *,
        skills: Sequence[Skill | SkillWrapper] | None = None,
        directories: SkillsDirectories | None = None,
        validate: bool = True,
        max_depth: int | None = 3,
        instruction_template: str | None = None,
        exclude_tools: Collection[str] | None = None,
        id: str | None = 'skills',
    ) -> None:
        super().__init__(id=id)
        given = [skill.to_skill() if isinstance(skill, SkillWrapper) else skill for skill in skills or ()]
        self._given = _checked_skills(given, validate=validate)
        self._directories = [
            SkillsDirectory(each, validate=validate, max_depth=max_depth) if isinstance(each, (str, Path)) else each
            for each in (default_directories() if directories is None else directories)
        ]
        self._validate = validate
        self._template = _checked_template(instruction_template)
        self._excluded = _checked_names(exclude_tools or ())
        self._found: FoundSkills | None = None
        run: Callable[..., Any] = self.run_skill_script
        tools: list[Tool[AgentDepsT]] = [
            *(
                MethodTool(read, metadata={**READ})
                for read in (self.list_skills, self.load_skill, self.read_skill_resource)
            ),
            MethodTool(
                run,
                sequential=True,
                metadata={**EXECUTE, PREVIEW: self._preview, MOVED_ABOVE: _OUTPUT},
                prepare=self._where_scripts_run,
            ),
        ]
        for tool in tools:
            if tool.name not in self._excluded:
                self.add_tool(tool)

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> SkillsToolset[AgentDepsT]:
        """Return a copy for one run, which searches anew."""
        copy: SkillsToolset[AgentDepsT] = SkillsToolset(
            skills=self._given,
            directories=self._directories,
            validate=self._validate,
            instruction_template=self._template,
            exclude_tools=self._excluded,
            id=self.id,
        )
        copy.tools |= {name: tool for name, tool in self.tools.items() if name not in _TOOLS}
        return copy

    def skill(self, function: Callable[[], str]) -> SkillWrapper:
        """Add a function that returns instructions as a skill; a decorator.

        Resources and scripts that are added to the returned wrapper belong to the skill too.
        """
        wrapper = SkillWrapper(function)
        skill = wrapper.to_skill()
        skill.resources, skill.scripts = wrapper.resources, wrapper.scripts
        self._given = _checked_skills([*self._given, skill], validate=self._validate)
        return wrapper

    async def get_instructions(self, ctx: RunContext[AgentDepsT]) -> list[InstructionPart] | None:
        """Return when to load a skill, and the skills in a line each; nothing if there are none."""
        text = await self.announcement(ctx)
        parts = [*(await super().get_instructions(ctx) or ()), *([InstructionPart(text, dynamic=True)] if text else ())]
        return parts or None

    async def announcement(self, ctx: RunContext[AgentDepsT]) -> str | None:
        """Return what `get_instructions` says of skills."""
        found = await self.find(ctx)
        if not found.skills or (self._template == TEMPLATE and 'load_skill' in self._excluded):
            return None
        rest = '' if 'list_skills' in self._excluded else ': list_skills shows all'
        return self._template.replace(PLACEHOLDER, catalogue(found.skills.values(), rest=rest))

    async def find(self, ctx: RunContext[Any], *, again: bool = False) -> FoundSkills:
        """Return the skills of the run, as they were found last.

        Args:
            ctx: The run.
            again: Whether to search now.
        """
        if self._found is None or again:
            found = FoundSkills()
            found.add(self._given)
            for directory in self._directories:
                try:
                    here = await directory.find(run_workspace(ctx))
                except SkillError as error:
                    found.problems.append(str(error))
                else:
                    found.problems += here.problems
                    found.add(here.skills.values())
            self._found = found
        return self._found

    async def list_skills(self, ctx: RunContext[AgentDepsT]) -> ToolReturn[str]:
        """List all skills, and those that cannot be used."""
        found = await self.find(ctx, again=True)
        unusable = f' · {len(found.problems)} not usable' if found.problems else ''
        return ToolReturn(listing(found), metadata={'summary': f'{_count(len(found.skills), "skill")}{unusable}'})

    async def load_skill(self, ctx: RunContext[AgentDepsT], skill_name: str) -> ToolReturn[str]:
        """Read the instructions of a skill, and what scripts and resources it has."""
        skill = await self._skill(ctx, skill_name)
        text = skill_text(skill)
        if len(text) > _PAGE:
            text = (
                f'{text[:_PAGE]}\n[characters 0 to {_PAGE:,} of {len(text):,}; continue with read_skill_resource, '
                f'resource_name={SKILL_FILE!r}, offset={_PAGE}]'
            )
        return ToolReturn(text, metadata={'summary': f'{skill.name} · {_lines(text)}'})

    async def read_skill_resource(
        self,
        ctx: RunContext[AgentDepsT],
        skill_name: str,
        resource_name: str,
        args: Annotated[dict[str, Any] | None, BeforeValidator(parse_json_text)] = None,
        offset: Annotated[int, Ge(0)] = 0,
    ) -> ToolReturn[Any]:
        """Read a resource or script of a skill.

        Args:
            args: For a resource that says it takes arguments.
            offset: Characters to skip.
        """
        skill = await self._skill(ctx, skill_name)
        content = await self._content(ctx, skill, resource_name, args)
        if not isinstance(content, str):
            return ToolReturn(content, metadata={'summary': resource_name})
        if offset > len(content):
            raise ToolFailed(f'{resource_name} ends before that: it has {len(content):,} characters.')
        page = content[offset : offset + _PAGE]
        summary = f'{resource_name} · {_lines(content)}'
        if len(page) == len(content):
            return ToolReturn(page or '[empty]', metadata={'summary': summary})
        end = offset + len(page)
        more = f'continue with offset={end}' if end < len(content) else 'the end'
        return ToolReturn(
            f'[characters {offset:,} to {end:,} of {len(content):,}; {more}]\n{page}', metadata={'summary': summary}
        )

    async def run_skill_script(
        self,
        ctx: RunContext[AgentDepsT],
        skill_name: str,
        script_name: str,
        args: Annotated[list[Any] | dict[str, Any] | None, BeforeValidator(parse_json_text)] = None,
    ) -> ToolReturn[Any]:
        """Run a script of a skill in the workspace directory, and see what it prints.

        Args:
            args: Words of its command line, such as ["data.csv", "--rows", "5"], or arguments by name.
        """
        script = _script(await self._skill(ctx, skill_name), script_name)
        result = await script.run(ctx, args)
        outcome = _lines(result) if isinstance(result, str) else type(result).__name__
        if isinstance(result, str):
            result = returned(ctx, result, _OUTPUT)
        return ToolReturn(result, metadata={'summary': f'{script_name} · {outcome}'})

    async def _skill(self, ctx: RunContext[Any], name: str) -> Skill:
        found = await self.find(ctx)
        if name not in found.skills:
            found = await self.find(ctx, again=True)
        try:
            return found.get(name)
        except SkillError as error:
            raise ToolFailed(one_line(str(error), 2_000)) from None

    async def _content(self, ctx: RunContext[Any], skill: Skill, name: str, args: dict[str, Any] | None) -> Any:
        if name == SKILL_FILE:
            return skill_text(skill)
        for resource in [*skill.resources, *map(_as_resource, skill.scripts)]:
            if resource is not None and resource.name == name:
                return await resource.load(ctx, args)
        names = [resource.name for resource in skill.resources]
        raise ToolFailed(_no_such('resource', name, names, skill))

    async def _preview(self, ctx: RunContext[Any], args: dict[str, Any]) -> Preview:
        skill = await self._skill(ctx, args['skill_name'])
        script = _script(skill, args['script_name'])
        words = args.get('args')
        call = f' {shlex.join(command_line(words))}' if words else ''
        title = f'Run {script.name} of the skill {skill.name}?'
        source = await script.source()
        if source is None:
            return Preview(title=title, detail=one_line(f'given in code{call}', 200))
        text = source.decode(errors='replace')
        shown = f'{script.uri} · {_lines(text)}'
        if len(text) > _SHOWN_SCRIPT:
            shown += f', of which {_SHOWN_SCRIPT:,} characters are shown'
        return Preview(
            title=title,
            detail=one_line(f'{shown} ·{call}' if call else shown, 300),
            diff=_as_new_file(script.uri or script.name, text[:_SHOWN_SCRIPT]),
            before=await _digest(skill),
        )

    def _where_scripts_run(self, ctx: RunContext[AgentDepsT], tool: ToolDefinition) -> ToolDefinition | None:
        """Offer the tool where the workspace runs commands, or there is something that runs without it."""
        in_code = any(script.function or script.executor for skill in self._given for script in skill.scripts)
        elsewhere = any(directory.script_executor for directory in self._directories)
        return tool if in_code or elsewhere or runs_commands(run_workspace(ctx)) else None


def _script(skill: Skill, name: str) -> SkillScript:
    for script in skill.scripts:
        if script.name == name:
            return script
    raise ToolFailed(_no_such('script', name, [script.name for script in skill.scripts], skill))


def _as_resource(script: SkillScript) -> SkillResource | None:
    return None if script.uri is None else SkillResource(script.name, uri=script.uri, folder=script.folder)


def _no_such(kind: str, name: str, names: list[str], skill: Skill) -> str:
    has = f'It has: {", ".join(names[:50])}.' if names else 'It has none.'
    return one_line(f'The skill {skill.name} has no {kind} {name!r}.{did_you_mean(name, names)} {has}', 2_000)


async def _digest(skill: Skill) -> str:
    """Return what stands for the scripts of a skill: one may import another."""
    digest = blake2b(digest_size=16)
    for script in skill.scripts:
        source = await script.source() or b''
        digest.update(f'{script.name}\0{len(source)}\0'.encode())
        digest.update(source)
    return digest.hexdigest()


def _as_new_file(path: str, text: str) -> str:
    lines = text.removesuffix('\n').split('\n')
    return '\n'.join(['--- /dev/null', f'+++ b/{path}', f'@@ -0,0 +1,{len(lines)} @@', *(f'+{line}' for line in lines)])


def _checked_skills(skills: list[Skill], *, validate: bool) -> list[Skill]:
    names = FoundSkills()
    names.add(skills)
    if names.problems:
        raise SkillError(names.problems[0])
    for skill in skills if validate else ():
        check_skill(skill.name, skill.description, where=f'the skill {skill.name!r}')
    return skills


def _checked_template(template: str | None) -> str:
    if template is None:
        return TEMPLATE
    if PLACEHOLDER not in template:
        raise UsageError(f'instruction_template has no {PLACEHOLDER}: put it where the skills are to be listed.')
    return template


def _checked_names(names: Collection[str]) -> frozenset[str]:
    if isinstance(names, str):
        raise UsageError(f'exclude_tools is a list: write [{names!r}].')
    for name in names:
        if name not in _TOOLS:
            raise UsageError(f'exclude_tools: there is no tool {name!r}.{did_you_mean(name, _TOOLS)}')
    return frozenset(names)


def _lines(text: str) -> str:
    return _count(text.rstrip('\n').count('\n') + 1 if text.strip() else 0, 'line')


def _count(number: int, what: str) -> str:
    return f'{number:,} {what}{"" if number == 1 else "s"}'

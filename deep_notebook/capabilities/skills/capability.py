"""Skills as one capability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.tools import AgentDepsT

from .texts import name_list
from .toolset import SkillsDirectories, SkillsToolset
from .types import Skill, SkillWrapper

__all__ = ['SkillsCapability']


@dataclass
class SkillsCapability(AbstractCapability[AgentDepsT]):
    """Let the agent load instructions for a kind of work when it does such work, and run their scripts.

    Raises:
        UsageError: A tool to leave out does not exist, or the template has no `{skills_list}`.
        SkillError: A skill given in code does not follow the rules, or two have one name.
    """

    skills: Sequence[Skill | SkillWrapper] | None = None
    """Given in code."""
    directories: SkillsDirectories | None = None
    """Where to look; a string or path is a directory of this machine. By default in `/skills` of the workspace
    (`.deep/skills` in a notebook's directory), then among the bundled skills."""
    validate: bool = True
    """Whether skills must follow the rules of `SKILL.md`."""
    max_depth: int | None = 3
    """Levels of directories below each directory in which skills are looked for."""
    instruction_template: str | None = None
    """What the model is told at first, with `{skills_list}` where the skills are listed."""
    exclude_tools: set[str] | list[str] | None = None
    """Tools to leave out."""

    id: str | None = field(default='skills', kw_only=True)
    description: str | None = field(default='Tested instructions and scripts for kinds of work.', kw_only=True)

    _toolset: _RunToolset[AgentDepsT] = field(init=False, repr=False, compare=False)

    @classmethod
    def from_spec(
        cls,
        *,
        directories: list[str] | None = None,
        validate: bool = True,
        max_depth: int | None = 3,
        instruction_template: str | None = None,
        exclude_tools: list[str] | None = None,
        defer_loading: bool = False,
    ) -> SkillsCapability[Any]:
        """Return the capability that a spec file describes; skills given in code are not for one."""
        return SkillsCapability(
            directories=directories,
            validate=validate,
            max_depth=max_depth,
            instruction_template=instruction_template,
            exclude_tools=exclude_tools,
            defer_loading=defer_loading,
        )

    def __post_init__(self) -> None:
        self._toolset = _RunToolset(
            skills=self.skills,
            directories=self.directories,
            validate=self.validate,
            max_depth=self.max_depth,
            instruction_template=self.instruction_template,
            exclude_tools=self.exclude_tools,
            id=self.id,
        )

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> SkillsCapability[AgentDepsT]:
        """Return a copy for one run, which searches anew."""
        return replace(self)

    def get_toolset(self) -> SkillsToolset[AgentDepsT]:
        """Return the tools."""
        return self._toolset

    def get_instructions(self) -> Any:
        """Return when to load a skill, and the skills in a line each."""
        return self._instructions

    def get_description(self) -> Any:
        """Return the description with the names of the skills: on demand, that is all the model sees of them."""
        return self._description

    async def names_in_prompts(self, ctx: RunContext[AgentDepsT]) -> list[str]:
        """Return the names of the skills: a prompt that has one of them wants the capability."""
        return list((await self._toolset.find(ctx)).skills)

    async def _instructions(self, ctx: RunContext[AgentDepsT]) -> str | None:
        return await self._toolset.announcement(ctx)

    async def _description(self, ctx: RunContext[AgentDepsT]) -> str:
        names = name_list((await self._toolset.find(ctx)).skills.values())
        return f'{self.description} {names}'.strip() if names else self.description or ''


class _RunToolset(SkillsToolset[AgentDepsT]):
    """The tools of a capability, which makes them anew for each run and gives the instructions itself."""

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> SkillsToolset[AgentDepsT]:
        return self

    async def get_instructions(self, ctx: RunContext[AgentDepsT]) -> None:
        return None

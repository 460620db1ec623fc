"""Read a `SKILL.md`: front matter in YAML, then the instructions.

Whoever wrote the file reads what is said about it, so every message names the file and the fix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.events import AliasEvent

from ...errors import SkillError

__all__ = ['SKILL_FILE', 'SkillText', 'check_skill', 'parse_skill']

SKILL_FILE = 'SKILL.md'

MAX_NAME = 64
"""Characters (Agent Skills specification, agentskills.io)."""
MAX_DESCRIPTION = 1024
"""Characters (Agent Skills specification, agentskills.io)."""
_MAX_FRONT_MATTER = 16_000
_NAME = re.compile(r'[a-z0-9]+(?:-[a-z0-9]+)*')
_FRONT_MATTER = re.compile(r'---[ \t]*\n(?P<yaml>.*?)^---[ \t]*(?:\n|\Z)', re.DOTALL | re.MULTILINE)
_EXAMPLE = "put '---', 'name: …', 'description: …' and '---' on the first four lines"


@dataclass(frozen=True)
class SkillText:
    """What a `SKILL.md` says."""

    name: str
    description: str
    content: str
    metadata: dict[str, Any] = field(default_factory=dict)


def parse_skill(data: bytes, *, file: str, directory: str, validate: bool = True) -> SkillText:
    """Return what a `SKILL.md` says.

    Args:
        data: What the file holds.
        file: Its path, for messages.
        directory: The name of its directory, which is to be the skill's name.
        validate: Whether it must follow the rules. Otherwise the directory's name and the first line of the
            instructions stand in for what it lacks.

    Raises:
        SkillError: It does not follow the rules, or is not text.
    """
    try:
        text = data.decode('utf-8-sig').replace('\r\n', '\n')
    except UnicodeDecodeError:
        raise SkillError(f'{file}: it is not UTF-8 text: save it as UTF-8.') from None
    try:
        front, content = _split(text, file)
    except SkillError:
        if validate:
            raise
        front, content = {}, text.strip()
    name, description = front.pop('name', None), front.pop('description', None)
    if not validate:
        first_line = next((line.strip('# ') for line in content.splitlines() if line.strip('# ')), '')
        name, description = str(name or directory), str(description or first_line)
    else:
        name, description = check_skill(name, description, where=file)
        if name != directory:
            raise SkillError(f'{file}: its name is {name!r}, but its directory {directory!r}: make them the same.')
        if not content:
            raise SkillError(f'{file}: there are no instructions: write them below the front matter.')
    return SkillText(name, description.strip(), content, front)


def check_skill(name: Any, description: Any, *, where: str) -> tuple[str, str]:
    """Return the name and description of a skill.

    Raises:
        SkillError: One of them is missing or not as it must be.
    """
    if not isinstance(name, str) or not name:
        raise SkillError(f"{where}: it has no name: add 'name: …' to the front matter, in quotes if it is a number.")
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise SkillError(
            f'{where}: the name {name[:80]!r} is not one: use lower-case letters, digits and single hyphens, at most '
            f'{MAX_NAME} of them.'
        )
    if not isinstance(description, str) or not description.strip():
        raise SkillError(f"{where}: it has no description: add 'description: …', what it is for and when to use it.")
    if len(description) > MAX_DESCRIPTION:
        raise SkillError(
            f'{where}: the description has {len(description):,} characters: shorten it to {MAX_DESCRIPTION:,}.'
        )
    return name, description


def _split(text: str, file: str) -> tuple[dict[str, Any], str]:
    """Return the front matter and the instructions."""
    if not text.startswith('---'):
        raise SkillError(f'{file}: it has no front matter: {_EXAMPLE}.')
    match = _FRONT_MATTER.match(text)
    if match is None or match.end('yaml') > _MAX_FRONT_MATTER:
        raise SkillError(f"{file}: its front matter has no end: put '---' on a line of its own below it.")
    try:
        front = _plain_data(match['yaml'], file)
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # very deep nesting; a date that there is not
        raise SkillError(f'{file}: {_yaml_problem(error)}') from error
    if not isinstance(front, dict):
        raise SkillError(f'{file}: its front matter is not a list of fields: {_EXAMPLE}.')
    return {str(key): value for key, value in front.items()}, text[match.end() :].strip()


def _plain_data(text: str, file: str) -> Any:
    """Return what YAML says, without aliases: a few of them can stand for gigabytes."""
    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, AliasEvent):
            raise SkillError(f'{file}: its front matter has an alias (*{event.anchor}): write the value out.')
    return yaml.safe_load(text)


def _yaml_problem(error: Exception) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return f'its front matter is not YAML ({type(error).__name__}): put values in quotes.'
    line = error.problem_mark.line + 2  # counted from 0, below the '---'
    return f'line {line} is not YAML ({error.problem}): put a value that has a colon or quotes in it in quotes.'

"""What the model is told of skills."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_ai.tools import Tool

from .directories import FoundSkills
from .types import Skill, SkillResource, SkillScript

__all__ = ['PLACEHOLDER', 'TEMPLATE', 'catalogue', 'listing', 'name_list', 'one_line', 'skill_text']

PLACEHOLDER = '{skills_list}'
TEMPLATE = f'Before work that a skill covers, load it with load_skill and follow it:\n{PLACEHOLDER}'

_DESCRIPTION_IN_CATALOGUE = 110
_CATALOGUE = 2_000
"""Characters of the instructions that skills take at most."""
_DESCRIPTION_IN_LISTING = 300
_LISTING = 30_000
_PROBLEMS = 10
_METADATA = 1_000


def one_line(text: str, limit: int) -> str:
    """Return `text` on one line of at most `limit` characters, without characters that do not show.

    What others wrote cannot look like a line of ours then.
    """
    line = ' '.join(''.join(c if c.isprintable() else ' ' for c in text).split())
    return line if len(line) <= limit else f'{line[: limit - 1].rstrip()}…'


def catalogue(skills: Iterable[Skill], *, rest: str = '') -> str:
    """Return the skills, a short line each, as far as there is room in the instructions.

    Args:
        skills: In the order to name them.
        rest: Said of those that there is no room for.
    """
    lines = [f'- {_name(skill)}: {one_line(skill.description, _DESCRIPTION_IN_CATALOGUE)}' for skill in skills]
    shown = _fitting(lines, _CATALOGUE)
    if shown < len(lines):
        lines[shown:] = [f'- … and {len(lines) - shown} more{rest}']
    return '\n'.join(lines)


def name_list(skills: Iterable[Skill]) -> str:
    """Return the names of skills, as far as there is room on a line."""
    return one_line(', '.join(map(_name, skills)), 240)


def listing(found: FoundSkills) -> str:
    """Return all skills with their descriptions and places, and what cannot be used."""
    skills = list(found.skills.values())
    lines = [
        f'- {_name(skill)}: {one_line(skill.description, _DESCRIPTION_IN_LISTING)}{_where(skill)}' for skill in skills
    ]
    shown = _fitting(lines, _LISTING)
    if shown < len(lines):
        lines[shown:] = ['More, without their descriptions: ' + ', '.join(map(_name, skills[shown:]))]
    if not lines:
        lines = ['There are no skills.']
    if found.problems:
        lines += ['', 'Not usable as they are:', *(f'- {one_line(each, 400)}' for each in found.problems[:_PROBLEMS])]
        if len(found.problems) > _PROBLEMS:
            lines.append(f'- … and {len(found.problems) - _PROBLEMS} more')
    return '\n'.join(lines)


def skill_text(skill: Skill) -> str:
    """Return what loading a skill shows: its instructions, what else it says of itself, and what it has."""
    parts = [f'# Skill {_name(skill)}', skill.content.strip()]
    if skill.metadata:
        parts.append(f'Metadata: {one_line(json.dumps(skill.metadata, ensure_ascii=False, default=str), _METADATA)}')
    parts += _items('Scripts, for run_skill_script', skill.scripts)
    parts += _items('Resources, for read_skill_resource', skill.resources)
    return '\n\n'.join(parts)


def _items(title: str, items: Sequence[SkillResource | SkillScript]) -> list[str]:
    if not items:
        return []
    return ['\n'.join([f'{title}:', *(f'- {one_line(item.name, 200)}{_about(item)}' for item in items)])]


def _about(item: SkillResource | SkillScript) -> str:
    described = f': {one_line(item.description, 200)}' if item.description else ''
    if item.function is None:
        return described
    arguments: dict[str, Any] = Tool(item.function, name=item.name).function_schema.json_schema.get('properties', {})
    return described + (f' (arguments: {", ".join(arguments)})' if arguments else '')


def _name(skill: Skill) -> str:
    return one_line(skill.name, 80)


def _where(skill: Skill) -> str:
    return f' ({one_line(skill.uri, 200)})' if skill.uri else ''


def _fitting(lines: Sequence[str], room: int) -> int:
    """Return how many of the first `lines` fit into `room` characters."""
    for at, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return at
    return len(lines)

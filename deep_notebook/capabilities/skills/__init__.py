"""Skills: instructions for kinds of work, which the agent loads when it does such work."""

from __future__ import annotations

from .capability import SkillsCapability
from .directories import BUNDLED_SKILLS, BackendSkillsDirectory, FoundSkills, SkillsDirectory
from .executors import BackendSkillScriptExecutor, LocalSkillScriptExecutor, SkillScriptExecutor
from .toolset import SkillsToolset, default_directories
from .types import Skill, SkillResource, SkillScript, SkillWrapper

__all__ = [
    'BUNDLED_SKILLS',
    'BackendSkillScriptExecutor',
    'BackendSkillsDirectory',
    'FoundSkills',
    'LocalSkillScriptExecutor',
    'Skill',
    'SkillResource',
    'SkillScript',
    'SkillScriptExecutor',
    'SkillWrapper',
    'SkillsCapability',
    'SkillsDirectory',
    'SkillsToolset',
    'default_directories',
]

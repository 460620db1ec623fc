"""A `SKILL.md` of somebody else's makes no objects, takes no memory, and runs nothing."""

from __future__ import annotations

import pytest

from deep_notebook.capabilities.skills.skill_file import parse_skill
from deep_notebook.errors import SkillError

LAUGHS = '\n'.join(['a0: &a0 [ha]', *(f'a{n}: &a{n} [{", ".join([f"*a{n - 1}"] * 9)}]' for n in range(1, 12))])


@pytest.mark.parametrize(
    ('yaml', 'said'),
    [
        ('x: !!python/object/apply:os.getcwd []', 'could not determine a constructor'),
        ('x: !!python/name:os.system', 'could not determine a constructor'),
        (LAUGHS, 'has an alias'),
        ('x: &x [*x]', 'has an alias'),
        ('x: ' + '[' * 5_000 + ']' * 5_000, 'is not YAML'),
        ('? [a]\n: b', 'is not YAML'),
    ],
    ids=['an object', 'a name', 'many laughs', 'itself', 'very deep', 'a key that is a list'],
)
def test_it_is_refused(yaml: str, said: str) -> None:
    with pytest.raises(SkillError, match=said):
        parse_skill(
            f'---\nname: x\ndescription: d\n{yaml}\n---\nDo.'.encode(), file='x/SKILL.md', directory='x', validate=True
        )

from __future__ import annotations

from dataclasses import dataclass

import pytest

from deep_notebook.capabilities.skills.skill_file import SkillText, parse_skill
from deep_notebook.errors import SkillError

FILE = '.deep/skills/units/SKILL.md'


def parse(text: str | bytes, *, validate: bool = True) -> SkillText:
    data = text if isinstance(text, bytes) else text.encode()
    return parse_skill(data, file=FILE, directory='units', validate=validate)


def test_front_matter_and_instructions_are_told_apart() -> None:
    lines = ['name: units', 'description: "Convert: units."', 'license: MIT', 'metadata:', '  by: Ada']
    assert parse(matter(*lines, content='\n# Units\n---\nDo.\n')) == SkillText(
        'units', 'Convert: units.', '# Units\n---\nDo.', {'license': 'MIT', 'metadata': {'by': 'Ada'}}
    )


@pytest.mark.parametrize('ending', ['\n', '\r\n'])
@pytest.mark.parametrize('mark', ['', '\ufeff'])
def test_line_endings_and_a_mark_do_not_matter(ending: str, mark: str) -> None:
    text = mark + ending.join(['---', 'name: units', 'description: 单位', '---', 'Do.', 'It.'])
    assert parse(text) == SkillText('units', '单位', 'Do.\nIt.')


@dataclass(frozen=True)
class Case:
    text: str | bytes
    said: str


def matter(*lines: str, content: str = 'Do.') -> str:
    return '\n'.join(['---', *lines, '---', content])


@pytest.mark.parametrize(
    'case',
    [
        Case(
            'Do.', "it has no front matter: put '---', 'name: …', 'description: …' and '---' on the first four lines."
        ),
        Case('---\nname: units\n', "its front matter has no end: put '---' on a line of its own below it."),
        Case('---\nx: ' + 'y' * 20_000 + '\n---\n', "its front matter has no end: put '---' on a line"),
        Case(matter('just text'), 'its front matter is not a list of fields: put'),
        Case(matter('- name'), 'its front matter is not a list of fields: put'),
        Case(matter('description: d'), "it has no name: add 'name: …' to the front matter"),
        Case(matter('name: 7', 'description: d'), 'it has no name: add'),
        Case(matter('name: Units', 'description: d'), "the name 'Units' is not one: use lower-case letters"),
        Case(matter('name: un--its', 'description: d'), "the name 'un--its' is not one"),
        Case(matter('name: ../units', 'description: d'), "the name '../units' is not one"),
        Case(matter('name: ' + 'a' * 65, 'description: d'), 'at most 64 of them'),
        Case(
            matter('name: unit', 'description: d'), "its name is 'unit', but its directory 'units': make them the same"
        ),
        Case(matter('name: units'), "it has no description: add 'description: …', what it is for"),
        Case(matter('name: units', 'description: "  "'), 'it has no description'),
        Case(matter('name: units', 'description: [a, b]'), 'it has no description'),
        Case(matter('name: units', 'description: ' + 'd' * 1025), 'has 1,025 characters: shorten it to 1,024.'),
        Case(matter('name: units', 'description: d', content=' \n'), 'there are no instructions: write them below'),
        Case(
            matter('name: units', 'description: a: b'), 'line 3 is not YAML (mapping values are not allowed here): put'
        ),
        Case(matter('name: units', 'description: "d'), 'is not YAML'),
        Case(matter('when: 2024-13-45'), 'its front matter is not YAML (ValueError)'),
        Case(b'---\nname: \xff\n---\n', 'it is not UTF-8 text: save it as UTF-8.'),
    ],
    ids=lambda case: case.said[:40],
)
def test_what_is_wrong_is_said_with_the_file_and_the_fix(case: Case) -> None:
    with pytest.raises(SkillError) as error:
        parse(case.text)
    assert str(error.value).startswith(f'{FILE}: ')
    assert case.said in str(error.value)
    assert '\n' not in str(error.value)


@pytest.mark.parametrize(
    ('text', 'skill'),
    [
        ('# Units\n\nDo.', SkillText('units', 'Units', '# Units\n\nDo.')),
        (matter('name: Units!', 'description: 7'), SkillText('Units!', '7', 'Do.')),
        (matter('description: a: b'), SkillText('units', '---', '---\ndescription: a: b\n---\nDo.')),
        (matter('license: MIT'), SkillText('units', 'Do.', 'Do.', {'license': 'MIT'})),
        ('', SkillText('units', '', '')),
    ],
)
def test_without_validation_a_file_is_used_as_far_as_it_goes(text: str, skill: SkillText) -> None:
    assert parse(text, validate=False) == skill

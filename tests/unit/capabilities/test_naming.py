"""A prompt names a capability in the person's own words, and not by accident."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pydantic_ai.messages import ImageUrl

from deep_notebook.capabilities.naming import Wording, phrases


@dataclass(frozen=True)
class Case:
    what: str
    prompt: str


SAYS = [
    Case('a word', 'Use a skill for this'),
    Case('in capitals', 'WHICH SKILLS ARE THERE?'),
    Case('at the end of a sentence', 'It is about skills. Begin.'),
    Case('in brackets', 'Clean it (with a skill).'),
    Case('over a line end', 'Do it with a\nskill'),
    Case('after a full-width comma', 'データを整えて、skillを使う。'),
    Case('between Chinese characters', '请用skill清理数据'),
    Case('with a Korean particle', 'skills를 보여줘'),
    Case('with Arabic punctuation', 'استخدم skill؟'),
    Case('with Spanish punctuation', '¿skill?'),
    Case('after an apostrophe', "Don't write code yet, find a skill that doesn't need any"),
    Case('after code', 'Here:\n\n```python\nx = 1\n```\n\nUse a skill.'),
    Case('after a file', '<file path="a.txt">one</file> Use a skill.'),
    Case('after inline code', 'Run `x` with a skill'),
    Case('in an indented list', '- clean:\n    - with a skill'),
    Case('at the end of a long prompt', f'{"1,2,3 " * 5_000}\nUse a skill.'),
]

SAYS_NOT = [
    Case('nothing', ''),
    Case('a longer word', 'skillful and unskilled'),
    Case('fenced code', 'Mend this:\n```\nskill = 1\n```'),
    Case('fenced code with tildes', '~~~python\nskill\n~~~'),
    Case('a fence that is never closed', 'Mend this:\n```\nskill = 1\n\nskill'),
    Case('a shorter fence in a longer one', '````\n```\nskill\n```\nskill\n````'),
    Case('code in a list', '1. mend\n   ```\n   skill\n   ```'),
    Case('indented code', 'Mend this:\n\n    skill = 1\n    skill += 1\n'),
    Case('inline code', 'Rename `skill` to `level`'),
    Case('inline code with two ticks', 'Rename ``a ` skill``'),
    Case('a quoted line', '> skill\n\nWhat does that mean?'),
    Case('an interpreter session', '>>> skill\n1'),
    Case('a quoted file', '<file path="a.txt">\na skill\n</file>'),
    Case('quotes', 'Rename the column "skill" to "level"'),
    Case('single quotes', "Rename the column 'skill' to 'level'"),
    Case('curly quotes', 'Rename “skill” to ‘level’'),
    Case('German quotes', 'Benenne „skill“ um'),
    Case('French quotes', 'Renommez « skill »'),
    Case('Japanese quotes', '列「skill」を消す'),
    Case('a file', 'Read skill.csv'),
    Case('a path', 'Look into data/skill and skill/data'),
    Case('a path of another system', r'Open C:\skill\a'),
    Case('an option', 'What does --skill do?'),
    Case('an attribute', 'What is person.skill here?'),
    Case('a variable', 'What is skill_level, and what is my_skill?'),
    Case('a call', 'What does skill() do?'),
    Case('a compound', 'Make a skill-based ranking'),
    Case('an address', 'Read https://example.org/?q=skill'),
    Case('an email address', 'Write to skill@example.org'),
    Case('the middle of a long prompt', f'Sum this: {"1,2 " * 2_000} skill {"1,2 " * 2_000}'),
]


@pytest.mark.parametrize('case', SAYS, ids=lambda case: case.what)
def test_the_persons_own_word_counts(case: Case) -> None:
    assert Wording.of(case.prompt).says(phrases('skills?'))


@pytest.mark.parametrize('case', SAYS_NOT, ids=lambda case: case.what)
def test_what_is_no_word_of_the_persons_does_not(case: Case) -> None:
    assert not Wording.of(case.prompt).says(phrases('skills?'))


@pytest.mark.parametrize(
    'prompt',
    [
        'Use data-cleaning',
        'Some data cleaning, please',
        'Use Data_Cleaning.',
        'Use `data-cleaning` here',
        'Use "data-cleaning" here',
        'Use “data-cleaning”',
        '用data-cleaning整理',
    ],
)
def test_a_name_counts_also_alone_in_quotes_or_code(prompt: str) -> None:
    assert Wording.of(prompt).names('data-cleaning')


@pytest.mark.parametrize(
    'prompt',
    [
        'Open data-cleaning.ipynb',
        'Use my-data-cleaning',
        'Use data-cleaning-2',
        'Run `git commit -m data-cleaning`',
        '```\ndata-cleaning\n```',
        'Clean the data',
    ],
)
def test_a_name_does_not_count_as_part_of_another(prompt: str) -> None:
    assert not Wording.of(prompt).names('data-cleaning')


def test_a_name_without_words_is_never_named() -> None:
    assert not Wording.of('a - b').names('-')


@pytest.mark.parametrize(
    ('prompt', 'has_url'),
    [
        ('Summarise https://example.org/a?b=1', True),
        ('Summarise <https://example.org>', True),
        ('Summarise "http://example.org"', True),
        ('Summarise `https://example.org`', True),
        ('要約：https://example.org/。', True),
        ('```\ncurl https://example.org\n```', False),
        ('Mend `curl https://example.org`', False),
        ('> see https://example.org\n\nWhat is meant?', False),
        ('What does https mean?', False),
    ],
)
def test_a_pasted_address_counts_and_one_in_code_does_not(prompt: str, has_url: bool) -> None:
    assert Wording.of(prompt).has_url is has_url


def test_all_texts_of_a_prompt_count_and_pictures_do_not() -> None:
    image = ImageUrl(url='https://example.org/skill.png')
    wording = Wording.of(['Look at this.', image, 'Then use a skill.'])
    assert wording.says(phrases('skill'))
    assert not wording.has_url
    assert not Wording.of(None).says(phrases('skill'))


@pytest.mark.timeout(20)
def test_a_hostile_prompt_takes_no_time() -> None:
    for text in (
        '`' * 50_000,
        '<a>' * 20_000,
        '"' * 50_001,
        '``` ' * 20_000,
        "'" * 50_001,
        '> ' * 30_000,
        ' ' * 50_000,
    ):
        wording = Wording.of(text)
        assert not wording.says(phrases('save (?:a|the) plan'))

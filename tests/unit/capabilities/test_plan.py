from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from deep_notebook.capabilities.plan import (
    PLANNER_DESCRIPTION,
    PLANNER_INSTRUCTIONS,
    AskOption,
    AskUser,
    PlanCapability,
    PlanToolset,
    create_plan_toolset,
    format_plan,
)
from deep_notebook.workspaces import KernelWorkspace, StateBackend
from harness.play import Call, Deps, play

pytestmark = pytest.mark.anyio

OPTIONS = [{'label': 'CSV'}, {'label': 'Parquet', 'description': 'smaller', 'recommended': True}]


@dataclass
class Person:
    """Deps with somebody who gives one answer."""

    answer: str | None
    asked: list[tuple[str, Sequence[AskOption]]] = field(default_factory=list)
    backend: Any = None

    @property
    def ask_user(self) -> AskUser:
        async def ask(question: str, options: Sequence[AskOption]) -> str | None:
            self.asked.append((question, options))
            return self.answer

        return ask


def ask(options: Any) -> Call:
    return ('ask_user', {'question': 'Which format?', 'options': options})


def save(title: str, **more: Any) -> Call:
    return ('save_plan', {'title': title, 'steps': [{'title': 'Look'}], **more})


@pytest.mark.parametrize(
    ('answer', 'told'),
    [('Parquet', 'The person chose: Parquet'), (' neither, use SQLite ', 'The person answered: neither, use SQLite')],
)
async def test_the_person_is_asked_and_their_answer_comes_back(answer: str, told: str) -> None:
    person = Person(answer)
    played = await play([ask(OPTIONS)], capabilities=[PlanCapability()], deps=person)
    assert played.texts == [told]
    assert person.asked == [
        (
            'Which format?',
            [
                {'label': 'CSV', 'description': '', 'recommended': False},
                {'label': 'Parquet', 'description': 'smaller', 'recommended': True},
            ],
        )
    ]


async def test_the_person_reads_what_was_asked_and_what_was_decided() -> None:
    for deps, decided in ((Person('CSV'), 'CSV'), (None, 'Parquet, as nobody was here')):
        played = await play([ask(OPTIONS)], capabilities=[PlanCapability()], deps=deps)
        assert played.returns[0].metadata == {'summary': f'Which format? → {decided}'}


async def test_an_answer_is_read_after_a_long_question_too() -> None:
    call = ('ask_user', {'question': 'Which format ' * 50, 'options': OPTIONS})
    played = await play([call], capabilities=[PlanCapability()], deps=Person('CSV'))
    summary = played.returns[0].metadata['summary']
    assert summary.endswith('… → CSV')
    assert len(summary) < 90


async def test_nobody_reached_after_all_is_nobody_there() -> None:
    played = await play([ask(OPTIONS)], capabilities=[PlanCapability()], deps=Person(None))
    assert played.texts == [
        "Nobody is here to ask: go on with 'Parquet', which you recommend, and say that you assumed it."
    ]


async def test_no_answer_is_no_agreement() -> None:
    played = await play([ask(OPTIONS)], capabilities=[PlanCapability()], deps=Person(' '))
    assert (played.returns[0].outcome, played.texts[0]) == (
        'failed',
        'The person did not answer, and agreed to nothing.',
    )


@dataclass(frozen=True)
class Headless:
    name: str
    options: list[Any]
    told: str


@pytest.mark.parametrize(
    'case',
    [
        Headless('recommended', OPTIONS, "go on with 'Parquet', which you recommend"),
        Headless('first', ['CSV', 'Parquet'], "go on with 'CSV', the first option"),
        Headless(
            'first recommended',
            [{'label': label, 'recommended': label != 'a'} for label in 'abc'],
            "go on with 'b', which you recommend",
        ),
    ],
    ids=lambda case: case.name,
)
@pytest.mark.parametrize('deps', [None, Deps()], ids=['no deps', 'deps that cannot ask'])
async def test_where_nobody_is_there_the_recommended_or_first_option_is_taken(case: Headless, deps: Any) -> None:
    played = await play([ask(case.options)], capabilities=[PlanCapability()], deps=deps)
    assert case.told in played.texts[0]
    assert played.texts[0].endswith('say that you assumed it.')


@pytest.mark.parametrize('count', [0, 1, 5])
async def test_fewer_than_two_or_more_than_four_options_are_no_question(count: int) -> None:
    person = Person('0')
    played = await play(
        [ask([{'label': str(number)} for number in range(count)])], capabilities=[PlanCapability()], deps=person
    )
    assert [part.outcome for part in played.returns] == ['retried']
    assert person.asked == []


@pytest.mark.parametrize('labels', [['yes', ' yes'], ['yes', ' ']])
async def test_options_that_cannot_be_told_apart_are_refused(labels: list[str]) -> None:
    person = Person('yes')
    played = await play([ask(labels)], capabilities=[PlanCapability()], deps=person)
    assert 'needs a label of its own' in played.texts[0]
    assert person.asked == []


async def test_options_given_as_text_are_understood() -> None:
    played = await play([ask('["CSV", {"label": "Parquet"}]')], capabilities=[PlanCapability()], deps=Person('CSV'))
    assert played.texts == ['The person chose: CSV']


def test_a_plan_has_every_section_in_its_place() -> None:
    assert format_plan(
        'Move to\nParquet',
        context='The CSV is slow.',
        decisions=['Parquet: smaller, typed'],
        steps=[
            {'title': 'Convert', 'files': ['a.csv', 'a.parquet'], 'action': 'create', 'details': 'Keep the types.'},
            {'title': 'Read it', 'files': ['a.parquet', 'load.py'], 'action': 'modify'},
            {'title': 'Compare', 'files': ['load.py']},
            {'title': 'Done'},
        ],
        notes='Risk: dates.',
    ) == snapshot("""\
# Plan: Move to Parquet

## Context

The CSV is slow.

## Decisions Made

- Parquet: smaller, typed

## Implementation Steps

### Step 1: Convert

- **Files**: `a.csv`, `a.parquet`
- **Action**: create

Keep the types.

### Step 2: Read it

- **Files**: `a.parquet`, `load.py`
- **Action**: modify

### Step 3: Compare

- **Files**: `load.py`

### Step 4: Done

## Files Summary

- `a.csv`: create (step 1)
- `a.parquet`: create (step 1), modify (step 2)
- `load.py`: modify (step 2), step 3

## Notes

Risk: dates.
""")


def test_an_empty_section_says_that_it_is_empty() -> None:
    assert format_plan('x', steps=[{'title': 'y'}]).count('None.') == 4


async def test_a_plan_is_saved_and_its_path_returned(tmp_path: Path) -> None:
    call = save('Move to Parquet', decisions=['Parquet'], context='slow', notes='dates')
    played = await play([call], capabilities=[PlanCapability()], deps=Deps(KernelWorkspace(tmp_path)))
    assert played.texts == ['Saved as .deep/plans/move-to-parquet.md.']
    assert (tmp_path / '.deep/plans/move-to-parquet.md').read_text().startswith('# Plan: Move to Parquet\n\n## Context')
    assert played.returns[0].metadata['file']['path'] == '.deep/plans/move-to-parquet.md'


async def test_in_memory_the_default_directory_is_what_it_says() -> None:
    deps = Deps()
    await play([save('x')], capabilities=[PlanCapability()], deps=deps)
    assert list(deps.backend.files) == ['/plans/x.md']


async def test_a_plan_never_replaces_another() -> None:
    deps = Deps()
    played = await play([save('x'), save('X!'), save('x')], [save('x')], capabilities=[PlanCapability()], deps=deps)
    assert played.texts == [f'Saved as plans/{name}.md.' for name in ('x', 'x-2', 'x-3', 'x-4')]
    assert len(deps.backend.files) == 4


async def test_plans_of_two_runs_at_once_are_two_plans() -> None:
    class Slow(StateBackend):
        async def exists(self, path: str) -> bool:
            there = await super().exists(path)
            for _ in range(500):
                await asyncio.sleep(0)
            return there

    deps = Deps(Slow())
    await asyncio.gather(*(play([save('x')], capabilities=[PlanCapability()], deps=deps) for _ in range(2)))
    assert sorted(deps.backend.files) == ['/plans/x-2.md', '/plans/x.md']


@pytest.mark.parametrize(
    'title',
    [
        'Umstellung auf Größe „B“',
        'План миграции',
        '数据迁移计划',
        'データ移行の計画',
        'تخطيط الترحيل',
        'डेटा योजना',
        '계획',
        '🚀',
        '',
        '../../../etc/passwd',
        '/etc/cron.d/x',
        'C:\\Windows\\x',
        '..',
        'a\0b\nc',
        'x' * 10_000,
        '計' * 10_000,
        '~root',
        '-rf',
        '.hidden',
    ],
)
async def test_any_title_makes_a_file_in_the_plans_directory(tmp_path: Path, title: str) -> None:
    root = tmp_path / 'notebooks'
    root.mkdir()
    played = await play([save(title)], capabilities=[PlanCapability()], deps=Deps(KernelWorkspace(root)))
    assert played.returns[0].outcome == 'success'
    files = [path for path in tmp_path.rglob('*') if path.is_file()]
    assert [path.parent for path in files] == [root / '.deep' / 'plans']
    assert files[0].name[0] not in '.-~'
    assert f'Saved as .deep/plans/{files[0].name}.' in played.texts


async def test_a_plan_that_cannot_be_saved_is_said_to_be_unsaved(tmp_path: Path) -> None:
    (tmp_path / '.deep').mkdir()
    (tmp_path / '.deep' / 'plans').write_text('a file')
    played = await play([save('x')], capabilities=[PlanCapability()], deps=Deps(KernelWorkspace(tmp_path)))
    assert played.returns[0].outcome == 'failed'


async def test_the_toolset_alone_does_the_same() -> None:
    deps = Deps()
    toolset = create_plan_toolset(plans_dir='/elsewhere')
    assert isinstance(toolset, PlanToolset)
    await play([save('x')], capabilities=[], toolsets=[toolset], deps=deps)
    assert list(deps.backend.files) == ['/elsewhere/x.md']


def test_the_planner_is_told_to_plan_and_not_to_do() -> None:
    assert '\n' not in PLANNER_DESCRIPTION
    assert all(word in PLANNER_INSTRUCTIONS for word in ('ask_user', 'save_plan', 'Change no file'))

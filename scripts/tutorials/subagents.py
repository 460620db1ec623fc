"""The answers of 04-subagents-and-plans, those of the subagents included."""

from __future__ import annotations

from typing import Any

from .turns import Answer, Answers, Results, call, plan, replacing, worked

__all__ = ['ANSWERS']

DATA = 'data/iowa-electricity.csv'
DRAFT = 'out/subagents/draft.md'
RENEWABLES = 'out/subagents/renewables.md'
REPORT = 'out/subagents/fossil-fuels.md'
PLAN = '.deep/plans/fossil-fuels.md'
PAGE = 'Write the page'
LINK = 'Link it from draft.md'

PASSED = (
    '2009. Renewables gave 8,560 GWh then, nuclear energy 4,679 (lines 44 and 27 of data/iowa-electricity.csv). In '
    '2008 nuclear energy was still ahead: 5,282 to 5,070.'
)
FOSSIL_PEAK = '2010, with 42,750 GWh (line 11 of data/iowa-electricity.csv). 2008 came close: 42,734 GWh.'
NUCLEAR_PEAK = '2013, with 5,321 GWh (line 31 of data/iowa-electricity.csv).'
COMPLETE = 'No gaps: each of the three sources has one row a year from 2001 to 2017, 51 rows in all.'
FAULT = (
    'One of two sentences is wrong: “They passed nuclear energy in 2007.” It was 2009: 8,560 GWh to 4,679 (lines 44 '
    'and 27). In 2007 it was 3,870 to 4,519. The 38.8 % of 2017 are right.'
)
CORRECTED = 'They passed nuclear energy in 2009.'

STEPS: list[dict[str, Any]] = [
    {
        'title': PAGE,
        'files': [REPORT],
        'action': 'create',
        'details': 'The generation and share of fossil fuels in 2001, 2010 (the peak) and 2017, as a table. '
        'Check: the shares are those of the data, to one decimal.',
    },
    {
        'title': LINK,
        'files': [DRAFT],
        'action': 'modify',
        'details': 'Add a line with a link. Check: the link leads to the page.',
    },
]
TABLE = """\
# The fall of fossil fuels

| year | GWh | share |
|---|---|---|
| 2001 | 35,361 | 87.0 % |
| 2010 | 42,750 | 74.3 % |
| 2017 | 29,329 | 51.9 % |
"""


_correction = replacing(DRAFT, 'They passed', CORRECTED)


def _after_correction(results: Results) -> Answer:
    if worked(results):
        return f'Corrected in {DRAFT}: “{CORRECTED}”'
    return f'{DRAFT} is not changed: my edit was denied. Its second sentence should be: “{CORRECTED}”'


def _renewables(results: Results) -> Answer:
    figure = '21,933 GWh' if 'GWh' in _chosen(results) else '38.8 %'
    return [call('write_file', path=RENEWABLES, content=f'Renewables in Iowa, 2017: {figure}\n')]


def _after_renewables(results: Results) -> Answer:
    chosen = next(str(result.content) for result in results if result.tool_name == 'ask_user')
    unit = 'GWh: 21,933' if 'GWh' in _chosen(results) else 'percent: 38.8'
    if 'Nobody is here' in chosen:
        return f'{RENEWABLES} is written, in {unit}. Nobody was there to ask, so I **assumed** the unit.'
    return f'{RENEWABLES} is written, in {unit}, as you chose.'


def _chosen(results: Results) -> str:
    """Return the answer to the question, without the question."""
    return next(str(result.content) for result in results if result.tool_name == 'ask_user').partition(': ')[2]


def _report(results: Results) -> Answer:
    return str(results[-1].content)


ANSWERS: Answers = {
    # what the person asks
    'Let the research subagent': [
        [
            call(
                'task',
                subagent_type='research',
                description=f'Find the first year in which renewables gave more electricity than nuclear energy in '
                f'{DATA} (GWh by year and source). Return both figures of that year and of the year before.',
            )
        ],
        'In **2009**: renewables gave 8,560 GWh, nuclear energy 4,679. A year before, nuclear energy was still ahead, '
        'with 5,282 to 5,070 GWh.',
    ],
    'Use two subagents': [
        [
            call(
                'task',
                subagent_type='research',
                description=f'Find the year in which fossil fuels gave most, in {DATA}. Return the year and GWh.',
            ),
            call(
                'task',
                subagent_type='research',
                description=f'Find the year in which nuclear energy gave most, in {DATA}. Return the year and GWh.',
            ),
        ],
        '- Fossil fuels: **2010**, with 42,750 GWh.\n- Nuclear energy: **2013**, with 5,321 GWh.',
    ],
    'In the background': [
        [
            call(
                'task',
                subagent_type='research',
                description=f'Check {DATA} for gaps: every source should have a row for every year.',
                background=True,
            )
        ],
        [call('grep', pattern='^2017', path=DATA)],
        [call('check_subagent', task_id='t1', wait=60)],
        'The total of 2017 is **56,476 GWh** (29,329 + 5,214 + 21,933). The data have no gaps: 51 rows, one for each '
        'source and year.',
    ],
    'Let the critic': [
        [
            call(
                'task',
                subagent_type='critic',
                description=f'Check {DRAFT} against {DATA} (GWh by year and source).',
            )
        ],
        'The critic found one mistake: renewables passed nuclear energy in **2009**, not in 2007. The share of 2017 is '
        'right. I changed nothing.',
    ],
    'Let a general subagent correct': [
        [
            call(
                'task',
                subagent_type='general',
                description=f'In {DRAFT}, correct the second sentence: renewables passed nuclear energy in 2009.',
            )
        ],
        _report,
    ],
    'Let a general subagent see to it': [
        [
            call(
                'task',
                subagent_type='general',
                description=f'See to it that the second sentence of {DRAFT} says: {CORRECTED}',
            )
        ],
        _report,
    ],
    'Write the renewables': [
        [call('grep', pattern='^2017', path=DATA)],
        [
            call(
                'ask_user',
                question='In which unit do you want the renewables of 2017?',
                options=[
                    {'label': 'percent', 'description': 'the share of all electricity', 'recommended': True},
                    {'label': 'GWh', 'description': 'as in the data'},
                ],
            )
        ],
        _renewables,
        _after_renewables,
    ],
    'Let the planner': [
        [
            call(
                'task',
                subagent_type='planner',
                description=f'Plan a short report on the fall of fossil fuels in Iowa, {REPORT}, from {DATA}.',
            )
        ],
        f'The plan is in **{PLAN}**: a page with three years, then a link to it. Say “carry out step 1” when it suits '
        'you.',
    ],
    'Carry out step 1': [
        [call('read_file', path=PLAN), call('read_file', path=DATA)],
        [plan(PAGE, LINK, done=0), call('write_file', path=REPORT, content=TABLE)],
        [call('read_file', path=REPORT)],
        [plan(PAGE, LINK, done=1)],
        f'Step 1 is done: {REPORT} has the table, and its shares are those of the data. Step 2, '
        'the link, waits for you.',
    ],
    # what the subagents are asked
    'Find the first year in which renewables': [[call('read_file', path=DATA)], PASSED],
    'Find the year in which fossil fuels': [[call('grep', pattern='Fossil', path=DATA)], FOSSIL_PEAK],
    'Find the year in which nuclear energy': [[call('grep', pattern='Nuclear', path=DATA)], NUCLEAR_PEAK],
    f'Check {DATA} for gaps': [[call('read_file', path=DATA)], COMPLETE],
    f'Check {DRAFT}': [
        [call('read_file', path=DRAFT), call('grep', pattern='^20(07|08|09|17)', path=DATA)],
        FAULT,
    ],
    f'In {DRAFT}, correct': [[call('read_file', path=DRAFT)], _correction, _after_correction],
    f'See to it that the second sentence of {DRAFT}': [
        [call('read_file', path=DRAFT)],
        lambda results: _correction(results) if '2007' in str(results[-1].content) else 'It is right already.',
        _after_correction,
    ],
    'Plan a short report': [
        [call('read_file', path=DATA), call('read_file', path=DRAFT)],
        [
            call(
                'save_plan',
                title='Fossil fuels',
                context='Fossil fuels gave 87.0 % of the electricity in 2001 and 51.9 % in 2017. No page shows that.',
                decisions=['Three years are enough: the first, the peak of generation, the last.'],
                steps=STEPS,
                notes='Open: whether the report needs a chart.',
            )
        ],
        f'{PLAN}: first the page with a table of three years, then a link to it from draft.md. Nothing is changed yet.',
    ],
}

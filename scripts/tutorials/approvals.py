"""The answers of 02-approvals."""

from __future__ import annotations

from .turns import Answer, Answers, Results, anchor, call, plan, worked

__all__ = ['ANSWERS']

SHARES = """\
# Renewables in Iowa

| year | share |
|---|---|
| 2001 | 3.5 % |
| 2009 | 16.5 % |
| 2017 | 38.8 % |
"""
RENEWABLES = 'out/approvals/renewables.md'
RENEWABLES_PLAN = ('Read the data', 'Write renewables.md')
NUCLEAR = 'Nuclear energy gave about a tenth all the time: 9.5 % in 2001, 9.2 % in 2017.'


def after_renewables(results: Results) -> Answer:
    """Go on after the question whether the table may be written."""
    if worked(results):
        return [plan(*RENEWABLES_PLAN, done=2)]
    return (
        f'I read the data, but **{RENEWABLES} was not written**: the write was denied. The shares would be 3.5 % in '
        '2001, 16.5 % in 2009 and 38.8 % in 2017.'
    )


def after_other_cut(results: Results) -> Answer:
    """Go on after the question whether the file may be shortened."""
    if worked(results):
        return f'Done: {RENEWABLES} has its title and the row of 2017 left.'
    if 'drop the sentence' not in str(results[-1].content):
        return f'I left {RENEWABLES} as it was, since you denied the change.'
    if NUCLEAR not in str(results[-2].content):
        return f'There is no sentence to drop, so I left {RENEWABLES} as it was.'
    table = '| 2017 | 38.8 % |'
    operation = {'op': 'replace', 'anchor': anchor(results, table), 'end': anchor(results, NUCLEAR), 'text': table}
    return [call('edit_file', path=RENEWABLES, operations=[operation])]


def after_two_files(results: Results) -> Answer:
    """Go on after the questions about the two files."""
    written = [result for result in results[-2:] if result.outcome == 'success']
    return {
        2: 'Both files are written.',
        1: 'One of the two files is written; the other was denied, and I left it at that.',
        0: 'Neither file is written: you denied both.',
    }[len(written)]


ANSWERS: Answers = {
    'Read data/iowa-electricity.csv and write': [
        [plan(*RENEWABLES_PLAN, done=0), call('read_file', path='data/iowa-electricity.csv')],
        [plan(*RENEWABLES_PLAN, done=1), call('write_file', path=RENEWABLES, content=SHARES)],
        after_renewables,
        f'The shares are in **{RENEWABLES}**: from 3.5 % in 2001 over 16.5 % in 2009 to 38.8 % in 2017.',
    ],
    'Add a sentence on nuclear energy': [
        [call('read_file', path=RENEWABLES), call('grep', pattern='Nuclear', path='data/iowa-electricity.csv')],
        lambda results: [
            call(
                'edit_file',
                path=RENEWABLES,
                operations=[
                    {'op': 'insert_after', 'anchor': anchor(results, '| 2017'), 'text': f'\n{NUCLEAR}\n'},
                ],
            )
        ],
        lambda results: (
            f'{RENEWABLES} now says below the table: “{NUCLEAR}”'
            if worked(results)
            else f'I left {RENEWABLES} as it was, since you denied the change.'
        ),
    ],
    'Shorten': [
        [call('read_file', path=RENEWABLES)],
        [
            call(
                'write_file',
                path=RENEWABLES,
                content='# Renewables in Iowa\n\n| year | share |\n|---|---|\n| 2017 | 38.8 % |\n',
            )
        ],
        after_other_cut,
        lambda results: (
            f'As you said: the table in {RENEWABLES} is whole, the sentence is gone.'
            if worked(results)
            else f'I left {RENEWABLES} as it was.'
        ),
    ],
    'Write out/approvals/2009.md and': [
        [
            call('write_file', path='out/approvals/2009.md', content='Renewables in 2009: 16.5 %\n'),
            call('write_file', path='out/approvals/2017.md', content='Renewables in 2017: 38.8 %\n'),
        ],
        after_two_files,
    ],
}

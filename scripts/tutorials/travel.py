"""The answers of 07-time-travel."""

from __future__ import annotations

from .turns import Answers, call, plan, replacing

__all__ = ['ANSWERS']

REPORT = 'out/travel/report.md'
DATA = 'data/iowa-electricity.csv'

DRAFT = """\
# Electricity in Iowa, 2017

Renewables gave 21,933 GWh.
"""
LONG = """\
# The structure of net generation in Iowa, 2017

| source | GWh | share |
|---|---|---|
| fossil fuels | 29,329 | 51.9 % |
| renewables | 21,933 | 38.8 % |
| nuclear energy | 5,214 | 9.2 % |
"""
SHARES = """\
import csv

with open('data/iowa-electricity.csv', newline='') as file:
    last = [row for row in csv.DictReader(file) if row['year'].startswith('2017')]
total = sum(int(row['net_generation']) for row in last)
shares = {row['source']: round(100 * int(row['net_generation']) / total, 1) for row in last}
shares"""

ANSWERS: Answers = {
    'Start a report': [
        [call('grep', pattern='^2017', path=DATA)],
        [plan('Draft', 'A version for experts', done=1), call('write_file', path=REPORT, content=DRAFT)],
        f'The draft is in **{REPORT}**: one sentence, on renewables.',
    ],
    'Now a version for experts': [
        [call('read_file', path=REPORT), call('run_python', code=SHARES)],
        [
            call('write_file', path=REPORT, content=LONG),
            call('execute', command='mkdir out/travel/old && mv out/travel/notes.txt out/travel/old/'),
            plan('Draft', 'A version for experts', done=2),
        ],
        f'**{REPORT}** is a table for experts now, and I moved your notes to out/travel/old/.',
    ],
    'Add nuclear energy': [
        [call('read_file', path=REPORT)],
        replacing(REPORT, 'Renewables gave', 'Renewables gave 21,933 GWh, nuclear energy 5,214 GWh.'),
        'The sentence names nuclear energy, too. The title and the rest are as they were.',
    ],
}

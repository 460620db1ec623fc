"""The answers of 03-files-and-kernel."""

from __future__ import annotations

from .turns import Answers, call, replacing

__all__ = ['ANSWERS']

PLAN = 'out/files/plan.toml'

ANSWERS: Answers = {
    'What is in out/files': [
        [
            call('ls', path='out/files'),
            call('glob', pattern='*.csv', path='data'),
            call('grep', pattern='2016', path=PLAN),
        ],
        f'- **out/files** holds `notes.txt` and `plan.toml`; the data are in `data/iowa-electricity.csv`.\n'
        f'- The plan ends with **2016**: `last_year = 2016` in `{PLAN}`, line 4.',
    ],
    'Set last_year': [
        [call('read_file', path=PLAN), call('grep', pattern='^2017', path='data/iowa-electricity.csv')],
        replacing(PLAN, 'last_year', 'last_year = 2017'),
        f'`last_year` in {PLAN} is now 2017, the last year in the data. Nothing else changed.',
    ],
    'Now set first_year': [
        replacing(PLAN, 'first_year', 'first_year = 2005'),
        [call('read_file', path=PLAN)],
        replacing(PLAN, 'first_year', 'first_year = 2005'),
        f'`first_year` is now 2005. Somebody had changed {PLAN} after I read it, so my first edit was refused; I read '
        'the file again and made the change to what is there now.',
    ],
    'In out/files/notes.txt': [
        [call('read_file', path='out/files/notes.txt')],
        replacing('out/files/notes.txt', 'Vérifié', 'Vérifié : oui'),
        'The note now says `Vérifié : oui`.',
    ],
    'Show me the first line': [
        [call('read_file', path='/etc/passwd'), call('read_file', path='../README.md')],
        'I cannot: both files are outside the directory of this notebook, and I only see what is inside it.',
    ],
    'Which kinds of source': [
        [call('execute', command='tail -n +2 data/iowa-electricity.csv | cut -d, -f2 | sort | uniq')],
        'Three: **Fossil Fuels**, **Nuclear Energy** and **Renewables**.',
    ],
    'The data are in the variable': [
        [
            call(
                'run_python',
                code="last = [row for row in rows if row['year'].startswith('2017')]\n"
                "total = sum(int(row['net_generation']) for row in last)\n"
                "shares = {row['source']: round(100 * int(row['net_generation']) / total, 1) for row in last}\n"
                'shares',
            )
        ],
        '`shares` holds the percentages of 2017: fossil fuels 51.9, nuclear energy 9.2, renewables 38.8.',
    ],
    'Draw': [
        [call('run_python', code='from charts import bar_chart\n\nbar_chart(shares)')],
        'In 2017 fossil fuels still gave half of the electricity (51.9 %), renewables more than a third (38.8 %).',
    ],
    'Explain these shares': [
        'In 2017, every second kilowatt hour in Iowa came from fossil fuels, and nearly four of ten from renewables.',
    ],
    'Read data/iowa-electricity.csv a few lines': [
        [call('read_file', path='data/iowa-electricity.csv', limit=10)],
        [call('read_file', path='data/iowa-electricity.csv', offset=10, limit=10)],
        [call('read_file', path='data/iowa-electricity.csv', offset=20, limit=10)],
    ],
    'Stop reading.': [
        'I came to line 20 of 52: all years of fossil fuels, and the first two of nuclear energy.',
    ],
}

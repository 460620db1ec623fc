"""The answers of 05-skills-memory-context."""

from __future__ import annotations

from .turns import Answer, Answers, Results, call, worked

__all__ = ['ANSWERS']

DATA = 'data/iowa-electricity.csv'
READINGS = 'out/knowledge/readings.csv'
CLEAN = 'out/knowledge/readings-clean.csv'
SHEET = 'out/knowledge/2017.md'
TARGETS = '.deep/uploads/targets.csv'

FOUND = (
    f'{READINGS} has 7 rows, and three things look wrong:\n\n'
    '- one row is there **twice**,\n'
    '- `North roof` is also spelled `north roof`,\n'
    '- one value of `kwh` has a space before it, and one is missing (`n/a`).'
)
CLEANING = f"""\
import csv

with open('{READINGS}', newline='') as file:
    header, *rows = csv.reader(file)
print(len(rows), 'rows')

rows = [[value.strip() for value in row] for row in rows]
rows = [[site.capitalize(), date, '' if kwh == 'n/a' else kwh] for site, date, kwh in rows]
once = list(dict.fromkeys(map(tuple, rows)))
print(len(once), 'rows without repeated ones')
print(sum(kwh == '' for *_, kwh in once), 'value missing, left empty')

with open('{CLEAN}', 'w', newline='') as file:
    csv.writer(file, lineterminator='\\n').writerows([header, *once])
"""
FACT_SHEET = """\
# Electricity in Iowa, 2017

- Fossil Fuels: 29,329 GWh, 51.9 %
- Renewables: 21,933 GWh, 38.8 %
- Nuclear Energy: 5,214 GWh, 9.2 %

Source: data/iowa-electricity.csv
"""
COMPARED = 'Compare every year with 2001.'
COMPARED_LATER = 'Compare every year with 2009.'


def _after_script(results: Results) -> Answer:
    if worked(results):
        return FOUND
    return f'The script was denied, so I have not looked at {READINGS}.'


def _renewables_of_2012(results: Results) -> Answer:
    """Answer as the notes and the style say that are there now."""
    if 'Output style: formal' in results.instructions:
        return (
            'In 2012, renewable sources generated 14,949 GWh in Iowa, or 26.4 % of the total. In 2009 they had '
            'generated 8,560 GWh (16.5 %). The shares were computed from the net generation of all sources in '
            'data/iowa-electricity.csv.'
        )
    if COMPARED not in results.instructions:
        raise LookupError('the notes are not in the instructions')
    return 'Renewables gave **14,949 GWh** in 2012, 26.4 %. In 2001 it had been 1,437 GWh, 3.5 %.'


ANSWERS: Answers = {
    'Which skills': [
        [call('list_skills')],
        'Four:\n\n'
        '- **data-cleaning**: profile, load and clean tables\n'
        '- **debugging**: find out why code fails, and prove the fix\n'
        '- **notebook-hygiene**: make a notebook that others can read and run again\n'
        '- **plotting**: right and readable charts',
    ],
    f'Look at {READINGS}': [
        [call('load_skill', skill_name='data-cleaning')],
        [call('run_skill_script', skill_name='data-cleaning', script_name='profile_csv.py', args=[READINGS])],
        _after_script,
    ],
    'Now clean it': [
        [call('run_python', code=CLEANING)],
        f'{CLEAN} has 6 of the 7 rows: the repeated one is gone, the spelling and the space are mended. The raw file '
        'is as it was. One value is **missing** (North roof, 2017-06-03), and I left it empty: whether to fill it is '
        'for you to decide.',
    ],
    'Write the fact-sheet': [
        [call('load_skill', skill_name='fact-sheet'), call('grep', pattern='^2017', path=DATA)],
        [call('write_file', path=SHEET, content=FACT_SHEET)],
        f'The fact sheet is in {SHEET}.',
    ],
    'Remember that our reports': [
        [call('write_memory', content=COMPARED)],
        'Noted: every year is compared with 2001.',
    ],
    'How did renewables do in 2012': [
        [call('grep', pattern='^(2001|2009|2012)', path=DATA)],
        _renewables_of_2012,
    ],
    'From now on': [
        [call('update_memory', old_string=COMPARED, new_string=COMPARED_LATER)],
        'Noted: the year to compare with is 2009 now, no longer 2001.',
    ],
    'Were the targets': [
        [call('read_file', path=TARGETS), call('grep', pattern='^(2009|2017)', path=DATA)],
        '- 2009: **met**, 16.5 % (target 15 %).\n- 2017: **missed** by 1.2 points, 38.8 % (target 40 %).',
    ],
}

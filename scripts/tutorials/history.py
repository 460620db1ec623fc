"""The answers of 08-long-conversations, the summary included."""

from __future__ import annotations

from .turns import Answer, Answers, Results, call

__all__ = ['ANSWERS']

DATA = 'data/iowa-electricity.csv'
DAYS = """\
import math

for day in range(1, 366):
    tilt = math.radians(-23.44) * math.cos(2 * math.pi * (day + 10) / 365)
    hours = 24 / math.pi * math.acos(-math.tan(math.radians(41.6)) * math.tan(tilt))
    print(f'day {day:3}: {hours:5.2f} hours of daylight')
"""
SUMMARY = """\
The person looks into solar power in Iowa. Asked for and found:
- The length of every day of the year in Des Moines (latitude 41.6), computed with the sun's declination. The shortest \
is day 355, 21 December, with 8.98 hours; the longest are 172 and 173, 21 and 22 June, with \
15.02. The table was too large for the conversation and is in a file.
- data/iowa-electricity.csv has net generation by year and source, in thousand MWh: 2001 to 2017, three sources.
Nothing was written; nothing is open."""


def _solstice(results: Results) -> Answer:
    """Read the rows around the shortest day in the file that the table went to."""
    path = str(results[-1].content).partition('\n')[0].rpartition(' ')[2]
    return [call('grep', pattern='^day (17[1-4]|35[456])', path=path)]


ANSWERS: Answers = {
    'How long is every day': [
        [call('run_python', code=DAYS)],
        _solstice,
        'The shortest is **day 355**, 21 December, with 8.98 hours of daylight; the longest are **days 172 and 173**, '
        '21 and 22 June, with 15.02.',
    ],
    'Which sources does': [
        [call('read_file', path=DATA)],
        'Three: **fossil fuels**, **nuclear energy** and **renewables**, each from 2001 to 2017.',
    ],
    'Which day did you say': ['**Day 355**, 21 December: 8.98 hours.'],
    '<transcript>': [SUMMARY],
}

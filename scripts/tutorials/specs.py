"""The answers of 06-specs-and-capabilities-on-demand; in its Python cells a stand-in answers."""

from __future__ import annotations

from .turns import Answers, call

__all__ = ['ANSWERS']

ANSWERS: Answers = {
    'What do data/README.md': [
        [call('read_file', path='data/README.md'), call('read_file', path='out/specs/.env')],
        '- data/README.md: net generation of electricity in Iowa, 2001 to 2017, in thousand MWh. From the U.S. Energy '
        'Information Administration; public domain.\n'
        '- out/specs/.env: not read, it may hold secrets.',
    ],
}

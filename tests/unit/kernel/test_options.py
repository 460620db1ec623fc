from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from deep_notebook.errors import UsageError
from deep_notebook.kernel.options import RunOptions, option_names, options_help, parse_options


@dataclass(frozen=True)
class Case:
    line: str
    expected: dict[str, Any] = field(default_factory=dict)


GOOD = [
    Case(''),
    Case('hi there', {'prompt': 'hi there'}),
    Case('-m embedded --approve auto', {'model': 'embedded', 'approve': 'auto'}),
    Case('--model="my model" hello -x', {'model': 'my model', 'prompt': 'hello -x'}),
    Case('--budget $0.05 -t 3', {'budget': Decimal('0.05'), 'timeout': 3.0}),
    Case("--into ans what's this", {'into': 'ans', 'prompt': "what's this"}),
    Case('-m=x -n -q', {'model': 'x', 'new': True, 'quiet': True}),
    Case('--max-requests 3', {'max_requests': 3}),
    Case('--replay intro', {'replay': 'intro'}),
    Case('-- -m is a flag', {'prompt': '-m is a flag'}),
]


@pytest.mark.parametrize('case', GOOD, ids=lambda case: case.line or 'nothing')
def test_a_line_is_read(case: Case) -> None:
    assert parse_options(case.line) == RunOptions(**case.expected)


BAD = {
    '--appove auto': "Did you mean '--approve'?",
    '--approve aut': "Did you mean 'auto'?",
    '--timeout soon': 'a number of seconds above 0',
    '--timeout inf': 'a number of seconds above 0',
    '--timeout 0': 'a number of seconds above 0',
    '--budget nan': 'an amount of US dollars above 0',
    '--budget -1': 'an amount of US dollars above 0',
    '--max-requests 1.5': 'a whole number above 0',
    '--model': '--model needs a value',
    '--model --new': '--model needs a value',
    '--new=3': 'takes no value',
    '--into 3x': 'the name of a variable',
    '--into class': 'the name of a variable',
    '--replay a/b': 'the plain name of a recording',
    '--record ../x': 'the plain name of a recording',
    '--replay a --record b': 'exclude each other',
    '--model "x': 'quote is not closed',
}


@pytest.mark.parametrize(('line', 'words'), BAD.items())
def test_a_mistake_is_one_line_with_the_fix(line: str, words: str) -> None:
    with pytest.raises(UsageError) as mistake:
        parse_options(line)
    assert words in str(mistake.value)
    assert '\n' not in str(mistake.value)


def test_the_help_covers_every_option_in_whole_sentences() -> None:
    described = options_help()
    assert [flags.split(',')[0].split()[0] for flags, _ in described] == option_names()
    assert all(text.endswith('.') for _, text in described)

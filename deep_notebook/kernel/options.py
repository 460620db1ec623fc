"""The options of `%%deep`, each defined once: flag, help, meaning.

Tab completion, `%deep help` and the parser all read the same table. A flag beats `%config DeepMagics`, which
beats the environment.
"""

from __future__ import annotations

import keyword
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from ..errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from ..capabilities.approval_types import ApprovalMode

__all__ = ['APPROVE_MODES', 'RunOptions', 'option_names', 'options_help', 'parse_options']

APPROVE_MODES: tuple[ApprovalMode, ...] = ('ask', 'review', 'auto', 'deny')


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What one `%%deep` cell asked for; `None` where it said nothing."""

    prompt: str = ''
    """Words that stood on the `%%deep` line itself."""
    model: str | None = None
    approve: ApprovalMode | None = None
    into: str | None = None
    new: bool = False
    max_requests: int | None = None
    timeout: float | None = None
    """Seconds of work, not counting the time that a question waits."""
    budget: Decimal | None = None
    """US dollars."""
    quiet: bool = False
    replay: str | None = None
    record: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Option:
    flags: tuple[str, ...]
    help: str
    metavar: str | None = None
    convert: Callable[[str], Any] = str

    @property
    def name(self) -> str:
        return self.flags[0].lstrip('-').replace('-', '_')


def _approve(text: str) -> str:
    if text not in APPROVE_MODES:
        raise UsageError(f'--approve takes ask, review, auto or deny, not {text!r}.{did_you_mean(text, APPROVE_MODES)}')
    return text


def _positive(flag: str, what: str, convert: Callable[[str], Any]) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        try:
            value = convert(text.removeprefix('$'))
        except (ValueError, InvalidOperation):
            value = 0
        if math.isfinite(value) and value > 0:
            return value
        raise UsageError(f'{flag} takes {what} above 0, not {text!r}.')

    return parse


def _variable(text: str) -> str:
    if not text.isidentifier() or keyword.iskeyword(text):
        raise UsageError(f'--into takes the name of a variable, not {text!r}.')
    return text


def _recording(flag: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not text or text.startswith('.') or any(mark in text for mark in '/\\\0'):
            raise UsageError(f'{flag} takes the plain name of a recording, not {text!r}.')
        try:
            os.fsencode(text)
        except UnicodeEncodeError as error:
            raise UsageError(f'{flag} {text!r}: names of files are {error.encoding} on this system.') from None
        return text

    return parse


_OPTIONS = (
    _Option(
        flags=('--model', '-m'),
        metavar='NAME',
        help='The model that answers: a name such as `embedded` or `anthropic:…`, or a variable that holds a '
        'pydantic-ai Model or Agent.',
    ),
    _Option(
        flags=('--approve', '-a'),
        metavar='ask|review|auto|deny',
        convert=_approve,
        help='Whether writes and commands ask you first (ask), writes happen and are shown to you at the end, to keep '
        'or undo (review), both just happen (auto), or are refused (deny).',
    ),
    _Option(
        flags=('--into', '-i'), metavar='VAR', convert=_variable, help='Put the answer into this variable as well.'
    ),
    _Option(flags=('--new', '-n'), help='Start a new conversation; the old one is kept.'),
    _Option(
        flags=('--max-requests',),
        metavar='N',
        convert=_positive('--max-requests', 'a whole number', int),
        help='Stop after this many requests to the model.',
    ),
    _Option(
        flags=('--timeout', '-t'),
        metavar='SECONDS',
        convert=_positive('--timeout', 'a number of seconds', float),
        help='Stop after this many seconds of work; the time a question waits for you does not count.',
    ),
    _Option(
        flags=('--budget', '-b'),
        metavar='DOLLARS',
        convert=_positive('--budget', 'an amount of US dollars', Decimal),
        help='Stop before the next request once this many US dollars are spent.',
    ),
    _Option(flags=('--quiet', '-q'), help='Show the answer only, without the plan and the work.'),
    _Option(
        flags=('--replay',),
        metavar='NAME',
        convert=_recording('--replay'),
        help='Answer from recordings/NAME.yaml, without a key or a network.',
    ),
    _Option(
        flags=('--record',),
        metavar='NAME',
        convert=_recording('--record'),
        help='Keep the answers of the model in recordings/NAME.yaml, for --replay.',
    ),
)


def option_names() -> list[str]:
    """Return the long flags, in the order of the help."""
    return [option.flags[0] for option in _OPTIONS]


def options_help() -> list[tuple[str, str]]:
    """Return `(flags, help)` for each option."""
    return [
        (', '.join(option.flags) + (f' {option.metavar}' if option.metavar else ''), option.help) for option in _OPTIONS
    ]


def parse_options(line: str) -> RunOptions:
    """Read the line after `%%deep`: options first, then words that belong to the prompt.

    Raises:
        UsageError: An option is unknown or its value makes no sense; the message says the fix.
    """
    flags = {flag: option for option in _OPTIONS for flag in option.flags}
    values: dict[str, Any] = {}
    rest = line.strip()
    while rest.startswith('-'):
        if rest == '--' or rest.startswith('-- '):
            rest = rest[2:].strip()
            break
        word, rest = _next_word(rest)
        flag, equals, value = word.partition('=')
        option = flags.get(flag)
        if option is None:
            raise UsageError(f'%%deep has no option {flag}.{did_you_mean(flag, flags)} `%deep help` lists the options.')
        if option.metavar is None:
            if equals:
                raise UsageError(f'{flag} takes no value.')
            values[option.name] = True
            continue
        if not equals:
            if not rest or rest.split()[0] in flags:
                raise UsageError(f'{flag} needs a value: {flag} {option.metavar}.')
            value, rest = _next_word(rest)
        values[option.name] = option.convert(value)
    options = RunOptions(prompt=rest, **values)
    if options.replay and options.record:
        raise UsageError('--replay and --record exclude each other: replay an old recording, or make a new one.')
    return options


_WORD = re.compile(r"""((?:[^\s"']|"[^"]*"|'[^']*')+)(?:\s+|$)""")


def _next_word(text: str) -> tuple[str, str]:
    """Return the first word of `text`, in which quotes may hold spaces, and what follows it."""
    match = _WORD.match(text)
    if match is None:
        raise UsageError(f'A quote is not closed in: {text}')
    word = re.sub(r"""["']([^"']*)["']""", r'\1', match[1])
    return word, text[match.end() :]

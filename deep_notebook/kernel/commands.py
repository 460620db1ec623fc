"""The `%deep` line magic: one function per subcommand, each answering in plain text."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

from IPython.display import display

from ..errors import UsageError, did_you_mean
from ..models.resolve import ResolvedModel, list_models, model_variables
from ..views.run_state import from_json
from ..views.static_html import render as render_html
from ..views.text import render as render_text
from . import agent_commands, branch_commands, history_commands, review_commands, travel_commands
from .completion import SUBCOMMANDS
from .lines import say
from .options import options_help
from .requests import Answer

if TYPE_CHECKING:
    from .cells import DeepCells

__all__ = ['parse_answer', 'run']


def run(cells: DeepCells, line: str) -> None:
    """Run the subcommand in `line`.

    Raises:
        UsageError: There is no such subcommand, or it cannot be done now.
    """
    words = line.split(maxsplit=1)
    name, rest = (words[0], words[1] if len(words) > 1 else '') if words else ('help', '')
    if name in ('approve', 'deny', 'resume'):
        cells.resume_blocking(line)
        return
    command = _COMMANDS.get(name)
    if command is None:
        raise UsageError(
            f'%deep has no command {name!r}.{did_you_mean(name, SUBCOMMANDS)} To ask the agent, write %%deep (two '
            'percent signs); `%deep help` lists the commands.'
        )
    command(cells, rest.strip())


def parse_answer(line: str) -> Answer:
    """Read `approve [N …]`, `deny [N …] [reason]` or `resume`.

    Raises:
        UsageError: Something else stands there.
    """
    name, *words = line.split()
    numbers = []
    while words and words[0].rstrip(',').isdigit():
        numbers.append(int(words.pop(0).rstrip(',')))
    if name == 'deny':
        return Answer(verdict='deny', numbers=numbers, reason=' '.join(words) or None)
    if words:
        raise UsageError(f'%deep {name} takes the numbers of waiting calls at most, not {" ".join(words)!r}.')
    return Answer(verdict='approve' if name == 'approve' else 'ask', numbers=numbers)


def _status(cells: DeepCells, rest: str) -> None:
    session = cells.session
    where = f'notebook {session.notebook.name}' if session.notebook is not None else 'this kernel'
    say(f'Conversation of {where}, files in {session.directory}')
    try:
        say(f'Model: {_configured(cells).label}')
    except UsageError as error:
        say(f'Model: none. {error}')
    record = cells.call(session.stored_run(None))
    say(f'Last run: {record.id}, {record.phase}' if record is not None else 'Nothing was asked yet.')
    store = cells.call(session.store())
    if store.notice is not None:
        say(store.notice)
    if (branches := branch_commands.branch_status(cells)) is not None:
        say(branches)
    try:
        _, waiting = cells.call(session.suspended())
    except UsageError:
        return
    say('Waiting for your answer (`%deep approve`, `%deep deny`, `%deep resume`):')
    for number, request in enumerate(waiting, start=1):
        say(f'  {number}. {request.title} {request.detail}'.rstrip())
        if request.diff:
            say('\n'.join(f'     {line}' for line in request.diff.splitlines()))


def _configured(cells: DeepCells) -> ResolvedModel:
    return cells.session.resolve(cells.magics.model or None, source=cells.magics.model_source)


def _model(cells: DeepCells, rest: str) -> None:
    if rest:
        resolved = cells.session.resolve(_one_word('model', rest))
        cells.magics.model = rest
        say(f'From now on {resolved.label} answers in this notebook.')
    else:
        say(_configured(cells).label)


def _models(cells: DeepCells, rest: str) -> None:
    variables = model_variables(cells.shell.user_ns)
    answering = list_models()
    for name in [*variables, *answering]:
        say(f'  {name}' + (' (variable)' if name in variables else ''))
    if not answering:
        say('Nothing answers without a name yet: `deep-notebook model pull`, or a key in the environment or .env.')
    say('Any other model of a provider works too: %%deep --model provider:name')


def _reset(cells: DeepCells, rest: str) -> None:
    cells.call(cells.session.reset())
    say('A new conversation begins with your next %%deep. The old one is kept.')


def _todos(cells: DeepCells, rest: str) -> None:
    session = cells.session
    cells.call(session.store())
    say(session.deps.get_todo_prompt() or 'There is no plan.')


def _cost(cells: DeepCells, rest: str) -> None:
    states = [from_json(record.state) for record in cells.call(cells.session.runs()) if record.state is not None]
    if not states:
        say('Nothing was asked yet.')
        return
    tokens_in = sum(state.usage.input_tokens for state in states)
    tokens_out = sum(state.usage.output_tokens for state in states)
    requests = sum(state.usage.requests for state in states)
    known = sum((Decimal(state.usage.cost) for state in states if state.usage.cost), Decimal(0))
    unknown = sum(not state.usage.priced for state in states)
    free = all(state.model.local for state in states)
    line = f'{_counted(len(states), "run")}, {_counted(requests, "request")}, '
    line += f'{tokens_in:,} tokens in, {tokens_out:,} out: '
    line += 'no cost' if free else f'${known:.4f}'
    say(line + (f', and {_counted(unknown, "run")} whose price is unknown' if unknown else ''))


def _counted(count: int, what: str) -> str:
    return f'{count} {what}' if count == 1 else f'{count} {what}s'


def _show(cells: DeepCells, rest: str) -> None:
    number = _one_word('show', rest)
    if number and not number.isdigit():
        raise UsageError(f'%deep show takes the number of a run, not {number!r}.')
    record = cells.call(cells.session.stored_run(int(number) if number else None))
    if record is None or record.state is None:
        raise UsageError(f'There is no stored run {number}.' if number else 'Nothing was asked yet.')
    state = from_json(record.state)
    if cells.shows_html:
        display({'text/html': render_html(state), 'text/plain': render_text(state)}, raw=True)
    else:
        say(render_text(state))


def _help(cells: DeepCells, rest: str) -> None:
    say('%%deep [options], and below it what you want. Options:')
    for flags, help in options_help():
        say(f'  {flags}\n      {help}')
    say('%deep COMMAND:')
    for name, help in SUBCOMMANDS.items():
        say(f'  {name:<11} {help}')
    say('Settings with help: %config DeepMagics')


def _one_word(command: str, rest: str) -> str:
    words = rest.split()
    if len(words) > 1:
        raise UsageError(f'%deep {command} takes one word, not {rest!r}.')
    return words[0] if words else ''


def _told(command: Callable[[DeepCells, str], str | None]) -> Callable[[DeepCells, str], None]:
    """Return `command` with what it answers printed, if that is text and not already shown."""

    def told(cells: DeepCells, rest: str) -> None:
        text = command(cells, rest)
        if text is not None:
            say(text)

    return told


_PLAIN = {**agent_commands.COMMANDS, **branch_commands.COMMANDS, **history_commands.COMMANDS}
"""Those that answer with a text."""

_COMMANDS: dict[str, Callable[[DeepCells, str], None]] = {
    **{name: _told(command) for name, command in _PLAIN.items()},
    **travel_commands.COMMANDS,
    **review_commands.COMMANDS,
    'cost': _cost,
    'help': _help,
    'model': _model,
    'models': _models,
    'reset': _reset,
    'show': _show,
    'status': _status,
    'todos': _todos,
}

"""`%deep branch`: the lines of a notebook that was open in several kernels at once, and the way from one to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..store.branches import MAIN, ConversationLine

if TYPE_CHECKING:
    from .cells import DeepCells
    from .session import NotebookSession

__all__ = ['COMMANDS', 'branch_status']

_SHOWN = 60
"""Characters of a prompt that a list shows."""


def _branch(cells: DeepCells, rest: str) -> str:
    if rest:
        line = MAIN if rest == 'main' else _number(rest)
        cells.call(_take(cells.session, line))
        return f'Your next %%deep goes on {_name(line)}.'
    lines = cells.call(_lines(cells))
    listed = '\n'.join(map(_described, lines))
    if len(lines) == 1:
        return f'{listed}\nThere are no branches: one begins when the notebook is open in a second kernel.'
    return f'{listed}\n`%deep branch NUMBER` or `%deep branch main` goes on there; `%deep search` looks through all.'


def branch_status(cells: DeepCells) -> str | None:
    """Return a line about the branches, if there are any."""
    lines = cells.call(_lines(cells))
    if len(lines) == 1:
        return None
    here = next((line.id for line in lines if line.here), MAIN)
    return f'You are on {_name(here)}, one of {len(lines)} lines of this conversation: `%deep branch` lists them.'


async def _take(session: NotebookSession, line: int) -> None:
    async with session.one_run:
        await (await session.store()).lines.take(line)
        await session.close()


async def _lines(cells: DeepCells) -> list[ConversationLine]:
    return await (await cells.session.store()).lines.all()


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) == MAIN:
        raise UsageError(f'%deep branch takes the number of a branch, or main; not {text!r}.')
    return int(text)


def _name(line: int) -> str:
    return 'the main line' if line == MAIN else f'branch {line}'


def _described(line: ConversationLine) -> str:
    words = [f'{line.messages} message{"" if line.messages == 1 else "s"}']
    if line.prompt is not None:
        prompt = ' '.join(line.prompt.split())
        words.append(f'last asked “{prompt if len(prompt) <= _SHOWN else prompt[: _SHOWN - 1] + "…"}”')
    if line.elsewhere:
        words.append('open in another kernel')
    name = 'main' if line.id == MAIN else str(line.id)
    return f'{"*" if line.here else " "} {name:<5} {", ".join(words)}'


COMMANDS: dict[str, Callable[[DeepCells, str], str]] = {'branch': _branch}

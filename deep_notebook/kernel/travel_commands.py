"""The `%deep` subcommands that go back in time: checkpoints, checkpoint, rewind, undo, fork."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import UsageError, did_you_mean
from ..store.rewinds import PARTS, Part
from .completion import FLAGS
from .environment import front_end
from .lines import ask_line, say
from .panels import show_panel
from .runner import AgentThread
from .time_travel import TravelPlan
from .travel_panel import TimelinePanel
from .travel_words import done, needs_question, planned

if TYPE_CHECKING:
    from .cells import DeepCells

__all__ = ['COMMANDS']

T = TypeVar('T')

_PART_FLAGS: dict[str, Part] = {f'--{part}': part for part in PARTS}


def _checkpoints(cells: DeepCells, rest: str) -> None:
    if rest:
        raise UsageError('%deep checkpoints takes nothing; %deep checkpoint LABEL makes one.')
    panel = TimelinePanel(cells.session.travel)
    show_panel(cells, _call(panel.draw()), panel.handle)


def _checkpoint(cells: DeepCells, rest: str) -> None:
    label = _call(cells.session.travel.save(rest))
    say(f'Saved: `%deep rewind {label}` comes back here.')


def _rewind(cells: DeepCells, rest: str) -> None:
    target, flags = _read('rewind', rest)
    parts = {part for flag, part in _PART_FLAGS.items() if flag in flags} or PARTS
    plan = _call(cells.session.travel.plan(target or None, parts))
    _decide(cells, plan, rest, flags, ask=True)


def _undo(cells: DeepCells, rest: str) -> None:
    target, flags = _read('undo', rest)
    if target:
        raise UsageError(f'%deep undo takes back the latest rewind; it does not know {target!r}.')
    plan = _call(cells.session.travel.plan_undo())
    _decide(cells, plan, rest, flags, ask=needs_question(plan))


def _fork(cells: DeepCells, rest: str) -> None:
    target, flags = _read('fork', rest)
    if not target:
        raise UsageError('%deep fork takes a checkpoint: `%deep checkpoints` lists them.')
    label = _call(cells.session.travel.fork(target, give_up='--give-up' in flags))
    say(f'A new conversation goes on from {label!r}, files as they are. The old one is kept.')


def _decide(cells: DeepCells, plan: TravelPlan, rest: str, flags: Collection[str], *, ask: bool) -> None:
    """Carry out `plan` once the person has said yes, and say what was done."""
    mine, give_up = '--mine' in flags, '--give-up' in flags
    words = planned(plan, mine=mine)
    if ask and '--yes' not in flags:
        say(words)
        headless = front_end(cells.shell) == 'headless'
        answer = None if headless else ask_line('Go back? [y/N] ' if plan.kind == 'rewind' else 'Undo it? [y/N] ')
        if answer is None:
            command = f'%deep {plan.kind} {rest}'.rstrip()
            raise UsageError(f'Nobody can be asked here, so nothing was changed: `{command} --yes` does it.')
        if answer.strip().lower() not in ('y', 'yes'):
            say('Nothing was changed.')
            return
        give_up = True
    _finish(cells.session.travel.rewind(plan, mine=mine, give_up=give_up))
    say(done(plan, mine=mine))


def _read(command: str, rest: str) -> tuple[str, set[str]]:
    """Return the words of a command without its flags, and the flags."""
    words, flags, known = [], set(), FLAGS[command]
    for word in rest.split():
        if word in known:
            flags.add(word)
        elif word.startswith('--'):
            raise UsageError(
                f'%deep {command} has no option {word}.{did_you_mean(word, known)} It takes {", ".join(known)}.'
            )
        else:
            words.append(word)
    return ' '.join(words).strip('\'"'), flags


def _call(coroutine: Coroutine[Any, Any, T]) -> T:
    # As long as it takes: there may be many files.
    return AgentThread.get().call(coroutine, timeout=None)


def _finish(coroutine: Coroutine[Any, Any, object]) -> None:
    """Wait for what is not to be left half done; the person's first interrupt does not end the wait."""
    future = asyncio.run_coroutine_threadsafe(coroutine, AgentThread.get().loop)
    try:
        future.result()
    except KeyboardInterrupt:
        say('Files are being put back: that is finished first. `%deep undo` takes it back then.')
        future.result()


COMMANDS: dict[str, Callable[[DeepCells, str], None]] = {
    'checkpoint': _checkpoint,
    'checkpoints': _checkpoints,
    'fork': _fork,
    'rewind': _rewind,
    'undo': _undo,
}

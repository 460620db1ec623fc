"""Tab completion of options, subcommands and model names after `%%deep` and `%deep`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .options import APPROVE_MODES, option_names

__all__ = ['FLAGS', 'SUBCOMMANDS', 'install', 'uninstall']

SUBCOMMANDS = {
    'status': 'who answers, what was said, what waits',
    'model': 'show the model, or choose it: %deep model NAME',
    'models': 'list the models that can answer here',
    'todos': 'show the plan',
    'spec': 'show the options of the agent; %deep spec FILE takes them from a file, --save FILE keeps them in one',
    'upload': 'give the agent a copy of a file: %deep upload FILE',
    'mcp': 'MCP servers for the agent: %deep mcp add NAME COMMAND, %deep mcp add NAME URL, load FILE, remove, tools',
    'memory': "show the agent's notes; %deep memory add TEXT, %deep memory edit",
    'review': 'what a run changed, to keep or undo: %deep review [RUN], %deep review keep|undo [RUN] [PATH]',
    'approve': 'approve what a suspended run waits for, and go on',
    'deny': 'deny it, with a reason if you like, and go on',
    'resume': 'ask again what a suspended run waits for',
    'checkpoints': 'list the points of the conversation that you can go back to',
    'checkpoint': 'make one: %deep checkpoint LABEL',
    'rewind': 'go back: %deep rewind [CHECKPOINT|RUN] [--files|--conversation|--todos] [--mine] [--yes]',
    'undo': 'take back the latest rewind',
    'fork': 'go on from a checkpoint in a new conversation: %deep fork CHECKPOINT',
    'branch': 'the branches of a notebook that was open in several kernels; %deep branch NUMBER or main goes on there',
    'search': 'find words in everything that was ever said in this notebook: %deep search WORDS',
    'evicted': 'list the results that were too large for the conversation; %deep evicted ID shows one',
    'compact': 'put a summary in the place of the older conversation: %deep compact [what matters most]',
    'export': 'write the conversation to FILE.md, FILE.json or FILE.ipynb: %deep export FILE [--all] [--force]',
    'show': 'draw a stored run again: %deep show [RUN]',
    'cost': 'tokens and dollars of this conversation',
    'reset': 'start a new conversation; the old one is kept',
    'help': 'this list',
}
"""Each `%deep` subcommand and what it does."""

FLAGS: dict[str, tuple[str, ...]] = {
    'rewind': ('--conversation', '--files', '--todos', '--mine', '--yes', '--give-up'),
    'undo': ('--mine', '--yes', '--give-up'),
    'fork': ('--give-up',),
    'export': ('--all', '--force'),
    'spec': ('--save', '--default'),
}
"""The flags of subcommands that have some."""

_FIRST_WORDS = {
    'review': ('keep', 'undo'),
    'branch': ('main',),
    'memory': ('add', 'edit'),
    'mcp': ('add', 'load', 'remove', 'tools'),
}
"""What may stand first after a subcommand."""

_KEYS = ('%%deep', '%deep')


def install(shell: Any) -> None:
    """Complete what follows the magics in `shell`."""
    for key in _KEYS:
        shell.set_hook('complete_command', complete, str_key=key)


def uninstall(shell: Any) -> None:
    """Take the completion away again."""
    dispatcher = shell.strdispatchers.get('complete_command')
    for key in _KEYS:
        if dispatcher is not None:
            dispatcher.strs.pop(key, None)


def complete(shell: Any, event: Any) -> list[str]:
    """Return what may stand at the cursor.

    Args:
        shell: The IPython shell.
        event: Its completion event: `line` is the text up to the cursor, `symbol` the word at it.
    """
    words = event.line.split(' ')
    magic, before, word = words[0], [word for word in words[1:-1] if word], words[-1]
    if magic == '%deep':
        match before:
            case []:
                return _starting(SUBCOMMANDS, word)
            case ['model']:
                return _starting(_models(shell), word)
            case [command] if command in _FIRST_WORDS:
                return _starting(_FIRST_WORDS[command], word)
            case [command, *_]:
                return _starting([flag for flag in FLAGS.get(command, ()) if flag not in before], word)
    if before and before[-1] in ('-m', '--model'):
        return _starting(_models(shell), word)
    if before and before[-1] in ('-a', '--approve'):
        return _starting(APPROVE_MODES, word)
    return _starting([name for name in option_names() if name not in before], word)


def _starting(candidates: Iterable[str], word: str) -> list[str]:
    return [candidate for candidate in candidates if candidate.startswith(word)]


def _models(shell: Any) -> list[str]:
    from ..models.resolve import known_model_names, model_variables

    return [*model_variables(shell.user_ns), *known_model_names()]

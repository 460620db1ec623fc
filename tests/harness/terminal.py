"""IPython in a pseudo-terminal: what somebody without a notebook sees and types."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from .environment import clean_env

__all__ = ['Terminal', 'ipython']

TIMEOUT = 30.0

_ESCAPES = re.compile(r'\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[=>78]|[()][A-Za-z0-9])')
_PROMPT = re.compile(r'In \[(\d+)\]: ')


class Terminal:
    """A program on a pseudo-terminal of 200 columns."""

    def __init__(self, process: subprocess.Popen[bytes], fd: int) -> None:
        self.process = process
        self._fd = fd
        self._raw = b''
        self._seen = 0

    @property
    def screen(self) -> str:
        """Everything that was written so far, without escape sequences."""
        return _ESCAPES.sub('', self._raw.decode(errors='replace')).replace('\r\n', '\n')

    @property
    def escapes(self) -> list[str]:
        """The escape sequences that were written so far."""
        return _ESCAPES.findall(self._raw.decode(errors='replace'))

    def send(self, text: str) -> None:
        """Type `text`."""
        os.write(self._fd, text.encode())

    def interrupt(self) -> None:
        """Press Control-C."""
        os.killpg(self.process.pid, signal.SIGINT)

    def wait_for(self, text: str | re.Pattern[str], timeout: float = TIMEOUT) -> str:
        """Return what was written since the last call, up to and with `text`.

        Raises:
            TimeoutError: It did not come; the message holds what came instead.
        """
        pattern = re.compile(re.escape(text)) if isinstance(text, str) else text
        deadline = time.monotonic() + timeout
        while (match := pattern.search(self.screen, self._seen)) is None:
            ready, _, _ = select.select([self._fd], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f'{text!r} did not come, but {self.screen[self._seen :][-2000:]!r}')
            try:
                self._raw += os.read(self._fd, 65536)
            except OSError:
                raise TimeoutError(
                    f'the program ended before {text!r}: {self.screen[self._seen :][-2000:]!r}'
                ) from None
        before, self._seen = self._seen, match.end()
        return self.screen[before : match.end()]

    def run(self, cell: str, timeout: float = TIMEOUT) -> str:
        """Enter a cell in IPython's simple prompt, wait for the next prompt, and return what came between."""
        self.enter(cell)
        return self.wait_for(_PROMPT, timeout).rpartition('In [')[0]

    def enter(self, cell: str) -> None:
        """Enter a cell in IPython's simple prompt."""
        first, *rest = cell.split('\n')
        self.send(f'{first}\n')
        # One line at a time, so that what is echoed stays in order; two empty lines end a cell magic.
        for line in [*rest, *(['', ''] if first.startswith('%%') else [])]:
            self.wait_for('...: ')
            self.send(f'{line}\n')


@contextmanager
def ipython(
    python: Path, cwd: Path, *arguments: str, simple: bool = True, env: Mapping[str, str] | None = None
) -> Iterator[Terminal]:
    """Run IPython in `cwd` and wait for its first prompt; it is killed at the end.

    Args:
        python: The interpreter.
        cwd: Its working directory; a home directory is made beside it.
        arguments: Added to the command line.
        simple: Whether lines are read plainly, or with IPython's full line editor.
        env: Added to the environment.
    """
    home = cwd.with_name(f'{cwd.name}-home')
    ours, theirs = os.openpty()
    options = ['--no-banner', '--no-confirm-exit', '--quick', *(['--simple-prompt'] if simple else []), *arguments]
    subprocess.run(['stty', 'cols', '200', 'rows', '50'], stdin=theirs, check=True)
    process = subprocess.Popen(
        [python, '-m', 'IPython', *options],
        cwd=cwd,
        env=clean_env(home, {'TERM': 'xterm', 'LANG': 'C.UTF-8', 'LC_ALL': 'C.UTF-8', **(env or {})}),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    terminal = Terminal(process, ours)
    try:
        terminal.wait_for(_PROMPT)
        yield terminal
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(ours)

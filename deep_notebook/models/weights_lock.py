"""One pull at a time: a lock that dies with its process."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ['exclusive']

LOCKED_BYTE = 1 << 16
"""The one byte that is locked where locks bar reading (Windows): far behind the words about the holder."""


@contextmanager
def exclusive(path: Path, *, waiting: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock file `path`; if another process holds it, tell `waiting` who that is, once, and wait.

    The operating system drops the lock when its holder ends in any way, so a dead process is no obstacle. The
    file itself stays: removing it would let two processes hold two files of the same name.
    """
    with path.open('a+b') as file:
        if not _take(file):
            waiting(_holder(file))
            while not _take(file):
                time.sleep(0.2)
        try:
            file.truncate(0)
            file.write(f'process {os.getpid()} on {socket.gethostname()}'.encode())
            file.flush()
            yield
        finally:
            file.truncate(0)
            _release(file)


def _holder(file: BinaryIO) -> str:
    file.seek(0)
    return file.read(200).decode(errors='replace') or 'another process'


if sys.platform == 'win32':
    import msvcrt

    def _take(file: BinaryIO) -> bool:
        file.seek(LOCKED_BYTE)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _release(file: BinaryIO) -> None:
        file.seek(LOCKED_BYTE)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _take(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _release(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)

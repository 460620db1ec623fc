"""Helper processes of searches: started without a shell, read line by line, gone when the reader is done."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress

__all__ = ['lines_of']


async def lines_of(
    argv: Sequence[str],
    *,
    cwd: str | None = None,
    stdin: bytes | None = None,
    on_error: Callable[[str], None],
) -> AsyncGenerator[bytes]:
    """Yield what a process writes, line by line; leaving the loop ends the process.

    Args:
        argv: The program and its arguments.
        cwd: Where it starts.
        stdin: What it reads.
        on_error: Called with what it wrote to standard error, if it ended by itself and failed.
    """
    # Bytes, because a pattern need not fit into the encoding of this system's locale.
    process = await asyncio.create_subprocess_exec(
        *(part.encode('utf-8', 'surrogateescape') for part in argv),
        cwd=cwd,
        stdin=DEVNULL if stdin is None else PIPE,
        stdout=PIPE,
        stderr=PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(process.stderr.read())
    feeding = asyncio.create_task(_feed(process, stdin or b''))
    try:
        while line := await process.stdout.readline():
            yield line
        if await process.wait() not in (0, 1):
            on_error((await errors).decode(errors='replace').strip())
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        feeding.cancel()
        errors.cancel()
        await asyncio.gather(feeding, errors, return_exceptions=True)
        await process.wait()


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    if process.stdin is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()

"""Keep a kernel reachable while a `%%deep` cell awaits.

ipykernel 7 holds one lock over its main shell while a cell runs, so a page that is reloaded meanwhile waits
for `kernel_info` and `comm_info` until the run ends, with "Loading widget…" in place of the approval that
would end it. `open_shell` answers every message but `execute_request` meanwhile; those still wait for the
real lock, so that cell order, abort-on-error and execution counts stay as they are.

It replaces two private names of ipykernel 7.x. Where they are missing, nothing is changed: the run works,
only a reload has to wait. `%config DeepMagics.shell_gate = False` switches it off.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.getipython import get_ipython

__all__ = ['open_shell']

_ANSWERED = frozenset(
    {
        'comm_close',
        'comm_info_request',
        'comm_msg',
        'comm_open',
        'complete_request',
        'history_request',
        'inspect_request',
        'is_complete_request',
        'kernel_info_request',
    }
)


class _OpenLock:
    """Stands in for the kernel's lock: never locked, since the gate orders what has to be ordered.

    ipykernel 7.4 sends no `idle` for a comm message that arrives while the lock is held, and ipywidgets
    then holds back every trait update after the first.
    """

    def locked(self) -> bool:
        return False

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, *exc: object) -> None:
        return None


@contextmanager
def open_shell(*, enabled: bool = True) -> Iterator[bool]:
    """Answer everything but `execute_request` on the main shell inside the block; yield whether it could."""
    kernel: Any = getattr(get_ipython(), 'kernel', None)
    lock = getattr(kernel, '_main_asyncio_lock', None)
    if not (enabled and isinstance(lock, asyncio.Lock) and lock.locked() and hasattr(kernel, 'dispatch_shell')):
        yield False
        return
    dispatch = kernel.dispatch_shell
    parent = kernel.get_parent('shell')
    identities = kernel._shell_parent_ident.get(b'')

    async def gated(message: Any, /, subshell_id: str | None = None, **options: Any) -> Any:
        if subshell_id is not None or options.get('concurrent'):
            return await dispatch(message, subshell_id=subshell_id, **options)
        if _message_type(kernel, message) in _ANSWERED:
            # A context of its own: set_parent() must not move the running cell's output elsewhere.
            try:
                answer = dispatch(message, subshell_id=subshell_id, **options)
                return await asyncio.create_task(answer, context=contextvars.copy_context())
            finally:
                contextvars.copy_context().run(kernel.set_parent, identities, parent)
        async with lock:
            return await dispatch(message, subshell_id=subshell_id, **options)

    kernel.dispatch_shell = gated
    kernel._main_asyncio_lock = _OpenLock()
    try:
        yield True
    finally:
        kernel._main_asyncio_lock = lock
        del kernel.dispatch_shell


def _message_type(kernel: Any, message: Any) -> str | None:
    """Return the type of a raw message, or `None` if it cannot be read."""
    try:
        _, frames = kernel.session.feed_identities(message, copy=False)
        header = kernel.session.unpack(frames[1].bytes)
    except (ValueError, IndexError, TypeError):
        return None
    kind = header.get('msg_type')
    return kind if isinstance(kind, str) else None

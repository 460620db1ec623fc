"""Call a hook's function, whatever kind of function it is."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from threading import Thread

from .hook_types import HookFailed, HookHandler, HookInput

__all__ = ['call_hook_handler', 'error_text']


async def call_hook_handler(handler: HookHandler, given: HookInput) -> object:
    """Return what a handler answers to `given`; one that is no coroutine function is called in a thread.

    Raises:
        HookFailed: It raised something.
    """
    try:
        if inspect.iscoroutinefunction(handler):
            answered: object = handler(given)
        else:
            answered = await _in_thread(handler, given)
        return await answered if isinstance(answered, Awaitable) else answered
    except (Exception, SystemExit) as error:
        raise HookFailed(f'crashed: {error_text(error)}') from error


def error_text(error: BaseException) -> str:
    """Return what an error says, or its name if it says nothing."""
    return str(error) or type(error).__name__


async def _in_thread(function: Callable[[HookInput], object], given: HookInput) -> object:
    """Call a function in a thread that nothing waits for: one that never returns does not keep Python from ending."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    results: list[object] = []
    errors: list[BaseException] = []
    context = copy_context()

    def work() -> None:
        try:
            results.append(context.run(function, given))
        except BaseException as error:
            errors.append(error)
        if not loop.is_closed():
            loop.call_soon_threadsafe(ended.set)

    Thread(target=work, name='deep_notebook hook', daemon=True).start()
    await ended.wait()
    if errors:
        raise errors[0]
    return results[0]

"""Drive one agent run from a cell: the agent on its own thread, the cell waiting, the main thread at its service.

The agent lives on a daemon thread with its own event loop, so that it never fights with the notebook's. The
cell waits for it, by awaiting (`run_awaited`) where the kernel can, else by blocking (`run_blocking`), and
while it waits it runs the jobs that only the main thread may do: the user's Python, `input()`. An interrupt
reaches the agent at once; the cell ends within `GRACE` seconds even if a tool is slow to give up, and the
agent finishes its clean-up behind it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import queue
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Generic, Literal, TypeVar

from .shell_gate import open_shell

__all__ = ['GRACE', 'AgentThread', 'CellRun', 'MainThread', 'is_within_run', 'run_awaited', 'run_blocking']

T = TypeVar('T')

GRACE = 0.2
"""Seconds that an interrupted cell waits for the agent's clean-up before it ends without it."""

_HEARTBEAT = 0.2
"""Seconds after which a waiting cell looks up, in case a signal did not wake its loop."""


_within_run: contextvars.ContextVar[bool] = contextvars.ContextVar('deep_notebook_within_run', default=False)


def is_within_run() -> bool:
    """Return whether this code was called by a run: by a tool, or as the agent's Python on the main thread."""
    return _within_run.get()


@dataclass(eq=False)
class _Job:
    """Work for the main thread: a function, or a coroutine function when the cell can await it."""

    function: Callable[[], Any]
    future: concurrent.futures.Future[Any] = field(default_factory=concurrent.futures.Future)


_UNFINISHED: set[asyncio.Task[Any]] = set()


class MainThread:
    """The way from the agent's thread to the main thread, open while a cell waits for its run."""

    def __init__(self, put: Callable[[_Job], None], *, can_await: bool) -> None:
        self._put = put
        self.can_await = can_await
        self.interrupted = False
        self._busy: threading.Lock = threading.Lock()

    async def call(self, function: Callable[[], T]) -> T:
        """Run `function` on the main thread and return its result.

        Raises:
            asyncio.CancelledError: The person interrupted the function, or the run.
        """
        return await self._submit(function)  # type: ignore[no-any-return]

    async def call_async(self, function: Callable[[], Awaitable[T]]) -> T:
        """Like `call`, for a coroutine function, which runs on the main thread's own event loop.

        Only where `can_await` is true.
        """
        return await self._submit(function)  # type: ignore[no-any-return]

    async def _submit(self, function: Callable[[], Any]) -> Any:
        job = _Job(function)
        self._put(job)
        try:
            return await asyncio.wrap_future(job.future)
        except asyncio.CancelledError:
            if not job.future.done():
                job.future.cancel()
                self.break_off()
            raise

    def break_off(self) -> None:
        """Interrupt the job that the main thread is busy with, if it is."""
        if self._busy.locked():
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    @contextmanager
    def _raising_sigint(self) -> Iterator[None]:
        """Let SIGINT raise in the user's code; the flag survives code that swallows the exception."""

        def raise_interrupt(signum: int, frame: FrameType | None) -> None:
            self.interrupted = True
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, raise_interrupt)
        try:
            with self._busy:
                yield
        finally:
            signal.signal(signal.SIGINT, before)

    def run_job(self, job: _Job) -> Awaitable[Any] | None:
        """Run `job` now; return what is left to await if it is a coroutine.

        Raises:
            KeyboardInterrupt: The person interrupted it.
        """
        if not job.future.set_running_or_notify_cancel():
            return None
        result: Any = None
        error: BaseException | None = None
        try:
            with self._raising_sigint(), _inside_run():
                result = job.function()
        except KeyboardInterrupt:
            error = asyncio.CancelledError('interrupted by the person')
        except BaseException as raised:
            error = raised
        if self.interrupted:
            job.future.set_exception(asyncio.CancelledError('interrupted by the person'))
            raise KeyboardInterrupt
        if error is not None:
            job.future.set_exception(error)
        elif isinstance(result, Coroutine):
            return _finish(result, job.future)
        else:
            job.future.set_result(result)
        return None


@contextmanager
def _inside_run() -> Iterator[None]:
    token = _within_run.set(True)
    try:
        yield
    finally:
        _within_run.reset(token)


async def _finish(coroutine: Coroutine[Any, Any, Any], future: concurrent.futures.Future[Any]) -> None:
    try:
        with _inside_run():
            future.set_result(await coroutine)
    except BaseException as error:
        future.set_exception(error)
        if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
            raise


class CellRun(Generic[T]):
    """A coroutine on the agent's thread, in the context of the cell that started it.

    Its output therefore lands in that cell, whatever runs meanwhile.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T]) -> None:
        self.future: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._loop = loop
        self._task: asyncio.Task[T] | None = None
        context = contextvars.copy_context()
        context.run(_within_run.set, True)
        loop.call_soon_threadsafe(self._start, coroutine, context)

    def _start(self, coroutine: Coroutine[Any, Any, T], context: contextvars.Context) -> None:
        self._task = self._loop.create_task(coroutine, context=context)
        self._task.add_done_callback(self._done)
        # The loop holds tasks weakly, and the cell may be gone before its run has cleaned up.
        _UNFINISHED.add(self._task)

    def _done(self, task: asyncio.Task[T]) -> None:
        _UNFINISHED.discard(task)
        if task.cancelled():
            self.future.cancel()
            self.future.set_running_or_notify_cancel()
        elif (error := task.exception()) is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(task.result())

    def cancel(self) -> None:
        """Cancel the coroutine; safe from any thread, and more than once."""

        def cancel() -> None:
            if self._task is not None:
                self._task.cancel()

        self._loop.call_soon_threadsafe(cancel)


class AgentThread:
    """The one daemon thread, with an event loop, on which all agents of this kernel live."""

    _instance: AgentThread | None = None

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._main, name='deep-agent', daemon=True)
        self._thread.start()

    def _main(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    @classmethod
    def get(cls) -> AgentThread:
        """Return the thread, started on first use."""
        if cls._instance is None or not cls._instance._thread.is_alive():
            cls._instance = cls()
        return cls._instance

    def start(self, coroutine: Coroutine[Any, Any, T]) -> CellRun[T]:
        """Start `coroutine` in a copy of the caller's context."""
        return CellRun(self.loop, coroutine)

    def call(self, coroutine: Coroutine[Any, Any, T], *, timeout: float | None = 30) -> T:
        """Run a short `coroutine` and block until it is done, at most `timeout` seconds."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout)


async def run_awaited(start: Callable[[MainThread], Coroutine[Any, Any, T]], *, gate: bool = True) -> T:
    """Run `start(main_thread)` on the agent's thread while the cell awaits.

    Args:
        start: Makes the coroutine to run.
        gate: Whether the kernel may answer page reloads and widget messages meanwhile (see `shell_gate`).

    Raises:
        KeyboardInterrupt: The person interrupted the cell.
    """
    loop = asyncio.get_running_loop()
    jobs: asyncio.Queue[_Job] = asyncio.Queue()
    main = MainThread(lambda job: _put_soon(loop, jobs, job), can_await=True)
    me = asyncio.current_task()
    assert me is not None
    next_job: asyncio.Task[_Job] | None = None
    with open_shell(enabled=gate), _on_sigint(lambda: loop.call_soon_threadsafe(me.cancel)) as rearm:
        run = AgentThread.get().start(start(main))
        done = asyncio.wrap_future(run.future)
        try:
            while not done.done():
                rearm()
                next_job = next_job or asyncio.create_task(jobs.get())
                waiting: set[asyncio.Future[Any]] = {done, next_job}
                await asyncio.wait(waiting, timeout=_HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
                if next_job.done():
                    job, next_job = next_job.result(), None
                    rest = main.run_job(job)
                    if rest is not None:
                        await rest
            return done.result()
        except (asyncio.CancelledError, KeyboardInterrupt):
            if done.done() and not done.cancelled() and not main.interrupted and not me.cancelling():
                raise
            run.cancel()
            await _settle(done, me)
            raise KeyboardInterrupt from None
        finally:
            if next_job is not None:
                next_job.cancel()
            done.add_done_callback(_retrieve)


def _put_soon(loop: asyncio.AbstractEventLoop, jobs: asyncio.Queue[_Job], job: _Job) -> None:
    loop.call_soon_threadsafe(jobs.put_nowait, job)


def _retrieve(future: asyncio.Future[Any]) -> None:
    """Mark the outcome of a run whose cell has already ended as seen."""
    if not future.cancelled():
        future.exception()


@contextmanager
def _on_sigint(action: Callable[[], object]) -> Iterator[Callable[[], None]]:
    """Do `action` on SIGINT, and nothing else: ipykernel's own handler does not wake a sleeping loop.

    Yields a function that takes the signal back if other code took it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return

    def handler(signum: int, frame: FrameType | None) -> None:
        action()

    before = signal.signal(signal.SIGINT, handler)

    def rearm() -> None:
        if signal.getsignal(signal.SIGINT) is not handler:
            signal.signal(signal.SIGINT, handler)

    try:
        yield rearm
    finally:
        signal.signal(signal.SIGINT, before)


async def _settle(done: asyncio.Future[Any], me: asyncio.Task[Any]) -> None:
    """Give the cancelled run `GRACE` seconds; further interrupts do not cut its clean-up short."""
    while me.cancelling():
        me.uncancel()
    end = time.monotonic() + GRACE
    while not done.done() and (left := end - time.monotonic()) > 0:
        try:
            await asyncio.wait({done}, timeout=left)
        except asyncio.CancelledError:
            me.uncancel()


def run_blocking(start: Callable[[MainThread], Coroutine[Any, Any, T]]) -> T:
    """Like `run_awaited`, for places that cannot await: the main thread blocks, and serves jobs meanwhile.

    Raises:
        KeyboardInterrupt: The person interrupted the cell.
    """
    # A SimpleQueue, because a signal handler may put into it while this thread is inside get().
    work: queue.SimpleQueue[_Job | Literal['ended', 'interrupted']] = queue.SimpleQueue()
    main = MainThread(work.put, can_await=False)
    with _on_sigint(lambda: work.put('interrupted')):
        run = AgentThread.get().start(start(main))
        run.future.add_done_callback(lambda _: work.put('ended'))
        try:
            while (item := work.get()) != 'ended':
                if isinstance(item, _Job):
                    main.run_job(item)
                else:
                    raise KeyboardInterrupt
            return run.future.result()
        except (KeyboardInterrupt, concurrent.futures.CancelledError):
            run.cancel()
            concurrent.futures.wait([run.future], timeout=GRACE)
            raise KeyboardInterrupt from None

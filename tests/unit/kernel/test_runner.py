from __future__ import annotations

import asyncio
import os
import signal
import threading
import time

import pytest

from deep_notebook.kernel.runner import GRACE, MainThread, is_within_run, run_awaited, run_blocking

MARGIN = 0.3
"""Seconds after an interrupt in which a cell has to have ended."""


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


async def forever(started: threading.Event) -> None:
    started.set()
    await asyncio.Event().wait()


def both(start, *, awaiting: bool):
    return asyncio.run(run_awaited(start)) if awaiting else run_blocking(start)


@pytest.fixture(params=[True, False], ids=['awaiting', 'blocking'])
def awaiting(request: pytest.FixtureRequest) -> bool:
    return request.param


def test_the_agent_runs_on_its_own_thread_and_the_result_comes_back(awaiting: bool) -> None:
    async def work(main: MainThread) -> str:
        return threading.current_thread().name

    assert both(work, awaiting=awaiting) == 'deep-agent'


def test_jobs_run_on_the_main_thread(awaiting: bool) -> None:
    async def work(main: MainThread) -> tuple[str, str]:
        first = await main.call(lambda: threading.current_thread().name)
        second = await main.call(lambda: threading.current_thread().name)
        return first, second

    assert both(work, awaiting=awaiting) == ('MainThread', 'MainThread')


def test_what_a_run_calls_knows_that_it_is_within_one(awaiting: bool) -> None:
    async def work(main: MainThread) -> list[bool]:
        return [is_within_run(), await asyncio.to_thread(is_within_run), await main.call(is_within_run)]

    assert both(work, awaiting=awaiting) == [True, True, True]
    assert not is_within_run()


def test_an_error_of_a_job_reaches_the_agent_and_not_the_cell(awaiting: bool) -> None:
    async def work(main: MainThread) -> str:
        with pytest.raises(ZeroDivisionError):
            await main.call(lambda: 1 // 0)
        return 'went on'

    assert both(work, awaiting=awaiting) == 'went on'


def test_an_error_of_the_agent_reaches_the_cell(awaiting: bool) -> None:
    async def work(main: MainThread) -> None:
        raise LookupError('nothing there')

    with pytest.raises(LookupError, match='nothing there'):
        both(work, awaiting=awaiting)


def test_an_interrupt_cancels_the_agent_and_ends_the_cell(awaiting: bool) -> None:
    cleaned = threading.Event()

    async def work(main: MainThread) -> None:
        interrupter = threading.Timer(0, interrupt)
        interrupter.start()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    with pytest.raises(KeyboardInterrupt):
        both(work, awaiting=awaiting)
    assert cleaned.wait(5)


def test_an_agent_that_is_slow_to_give_up_does_not_hold_the_cell(awaiting: bool) -> None:
    release, interrupted_at = threading.Event(), []

    async def work(main: MainThread) -> None:
        def now() -> None:
            interrupted_at.append(time.monotonic())
            interrupt()

        threading.Timer(0, now).start()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.to_thread(release.wait, 10)

    with pytest.raises(KeyboardInterrupt):
        both(work, awaiting=awaiting)
    took = time.monotonic() - interrupted_at[0]
    release.set()
    assert took < GRACE + MARGIN


def test_an_interrupt_stops_a_job_on_the_main_thread(awaiting: bool) -> None:
    seen: list[BaseException] = []

    async def work(main: MainThread) -> None:
        def job() -> None:
            threading.Timer(0, interrupt).start()
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline:
                pass

        try:
            await main.call(job)
        except BaseException as error:
            seen.append(error)
            raise

    with pytest.raises(KeyboardInterrupt):
        both(work, awaiting=awaiting)
    assert isinstance(seen[0], asyncio.CancelledError)


def test_a_job_that_swallows_the_interrupt_still_ends_the_cell(awaiting: bool) -> None:
    async def work(main: MainThread) -> None:
        def job() -> None:
            try:
                interrupt()
                time.sleep(10)
            except KeyboardInterrupt:
                pass

        await main.call(job)
        raise AssertionError('the run went on')

    with pytest.raises(KeyboardInterrupt):
        both(work, awaiting=awaiting)


def test_cancelling_the_agent_breaks_a_job_off(awaiting: bool) -> None:
    async def work(main: MainThread) -> None:
        started = threading.Event()

        def job() -> None:
            started.set()
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline:
                pass

        call = asyncio.create_task(main.call(job))
        await asyncio.to_thread(started.wait)
        call.cancel()
        await call

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        both(work, awaiting=awaiting)
    assert time.monotonic() - begun < 5


def test_two_interrupts_in_a_row_end_the_cell_once() -> None:
    async def work(main: MainThread) -> None:
        threading.Timer(0, lambda: (interrupt(), interrupt())).start()
        await asyncio.Event().wait()

    async def cell() -> str:
        try:
            await run_awaited(work)
        except KeyboardInterrupt:
            await asyncio.sleep(0)
            return 'ended'
        return 'no interrupt'

    assert asyncio.run(cell()) == 'ended'


def test_the_signal_handler_is_given_back(awaiting: bool) -> None:
    before = signal.getsignal(signal.SIGINT)

    async def work(main: MainThread) -> None:
        await main.call(lambda: None)

    both(work, awaiting=awaiting)
    assert signal.getsignal(signal.SIGINT) is before

"""A notebook's session without a kernel: runs on a scripted model, in the test's own process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from deep_notebook.kernel.requests import CellSide, RunLimits, RunRequest
from deep_notebook.kernel.run import Outcome
from deep_notebook.kernel.runner import MainThread
from deep_notebook.kernel.session import NotebookSession
from deep_notebook.views.run_state import RunState

from .scripted import Turn, script

__all__ = ['ask', 'opened', 'request', 'side', 'tree']


class _View:
    """Keeps what was shown last."""

    state: RunState

    def open(self, state: RunState) -> None:
        self.state = state

    update = close = open


@asynccontextmanager
async def opened(directory: Path, **options: Any) -> AsyncIterator[NotebookSession]:
    """The session of `directory`, the same one each time."""
    session = NotebookSession(
        directory=directory,
        notebook=directory / 'sales.ipynb',
        database=directory / '.deep' / 'sales.ipynb' / 'session.db',
        namespace={},
        **options,
    )
    try:
        yield session
    finally:
        await session.close()


def request(prompt: str, *, approve: Any = 'auto', new: bool = False) -> RunRequest:
    """What a `%%deep -m model` cell asks."""
    limits = RunLimits(approve=approve, max_requests=None, timeout=None, budget=None)
    return RunRequest(
        prompt=prompt, model='model', model_source=None, limits=limits, new=new, into=None, replay=None, record=None
    )


def side() -> CellSide:
    """A cell where nobody is."""

    def nobody(job: object) -> None:
        raise AssertionError('there is no main thread here')

    return CellSide(
        shell=SimpleNamespace(user_ns={}, user_ns_hidden={}),
        main=MainThread(nobody, can_await=False),
        view=_View(),
        source=None,
        can_input=False,
        ready_timeout=0.1,
    )


async def ask(session: NotebookSession, *turns: Turn, prompt: str = 'Go.', **options: Any) -> tuple[Outcome, RunState]:
    """Run a prompt that the turns answer; return how it ended and what the cell shows."""
    session.namespace['model'] = script(*turns)
    cell = side()
    outcome = await session.run(request(prompt, **options), cell)
    view = cell.view
    assert isinstance(view, _View)
    return outcome, view.state


def tree(directory: Path) -> dict[str, bytes]:
    """What all files hold, but for the session's own."""
    files = (path for path in sorted(directory.rglob('*')) if path.is_file())
    found = {path.relative_to(directory).as_posix(): path.read_bytes() for path in files}
    return {path: data for path, data in found.items() if not path.startswith('.deep/')}

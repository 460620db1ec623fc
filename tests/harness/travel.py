"""Runs of a notebook's session in the test's own event loop, and the files that they leave."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from deep_notebook.capabilities.approvals import ApprovalMode
from deep_notebook.kernel.requests import CellSide, RunLimits, RunRequest
from deep_notebook.kernel.run import Outcome
from deep_notebook.kernel.runner import MainThread
from deep_notebook.kernel.session import NotebookSession
from deep_notebook.store import session_path
from deep_notebook.views.run_state import RunState

from .scripted import Turn, script
from .sessions import Shown

__all__ = ['ask', 'opened', 'tree']


@asynccontextmanager
async def opened(directory: Path, **options: Any) -> AsyncIterator[NotebookSession]:
    """The session of `directory`, the same one each time."""
    notebook = directory / 'sales.ipynb'
    session = NotebookSession(
        directory=directory, notebook=notebook, database=session_path(notebook), namespace={}, **options
    )
    try:
        yield session
    finally:
        await session.close()


async def ask(
    session: NotebookSession, *turns: Turn, prompt: str = 'Go.', approve: ApprovalMode = 'auto'
) -> tuple[Outcome, RunState]:
    """Run a prompt that the turns answer, in a cell where nobody is; return how it ended and what the cell shows."""

    def nobody(job: object) -> None:
        raise AssertionError('there is no main thread here')

    session.namespace['model'] = script(*turns)
    shown = Shown()
    cell = CellSide(
        shell=None,
        main=MainThread(nobody, can_await=False),
        view=shown,
        source=None,
        can_input=False,
        ready_timeout=0.1,
    )
    request = RunRequest(
        prompt=prompt,
        model='model',
        model_source=None,
        limits=RunLimits(approve=approve),
        new=False,
        into=None,
        replay=None,
        record=None,
    )
    return await session.run(request, cell), shown.state


def tree(directory: Path) -> dict[str, bytes]:
    """What all files hold, but for the session's own."""
    files = (path for path in sorted(directory.rglob('*')) if path.is_file())
    found = {path.relative_to(directory).as_posix(): path.read_bytes() for path in files}
    return {path: data for path, data in found.items() if not path.startswith('.deep/')}

"""A notebook's session without a kernel: prompts and answers go the way that `%%deep` cells send them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic_ai.models import Model

from deep_notebook.capabilities.approvals import ApprovalMode
from deep_notebook.kernel.requests import Answer, CellSide, RunLimits, RunRequest
from deep_notebook.kernel.run import Outcome
from deep_notebook.kernel.runner import AgentThread, MainThread, run_blocking
from deep_notebook.kernel.session import NotebookSession
from deep_notebook.settling import settle
from deep_notebook.store import session_path
from deep_notebook.views.run_state import RunState

__all__ = ['Cells', 'Shown', 'opened_cells']


class Shown:
    """A view that remembers what it was last given."""

    def __init__(self) -> None:
        self.state = RunState()

    def open(self, state: RunState) -> None:
        self.state = state

    def update(self, state: RunState) -> None:
        self.state = state

    def close(self, state: RunState) -> None:
        self.state = state


class Cells:
    """The cells of the notebook `sales.ipynb` in `directory`; nobody is there to answer questions."""

    def __init__(
        self, directory: Path, model: Model, options: Mapping[str, Any] | None = None, *, kernel: str | None = None
    ) -> None:
        notebook = directory / 'sales.ipynb'
        self.shown = Shown()
        self.session = NotebookSession(
            directory=directory,
            notebook=notebook,
            database=session_path(notebook),
            namespace={'model': model},
            kernel=kernel,
        )
        self.session.use(settle({**(options or {})}))

    def ask(self, prompt: str, **options: Any) -> Outcome:
        """Run a prompt to its end; the options are those of `request`."""
        return run_blocking(lambda main: self.session.run(self.request(prompt, **options), self.side(main)))

    def answer(self, answer: Answer) -> Outcome:
        """Go on with the suspended run."""
        return run_blocking(lambda main: self.session.resume(answer, self.side(main)))

    def request(self, prompt: str, *, approve: ApprovalMode = 'auto', new: bool = False, **options: Any) -> RunRequest:
        """What a cell asks for."""
        given: dict[str, Any] = {'model_source': None, 'into': None, 'replay': None, 'record': None, **options}
        return RunRequest(prompt=prompt, model='model', limits=RunLimits(approve=approve), new=new, **given)

    def side(self, main: MainThread) -> CellSide:
        """The cell's side of a run, where it is shown as `shown`."""
        self.shown = Shown()
        return CellSide(shell=None, main=main, view=self.shown, source=None, can_input=False, ready_timeout=0.1)

    def call(self, coroutine: Any) -> Any:
        """Run a coroutine of the session on the agent's thread."""
        return AgentThread.get().call(coroutine)

    def close(self) -> None:
        """Close the store, as a kernel that ends does."""
        self.call(self.session.close())


@contextmanager
def opened_cells(
    directory: Path, model: Model, options: Mapping[str, Any] | None = None, *, kernel: str | None = None
) -> Iterator[Cells]:
    """`Cells`, closed at the end."""
    cells = Cells(directory, model, options, kernel=kernel)
    try:
        yield cells
    finally:
        cells.close()

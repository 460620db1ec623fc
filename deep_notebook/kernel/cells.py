"""What happens when a `%%deep` cell runs: settle the options, find the session, choose the view, drive the run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import DeepNotebookError, UsageError
from ..store import session_path
from ..views.panel_shapes import ChangeSet
from ..views.text import printable
from . import commands, review_commands
from .environment import find_notebook, front_end, kernel_of
from .options import RunOptions
from .prompt import prompt_of
from .requests import CellSide, RunLimits, RunRequest
from .run import Outcome
from .runner import AgentThread, MainThread, is_within_run, run_awaited, run_blocking
from .session import NotebookSession
from .views import choose_view

if TYPE_CHECKING:
    from .magics import DeepMagics

__all__ = ['DeepCells', 'RunFailed', 'RunInterrupted']


class RunInterrupted(KeyboardInterrupt):
    """The person stopped the run; the cell ends with one line instead of a traceback."""

    def _render_traceback_(self) -> list[str]:
        return ['Stopped by you. The conversation is intact.']


class RunFailed(DeepNotebookError):
    """The run could not go on; the cell ends with one line, and `%tb` is not needed to read it."""

    def _render_traceback_(self) -> list[str]:
        return [printable(str(self), sys.stdout.encoding)]


class DeepCells:
    """The work behind the magics of one kernel."""

    def __init__(self, magics: DeepMagics) -> None:
        self.magics = magics
        self.shell: Any = magics.shell
        self._session: NotebookSession | None = None
        self._may_review = False
        """Whether the last cell may have changes to show; no other waits for its clean-up when it is interrupted."""

    @property
    def session(self) -> NotebookSession:
        """The session of the running notebook."""
        notebook = find_notebook(self.shell, self.magics.notebook)
        if self._session is None or self._session.notebook != notebook:
            self.close()
            directory = notebook.parent if notebook is not None else Path.cwd()
            self._session = NotebookSession(
                directory=directory,
                notebook=notebook,
                database=self._database(directory, notebook),
                namespace=self.shell.user_ns,
                kernel=self._connection(),
            )
        return self._session

    def _database(self, directory: Path, notebook: Path | None) -> Path:
        """Return where the conversation is kept: by notebook, else by kernel, else by directory."""
        if notebook is not None:
            return session_path(notebook)
        return directory / '.deep' / (self._connection() or 'terminal') / 'session.db'

    def _connection(self) -> str | None:
        """Return the name of the kernel's connection, which stays when it restarts; a terminal has none."""
        file = getattr(getattr(kernel_of(self.shell), 'parent', None), 'abs_connection_file', None)
        return None if file is None else Path(file).stem

    @property
    def shows_html(self) -> bool:
        """Whether the front end can be given HTML."""
        return front_end(self.shell) != 'terminal'

    def close(self) -> None:
        """Close the session's store."""
        if self._session is not None:
            AgentThread.get().call(self._session.close())
            self._session = None

    def command(self, line: str) -> None:
        """Run a `%deep` line.

        Raises:
            UsageError: There is no such command, or it cannot be done now.
        """
        commands.run(self, line)

    def call(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a short coroutine of the session on the agent's thread and return its result."""
        return AgentThread.get().call(coroutine)

    async def run_awaited(self, options: RunOptions, body: str) -> None:
        """Run a `%%deep` cell that awaits."""
        await self._awaited(self._start(options, body))

    def run_blocking(self, options: RunOptions, body: str) -> None:
        """Run a `%%deep` cell where nothing can be awaited."""
        self._blocking(self._start(options, body))

    def _start(self, options: RunOptions, body: str) -> Callable[[MainThread], Coroutine[Any, Any, Outcome]]:
        session, request = self.session, self._request(options, body)
        quiet = options.quiet or self.magics.quiet
        self._may_review = request.limits.approve == 'review'
        return lambda main: session.run(request, self._side(main, quiet=quiet))

    async def resume_awaited(self, line: str) -> None:
        """Go on with a suspended run in a cell that awaits."""
        answer = commands.parse_answer(line)
        self._may_review = True
        await self._awaited(lambda main: self.session.resume(answer, self._side(main)))

    def resume_blocking(self, line: str) -> None:
        """Go on with a suspended run where nothing can be awaited."""
        answer = commands.parse_answer(line)
        self._may_review = True
        self._blocking(lambda main: self.session.resume(answer, self._side(main)))

    async def _awaited(self, start: Callable[[MainThread], Coroutine[Any, Any, Outcome]]) -> None:
        _check_not_within_run()
        try:
            outcome = await run_awaited(start, gate=self.magics.shell_gate)
        except KeyboardInterrupt:
            if self._may_review:
                review = AgentThread.get().start(self.session.review.after_interrupt())
                self._show_changes(await asyncio.wrap_future(review.future))
            raise RunInterrupted from None
        self._hand_over(outcome)

    def _blocking(self, start: Callable[[MainThread], Coroutine[Any, Any, Outcome]]) -> None:
        _check_not_within_run()
        try:
            outcome = run_blocking(start)
        except KeyboardInterrupt:
            if self._may_review:
                self._show_changes(self.call(self.session.review.after_interrupt()))
            raise RunInterrupted from None
        self._hand_over(outcome)

    def _hand_over(self, outcome: Outcome) -> None:
        self._show_changes(outcome.changes)
        if outcome.phase == 'stopped':
            raise RunInterrupted
        if outcome.phase == 'failed':
            _fail(outcome)
        if outcome.into is not None and outcome.phase == 'done':
            self.shell.user_ns[outcome.into] = outcome.output

    def _show_changes(self, changes: ChangeSet | None) -> None:
        if changes is not None:
            review_commands.show_changes(self, changes)

    def _request(self, options: RunOptions, body: str) -> RunRequest:
        """Return the request with every option settled: the flag, else `%config`, else the environment."""
        magics = self.magics
        prompt = prompt_of(options.prompt, body, self.shell.user_ns)
        where = front_end(self.shell)
        budget = magics.budget or self.session.settled.spec.cost_budget_usd
        return RunRequest(
            prompt=prompt,
            model=options.model or magics.model or None,
            model_source=None if options.model else magics.model_source,
            limits=RunLimits(
                approve=options.approve or magics.approve or ('deny' if where == 'headless' else 'ask'),
                max_requests=options.max_requests or magics.max_requests or None,
                timeout=options.timeout or magics.timeout or None,
                budget=options.budget or (Decimal(str(budget)) if budget else None),
            ),
            new=options.new,
            into=options.into,
            replay=options.replay,
            record=options.record,
        )

    def _side(self, main: MainThread, *, quiet: bool = False) -> CellSide:
        """Return the cell's side of a run; called on the agent's thread, in the cell's context."""
        where = front_end(self.shell)
        view, source = choose_view(where, quiet=quiet, can_click=main.can_await or self._subshells_deliver())
        return CellSide(
            shell=self.shell,
            main=main,
            view=view,
            source=source,
            can_input=where != 'headless',
            ready_timeout=self.magics.ready_timeout,
        )

    def _subshells_deliver(self) -> bool:
        """Return whether clicks reach a kernel whose main thread is blocked.

        ipykernel 7.4 routes them to the main shell; before, they come on a subshell's thread.
        """
        from ipykernel.comm import Comm

        return not hasattr(Comm, '_reply_subshell_for')


def _check_not_within_run() -> None:
    if is_within_run():
        raise UsageError(
            'A run cannot start another one with %%deep, since this conversation is busy until it ends: '
            'deep_notebook.create_deep_agent() makes an agent of its own.'
        )


def _fail(outcome: Outcome) -> NoReturn:
    raise RunFailed(outcome.error) from outcome.exception

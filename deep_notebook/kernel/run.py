"""One run: the agent's events become the run state, the state reaches the view, the messages reach the store."""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

import pydantic_ai
from pydantic_ai import RunContext, UsageLimits
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    PartStartEvent,
    ToolCallPart,
    UserContent,
)
from pydantic_ai.models import Model
from pydantic_ai.output import OutputSpec
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDefinition
from pydantic_ai.usage import RunUsage
from pydantic_ai.workspaces import WorkspaceBackend

from ..capabilities.tool_classes import tool_class
from ..errors import DeepNotebookError, RewindRequested, StoreError
from ..store import SessionStore
from ..views import RunView
from ..views.panel_shapes import ChangeSet
from ..views.run_state import (
    ModelInfo,
    NoticeGiven,
    RunFinished,
    RunState,
    ToolsKnown,
    ToolStep,
    Usage,
    UsageUpdated,
    reduce,
    to_json,
)
from .person import DecisionSource
from .run_words import INTACT, NOT_KEPT, NOT_REWOUND, REWOUND, SUSPENDED, explain, with_denials

__all__ = ['Outcome', 'Run', 'RunInput', 'resumed']

# What a cell or a terminal shows of a run is ours to write.
pydantic_ai.BANNER_ENABLED = False
warnings.filterwarnings('ignore', category=pydantic_ai.CostNotFoundWarning)

_call: ContextVar[tuple[str, str | None]] = ContextVar('deep_notebook.call', default=('main', None))
"""The name of the run's agent, and which of its calls is being executed here."""

_WATCH_INTERVAL = 0.25
"""Seconds between two looks at the clock of a run with a timeout."""

_PAGE_SECONDS = 1.5
"""Seconds from the start of a run in which a page has loaded the view, if it ever will."""


@dataclass(frozen=True, kw_only=True)
class RunInput:
    """What one run is given."""

    agent: AbstractAgent[Any, Any]
    model: Model | None
    """Who answers, or `None` for the agent's own model."""
    prompt: Sequence[UserContent] | None
    history: Sequence[ModelMessage]
    deps: Any
    workspace: WorkspaceBackend | None
    """Where the agent's files are now, whatever directory the history names."""
    capabilities: Sequence[AbstractCapability[Any]]
    request_limit: int
    budget: Decimal | None = None
    timeout: float | None = None
    """Seconds of work; the time that a question waits does not count."""
    results: DeferredToolResults | None = None
    """Answers to the calls that a suspended run waits for."""
    spent: Usage | None = None
    """What a suspended run had used when it was suspended; it counts."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run ended."""

    run: int
    phase: Literal['done', 'stopped', 'failed', 'suspended']
    output: Any = None
    into: str | None = None
    """The variable for the output."""
    error: str | None = None
    """One line for the person."""
    exception: BaseException | None = None
    changes: ChangeSet | None = None
    """What it changed, if it ran in review mode and something is left to decide."""


@dataclass(eq=False)
class Run:
    """One run in one cell: `drive` it once."""

    id: int
    store: SessionStore
    view: RunView
    state: RunState
    priced: bool = True
    """Whether the model costs money."""
    source: DecisionSource | None = None
    """The view, if it has buttons."""
    read_digests: Mapping[str, str] = field(default_factory=dict)
    """How the agent last saw each file; kept with the run as it changes."""
    go_back: Callable[[RewindRequested], Awaitable[str | None]] | None = None
    """Goes back to a checkpoint and returns a line for the person, or `None` if it knows no such checkpoint."""
    denied: list[str] = field(default_factory=list, init=False)
    """The tools whose calls were denied without a question."""
    _kept_digests: Mapping[str, str] = field(default_factory=dict, init=False)
    _timed_out: bool = field(default=False, init=False)
    _stop: Callable[[], None] | None = field(default=None, init=False)

    def apply(self, event: object) -> None:
        """Fold `event` into the state and show it."""
        self.state = reduce(self.state, event, now=time.time())
        self.view.update(self.state)

    def who_asks(self) -> tuple[str, str | None]:
        """Return the name of the agent whose tool is calling now, and the run's own call that it belongs to."""
        name, id = _call.get()
        step = next((step for step in self.state.steps if isinstance(step, ToolStep) and step.id == id), None)
        at_work = [child.name for child in step.subagents if child.status == 'running'] if step is not None else []
        return at_work[-1] if at_work else name, id

    def stop(self) -> None:
        """Stop the run, from any thread."""
        if self._stop is not None:
            self._stop()

    def suspend_again(self) -> None:
        """Show that the run still waits: the person did not answer now."""
        self.state = reduce(self.state, RunFinished(phase='suspended', notice=SUSPENDED), now=time.time())
        self.view.close(self.state)

    async def drive(self, given: RunInput) -> Outcome:
        """Run the agent to its end and return how it ended.

        Raises:
            asyncio.CancelledError: The cell was interrupted; what was done by then is shown and stored.
        """
        try:
            outcome = await self._drive(given)
        except asyncio.CancelledError as error:
            cancelled = RunCancelled.from_cancellation(error)
            messages = [] if cancelled is None else cancelled.all_messages()
            stopped = Outcome(run=self.id, phase='stopped')
            # A task of its own: a second interrupt must not cut the bookkeeping short.
            await asyncio.shield(asyncio.create_task(self._end(stopped, messages)))
            raise
        return outcome

    async def _drive(self, given: RunInput) -> Outcome:
        output_type: OutputSpec[Any] = [given.agent.output_type, DeferredToolRequests]
        limits = UsageLimits(request_limit=given.request_limit, cost_limit=given.budget if self.priced else None)
        messages: list[ModelMessage] = list(given.history)
        requests: DeferredToolRequests | None = None
        try:
            async with given.agent.run_stream_events(
                given.prompt,
                model=given.model,
                message_history=given.history,
                deps=given.deps,
                workspace=given.workspace,
                capabilities=[*given.capabilities, _ToolWatch(self)],
                output_type=output_type,
                usage_limits=limits,
                usage=_run_usage(given.spent),
                deferred_tool_results=given.results,
            ) as stream:
                self._stop = stream.cancel
                async with self._watch(given.timeout):
                    async for event in stream:
                        self.apply(event)
                        if _settles_messages(event):
                            messages = stream.all_messages()
                            self._count(stream.usage, given)
                            await self.store.sync(messages)
                            await self._keep_digests()
                result = stream.result
                assert result is not None
                messages = result.all_messages()
                self._count(result.usage, given)
            if isinstance(result.output, DeferredToolRequests):
                requests = result.output
                outcome = Outcome(run=self.id, phase='suspended', output=requests)
            else:
                outcome = Outcome(run=self.id, phase='done', output=result.output)
        except RunCancelled as cancelled:
            messages = cancelled.all_messages() or messages
            outcome = self._cancelled(given)
        except RewindRequested as rewind:
            messages, outcome = await self._rewound(rewind, messages)
        except Exception as error:
            # Whatever the model, a tool or a provider raised: the person reads one line, `%tb` has the rest.
            line = explain(error, given, self.state)
            outcome = Outcome(run=self.id, phase='failed', error=line, exception=error)
        finally:
            self._stop = None
        return await self._end(outcome, messages, requests)

    async def _rewound(
        self, rewind: RewindRequested, messages: list[ModelMessage]
    ) -> tuple[list[ModelMessage], Outcome]:
        """Go back where the agent asked to; return the history to keep, if it is not kept already, and the outcome."""
        done = Outcome(run=self.id, phase='done')
        own = next((message.conversation_id for message in reversed(messages) if message.conversation_id), None)
        if rewind.conversation_id not in (None, own):
            self.apply(NoticeGiven(text=NOT_REWOUND.format(label=rewind.label)))
            return messages, done
        try:
            notice = None if self.go_back is None else await self.go_back(rewind)
        except DeepNotebookError as error:
            return messages, Outcome(run=self.id, phase='failed', error=str(error), exception=error)
        self.apply(NoticeGiven(text=notice or REWOUND.format(label=rewind.label)))
        return list(rewind.messages) if notice is None else [], done

    def _cancelled(self, given: RunInput) -> Outcome:
        if self._timed_out:
            line = f'Stopped after {given.timeout:g} s of work, as --timeout says.'
            return Outcome(run=self.id, phase='failed', error=line)
        return Outcome(run=self.id, phase='stopped')

    def _count(self, usage: RunUsage, given: RunInput) -> None:
        priced = not self.priced or usage.cost is not None or not usage.requests
        if not priced and given.budget is not None and self.state.usage.priced:
            self.apply(NoticeGiven(text='The price of this model is unknown, so the budget cannot stop it.'))
        self.apply(
            UsageUpdated(
                requests=usage.requests,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cost=None if usage.cost is None else str(usage.cost),
                priced=priced,
            )
        )

    async def _end(
        self, outcome: Outcome, messages: Sequence[ModelMessage], requests: DeferredToolRequests | None = None
    ) -> Outcome:
        """Keep and show how the run ended, and return that: a run whose end cannot be kept has failed."""
        words = {'suspended': SUSPENDED, 'stopped': INTACT, 'failed': INTACT}
        notice = words.get(outcome.phase) or with_denials(self.state.notice, self.denied)
        before = self.state
        self._finish(outcome, notice)
        try:
            await self._keep_end(outcome, messages, requests)
        except StoreError as error:
            line, exception = outcome.error or str(error), outcome.exception or error
            outcome = replace(outcome, phase='failed', error=line, exception=exception)
            self.state = before
            self._finish(outcome, NOT_KEPT)
        if self.source is not None and outcome.phase in ('done', 'failed'):
            # A page that reports itself after the end would be left with two outputs instead of one.
            await self.source.wait_ready(max(0.0, self.state.started + _PAGE_SECONDS - time.time()))
        self.view.close(self.state)
        return outcome

    def _finish(self, outcome: Outcome, notice: str | None) -> None:
        finished = RunFinished(phase=outcome.phase, error=outcome.error, notice=notice)
        self.state = reduce(self.state, finished, now=time.time())

    async def _keep_end(
        self, outcome: Outcome, messages: Sequence[ModelMessage], requests: DeferredToolRequests | None
    ) -> None:
        if messages:
            await self.store.sync(messages)
        await self.store.save_run(self.id, phase=outcome.phase, state=to_json(self.state), suspended=requests)
        await self._keep_digests()

    async def _keep_digests(self) -> None:
        if self.read_digests != self._kept_digests:
            self._kept_digests = dict(self.read_digests)
            await self.store.save_run(self.id, read_digests=self._kept_digests)

    @asynccontextmanager
    async def _watch(self, timeout: float | None) -> AsyncIterator[None]:
        """Stop the run after `timeout` seconds in which it did not wait for the person."""
        if timeout is None:
            yield
            return

        async def watch() -> None:
            left, before = timeout, time.monotonic()
            while left > 0:
                await asyncio.sleep(min(left, _WATCH_INTERVAL))
                now = time.monotonic()
                if self.state.phase != 'waiting':
                    left -= now - before
                before = now
            self._timed_out = True
            self.stop()

        watcher = asyncio.create_task(watch())
        try:
            yield
        finally:
            watcher.cancel()


def resumed(state: RunState, *, model: ModelInfo, at: float) -> RunState:
    """Return the state of a suspended run as it goes on at `at` (unix seconds), with `model` to answer."""
    return replace(
        state,
        phase='running',
        model=model,
        started=at - state.elapsed,
        approvals=tuple(approval for approval in state.approvals if approval.state != 'suspended'),
        notice=None,
    )


@dataclass
class _ToolWatch(AbstractCapability[Any]):
    """Tells the view the class of each tool, and remembers which of the run's calls is being executed."""

    run: Run

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Remember the call; also what it starts, such as the run of a subagent, knows it then."""
        name = ctx.agent.name if ctx.agent is not None else None
        token = _call.set((name or 'main', call.tool_call_id))
        try:
            return await handler(args)
        finally:
            _call.reset(token)

    async def prepare_tools(self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        """Look at the tools and leave them as they are."""
        classes = {tool.name: tool_class(tool) for tool in tool_defs}
        if any(self.run.state.tool_classes.get(name) != known for name, known in classes.items()):
            self.run.apply(ToolsKnown(classes=classes))
        return tool_defs


def _run_usage(spent: Usage | None) -> RunUsage | None:
    if spent is None:
        return None
    return RunUsage(
        requests=spent.requests,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cost=None if spent.cost is None else Decimal(spent.cost),
    )


def _settles_messages(event: object) -> bool:
    """Return whether the history is longer, or its last message complete, once `event` is there."""
    if isinstance(event, PartStartEvent):
        return event.index == 0
    return isinstance(event, FunctionToolCallEvent | FunctionToolResultEvent)

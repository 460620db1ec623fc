"""The conversation of one notebook: who answers, what was said, where the files are.

A session outlives the kernel: it lies in `.deep/<notebook>/session.db` beside the notebook and is found again
by its path. All its coroutines run on the agent's thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, repair_messages
from pydantic_ai.tools import DeferredToolResults

from ..agent import build_agent
from ..capabilities.approvals import ApprovalDecision, ApprovalGate, ApprovalRequest, requests_of, results_of
from ..capabilities.events import ApprovalAskedEvent, ApprovalDecidedEvent, NoticeEvent
from ..capabilities.evicted_files import EvictedFiles
from ..capabilities.journal import Journaling
from ..capabilities.mcp import McpServer, mcp_servers
from ..capabilities.python import RunPython
from ..capabilities.todos import Todo
from ..deps import DeepAgentDeps
from ..errors import StoreError, UsageError
from ..models.resolve import ResolvedModel, resolve_model
from ..settling import Settled, settle
from ..store import SessionStore
from ..store.checkpoint_sqlite import SqliteCheckpointStore
from ..store.journal import Journal
from ..store.runs import RecordingUse, RunRecord
from ..views.run_state import ApprovalSuperseded, NoticeGiven, RunStarted, RunState, Usage, from_json, reduce
from ..workspaces import KernelWorkspace
from .answering import Answering, live, recorded, recording_of, replayed
from .approvals import ApprovalBroker
from .checkpointing import automatic_checkpoints
from .person import Person
from .python_runner import KernelPython
from .questions import QuestionBroker
from .requests import Answer, CellSide, RunLimits, RunRequest
from .review import Reviewer
from .run import Outcome, Run, RunInput, resumed
from .time_travel import Traveller

__all__ = ['NotebookSession']

FRESH_KERNEL = (
    'Note: the kernel was restarted since the last turn. All variables and imports are gone; files are still there.'
)
"""What the model is told before the first prompt of a new kernel."""

DEFAULT_MAX_REQUESTS = 50
"""Requests to the model in one run, where neither the person nor the model sets a limit."""


@dataclass(eq=False)
class NotebookSession:
    """The conversation of one notebook.

    Args:
        directory: Where the agent's files are.
        notebook: The running notebook, if there is one.
        database: Where the conversation is kept.
        namespace: The user's variables, in which a model or an agent may be.
        kernel: An id that the kernel keeps when it restarts, if it has one.
    """

    directory: Path
    notebook: Path | None
    database: Path
    namespace: dict[str, Any]
    kernel: str | None = None
    settled: Settled = field(default_factory=lambda: settle({}))
    """The options of the agent, as a spec file has them."""
    mcp_servers: dict[str, McpServer] = field(default_factory=dict, init=False)
    deps: DeepAgentDeps = field(init=False)
    review: Reviewer = field(init=False)
    journal: Journal | None = field(default=None, init=False)
    """What files held before the agent changed them, from the first use of the store on."""
    _workspace: KernelWorkspace = field(init=False)
    _store: SessionStore | None = field(default=None, init=False)
    checkpoints: SqliteCheckpointStore | None = field(default=None, init=False)
    """Those in the store; one object, which knows the messages that it has seen."""
    _met: bool = field(default=False, init=False)
    """Whether this kernel has taken part in the conversation."""
    one_run: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    """Held by what changes the conversation; by a run from its beginning to the end of its clean-up."""
    travel: Traveller = field(init=False)

    def __post_init__(self) -> None:
        self._workspace = KernelWorkspace(self.directory, notebook=self.notebook)
        self.deps = DeepAgentDeps(backend=self._workspace)
        self.travel = Traveller(self)
        self.review = Reviewer(self)

    async def store(self) -> SessionStore:
        """Return the session's store, opened on first use."""
        if self._store is None:
            whole = EvictedFiles(self.directory).whole
            self._store = SessionStore.open(self.database, kernel=self.kernel, whole=whole)
            self.checkpoints = SqliteCheckpointStore(self._store)
            self.journal = self._workspace.keeper = Journal(self._store, self.directory, notebook=self.notebook)
            try:
                await self._recall(self._store)
            except BaseException:
                # What was not recalled is recalled at the next use, not forgotten.
                await self.close()
                raise
        return self._store

    async def _recall(self, store: SessionStore) -> None:
        last = await store.last_run()
        if last is not None and last.conversation == await store.conversation():
            self.deps.read_digests.update(last.read_digests)
            if last.state is not None:
                self.deps.todos[:] = [Todo(**todo) for todo in last.state['todos']]
        await self.travel.restore()

    async def close(self) -> None:
        """Close the store; what was said stays in it, and is read anew when it is next needed."""
        if self._store is not None:
            self._store.close()
            self._store = None
            self.deps.todos.clear()
            self.deps.read_digests.clear()
            self._met = False

    async def reset(self) -> None:
        """Start a new conversation; the old one stays in the store."""
        store = await self.store()
        await store.new_conversation()
        self.deps.todos.clear()
        self.deps.read_digests.clear()
        self._met = True

    def resolve(self, name: str | None, *, source: str | None = None) -> ResolvedModel:
        """Return who answers to `name`, or by default.

        Args:
            name: The name of a model or variable, or `None` for the default.
            source: Where the name comes from, for the message when it is wrong; `None` if the person just wrote it.

        Raises:
            UsageError: Nobody does; the message says what to do.
        """
        try:
            return resolve_model(name, directory=self.directory, namespace=self.namespace)
        except UsageError as error:
            if source is None:
                raise
            raise UsageError(f'{source}: {error}') from None

    def use(self, settled: Settled) -> None:
        """Take other options for the agent, from the next run on.

        Raises:
            UsageError: No agent can be made of them; those in force stay.
        """
        build_agent(settled)
        self.settled = settled
        self.mcp_servers = mcp_servers(settled['mcp_servers'] or {})

    async def stored_run(self, number: int | None) -> RunRecord | None:
        """Return run `number`, or the latest one, or `None` if there is none."""
        store = await self.store()
        return await (store.last_run() if number is None else store.run(number))

    async def runs(self) -> list[RunRecord]:
        """Return the runs of this conversation, oldest first."""
        return await (await self.store()).runs()

    async def suspended(self) -> tuple[RunRecord, list[ApprovalRequest]]:
        """Return the run that waits for answers and what it waits for.

        Raises:
            UsageError: No run waits.
        """
        record = await (await self.store()).suspended_run()
        if record is None or record.suspended is None:
            raise UsageError('No run waits for an answer in this notebook.')
        return record, requests_of(record.suspended)

    async def run(self, request: RunRequest, cell: CellSide) -> Outcome:
        """Run one prompt.

        Raises:
            UsageError: The request cannot be run as it stands; nothing was sent or stored.
        """
        async with self.one_run:
            store = await self.store()
            history = [] if request.new else repair_messages(await store.history())
            recording = recording_of(request, history)
            who = self._answering(request.model, recording, source=request.model_source)
            if request.new:
                await self.reset()
            given_up = await store.suspended_run()
            if given_up is not None:
                await store.save_run(given_up.id, phase='stopped')
            content = [*await self.review.news(), request.prompt]
            if history and not self._met:
                content.insert(0, FRESH_KERNEL)
            self._met = True
            budget, terms = request.limits.budget, request.terms
            number = await store.start_run(
                prompt=request.prompt, model=who.model.name, recording=recording, terms=terms
            )
            interrupted = await self.travel.before_run(number)
            started = RunStarted(
                run=str(number),
                prompt=request.prompt,
                model=who.model,
                at=time.time(),
                banner=who.banner,
                budget=None if budget is None else str(budget),
            )
            run = self._open(number, store, cell, reduce(RunState(), started, now=time.time()))
            for notice in filter(None, [who.notice, interrupted]):
                run.apply(NoticeGiven(text=notice))
            if given_up is not None:
                run.apply(NoticeGiven(text=f'Run {given_up.id} was waiting for an answer; it was given up.'))
            broker = self._broker(cell, run)
            given = self._input(who, request.limits, cell, broker, history=history, prompt=content)
            return replace(await self._drive(run, given, who), into=request.into)

    async def resume(self, answer: Answer, cell: CellSide) -> Outcome:
        """Go on with the suspended run.

        Raises:
            UsageError: No run waits, or not for that call.
        """
        async with self.one_run:
            record, waiting = await self.suspended()
            assert record.suspended is not None
            chosen = answer.chosen(waiting)
            who = self._answering(record.model, record.recording, resumed=True)
            store = await self.store()
            state = resumed(from_json(record.state or {}), model=who.model, at=time.time())
            run = self._open(record.id, store, cell, state)
            broker = self._broker(cell, run)
            try:
                decisions = await self._decide(chosen, answer, run, broker)
                history = await store.history()
                # Its calls are about to be executed: if the kernel is killed now, nobody may answer them once more.
                await store.save_run(record.id, phase='running')
            except (asyncio.CancelledError, StoreError):
                run.suspend_again()
                raise
            budget = state.usage.budget
            limits = RunLimits(
                approve='review' if record.terms.approve == 'review' else 'ask',
                max_requests=record.terms.max_requests,
                timeout=record.terms.timeout,
                budget=None if budget is None else Decimal(budget),
            )
            results = results_of(record.suspended, decisions)
            given = self._input(who, limits, cell, broker, history=history, results=results, spent=state.usage)
            self._met = True
            return replace(await self._drive(run, given, who), into=record.terms.into)

    async def _drive(self, run: Run, given: RunInput, who: Answering) -> Outcome:
        if who.ours and self.journal is not None:
            journaling = Journaling(self.journal, run.id, tell=lambda text: run.apply(NoticeEvent(text=text)))
            given = replace(given, capabilities=[*given.capabilities, journaling])
        outcome = await run.drive(given)
        at_a_limit = isinstance(outcome.exception, UsageLimitExceeded)
        if who.keep is not None and (outcome.phase in ('done', 'suspended') or at_a_limit):
            try:
                await asyncio.to_thread(who.keep)
            except OSError as error:
                raise UsageError(f'The run is kept, but its recording could not be written ({error}).') from error
        return replace(outcome, changes=await self.review.after(run.id))

    def _answering(
        self,
        model: str | None,
        recording: RecordingUse | None,
        *,
        resumed: bool = False,
        source: str | None = None,
    ) -> Answering:
        if recording is not None and recording.mode == 'replay':
            return replayed(self._agent(), directory=self.directory, name=recording.name, key=recording.key)
        who = live(self.resolve(model, source=source), self._agent)
        if recording is None:
            return who
        return recorded(who, directory=self.directory, name=recording.name, key=recording.key, resumed=resumed)

    def _agent(self) -> Agent[DeepAgentDeps, Any]:
        """Return the deep agent of this notebook.

        It reads `AGENTS.md` and `SOUL.md` unless its options say no. The run holds the budget: a cell can set another.
        """
        update: dict[str, Any] = {'cost_budget_usd': None}
        if 'context_discovery' not in self.settled.spec.model_fields_set:
            update['context_discovery'] = True
        spec = self.settled.spec.model_copy(update=update)
        objects = {**self.settled.objects, 'mcp_servers': self.mcp_servers}
        if self._store is not None:
            objects |= {'history_archive': self._store, 'checkpoint_store': self.checkpoints}
            objects |= {'checkpoint_notes': self.travel.notes, 'checkpoint_foresight': self.travel.foresee}
        return build_agent(Settled(spec=spec, objects=objects))

    async def _decide(
        self, chosen: Sequence[ApprovalRequest], answer: Answer, run: Run, broker: ApprovalBroker
    ) -> dict[str, ApprovalDecision]:
        """Return the decisions that `answer` gives, asking the person for each if it says so."""
        for request in chosen:
            run.apply(ApprovalAskedEvent(request=request))

        async def decide(request: ApprovalRequest) -> tuple[str, ApprovalDecision | None]:
            if answer.verdict == 'ask':
                return request.id, await broker.decide(request)
            decision = ApprovalDecision(verdict=answer.verdict, reason=answer.reason, channel='command')
            run.apply(ApprovalDecidedEvent(request=request, decision=decision))
            return request.id, decision

        decided = await asyncio.gather(*map(decide, chosen))
        return {id: decision for id, decision in decided if decision is not None}

    def _open(self, number: int, store: SessionStore, cell: CellSide, state: RunState) -> Run:
        run = Run(
            id=number,
            store=store,
            view=cell.view,
            state=state,
            priced=not state.model.local,
            source=cell.source,
            read_digests=self.deps.read_digests,
            go_back=self.travel.go_back,
        )
        self.travel.run = number
        cell.view.open(state)
        if cell.source is not None:
            cell.source.on_stop(run.stop)
        if store.notice is not None:
            run.apply(NoticeGiven(text=store.notice))
        return run

    def _broker(self, cell: CellSide, run: Run) -> ApprovalBroker:
        person = Person(cell.main, source=cell.source, can_input=cell.can_input, ready_timeout=cell.ready_timeout)
        asking = QuestionBroker(person, tell=run.apply, who_asks=run.who_asks)
        self.deps.ask_user = asking if person.is_there else None
        return ApprovalBroker(
            person,
            on_superseded=lambda request: run.apply(ApprovalSuperseded(id=request.id)),
            on_decided=lambda request, decision: run.apply(ApprovalDecidedEvent(request=request, decision=decision)),
            on_denied=lambda request: run.denied.append(request.tool),
        )

    def _input(
        self,
        who: Answering,
        limits: RunLimits,
        cell: CellSide,
        broker: ApprovalBroker,
        *,
        history: Sequence[ModelMessage],
        prompt: Sequence[str] | None = None,
        results: DeferredToolResults | None = None,
        spent: Usage | None = None,
    ) -> RunInput:
        limit = limits.max_requests or who.request_limit or DEFAULT_MAX_REQUESTS
        capabilities: list[AbstractCapability[Any]] = [
            *automatic_checkpoints(self),
            RunPython(runner=KernelPython(cell.shell, cell.main, on_change=self.travel.note_variables)),
            ApprovalGate(
                mode='ask' if limits.approve == 'review' and not who.ours else limits.approve,
                approver=broker,
                interrupt_on=self.settled['interrupt_on'],
                asked_by=who.agent.name or 'main',
                attended=broker.attended,
                journalled=who.ours,
            ),
        ]
        return RunInput(
            agent=who.agent,
            model=who.answers,
            prompt=prompt,
            history=history,
            deps=self.deps if who.ours else None,
            workspace=self.deps.backend if who.ours else None,
            capabilities=capabilities if who.ours else capabilities[-1:],
            request_limit=limit,
            budget=limits.budget,
            timeout=limits.timeout,
            results=results,
            spent=spent,
        )

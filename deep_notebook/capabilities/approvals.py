"""Ask before a tool writes or executes: one question per tool call, one answer, good for one execution.

`ApprovalGate` wraps the run's whole toolset. A call that needs a yes is deferred with an `ApprovalRequest` in its
metadata, so that the question can be shown now or, when nobody is there to answer, stored with the suspended run and
answered after a restart. The `Approver` is whoever can answer; with none, the policy does. In the mode `review`, what
the journal of a notebook can undo afterwards needs no yes.

What was shown is sealed: the call executes only with exactly these arguments, only once, and only while what it would
replace is still what was there when the person looked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler
from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import (
    AgentDepsT,
    DeferredToolRequests,
    DeferredToolResults,
    ToolDefinition,
    ToolDenied,
)
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from ..errors import UsageError
from ..store.journal_files import is_kept_out
from .approval_seals import (
    Sealed,
    digests,
    is_asked_again,
    preview_call,
    request_of,
    requests_of,
    results_for,
    results_of,
    seal,
    sealed_in,
    to_metadata,
    usable,
    with_note,
)
from .approval_types import (
    PREVIEW,
    ApprovalDecision,
    ApprovalMode,
    ApprovalRequest,
    Approver,
    HearsDenials,
    Preview,
    PreviewFunction,
)
from .events import ApprovalAskedEvent, ApprovalDecidedEvent
from .filesystem.files import run_workspace
from .filesystem.places import locate
from .tool_classes import ToolClass, is_undoable, tool_class

__all__ = [
    'PREVIEW',
    'ApprovalDecision',
    'ApprovalGate',
    'ApprovalMode',
    'ApprovalRequest',
    'Approver',
    'Preview',
    'PreviewFunction',
    'requests_of',
    'results_of',
]


@dataclass
class ApprovalGate(AbstractCapability[AgentDepsT]):
    """Ask before each call of a tool that writes or executes.

    Parallel calls are asked about together and decided apart. A yes to the rest of a tool or a path also answers the
    other open questions that it covers, and holds for the run. Calls that nobody can decide now are left: the run
    ends with `DeferredToolRequests`, which `requests_of` and `results_of` turn into questions and into what resumes
    it. Tools that wait for a result from outside are no business of the gate.
    """

    mode: ApprovalMode = 'ask'
    approver: Approver | None = None
    asked_by: str = 'main'
    """The name of the agent, for the person."""
    classes: Collection[ToolClass] = field(default=('write', 'execute'), kw_only=True)
    """The classes of tools that need a yes."""
    interrupt_on: Mapping[str, bool] | None = field(default=None, kw_only=True)
    """Tools, by name, that need a yes, or none, whatever their class."""
    suspends: bool = field(default=True, kw_only=True)
    """Whether the run ends with what nobody can decide now; otherwise that is denied."""
    attended: bool = field(default=True, kw_only=True)
    """Whether a person can be asked during the run; where not, `review` denies what it would ask about."""
    journalled: bool = field(default=False, kw_only=True)
    """Whether a journal keeps what the run changes in the workspace, as in a notebook; `review` needs one."""
    remedy: str = field(default='%%deep --approve auto', kw_only=True)
    """What a person writes so that a denied call is allowed."""
    parent: ApprovalGate[Any] | None = field(default=None, kw_only=True, repr=False)
    """The gate, in the run that this one is part of, of whoever gave the agent its task: a yes to the rest of the run
    means both."""

    id: str | None = field(default='approvals', kw_only=True)
    description: str | None = field(default='Ask the person before a tool writes or executes.', kw_only=True)

    _rest: set[tuple[Literal['tool', 'path'], str]] = field(default_factory=set, init=False, repr=False, compare=False)
    _spent: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    _executing: dict[str, RunContext[AgentDepsT]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return `None`: who approves is for the run to say, not for a spec file."""
        return None

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> ApprovalGate[AgentDepsT]:
        """Return a copy for one run: no approval outlives it.

        Raises:
            UsageError: The mode is `review` and nothing keeps what the run changes.
        """
        if self.mode == 'review' and not self.journalled:
            raise UsageError(
                "The approval mode 'review' needs a notebook, where a journal keeps what every write replaced: take "
                "'ask' or 'auto' here."
            )
        gate = replace(self)
        if self.parent is not None:
            gate._rest = self.parent._rest
        return gate

    def get_wrapper_toolset(self, toolset: AbstractToolset[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        """Return `toolset` behind the gate."""
        return _GatedToolset(toolset, self)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Announce a question as soon as it is there; the stream stands still while it waits for the answers."""
        self._executing[call.tool_call_id] = ctx
        try:
            return await handler(args)
        except ApprovalRequired as required:
            sealed = sealed_in(required.metadata)
            if sealed is not None and self.mode != 'auto' and not self._denies:
                await ctx.emit(ApprovalAskedEvent(request=sealed.request))
            raise
        finally:
            del self._executing[call.tool_call_id]

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[AgentDepsT], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """Answer the calls that wait for a yes, as far as that can be done now."""
        if not requests.approvals:
            return None
        if self._denies:
            if isinstance(self.approver, HearsDenials):
                for call in requests.approvals:
                    await self.approver.denied(replace(request_of(requests, call), asked_by=self.asked_by))
            return requests.build_results(
                approvals={call.tool_call_id: self._denied(call) for call in requests.approvals}
            )
        if self.mode == 'auto':
            return requests.build_results(approve_all=True)
        questions = {call.tool_call_id: request_of(requests, call) for call in requests.approvals}
        for call_id, request in questions.items():
            if sealed_in(requests.metadata.get(call_id)) is None:
                await ctx.emit(ApprovalAskedEvent(request=replace(request, asked_by=self.asked_by)))
        decisions = await self._decide(ctx, questions)
        results = results_for(requests, decisions) if decisions else None
        if self.suspends or len(decisions) == len(questions):
            return results
        results = results or requests.build_results()
        for call in requests.approvals:
            results.approvals.setdefault(call.tool_call_id, self._denied(call))
        return results

    def needs_yes(self, tool: ToolDefinition) -> bool:
        """Return whether a call of `tool` needs a yes."""
        named = (self.interrupt_on or {}).get(tool.name)
        return tool_class(tool) in self.classes if named is None else named

    def may_be_undone(self, tool: ToolDefinition) -> bool:
        """Return whether a call of `tool` may happen at once, since the person can undo it afterwards."""
        return self.mode == 'review' and tool.name not in (self.interrupt_on or {}) and is_undoable(tool)

    @property
    def _denies(self) -> bool:
        return self.mode == 'deny' or (self.mode == 'review' and not self.attended)

    def _denied(self, call: ToolCallPart) -> ToolDenied:
        return ToolDenied(
            f'{call.tool_name} needs an approval that nobody can give in this run, so nothing was done. The person can '
            f'allow it with {self.remedy}.'
        )

    async def _decide(
        self, ctx: RunContext[AgentDepsT], questions: Mapping[str, ApprovalRequest]
    ) -> dict[str, ApprovalDecision]:
        """Return the decisions that can be had now."""
        decisions: dict[str, ApprovalDecision] = {}
        if self.approver is not None:
            async with _asking(self.approver, questions) as waiting:
                while waiting:
                    done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                    for task in sorted(done, key=list(waiting).index):
                        request = waiting.pop(task)
                        decision = task.result()
                        if decision is not None:
                            decisions[request.id] = await self._decided(ctx, request, decision)
                    for task, request in list(waiting.items()):
                        if self.covers(request) and not task.done():
                            task.cancel()
                            del waiting[task]
                            decisions[request.id] = await self._decided(ctx, request, _EARLIER)
        for call_id, request in questions.items():
            if call_id not in decisions:
                await ctx.emit(ApprovalDecidedEvent(request=request, decision=None))
        return decisions

    async def _decided(
        self, ctx: RunContext[AgentDepsT], request: ApprovalRequest, decision: ApprovalDecision
    ) -> ApprovalDecision:
        decision = usable(decision, request)
        if decision.verdict == 'approve':
            if decision.scope == 'tool':
                self._rest.add(('tool', request.tool))
            elif decision.scope == 'path' and request.path is not None:
                self._rest.add(('path', request.path))
        await ctx.emit(ApprovalDecidedEvent(request=request, decision=decision))
        return decision

    def covers(self, request: ApprovalRequest) -> bool:
        """Return whether an earlier yes to the rest of a tool, or of the writes to a path, answers `request` too."""
        on_path = request.tool_class == 'write' and request.path is not None and ('path', request.path) in self._rest
        return on_path or ('tool', request.tool) in self._rest

    async def earlier(self, request: ApprovalRequest) -> None:
        """Tell the stream that an earlier yes answered `request`."""
        ctx = self._executing.get(request.id)
        if ctx is not None:
            await ctx.emit(ApprovalDecidedEvent(request=request, decision=_EARLIER))

    def spend(self, call_id: str) -> None:
        """Use up the approval of a call.

        Raises:
            ToolFailed: It was used before.
        """
        if call_id in self._spent:
            raise ToolFailed('This approval was already used: an approval is good for one execution. Call it anew.')
        self._spent.add(call_id)


_EARLIER = ApprovalDecision(verdict='approve', channel='earlier')


@dataclass
class _GatedToolset(WrapperToolset[AgentDepsT]):
    """Lets a call through, or defers it with a question."""

    gate: ApprovalGate[AgentDepsT]

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> Any:
        if not self.gate.needs_yes(tool.tool_def) or await self._is_journalled(tool_args, ctx, tool):
            return await super().call_tool(name, tool_args, ctx, tool)
        if ctx.tool_call_approved and not is_asked_again(ctx.tool_call_metadata):
            sealed = sealed_in(ctx.tool_call_metadata)
            if sealed is not None:
                await self._check(sealed, tool_args, ctx, tool)
                self.gate.spend(sealed.request.id)
            result = await super().call_tool(name, tool_args, ctx, tool)
            return result if sealed is None or sealed.note is None else with_note(result, sealed.note)
        if self.gate.mode != 'auto':
            sealed = await seal(tool_args, ctx, tool, asked_by=self.gate.asked_by)
            if not self.gate.covers(sealed.request):
                raise ApprovalRequired(metadata=to_metadata(sealed))
            await self.gate.earlier(sealed.request)
        return await super().call_tool(name, tool_args, ctx, tool)

    async def _is_journalled(
        self, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> bool:
        """Return whether a call may happen at once: it can be undone, and is not about what no journal covers."""
        if not self.gate.may_be_undone(tool.tool_def):
            return False
        path = (await preview_call(tool_args, ctx, tool)).path
        if path is None:
            return False
        real = (await locate(run_workspace(ctx), path)).key
        return not is_kept_out(tuple(real.split('/')))

    async def _check(
        self, sealed: Sealed, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> None:
        """Raise a `ToolFailed` if the call is not any more what the person said yes to."""
        request = sealed.request
        if digests(tool_args, request.editable) != (sealed.args, sealed.text):
            raise ToolFailed('The arguments are not those that were approved, so nothing was done: call it anew.')
        preview = await preview_call(tool_args, ctx, tool)
        if preview.before != request.before:
            what = request.path or 'What this call would replace'
            raise ToolFailed(f'{what} changed while you were waiting; nothing was written: read it again.')


@asynccontextmanager
async def _asking(
    approver: Approver, questions: Mapping[str, ApprovalRequest]
) -> AsyncIterator[dict[asyncio.Task[ApprovalDecision | None], ApprovalRequest]]:
    """Ask all questions at once; none is asked any more when the block is left."""
    tasks = {asyncio.ensure_future(_ask(approver, request)): request for request in questions.values()}
    try:
        yield dict(tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _ask(approver: Approver, request: ApprovalRequest) -> ApprovalDecision | None:
    return await approver.decide(request)

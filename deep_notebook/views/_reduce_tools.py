"""The part of the reducer that follows tool calls: written, asked about, executed, returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import BaseToolCallPart, BaseToolReturnPart, LoadCapabilityReturnPart, ToolCallPart

from deep_notebook.capabilities.approvals import ApprovalDecision, ApprovalRequest
from deep_notebook.capabilities.tool_classes import ToolClass, undeclared_class
from deep_notebook.masking import mask_secrets

from ._tool_text import (
    DIFF_LIMIT,
    args_text,
    call_args,
    call_summary,
    failure_line,
    mask_and_clip,
    one_line,
    result_images,
    result_text,
)
from .run_shape import Approval, Editable, FileChange, RunState, Step, Subagent, ToolStatus, ToolStep

APPROVAL_ARGS_LIMIT = 20_000
EDITABLE_LIMIT = 100_000
"""Characters of the longest argument that can be edited in an approval."""
FILE_DIFF_LIMIT = 2 * DIFF_LIMIT

_STATUS: Mapping[str, ToolStatus] = {
    'success': 'ok',
    'failed': 'failed',
    'retried': 'failed',
    'denied': 'denied',
    'interrupted': 'interrupted',
}


def called(
    state: RunState, part: BaseToolCallPart, *, tool_class: ToolClass | None = None, started: float | None = None
) -> RunState:
    """Add the step of a call, or bring it up to date; `started` says since when it executes."""
    if not has_step(state, part.tool_call_id):
        step = ToolStep(
            id=part.tool_call_id,
            name=part.tool_name,
            tool_class=tool_class or state.tool_classes.get(part.tool_name) or undeclared_class(part.tool_name),
        )
        state = replace(state, steps=(*state.steps, step))
    return updated(state, part, started=started)


def updated(state: RunState, part: BaseToolCallPart, *, started: float | None = None) -> RunState:
    """Show the arguments of a call that is already there, as far as they are complete."""
    args = call_args(part)
    if args is None and started and part.args:
        args = {'arguments': part.args}

    def change(step: ToolStep) -> ToolStep:
        step = replace(step, started=started or step.started)
        if args is None:
            return step
        return replace(step, args=args_text(args), summary=step.summary or call_summary(args))

    return with_step(state, part.tool_call_id, change)


def removed(state: RunState, id: str) -> RunState:
    """Take away the step of a call that turned out to be the final answer."""
    return replace(
        state, steps=tuple(step for step in state.steps if not (isinstance(step, ToolStep) and step.id == id))
    )


def has_step(state: RunState, id: str | None) -> bool:
    """Return whether there is the step of a call."""
    return any(isinstance(step, ToolStep) and step.id == id for step in state.steps)


def with_step(state: RunState, id: str | None, change: Callable[[ToolStep], ToolStep]) -> RunState:
    """Change the step of a call, if it is there."""
    return replace(
        state,
        steps=tuple(change(step) if isinstance(step, ToolStep) and step.id == id else step for step in state.steps),
    )


def waiting(state: RunState, calls: Sequence[ToolCallPart]) -> RunState:
    """Mark calls that have to be approved before they execute."""
    for part in calls:
        state = called(state, part)
        state = with_step(state, part.tool_call_id, lambda step: replace(step, status='waiting', started=None))
    return state


def asked(state: RunState, request: ApprovalRequest, call_id: str | None = None) -> RunState:
    """Show a question; one that is asked again stands anew at the end.

    Args:
        state: The state before.
        request: What is asked.
        call_id: The call whose subagent asks, if it is one: its question has no step of its own.
    """
    step = call_id if call_id != request.id and has_step(state, call_id) else None
    state = replace(
        state,
        phase='waiting',
        approvals=(*(known for known in state.approvals if known.id != request.id), _approval(request, step)),
        tool_classes={**state.tool_classes, request.tool: request.tool_class},
    )
    if step is not None:
        return state
    call = ToolCallPart(tool_name=request.tool, args=dict(request.args), tool_call_id=request.id)
    state = waiting(state, [call])
    return with_step(state, request.id, lambda step: replace(step, tool_class=request.tool_class))


def _approval(request: ApprovalRequest, step: str | None) -> Approval:
    return Approval(
        id=request.id,
        tool=request.tool,
        tool_class=request.tool_class,
        title=mask_secrets(request.title),
        path=request.path,
        detail=mask_secrets(request.detail),
        diff=mask_and_clip(request.diff, DIFF_LIMIT)[0] if request.diff else None,
        args=args_text(request.args, limit=APPROVAL_ARGS_LIMIT),
        editable=_editable(request),
        asked_by=request.asked_by,
        step=step,
    )


def _editable(request: ApprovalRequest) -> Editable | None:
    """Return what may be edited: never a text with a mask in it, which would be written instead of the secret."""
    text = request.args.get(request.editable) if request.editable else None
    if not isinstance(text, str) or len(text) > EDITABLE_LIMIT or mask_secrets(text) != text:
        return None
    return Editable(name=str(request.editable), text=text)


def _with_approval(state: RunState, id: str, change: Callable[[Approval], Approval]) -> RunState:
    approvals = tuple(change(approval) if approval.id == id else approval for approval in state.approvals)
    state = replace(state, approvals=approvals)
    return replace(state, phase='waiting' if state.waits else 'running')


def superseded(state: RunState, id: str) -> RunState:
    """Take the buttons from a question that is asked elsewhere now; the run still waits."""
    return _with_approval(state, id, lambda approval: replace(approval, state='superseded'))


def decided(state: RunState, request: ApprovalRequest, decision: ApprovalDecision | None, now: float) -> RunState:
    """Show the answer to a question, and let its call go on or end."""
    if decision is None:
        return _with_approval(state, request.id, lambda approval: replace(approval, state='suspended'))
    reason = one_line(decision.reason, limit=500) if decision.reason else None
    if decision.verdict == 'deny':
        state = _with_approval(
            state, request.id, lambda it: replace(it, state='denied', reason=reason, channel=decision.channel)
        )
        return with_step(state, request.id, lambda it: replace(it, status='denied', note=_denied(reason)))

    args: dict[str, Any] = dict(request.args)
    editable = None
    if request.editable and decision.edited is not None:
        args[request.editable] = decision.edited
        editable = Editable(name=request.editable, text=mask_secrets(decision.edited))

    def approved(approval: Approval) -> Approval:
        return replace(
            approval,
            state='edited' if editable else 'approved',
            reason=reason,
            channel=decision.channel,
            editable=editable or approval.editable,
        )

    state = _with_approval(state, request.id, approved)
    return with_step(
        state,
        request.id,
        lambda step: replace(step, status='running', started=now, args=args_text(args), summary=call_summary(args)),
    )


def _denied(reason: str | None) -> str:
    return f'denied: "{reason}"' if reason else 'denied'


def returned(state: RunState, part: BaseToolReturnPart, contents: Sequence[object], now: float) -> RunState:
    """Show what a call returned; `contents` may hold pictures."""
    metadata = part.metadata if isinstance(part.metadata, Mapping) else {}
    status = _STATUS[part.outcome]
    if status == 'ok' and metadata.get('failed') is True:
        status = 'failed'
    result, truncated = result_text(part)
    summary = metadata.get('summary')
    verb = 'loaded ' if isinstance(part, LoadCapabilityReturnPart) else ''

    def settled(step: ToolStep) -> ToolStep:
        return replace(
            step,
            status=status,
            result=result,
            truncated=truncated,
            summary=_settled_summary(step, summary) if isinstance(summary, str) else f'{verb}{step.summary}',
            note=_note(part, step),
            seconds=None if step.started is None or status == 'denied' else round(max(0.0, now - step.started), 3),
            images=result_images(contents),
        )

    state = with_step(state, part.tool_call_id, settled)
    return with_files(state, _changes(state, part.tool_call_id, metadata)) if status == 'ok' else state


def _changes(state: RunState, id: str, metadata: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what a call did to files, but for what its subagents have reported themselves."""
    reported = any(isinstance(step, ToolStep) and step.id == id and step.subagents for step in state.steps)
    listed = metadata.get('files')
    changes = listed if isinstance(listed, Sequence) and not reported else ()
    return [change for change in (metadata.get('file'), *changes) if isinstance(change, Mapping)]


def _settled_summary(step: ToolStep, outcome: str) -> str:
    """Return what a tool says of its work; of what was executed also what it was.

    A step with subagents keeps what they were told: they say themselves what came of it.
    """
    if step.subagents:
        return step.summary
    if step.tool_class == 'execute' and step.summary:
        return f'{one_line(step.summary, limit=80)} → {one_line(outcome)}'
    return one_line(outcome)


def _note(part: BaseToolReturnPart, step: ToolStep) -> str | None:
    match part.outcome:
        case 'success':
            return None
        case 'denied':
            message = failure_line(part)
            return step.note or _denied(None if message == 'The tool call was denied.' else message)
        case 'interrupted':
            return 'interrupted'
        case _ if any(child.status == 'failed' for child in step.subagents):
            return None
        case _:
            return failure_line(part) or 'failed'


def with_files(state: RunState, changes: Iterable[Mapping[str, Any]]) -> RunState:
    """Add changes of files, as tools report them: `{'path', 'added', 'removed', 'diff'}`."""
    return replace(state, files=merged(state.files, changes))


def merged(
    files: tuple[FileChange, ...], changes: Iterable[Mapping[str, Any]], *, diffs: bool = True
) -> tuple[FileChange, ...]:
    """Return `files` with `changes` added to them, each path once."""
    by_path = {file.path: file for file in files}
    for change in changes:
        path = str(change.get('path', ''))
        before = by_path.get(path) or FileChange(path=path)
        diff = '\n'.join(filter(None, [before.diff.removesuffix('\n'), str(change.get('diff') or '')]))
        by_path[path] = FileChange(
            path=path,
            added=before.added + int(change.get('added') or 0),
            removed=before.removed + int(change.get('removed') or 0),
            diff=mask_and_clip(diff, FILE_DIFF_LIMIT)[0] if diffs else '',
        )
    return tuple(by_path.values())


def closed(state: RunState, *, suspended: bool) -> RunState:
    """Settle whatever is still open when a run ends."""

    def left(step: Step) -> Step:
        if not isinstance(step, ToolStep):
            return step
        step = replace(step, subagents=tuple(map(_left_alone, step.subagents)))
        if step.status not in ('running', 'waiting'):
            return step
        return step if suspended and step.status == 'waiting' else replace(step, status='interrupted', note=_cut(step))

    def unanswered(approval: Approval) -> Approval:
        if approval.state not in ('pending', 'superseded', 'suspended'):
            return approval
        return replace(approval, state='suspended' if suspended else 'cancelled')

    return replace(
        state,
        steps=tuple(map(left, state.steps)),
        approvals=tuple(map(unanswered, state.approvals)),
        questions=tuple(
            question if question.state == 'answered' else replace(question, state='unanswered')
            for question in state.questions
        ),
    )


def _left_alone(child: Subagent) -> Subagent:
    """Return a subagent whose run has ended above it, and with it its own."""
    return child if child.status != 'running' else replace(child, status='cancelled', line='stopped before it was done')


def _cut(step: ToolStep) -> str:
    if step.started is not None or step.tool_class == 'read':
        return 'interrupted'
    return f'interrupted, nothing was {"written" if step.tool_class == "write" else "run"}'

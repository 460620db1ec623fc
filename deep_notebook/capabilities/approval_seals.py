"""A question sealed with what must still hold when its call executes, and the way from questions to results.

The seal travels in the metadata of a deferred call: through the run, into the database while a run is suspended, and
back to the tool call when it is approved.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

from pydantic import JsonValue, TypeAdapter
from pydantic_ai import RunContext
from pydantic_ai.messages import ToolCallPart, ToolReturn
from pydantic_ai.tools import (
    DeferredToolApprovalResult,
    DeferredToolRequests,
    DeferredToolResults,
    ToolApproved,
    ToolDenied,
)
from pydantic_ai.toolsets import ToolsetTool
from pydantic_core import to_json, to_jsonable_python

from ..masking import MASK, is_secret_name, mask_secrets
from .approval_types import PREVIEW, ApprovalDecision, ApprovalRequest, Preview, PreviewFunction
from .tool_classes import tool_class

__all__ = [
    'Sealed',
    'digests',
    'is_asked_again',
    'preview_call',
    'request_of',
    'requests_of',
    'results_for',
    'results_of',
    'seal',
    'sealed_in',
    'to_metadata',
    'usable',
    'with_note',
]

_NOTE_LIMIT = 2_000
"""Characters of the difference that the model is shown when the person edited its text."""
_NOTE_DIFF_LINES = 2_000
"""Lines above which no difference is searched for."""


@dataclass(kw_only=True)
class Sealed:
    """A question as it is kept in a deferred call's metadata, with what must still hold when the call executes."""

    request: ApprovalRequest
    args: str
    """A digest of all arguments but the editable one."""
    text: str | None
    """A digest of the editable argument."""
    note: str | None = None
    """What to tell the model after the execution."""


_SEALED = TypeAdapter(Sealed)
_KEY = 'deep_notebook.approval'
_ASK_AGAIN: dict[str, Any] = {_KEY: 'ask again'}


def requests_of(requests: DeferredToolRequests) -> list[ApprovalRequest]:
    """Return the questions of a suspended run, in the order of its calls."""
    return [request_of(requests, call) for call in requests.approvals]


def results_of(requests: DeferredToolRequests, decisions: Mapping[str, ApprovalDecision]) -> DeferredToolResults:
    """Return what resumes a suspended run.

    Args:
        requests: What the run was suspended with.
        decisions: The answers by the id of the call. A call without one does not execute: it is asked about again.

    Raises:
        ValueError: A decision is for a call that does not wait.
    """
    waiting = {call.tool_call_id for call in requests.approvals}
    if unknown := sorted(decisions.keys() - waiting):
        raise ValueError(f'no call waits under {", ".join(map(repr, unknown))}')
    results = results_for(requests, decisions)
    for call_id in waiting - decisions.keys():
        # Every deferred call must get a result, so this one is let through to the gate, which stops it there.
        results.approvals[call_id] = ToolApproved()
        results.metadata[call_id] = _ASK_AGAIN
    return results


async def seal(args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any], *, asked_by: str) -> Sealed:
    """Return the question whether a call may be made, secrets masked, with what must hold when it is."""
    preview = await preview_call(args, ctx, tool)
    editable = preview.editable
    if editable is not None:
        text = args.get(editable)
        # A masked text cannot be edited: the mask would be written in place of the secret.
        if not isinstance(text, str) or mask_secrets(text) != text:
            editable = None
    shown = asdict(preview) | {'editable': editable, 'diff': preview.diff and mask_secrets(preview.diff)}
    request = ApprovalRequest(
        **shown,
        id=ctx.tool_call_id or '',
        tool=tool.tool_def.name,
        tool_class=tool_class(tool.tool_def),
        args=_masked_args(args),
        asked_by=asked_by,
    )
    rest, text_digest = digests(args, editable)
    return Sealed(request=request, args=rest, text=text_digest)


async def preview_call(args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]) -> Preview:
    """Return what a call would do, in the words of its tool if it has any."""
    preview: PreviewFunction | None = (tool.tool_def.metadata or {}).get(PREVIEW)
    return Preview(title=f'Run {tool.tool_def.name}?') if preview is None else await preview(ctx, args)


def digests(args: Mapping[str, Any], editable: str | None) -> tuple[str, str | None]:
    """Return digests of all arguments but the editable one, and of that one."""
    rest = {name: value for name, value in sorted(args.items()) if name != editable}
    return _digest(rest), None if editable is None else _digest(args.get(editable))


def _digest(value: Any) -> str:
    return sha256(to_json(value, fallback=repr, bytes_mode='base64')).hexdigest()


def _masked_args(args: Mapping[str, Any]) -> dict[str, JsonValue]:
    plain = to_jsonable_python(dict(args), fallback=repr, bytes_mode='base64')
    return {name: _masked(name, value) for name, value in plain.items()}


def _masked(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return MASK if is_secret_name(name) and value else mask_secrets(value)
    if isinstance(value, list):
        return [_masked(name, item) for item in value]
    if isinstance(value, dict):
        return {mask_secrets(key): _masked(key, item) for key, item in value.items()}
    return value


def to_metadata(sealed: Sealed) -> dict[str, Any]:
    """Return the metadata that keeps a question."""
    return {_KEY: _SEALED.dump_python(sealed, mode='json')}


def sealed_in(metadata: Any) -> Sealed | None:
    """Return the question that is kept in a deferred call's metadata, or `None` if there is none of ours."""
    stored = metadata.get(_KEY) if isinstance(metadata, dict) else None
    return _SEALED.validate_python(stored) if isinstance(stored, dict) else None


def is_asked_again(metadata: Any) -> bool:
    """Return whether a resumed call has no answer yet."""
    return bool(metadata == _ASK_AGAIN)


def request_of(requests: DeferredToolRequests, call: ToolCallPart) -> ApprovalRequest:
    """Return the question that a deferred call waits with."""
    sealed = sealed_in(requests.metadata.get(call.tool_call_id))
    if sealed is not None:
        return sealed.request
    # A tool that asks for approval by itself.
    return ApprovalRequest(
        title=f'Run {call.tool_name}?',
        id=call.tool_call_id,
        tool=call.tool_name,
        tool_class='write',
        args=_masked_args(call.args_as_dict()),
    )


def results_for(requests: DeferredToolRequests, decisions: Mapping[str, ApprovalDecision]) -> DeferredToolResults:
    """Return the results of the calls that are decided; the others are left out."""
    approvals: dict[str, bool | DeferredToolApprovalResult] = {}
    metadata: dict[str, dict[str, Any]] = {}
    for call in requests.approvals:
        if call.tool_call_id not in decisions:
            continue
        decision = usable(decisions[call.tool_call_id], request_of(requests, call))
        if decision.verdict == 'deny':
            approvals[call.tool_call_id] = _denied(decision.reason)
            continue
        sealed = sealed_in(requests.metadata.get(call.tool_call_id))
        override: dict[str, Any] | None = None
        if sealed is not None:
            name = sealed.request.editable
            if decision.edited is not None and name is not None:
                args = call.args_as_dict()
                override = {**args, name: decision.edited}
                note = _note(name, str(args.get(name, '')), decision.edited)
                sealed = replace(sealed, text=_digest(decision.edited), note=note)
            metadata[call.tool_call_id] = to_metadata(sealed)
        approvals[call.tool_call_id] = ToolApproved(override_args=override)
    return requests.build_results(approvals=approvals, metadata=metadata)


def usable(decision: ApprovalDecision, request: ApprovalRequest) -> ApprovalDecision:
    """Return `decision`, or a denial if it brings new text for a call whose text cannot be changed."""
    if decision.edited is None or request.editable is not None:
        return decision
    return replace(decision, verdict='deny', edited=None, reason='the changed text cannot be used here')


def _denied(reason: str | None) -> ToolDenied:
    said = f'The person said no: "{reason}".' if reason else 'The person said no.'
    return ToolDenied(f'{said} Nothing was done.')


def _note(name: str, before: str, after: str) -> str:
    said = f'The person changed `{name}` before approving; what ran is their text.'
    old, new = before.splitlines(), after.splitlines()
    if before == after or len(old) + len(new) > _NOTE_DIFF_LINES:
        return said
    changes = '\n'.join(list(difflib.unified_diff(old, new, lineterm='', n=1))[2:])
    return f'{said} Their changes:\n{changes[:_NOTE_LIMIT]}'


def with_note(result: Any, note: str) -> Any:
    """Return what a tool returned with `note` for the model after it; all else of a `ToolReturn` is kept."""
    returned = result if isinstance(result, ToolReturn) else ToolReturn(result)
    value = returned.return_value
    if isinstance(value, str):
        return replace(returned, return_value=f'{value}\n\n{note}')
    if isinstance(value, list):
        return replace(returned, return_value=[*value, note])
    content = returned.content or []
    return replace(returned, content=[*([content] if isinstance(content, str) else content), note])

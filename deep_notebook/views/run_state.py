"""From events to what a cell shows: `reduce(state, event)`, without side effects.

Events come from pydantic-ai's stream, from our capabilities and from whoever drives the run (`driver_events`).
An event that says nothing about what is shown leaves the state as it is, the very same object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import (
    DeferredToolRequestsEvent,
    FinalResultEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    NativeToolCallPart,
    NativeToolReturnPart,
    OutputToolCallEvent,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
)
from pydantic_ai.run import AgentRunResultEvent
from pydantic_ai.tools import DeferredToolRequests
from pydantic_core import to_json as to_json_bytes

from deep_notebook.capabilities.events import (
    ApprovalAskedEvent,
    ApprovalDecidedEvent,
    CompressionFailedEvent,
    ContextCompressedEvent,
    NoticeEvent,
    QuestionAnsweredEvent,
    QuestionAskedEvent,
    SubagentEndedEvent,
    SubagentProgressEvent,
    SubagentStartedEvent,
    TodosChangedEvent,
)
from deep_notebook.masking import mask_secrets

from . import _reduce_questions as questions
from . import _reduce_subagents as subagents
from . import _reduce_tools as tools
from ._tool_text import one_line
from .driver_events import (
    ApprovalSuperseded,
    NoticeGiven,
    QuestionSuperseded,
    RunFinished,
    RunStarted,
    ToolsKnown,
    UsageUpdated,
)
from .run_shape import (
    Approval,
    Choice,
    Editable,
    FileChange,
    Image,
    ModelInfo,
    Phase,
    Question,
    RunState,
    SayStep,
    Step,
    Subagent,
    Todo,
    ToolStep,
    Usage,
    from_json,
    to_json,
)

__all__ = [
    'Approval',
    'ApprovalSuperseded',
    'Choice',
    'Editable',
    'FileChange',
    'Image',
    'ModelInfo',
    'NoticeGiven',
    'Phase',
    'Question',
    'QuestionSuperseded',
    'RunFinished',
    'RunStarted',
    'RunState',
    'SayStep',
    'Step',
    'Subagent',
    'Todo',
    'ToolStep',
    'ToolsKnown',
    'Usage',
    'UsageUpdated',
    'from_json',
    'reduce',
    'to_json',
]

THINKING_LIMIT = 20_000
"""Characters of thinking that are kept."""


def reduce(state: RunState, event: object, *, now: float) -> RunState:
    """Return `state` after `event`.

    Args:
        state: The state so far, `RunState()` before the first event.
        event: A pydantic-ai stream event, a capability's event or a driver event.
        now: Unix seconds, for the times that a view shows.
    """
    if isinstance(event, RunStarted):
        return _run_started(event, now)
    if isinstance(event, UsageUpdated):
        return _use(state, event)
    if state.finished:
        return state
    after = _reduce_driver(state, event)
    if after is None:
        after = _reduce_response(state, event, now) or _reduce_tools(state, event, now)
        if after is not None and after.phase == 'starting':
            after = replace(after, phase='running')
    if after is None or after is state:
        return state
    return replace(after, elapsed=_seconds(now - state.started))


def _seconds(seconds: float) -> float:
    return round(max(0.0, seconds), 1)


def _run_started(event: RunStarted, now: float) -> RunState:
    return RunState(
        run=event.run,
        prompt=one_line(event.prompt, limit=200),
        model=event.model,
        banner=event.banner,
        started=event.at,
        elapsed=_seconds(now - event.at),
        usage=Usage(budget=event.budget),
    )


def _use(state: RunState, event: UsageUpdated) -> RunState:
    usage = Usage(
        requests=event.requests,
        input_tokens=event.input_tokens,
        output_tokens=event.output_tokens,
        cost=event.cost,
        priced=event.priced,
        budget=state.usage.budget,
    )
    return state if usage == state.usage else replace(state, usage=usage)


def _reduce_driver(state: RunState, event: object) -> RunState | None:
    match event:
        case ToolsKnown(classes=classes):
            return replace(state, tool_classes={**state.tool_classes, **classes})
        case NoticeGiven(text=text):
            return replace(state, notice=mask_secrets(text))
        case NoticeEvent(text=text):
            return _noticed(state, mask_secrets(text))
        case ContextCompressedEvent(messages=count):
            return _noticed(state, f'To make room, a summary took the place of {count} older messages; all are kept.')
        case CompressionFailedEvent(reason=reason):
            return _noticed(state, mask_secrets(f'The context is nearly full and could not be summarised: {reason}'))
        case ApprovalSuperseded(id=id):
            return tools.superseded(state, id)
        case QuestionSuperseded(id=id):
            return questions.superseded(state, id)
        case RunFinished():
            return _run_finished(state, event)
        case _:
            return None


def _noticed(state: RunState, text: str) -> RunState:
    before = state.notice or ''
    return state if text in before else replace(state, notice=f'{before} {text}'.lstrip())


def _run_finished(state: RunState, event: RunFinished) -> RunState:
    state = tools.closed(state, suspended=event.phase == 'suspended')
    return replace(
        state,
        phase=event.phase,
        error=mask_secrets(event.error) if event.error else None,
        notice=mask_secrets(event.notice) if event.notice else state.notice,
    )


def _reduce_response(state: RunState, event: object, now: float) -> RunState | None:
    """Handle what the model says: text, thinking, and calls while it writes them."""
    match event:
        case PartStartEvent():
            # Text left over when a new response begins was not the answer.
            return _part_started(_said(state) if event.index == 0 else state, event, now)
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return _say(state, text)
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text))):
            return _think(state, text)
        case PartEndEvent(part=ToolCallPart() | NativeToolCallPart() as part):
            return tools.updated(state, part)
        case FinalResultEvent(tool_call_id=str(id)) | OutputToolCallEvent(tool_call_id=id):
            return tools.removed(state, id)
        case AgentRunResultEvent():
            return _with_output(state, event.result.output)
        case _:
            return None


def _part_started(state: RunState, event: PartStartEvent, now: float) -> RunState:
    match event.part:
        case TextPart(content=text):
            goes_on = event.previous_part_kind == 'text' or not state.answer
            return _say(state, ('' if goes_on else '\n\n') + text)
        case ThinkingPart(content=text):
            goes_on = event.previous_part_kind == 'thinking' or not state.thinking
            return _think(state, ('' if goes_on else '\n\n') + text)
        case ToolCallPart() as part:
            return tools.called(_said(state), part)
        case NativeToolCallPart() as part:
            return tools.called(_said(state), part, tool_class='read', started=now)
        case NativeToolReturnPart() as part:
            return tools.returned(state, part, part.files, now)
        case _:
            return state


def _said(state: RunState) -> RunState:
    """Move text that turned out not to be the answer to the steps."""
    text = mask_secrets(state.raw_answer or state.answer).strip()
    state = replace(state, answer='', raw_answer='')
    return replace(state, steps=(*state.steps, SayStep(text=text))) if text else state


def _say(state: RunState, text: str) -> RunState:
    raw = state.raw_answer or state.answer
    return replace(state, raw_answer=raw + text, answer=_masked(raw, text, state.answer))


def _think(state: RunState, text: str) -> RunState:
    raw = state.raw_thinking or state.thinking
    room = THINKING_LIMIT - len(raw)
    if room <= 0:
        return state
    text = text if len(text) <= room else text[: room - 1] + '…'
    return replace(state, raw_thinking=raw + text, thinking=_masked(raw, text, state.thinking))


def _masked(raw: str, text: str, shown: str) -> str:
    """Return `raw + text` without secrets; `shown` is `raw` without them.

    A secret can be split between chunks, so the whole last line is looked at again, and all where keys span lines.
    """
    if '-----BEGIN' in raw + text:
        return mask_secrets(raw + text)
    line = raw[raw.rfind('\n') + 1 :] + text
    return shown[: shown.rfind('\n') + 1] + mask_secrets(line)


def _with_output(state: RunState, output: object) -> RunState:
    if output is None:
        return state
    if isinstance(output, DeferredToolRequests):
        return tools.waiting(state, output.approvals)
    if isinstance(output, str):
        return replace(state, raw_answer=output, answer=mask_secrets(output))
    text = to_json_bytes(output, indent=2, fallback=repr).decode()
    return _say(_said(state), f'```json\n{text}\n```')


def _reduce_tools(state: RunState, event: object, now: float) -> RunState | None:
    """Handle what becomes of the model's calls."""
    match event:
        case FunctionToolCallEvent(part=part):
            return tools.called(_said(state), part, started=now)
        case FunctionToolResultEvent(part=part, content=content):
            more: Sequence[object] = () if content is None or isinstance(content, str) else content
            return tools.returned(state, part, [*part.files, *more], now)
        case DeferredToolRequestsEvent(requests=requests):
            return tools.waiting(state, requests.approvals)
        case ApprovalAskedEvent(request=request, tool_call_id=call_id):
            return tools.asked(state, request, call_id)
        case ApprovalDecidedEvent(request=request, decision=decision):
            return tools.decided(state, request, decision, now)
        case TodosChangedEvent(todos=todos):
            return replace(state, todos=subagents.todos_of(todos))
        case QuestionAskedEvent():
            return questions.asked(state, event)
        case QuestionAnsweredEvent(id=id, answer=answer):
            return questions.answered(state, id, answer, now)
        case SubagentStartedEvent():
            return subagents.started(state, event)
        case SubagentProgressEvent():
            return subagents.progressed(state, event)
        case SubagentEndedEvent():
            return subagents.ended(state, event)
        case _:
            return None

"""Points of a conversation that one can go back to: saved as it goes on, or when the agent says so.

A checkpoint is taken when a step is settled, all its calls answered: whatever ran side by side, it can be continued
with any model and says of no call that it was interrupted that was not. `CheckpointMiddleware` takes them by itself;
`CheckpointCapability` and `CheckpointToolset` are the agent's tools. They are apart because a capability that is
loaded on demand does nothing before it is loaded.
"""

from __future__ import annotations

import re
import unicodedata
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from pydantic_ai import ModelRequestContext, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolReturn,
    ToolReturnPart,
    repair_messages,
)
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from ..errors import RewindRequested, did_you_mean
from ..store.checkpoints import (
    Checkpoint,
    CheckpointStore,
    CheckpointSummary,
    InMemoryCheckpointStore,
    restored_messages,
    save_automatic,
    summaries_of,
)
from .approvals import PREVIEW, Preview
from .tool_classes import READ, WRITE
from .tools import MethodTool

__all__ = [
    'Annotate',
    'CheckpointCapability',
    'CheckpointFrequency',
    'CheckpointMiddleware',
    'CheckpointToolset',
    'Foresee',
    'Foreseen',
]

CheckpointFrequency: TypeAlias = Literal['every_tool', 'every_turn', 'manual_only']

Annotate: TypeAlias = Callable[[RunContext[Any]], Mapping[str, Any]]
"""Returns what else to remember with a checkpoint that is taken now, as JSON, such as a place in a journal of files."""


class Foreseen(NamedTuple):
    """What going back to a checkpoint would do beside the conversation, for the question before it happens."""

    detail: str
    """A few words, such as `2 files changed back`."""
    diff: str | None = None
    before: str | None = None
    """A digest of what would be replaced: the answer is void once it has changed."""


Foresee: TypeAlias = Callable[[str], Awaitable[Foreseen]]
"""Returns what going back to the checkpoint with an id would do, where whoever started the run does more than that."""

_SAVING = 'checkpoint_saving'
_LABEL_LIMIT = 100
"""Characters of a label."""
_SHOWN = 50
"""Checkpoints that the agent is shown."""
_SHORT = 8
"""Characters of an id that the agent is shown; as many are enough to find it."""
_AUTOMATIC_LABEL = re.compile(r'auto-\d+')
_CHANGES_NOTHING = frozenset({'save_checkpoint', 'list_checkpoints', 'load_capability', 'search_tools'})
"""Tools whose results alone are no reason for an automatic checkpoint."""


@dataclass
class CheckpointMiddleware(AbstractCapability[AgentDepsT]):
    """Take checkpoints by itself, labelled `auto-<turn>`.

    With `every_tool` after each response whose calls were all answered, also when some failed; with `every_turn`
    before each model request; with `manual_only` never. When the store holds more than `max_checkpoints` of these,
    the oldest are forgotten; checkpoints that someone gave a label to are neither counted nor forgotten.

    The last state of a run is none of them: it is the history that the run returns.

    Raises:
        ValueError: A setting is not possible. The capability cannot be loaded on demand.
    """

    store: CheckpointStore | None = None
    """Where they are kept; in memory by default, for all runs of the agent."""
    frequency: CheckpointFrequency = 'every_tool'
    max_checkpoints: int = 20
    annotate: Annotate | None = field(default=None, kw_only=True, repr=False)
    """What else to remember with each checkpoint, in its `metadata`."""

    id: str | None = field(default=_SAVING, kw_only=True)
    description: str | None = field(default='Take checkpoints of the conversation by itself.', kw_only=True)

    _turns_before: int = field(default=0, init=False, repr=False, compare=False)
    _step: int = field(default=0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.frequency not in get_args(CheckpointFrequency):
            known = get_args(CheckpointFrequency)
            raise ValueError(f'frequency must be one of {known}, got {self.frequency!r}')
        if self.max_checkpoints < 1:
            raise ValueError(f'max_checkpoints must be 1 or more, got {self.max_checkpoints}')
        if self.defer_loading:
            raise ValueError('CheckpointMiddleware saves from the beginning of a run: it cannot be loaded on demand')
        if self.store is None:
            self.store = InMemoryCheckpointStore()

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> CheckpointMiddleware[AgentDepsT]:
        """Return a copy for one run."""
        copy = replace(self)
        copy._turns_before = _turns(ctx.messages)
        return copy

    async def prepare_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Take a checkpoint if it is time: once a step, when all that the request says is in the history."""
        if ctx.run_step == self._step:
            return request_context  # another attempt at the same request
        self._step = ctx.run_step
        last = ctx.messages[-1] if ctx.messages else None
        if self.frequency == 'manual_only' or self.store is None or not isinstance(last, ModelRequest):
            return request_context
        tool = _last_tool(last)
        if self.frequency == 'every_turn' or tool is not None:
            turn = self._turns_before + ctx.run_step - 1
            metadata = {'automatic': True, **({} if tool is None else {'last_tool': tool})}
            checkpoint = _checkpoint(ctx, f'auto-{turn}', turn, ctx.messages, metadata, self.annotate)
            await save_automatic(self.store, checkpoint, self.max_checkpoints)
        return request_context


class _Wanted(NamedTuple):
    """A checkpoint that the agent asked for in a response whose calls are not all answered yet."""

    id: str
    label: str
    ctx: RunContext[Any]


class CheckpointToolset(FunctionToolset[AgentDepsT]):
    """`save_checkpoint`, `list_checkpoints` and `rewind_to`.

    The agent sees the checkpoints of its own conversation only, and those that belong to none. `rewind_to` raises
    `RewindRequested` out of the run; to go back is for whoever started it.

    Args:
        store: Where checkpoints are kept; by default where the run's `CheckpointMiddleware` keeps its, else in
            memory.
        annotate: What else to remember with each checkpoint that is saved, in its `metadata`.
        foresee: What to tell the person, who is asked before the agent goes back.
        id: Distinguishes it from other toolsets of the agent.
    """

    def __init__(
        self,
        store: CheckpointStore | None = None,
        *,
        annotate: Annotate | None = None,
        foresee: Foresee | None = None,
        id: str | None = 'checkpoints',
    ) -> None:
        rewind_metadata = {**WRITE, PREVIEW: self._preview}
        super().__init__(
            [
                MethodTool(self.save_checkpoint, sequential=True, metadata={**READ}),
                MethodTool(self.list_checkpoints, metadata={**READ}),
                MethodTool(self.rewind_to, sequential=True, metadata=rewind_metadata),
            ],
            id=id,
        )
        self.store = store
        self.annotate = annotate
        self.foresee = foresee
        self._in_memory: CheckpointStore = InMemoryCheckpointStore()
        self._turns_before = 0
        self._wanted: list[_Wanted] = []

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        """Return a copy for one run."""
        copy = CheckpointToolset[AgentDepsT](self.store, annotate=self.annotate, foresee=self.foresee, id=self.id)
        copy._in_memory = self._in_memory
        copy._turns_before = _turns(ctx.messages)
        return copy

    async def for_run_step(self, ctx: RunContext[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        """Save what was asked for in the step before, now that all its calls are answered."""
        await self._save_wanted(ctx.messages)
        return self

    async def __aexit__(self, *args: Any) -> bool | None:
        """Save what was asked for in the last step, also when the run was cut short."""
        if self._wanted:
            messages = self._wanted[-1].ctx.messages
            # A stream keeps the results of its last response to itself; without them, the response is left out too.
            settled = messages[:-1] if _has_open_calls(messages) else messages
            await self._save_wanted(repair_messages(settled))
        return await super().__aexit__(*args)

    async def save_checkpoint(self, ctx: RunContext[Any], label: str) -> ToolReturn[str]:
        """Mark this point of the conversation, to go back to it if what comes next turns out wrong."""
        label = _normal(label)
        if not label or len(label) > _LABEL_LIMIT:
            raise ToolFailed(f'A label has 1 to {_LABEL_LIMIT} characters. Nothing was saved.')
        if _AUTOMATIC_LABEL.fullmatch(label):
            raise ToolFailed(f'{label!r} is for automatic checkpoints. Nothing was saved: take another label.')
        taken = {wanted.label: self._turns_before + wanted.ctx.run_step for wanted in self._wanted}
        taken |= {_normal(known.label): known.turn for known in await self._visible(ctx)}
        if label in taken:
            raise ToolFailed(
                f'There is a checkpoint {label!r} already, from turn {taken[label]}. Nothing was saved: take another '
                'label.'
            )
        self._wanted.append(_Wanted(str(uuid.uuid4()), label, ctx))
        text = f'The checkpoint {label!r} is saved as soon as all calls of this response are done.'
        return ToolReturn(text, metadata={'summary': label})

    async def list_checkpoints(self, ctx: RunContext[Any]) -> ToolReturn[str]:
        """List the checkpoints of this conversation, oldest first: label, id, turn, number of messages, time."""
        found = await self._visible(ctx)
        lines = [_line(summary) for summary in found[-_SHOWN:]]
        if len(found) > _SHOWN:
            lines.insert(0, f'… {len(found) - _SHOWN} older left out …')
        summary = f'{len(found)} checkpoint{"" if len(found) == 1 else "s"}'
        return ToolReturn('\n'.join(lines) or 'There are no checkpoints.', metadata={'summary': summary})

    async def rewind_to(self, ctx: RunContext[Any], checkpoint: str) -> ToolReturn[str]:
        """Go back to a checkpoint: your work ends here, and you will not remember what came after it.

        Args:
            checkpoint: Its label, or its id.
        """
        summary = await self._find(ctx, checkpoint)
        found = await self._store(ctx).get(summary.id)
        if found is None:
            raise ToolFailed(f'The checkpoint {summary.label!r} cannot be read any more. Nothing was changed.')
        raise RewindRequested(found.id, found.label, restored_messages(found), conversation_id=ctx.conversation_id)

    async def _preview(self, ctx: RunContext[Any], args: dict[str, Any]) -> Preview:
        summary = await self._find(ctx, args['checkpoint'])
        turns = self._turns_before + ctx.run_step
        detail = f'turn {summary.turn} of {turns} · {summary.message_count} of {len(ctx.messages)} messages stay'
        title = f'Go back to the checkpoint {summary.label!r}?'
        if self.foresee is None:
            return Preview(title=title, detail=detail)
        more = await self.foresee(summary.id)
        return Preview(title=title, detail=f'{detail} · {more.detail}', diff=more.diff, before=more.before)

    async def _find(self, ctx: RunContext[Any], wanted: str) -> CheckpointSummary:
        """Return the checkpoint with an id, a label, or an id that begins so.

        Raises:
            ToolFailed: There is none, or more than one.
        """
        visible = await self._visible(ctx)
        wanted = _normal(wanted)
        found = (
            [known for known in visible if known.id == wanted]
            or [known for known in visible if _normal(known.label) == wanted]
            or [known for known in visible if len(wanted) >= _SHORT and known.id.startswith(wanted)]
        )
        if len(found) == 1:
            return found[0]
        if found:
            lines = '\n'.join(map(_line, found[-_SHOWN:]))
            raise ToolFailed(f'{len(found)} checkpoints are called {wanted!r}. Say which by its id:\n{lines}')
        if not visible:
            raise ToolFailed('There are no checkpoints to go back to.')
        hint = did_you_mean(wanted, [known.label for known in visible])
        raise ToolFailed(f'There is no checkpoint {wanted!r}.{hint} list_checkpoints shows those there are.')

    async def _visible(self, ctx: RunContext[Any]) -> list[CheckpointSummary]:
        own = (None, ctx.conversation_id)
        known = await summaries_of(self._store(ctx))
        return [summary for summary in known if summary.metadata.get('conversation') in own]

    async def _save_wanted(self, messages: Sequence[ModelMessage]) -> None:
        while self._wanted:
            wanted = self._wanted[0]
            turn = self._turns_before + wanted.ctx.run_step
            checkpoint = _checkpoint(wanted.ctx, wanted.label, turn, messages, {}, self.annotate, id=wanted.id)
            await self._store(wanted.ctx).save(checkpoint)
            del self._wanted[0]

    def _store(self, ctx: RunContext[Any]) -> CheckpointStore:
        if self.store is not None:
            return self.store
        saving = ctx.capabilities.get(_SAVING)
        if isinstance(saving, CheckpointMiddleware) and saving.store is not None:
            return saving.store
        return self._in_memory


@dataclass
class CheckpointCapability(AbstractCapability[AgentDepsT]):
    """`CheckpointToolset` as a capability, which can also be loaded on demand.

    Automatic checkpoints are `CheckpointMiddleware`'s; by default the tools work on where it keeps them.
    """

    store: CheckpointStore | None = None
    annotate: Annotate | None = field(default=None, kw_only=True, repr=False)
    """What else to remember with each checkpoint, in its `metadata`."""
    foresee: Foresee | None = field(default=None, kw_only=True, repr=False)
    """What to tell the person, who is asked before the agent goes back."""

    id: str | None = field(default='checkpoints', kw_only=True)
    description: str | None = field(default='Mark points of the conversation, and go back to one.', kw_only=True)

    _tools: CheckpointToolset[AgentDepsT] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._tools = CheckpointToolset(self.store, annotate=self.annotate, foresee=self.foresee, id=self.id)

    def get_toolset(self) -> CheckpointToolset[AgentDepsT]:
        """Return the tools."""
        return self._tools


def _checkpoint(
    ctx: RunContext[Any],
    label: str,
    turn: int,
    messages: Sequence[ModelMessage],
    metadata: Mapping[str, Any],
    annotate: Annotate | None,
    *,
    id: str | None = None,
) -> Checkpoint:
    known = {'conversation': ctx.conversation_id, 'run': ctx.run_id}
    further = {} if annotate is None else annotate(ctx)
    return Checkpoint(
        id=id or str(uuid.uuid4()),
        label=label,
        turn=turn,
        messages=list(messages),
        metadata={**further, **known, **metadata},
    )


def _turns(messages: Sequence[ModelMessage]) -> int:
    return sum(isinstance(message, ModelResponse) for message in messages)


def _last_tool(request: ModelRequest) -> str | None:
    """Return the last tool that did something, if its result is in `request`."""
    did = [
        part.tool_name
        for part in request.parts
        if isinstance(part, ToolReturnPart)
        and part.outcome in ('success', 'failed')
        and part.tool_name not in _CHANGES_NOTHING
    ]
    return did[-1] if did else None


def _has_open_calls(messages: Sequence[ModelMessage]) -> bool:
    return bool(messages) and isinstance(messages[-1], ModelResponse) and bool(messages[-1].tool_calls)


def _normal(label: str) -> str:
    """Return a label on one line, in the one form of several that look the same."""
    return unicodedata.normalize('NFC', ' '.join(label.split()))


def _line(summary: CheckpointSummary) -> str:
    words = [f'turn {summary.turn}', f'{summary.message_count} messages', f'{summary.created_at:%H:%M}']
    if tool := summary.metadata.get('last_tool'):
        words.append(f'after {tool}')
    return f'- {summary.label} ({summary.id[:_SHORT]}) · {" · ".join(words)}'

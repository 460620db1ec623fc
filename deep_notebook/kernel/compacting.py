"""`%deep compact`: a summary in the place of all but the last turn of the conversation, when the person wants it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelMessage, repair_messages
from pydantic_ai.models import Model, infer_model
from pydantic_ai.usage import RunUsage

from ..capabilities.context_manager import ContextManagerCapability
from ..capabilities.context_size import estimate
from ..errors import UsageError
from ..masking import mask_secrets
from ..models.embedded import EmbeddedModel
from ..models.embedded_prompt import PROMPT_TOKENS
from ..models.resolve import ResolvedModel

if TYPE_CHECKING:
    from .session import NotebookSession

__all__ = ['compact']

_KEEP_MESSAGES = 2
_MIN_TOKENS = 500
"""A shorter conversation is about as long as its summary."""


async def compact(session: NotebookSession, who: ResolvedModel, focus: str | None) -> str:
    """Compress the conversation and return what came of it; the store keeps what the summary stands for.

    Args:
        session: The notebook's.
        who: Who answers in it, and summarises where the options do not say who does.
        focus: What the summary should keep above all.

    Raises:
        UsageError: It cannot be compressed now; it is as it was.
    """
    if session.one_run.locked():
        raise UsageError('A run is going on: compress the conversation when it has ended.')
    async with session.one_run:
        store = await session.store()
        waiting = await store.suspended_run()
        if waiting is not None:
            raise UsageError(
                f'Run {waiting.id} waits for your answer: `%deep approve` or `%deep deny` it first, then compress.'
            )
        history = repair_messages(await store.history())
        before = sum(map(estimate, history))
        if before < _MIN_TOKENS:
            return f'There is nothing to compress yet: the conversation has about {before:,} tokens.'
        model = who.model if who.model is not None else infer_model(getattr(who.agent, 'model', None) or '')
        usage = RunUsage()
        try:
            new = await _compressed(session, history, model, focus, usage)
        except Exception as error:
            # Whatever a provider raised: the person reads one line, and nothing was changed.
            reason = mask_secrets(f'{type(error).__name__}: {error}').strip().splitlines()[0]
            raise UsageError(f'The conversation is as it was, since it could not be summarised: {reason}') from error
        after = sum(map(estimate, new))
        spent = _spent(usage, who)
        if after >= before:
            return f'The conversation is as it was: its summary would not be shorter. {spent}'
        await store.sync(new)
    return (
        f'The conversation has about {after:,} tokens now, {before:,} before. {spent}\n'
        'What the summary stands for is kept: `%deep search` finds it, `%deep export` writes it.'
    )


async def _compressed(
    session: NotebookSession, history: list[ModelMessage], model: Model, focus: str | None, usage: RunUsage
) -> list[ModelMessage]:
    most, summariser = session.settled.spec.context_manager_max_tokens, session.settled['summarization_model']

    async def within(room: int | None) -> list[ModelMessage]:
        manager: ContextManagerCapability[None] = ContextManagerCapability(
            room, keep_messages=_KEEP_MESSAGES, summarization_model=summariser
        )
        return await manager.compact(history, model=model, focus=focus, usage=usage)

    if not isinstance(model, EmbeddedModel):
        return await within(most)
    # It reads less than its context has, and says at once when that was too much: of figures it takes few.
    for part in (1, 2):
        with suppress(UsageError):
            return await within(PROMPT_TOKENS // part)
    return await within(PROMPT_TOKENS // 4)


def _spent(usage: RunUsage, who: ResolvedModel) -> str:
    cost = 'no cost' if who.local else 'price unknown' if usage.cost is None else f'${usage.cost:.4f}'
    return f'The summary took {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out: {cost}.'

"""`%deep compact`: a summary in the place of all but the last turn of the conversation, when the person wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.messages import repair_messages
from pydantic_ai.models import infer_model
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
        most = session.settled.spec.context_manager_max_tokens
        if isinstance(model, EmbeddedModel):
            most = PROMPT_TOKENS // 2  # it reads less than its context has, and of figures half as much again
        manager: ContextManagerCapability[None] = ContextManagerCapability(
            most,
            keep_messages=_KEEP_MESSAGES,
            summarization_model=session.settled['summarization_model'],
        )
        usage = RunUsage()
        try:
            new = await manager.compact(history, model=model, focus=focus, usage=usage)
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


def _spent(usage: RunUsage, who: ResolvedModel) -> str:
    cost = 'no cost' if who.local else 'price unknown' if usage.cost is None else f'${usage.cost:.4f}'
    return f'The summary took {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out: {cost}.'

"""Keep a conversation within the context window of its model: measure it, and summarise what is old in time."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from pydantic_ai import AgentRunResult, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelRequest, UserContent
from pydantic_ai.models import Model, ModelRequestContext, infer_model
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.usage import RunUsage, UsageLimits

from ..errors import RunControl, StoreError
from ..store import SEARCH_TOOL, ConversationArchives, MessageArchive
from .context_size import context_size, estimate, last_measured
from .events import CompressionFailedEvent, ContextCompressedEvent
from .summaries import SummaryRequest, compressed, cut_index, summarise

__all__ = [
    'DEFAULT_COMPRESS_THRESHOLD',
    'DEFAULT_KEEP_MESSAGES',
    'DEFAULT_MAX_TOKENS',
    'ContextManagerCapability',
    'HistoryKeeper',
    'OnAfterCompress',
    'OnBeforeCompress',
    'OnContextUpdate',
]

DEFAULT_MAX_TOKENS = 200_000
"""The context window of a model that nobody knows."""
DEFAULT_COMPRESS_THRESHOLD = 0.9
DEFAULT_KEEP_MESSAGES = 20

_KEEP_SHARE = 0.25
"""How much of the context window the messages that stay may have."""
_MIN_GAIN = 0.1
"""How much of it has to be summarised for a summary to be worth its price."""
_RETRY_GROWTH = 0.05
"""How much of it is added before a summary that failed is tried again."""
_SEARCH_HINT = f'What is not in this summary is found with {SEARCH_TOOL}.'

_LOG = logging.getLogger(__name__)

OnContextUpdate: TypeAlias = Callable[[float, int, int], Awaitable[None] | None]
"""Told before each request: the share of the window that is used (1.0 is all), the tokens used, the tokens in all."""
OnBeforeCompress: TypeAlias = Callable[[list[ModelMessage], int], Awaitable[None] | None]
"""Told before a compression: the messages that will be summarised, and how many they are."""
OnAfterCompress: TypeAlias = Callable[[list[ModelMessage]], Awaitable[str | None] | str | None]
"""Told after a compression: the history as it is now. A text that it returns is added to the summary."""


class HistoryKeeper(Protocol):
    """Where a history is safe."""

    async def keep(self, history: Sequence[ModelMessage]) -> None:
        """Keep the messages of `history` for good.

        Raises:
            StoreError: That was not possible.
        """
        ...


@dataclass
class ContextManagerCapability(AbstractCapability[AgentDepsT]):
    """Measure how full the context is, and put a summary in the place of old messages before it overflows.

    The measure is what the provider counted for the last response, and an estimate of what was added since. When a
    request would pass the threshold, the messages that are summarised are first kept in the archive; the summary
    then takes their place in the history for good, so that there is one compression an overflow. The newest messages
    stay, calls with their results, and so do the prompt that is worked on, the system prompts, and what was loaded
    on demand. Where the archive or the summary fails, the history stays as it is, and the run goes on.

    The model is told in pydantic-ai's own way that it reads a summary (`pydantic_ai.messages.CompactionPart`).

    Raises:
        ValueError: A number is out of its range.
    """

    max_tokens: int | None = None
    """The size of the context; by default what is known of the model, or else `DEFAULT_MAX_TOKENS`."""
    compress_threshold: float = DEFAULT_COMPRESS_THRESHOLD
    """The share of it that may be used, above 0 and at most 1. Room for the `max_tokens` of the answer is kept too."""
    keep_messages: int = DEFAULT_KEEP_MESSAGES
    """The most messages that stay as they are; fewer do where they are large."""
    summarization_model: Model | str | None = None
    """Who summarises; the run's own model by default."""
    archive: HistoryKeeper | ConversationArchives | str | Path | None = None
    """Where messages are kept: a notebook's store, archives in memory, or the path of a `messages.json`, to which
    everything is also added at the end of a run. The same archive in `HistorySearch` finds them again."""
    on_context_update: OnContextUpdate | None = None
    on_before_compress: OnBeforeCompress | None = None
    on_after_compress: OnAfterCompress | None = None
    messages_path: str | Path | None = None
    """A `messages.json` that is written too, where the archive is something else."""

    id: str | None = field(default='context_manager', kw_only=True)
    description: str | None = field(default='Summarise old messages before the context overflows.', kw_only=True)

    _asked: list[str | None] = field(default_factory=list, init=False, repr=False, compare=False)
    """Compressions that were asked for, with what they should keep; the runs of one agent share this list."""
    _failed_at: int | None = field(default=None, init=False, repr=False, compare=False)
    """The size of the context when a summary failed in this run."""

    def __post_init__(self) -> None:
        if self.max_tokens is not None and self.max_tokens <= 0:
            raise ValueError(f'max_tokens must be more than 0, got {self.max_tokens}')
        if not 0 < self.compress_threshold <= 1:
            raise ValueError(f'compress_threshold must be above 0 and at most 1, got {self.compress_threshold}')
        if self.keep_messages < 1:
            raise ValueError(f'keep_messages must be 1 or more, got {self.keep_messages}')
        if isinstance(self.archive, (str, Path)):
            self.archive = MessageArchive(self.archive)

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> ContextManagerCapability[AgentDepsT]:
        """Return a copy for one run."""
        copy = replace(self)
        copy._asked = self._asked
        return copy

    def request_compact(self, focus: str | None = None) -> None:
        """Compress before the next request, however full the context is.

        Args:
            focus: What the summary should keep above all.
        """
        self._asked[:] = [focus]

    async def compact(
        self, history: Sequence[ModelMessage], *, model: Model, focus: str | None = None, usage: RunUsage | None = None
    ) -> list[ModelMessage]:
        """Return `history` compressed, outside of a run; the same messages if there is nothing to summarise.

        The caller keeps the history: nothing is archived here, and no callback is called.

        Args:
            history: A whole history.
            model: Whose context it is, and who summarises where `summarization_model` does not say.
            focus: What the summary should keep above all.
            usage: Counts the request.

        Raises:
            Exception: Whatever the model raised.
        """
        window = self._window(model)
        messages = list(history)
        cut = self._cut(messages, window)
        if cut is None:
            return messages
        request = self._request(model, window, focus, usage, None)
        return self._compressed(messages, cut, await summarise(messages[:cut], request), window)

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Measure the context, and compress it when it is too full or when that was asked for."""
        if not request_context.messages or not isinstance(request_context.messages[-1], ModelRequest):
            return request_context  # a response that the provider paused goes on as it is
        window = self._window(request_context.model)
        size = self._size(ctx, request_context)
        await self._update(size, window)
        asked = bool(self._asked)
        if asked or (size > self._limit(request_context, window) and self._may_try(size, window)):
            focus = self._asked.pop() if asked else None
            if await self._compress(ctx, request_context, size, window, focus, asked=asked):
                await self._update(self._size(ctx, request_context), window)
                if ctx.usage_limits is not None:
                    # pydantic-ai has checked them for this request before the summary took its share.
                    ctx.usage_limits.check_before_request(ctx.usage)
        return request_context

    async def after_run(self, ctx: RunContext[AgentDepsT], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Add the history to the `messages.json`, if there is one."""
        for keeper in self._keepers(ctx):
            if not isinstance(keeper, MessageArchive) or (keeper.path is None and keeper is not self.archive):
                continue
            try:
                await keeper.keep(result.all_messages())
            except StoreError as error:
                _LOG.warning('The history was not archived: %s', error)
        return result

    async def _compress(
        self,
        ctx: RunContext[AgentDepsT],
        request_context: ModelRequestContext,
        size: int,
        window: int,
        focus: str | None,
        *,
        asked: bool,
    ) -> bool:
        history = list(ctx.messages)
        cut = self._cut(history, window)
        if cut is None or (not asked and sum(map(estimate, history[:cut])) < window * _MIN_GAIN):
            return False
        dropped = history[:cut]
        await _call(self.on_before_compress, dropped, cut)
        request = self._request(request_context.model, window, focus, ctx.usage, ctx.usage_limits)
        try:
            for keeper in self._keepers(ctx):
                await keeper.keep(history)
            summary = await summarise(dropped, request)
        except (UsageLimitExceeded, RunControl):
            raise
        except Exception as error:
            # Whatever a provider or a disk raised: the run can go on without a summary, for now.
            await self._fail(ctx, size, error)
            return False
        if any(tool.name == SEARCH_TOOL for tool in request_context.model_request_parameters.function_tools):
            summary = f'{summary}\n\n{_SEARCH_HINT}'
        messages = self._compressed(history, cut, summary, window, prompt=ctx.prompt)
        added = await _call(self.on_after_compress, list(messages))
        if isinstance(added, str) and added:
            messages = self._compressed(history, cut, f'{summary}\n\n{added}', window, prompt=ctx.prompt)
        request_context.messages = _sent(request_context.messages, history, cut, messages)
        ctx.messages[:] = messages
        self._failed_at = None
        await ctx.emit(
            ContextCompressedEvent(
                messages=cut, summary=summary, tokens_before=size, tokens_after=self._size(ctx, request_context)
            )
        )
        return True

    async def _fail(self, ctx: RunContext[AgentDepsT], size: int, error: Exception) -> None:
        reason = f'{type(error).__name__}: {error}'
        if self._failed_at is None:
            _LOG.warning('The conversation was not compressed: %s', reason)
            await ctx.emit(CompressionFailedEvent(reason=reason))
        self._failed_at = size

    def _may_try(self, size: int, window: int) -> bool:
        return self._failed_at is None or size > self._failed_at + window * _RETRY_GROWTH

    def _cut(self, messages: Sequence[ModelMessage], window: int) -> int | None:
        return cut_index(messages, keep_messages=self.keep_messages, keep_tokens=int(window * _KEEP_SHARE))

    def _compressed(
        self,
        messages: Sequence[ModelMessage],
        cut: int,
        summary: str,
        window: int,
        *,
        prompt: str | Sequence[UserContent] | None = None,
    ) -> list[ModelMessage]:
        return compressed(messages, cut, summary, keep_tokens=int(window * _KEEP_SHARE), prompt=prompt)

    def _request(
        self, model: Model, window: int, focus: str | None, usage: RunUsage | None, limits: UsageLimits | None
    ) -> SummaryRequest:
        chosen = infer_model(self.summarization_model) if self.summarization_model is not None else model
        smaller = min(window, chosen.context_window or window)
        return SummaryRequest(model=chosen, max_tokens=smaller, focus=focus, usage=usage, usage_limits=limits)

    def _keepers(self, ctx: RunContext[AgentDepsT]) -> Iterator[HistoryKeeper]:
        if isinstance(self.archive, ConversationArchives):
            yield self.archive.of(ctx.conversation_id)
        elif self.archive is not None:
            assert not isinstance(self.archive, (str, Path))
            yield self.archive
        if self.messages_path is not None:
            yield MessageArchive(self.messages_path)

    def _window(self, model: Model) -> int:
        known = model.context_window
        if self.max_tokens is None:
            return known or DEFAULT_MAX_TOKENS
        return self.max_tokens if known is None else min(self.max_tokens, known)

    def _limit(self, request_context: ModelRequestContext, window: int) -> float:
        settings: Any = request_context.model_settings or {}
        answer = min(settings.get('max_tokens') or 0, window // 2)
        return min(self.compress_threshold * window, window - answer)

    def _size(self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext) -> int:
        messages = request_context.messages
        # pydantic-ai knows better where the usage of a response sums several requests to the model.
        used, known = ctx.context_window_used, ctx.model.context_window
        at = last_measured(messages)
        is_latest = at is not None and not any(message.kind == 'response' for message in messages[at + 1 :])
        measured = round(used * known) if used is not None and known is not None and is_latest else None
        return context_size(messages, request_context.model_request_parameters, measured=measured)

    async def _update(self, size: int, window: int) -> None:
        await _call(self.on_context_update, size / window, size, window)


async def _call(callback: Callable[..., Any] | None, *arguments: Any) -> Any:
    answer = None if callback is None else callback(*arguments)
    return await answer if isawaitable(answer) else answer


def _sent(
    sent: Sequence[ModelMessage], history: Sequence[ModelMessage], cut: int, messages: Sequence[ModelMessage]
) -> list[ModelMessage]:
    """Return what is sent after a compression: what other capabilities changed for this request alone stays so."""
    start = next((index for index, message in enumerate(sent) if message is history[cut]), None)
    if start is None:
        return list(messages)
    kept = len(history) - cut
    return [*messages[: len(messages) - kept], *sent[start:]]

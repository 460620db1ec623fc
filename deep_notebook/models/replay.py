"""Two models at pydantic-ai's `Model` boundary: one records what another answers, one answers from a recording.

Tools run for real in both. What pydantic-ai prepares for a particular provider happens on the far side of this
boundary, so a recording does not depend on how one provider wants its messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    TextPart,
    ThinkingPart,
    repair_messages,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings

from .normalise import CanonicalRequest
from .recording import CellDraft, ReplayedCell

__all__ = ['RecordingModel', 'ReplayModel']

_CHUNK = 24
"""Characters a streamed replay yields at once."""


class RecordingModel(WrapperModel):
    """Passes requests on to a model and notes its complete answers in a draft.

    Args:
        wrapped: Who answers.
        draft: Where it is noted; save it when the run is over.
    """

    def __init__(self, wrapped: Model, draft: CellDraft) -> None:
        super().__init__(wrapped)
        self._draft = draft

    @property
    def model_name(self) -> str:
        """The recorded name."""
        return self._draft.model.model_name

    @property
    def system(self) -> str:
        """The recorded provider."""
        return self._draft.model.system

    @property
    def model_id(self) -> str:
        """The recorded provider and name."""
        return self._draft.model.model_id

    def prepare_messages(
        self, messages: list[ModelMessage], model_request_parameters: ModelRequestParameters | None = None
    ) -> list[ModelMessage]:
        """Leave the messages alone: they are prepared for the wrapped model once they are noted."""
        return messages

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Pass the request on and note the answer."""
        place, request = self._begin(messages, model_settings, model_request_parameters)
        prepared = self._prepared(messages, model_request_parameters)
        response = await self.wrapped.request(prepared, model_settings, model_request_parameters)
        self._draft.add(place, request, response, tools=model_request_parameters.function_tools)
        return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Pass the request on and note the answer, unless the stream ends early."""
        place, request = self._begin(messages, model_settings, model_request_parameters)
        prepared = self._prepared(messages, model_request_parameters)
        async with self.wrapped.request_stream(
            prepared, model_settings, model_request_parameters, run_context
        ) as stream:
            yield stream
            response = stream.get()
        if response.state in ('complete', 'suspended'):
            self._draft.add(place, request, response, tools=model_request_parameters.function_tools)

    def _begin(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> tuple[int, CanonicalRequest]:
        # The canonical form is taken before the request: whoever answers may change what it is given.
        normaliser = self._draft.recording.normaliser
        return self._draft.reserve(), normaliser.request(messages, settings, parameters, model=self.model_id)

    def _prepared(self, messages: list[ModelMessage], parameters: ModelRequestParameters) -> list[ModelMessage]:
        prepared = self.wrapped.prepare_messages(messages, parameters)
        return messages if prepared is messages else repair_messages(prepared)


class ReplayModel(Model):
    """Answers from what was recorded of one cell; asks nobody, needs no key.

    Args:
        cell: What was recorded. A request that it does not hold raises `RecordingMissError`.
    """

    def __init__(self, cell: ReplayedCell) -> None:
        recorded = cell.recorded.model
        super().__init__(settings=ModelSettings(**recorded.settings), profile=ModelProfile(**recorded.profile))  # type: ignore[typeddict-item]
        self._cell = cell

    @property
    def model_name(self) -> str:
        """The recorded name."""
        return self._cell.recorded.model.model_name

    @property
    def system(self) -> str:
        """The recorded provider."""
        return self._cell.recorded.model.system

    def prepare_request(
        self, model_settings: ModelSettings | None, model_request_parameters: ModelRequestParameters
    ) -> tuple[ModelSettings | None, ModelRequestParameters]:
        """Leave everything alone: nothing is sent."""
        return model_settings, model_request_parameters

    def prepare_messages(
        self, messages: list[ModelMessage], model_request_parameters: ModelRequestParameters | None = None
    ) -> list[ModelMessage]:
        """Leave the messages alone: they are compared as they were noted."""
        return messages

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return the recorded answer."""
        return self._answer(messages, model_settings, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Stream the recorded answer in small pieces."""
        response = self._answer(messages, model_settings, model_request_parameters)
        yield _ReplayedStream(model_request_parameters, response)

    def _answer(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> ModelResponse:
        normaliser = self._cell.recording.normaliser
        answer = self._cell.answer(normaliser.request(messages, settings, parameters, model=self.model_id))
        # It is said now: whoever measures the context leaves out what was said before the latest compression.
        return replace(answer, timestamp=datetime.now(UTC))


@dataclass
class _ReplayedStream(StreamedResponse):
    response: ModelResponse
    _open: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        self._usage = self.response.usage
        self.provider_response_id = self.response.provider_response_id
        self.provider_details = self.response.provider_details
        self.canonical_system = self.response.canonical_system
        self.finish_reason = self.response.finish_reason
        self.state = self.response.state
        self.metadata = self.response.metadata

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        for index, part in enumerate(self.response.parts):
            first, *rest = _pieces(part)
            yield self._parts_manager.handle_part(vendor_part_id=index, part=first)
            for piece in rest:
                await asyncio.sleep(0)
                if not self._open:
                    return
                for event in self._deltas(index, piece):
                    yield event

    def _deltas(self, index: int, piece: ModelResponsePart) -> list[ModelResponseStreamEvent]:
        if isinstance(piece, TextPart):
            return list(self._parts_manager.handle_text_delta(vendor_part_id=index, content=piece.content))
        assert isinstance(piece, ThinkingPart)
        return list(self._parts_manager.handle_thinking_delta(vendor_part_id=index, content=piece.content))

    async def close_stream(self) -> None:
        self._open = False

    @property
    def model_name(self) -> str:
        return self.response.model_name or ''

    @property
    def provider_name(self) -> str | None:
        return self.response.provider_name

    @property
    def provider_url(self) -> str | None:
        return self.response.provider_url

    @property
    def timestamp(self) -> datetime:
        return self.response.timestamp


def _pieces(part: ModelResponsePart) -> list[ModelResponsePart]:
    """Cut the text of `part` up; the first piece keeps whatever else the part holds."""
    if not isinstance(part, (TextPart, ThinkingPart)) or len(part.content) <= _CHUNK:
        return [part]
    texts = [part.content[start : start + _CHUNK] for start in range(0, len(part.content), _CHUNK)]
    return [replace(part, content=text) for text in texts]

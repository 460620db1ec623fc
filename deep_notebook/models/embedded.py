"""The embedded local model: a real model without a key, on this machine's processor, and limited.

Qwen2.5-Coder-1.5B does not call tools natively (0 of 15 tries), so each request is two short completions: first one
JSON object, held to the schemas of the few tools it sees, then the long text that belongs to it as a plain block
(code, a file, the answer). It is right in plain one- and two-step jobs and often wrong beyond; it may claim success
after a failure. Whatever shows an answer of it shows `LABEL` beside it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar

from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponseStreamEvent
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettingName, ModelSettings
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RequestUsage

from deep_notebook.errors import UsageError

from .embedded_prompt import without_loads
from .embedded_runtime import CONTEXT_TOKENS, Complete, complete
from .embedded_tools import Catalogue
from .embedded_turn import MAX_REQUESTS
from .embedded_writer import Writer
from .weights_manifest import EMBEDDED

__all__ = ['LABEL', 'MAX_REQUESTS', 'EmbeddedModel']

LABEL = 'Qwen2.5-Coder-1.5B · local, limited'
"""What stands beside every answer of this model."""


class EmbeddedModel(Model):
    """Qwen2.5-Coder-1.5B-Instruct on llama.cpp, in this process.

    The weights (`deep-notebook model pull`) are loaded at the first request, in a thread; all instances of a process
    share one loaded model and wait for each other. Decoding is greedy. It reads text only and gives text and tool
    calls only. Of the settings, none but `max_tokens` has an effect, on the answer.

    Args:
        complete: Completes a prompt; the model of this process by default.
    """

    unsupported_settings: ClassVar[frozenset[ModelSettingName]] = frozenset(
        {
            *('temperature', 'top_p', 'top_k', 'timeout', 'max_retries', 'parallel_tool_calls', 'seed', 'citations'),
            *('presence_penalty', 'frequency_penalty', 'logit_bias', 'stop_sequences', 'extra_headers', 'extra_body'),
            'service_tier',
        }
    )

    def __init__(self, *, complete: Complete = complete) -> None:
        super().__init__(
            # The notice about look-alikes of framework frames would cost a fifth of the room for instructions.
            settings=ModelSettings(framing_announcement='never'),
            profile=ModelProfile(
                supports_tools=True,
                supports_json_schema_output=False,
                supports_image_input=False,
                supports_document_input=False,
                supports_audio_file_input=False,
                supports_video_input=False,
                context_window=CONTEXT_TOKENS,
            ),
        )
        self._complete = complete

    @property
    def model_name(self) -> str:
        """The name of the weights."""
        return EMBEDDED.name

    @property
    def system(self) -> str:
        """`'embedded'`."""
        return 'embedded'

    def prepare_messages(
        self, messages: list[ModelMessage], model_request_parameters: ModelRequestParameters | None = None
    ) -> list[ModelMessage]:
        """Leave out how capabilities were loaded, then prepare the messages as for any model."""
        return super().prepare_messages(without_loads(messages), model_request_parameters)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Answer `messages` in one piece; see `request_stream`."""
        async with self.request_stream(messages, model_settings, model_request_parameters) as stream:
            async for _ in stream:
                pass
            return stream.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Answer `messages`, the words as they are written; a tool call comes whole.

        Leaving the context, or being cancelled, stops the model within a second; it can be asked again at once.

        Raises:
            UsageError: the request holds or wants what this model cannot do, the weights are not here, or the
                prompt is too long.
        """
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        _refuse_other_outputs(parameters)
        tools = parameters.declared_function_tools
        instructions = self._get_instruction_parts(messages, parameters) or []
        stream = EmbeddedStream(
            model_request_parameters=parameters,
            name=self.model_name,
            writer=Writer(
                complete=self._complete,
                messages=messages,
                instructions=instructions,
                catalogue=Catalogue(tools) if tools else None,
                max_tokens=(settings or {}).get('max_tokens'),
            ),
        )
        try:
            yield stream
        finally:
            stream.stop()


def _refuse_other_outputs(parameters: ModelRequestParameters) -> None:
    if parameters.output_tools or parameters.output_object or not parameters.allow_text_output:
        raise UsageError('The embedded model answers in words only: choose another model for a structured output.')
    if parameters.native_tools:
        names = ', '.join(sorted(tool.kind for tool in parameters.native_tools))
        raise UsageError(f'The embedded model has no built-in tools ({names}): choose another model.')


@dataclass
class EmbeddedStream(StreamedResponse):
    """One reply of the embedded model while it is being written."""

    name: str
    writer: Writer
    _timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        try:
            async for item in self.writer.write():
                if isinstance(item, str):
                    for event in self._parts_manager.handle_text_delta(vendor_part_id='answer', content=item):
                        yield event
                else:
                    self.finish_reason = 'tool_call'
                    yield self._parts_manager.handle_tool_call_part(
                        vendor_part_id=None,
                        tool_name=item.tool_name,
                        args=item.args,
                        tool_call_id=item.tool_call_id,
                    )
            self.finish_reason = self.finish_reason or ('length' if self.writer.cut_off else 'stop')
        finally:
            spent = self.writer.spent
            self._usage = RequestUsage(
                input_tokens=spent.input,
                cache_read_tokens=spent.cached,
                output_tokens=spent.output,
                cost=Decimal(0),
            )

    def stop(self) -> None:
        """Let the model stop writing."""
        self.writer.stop()

    async def close_stream(self) -> None:
        """Let the model stop writing."""
        self.stop()

    @property
    def model_name(self) -> str:
        """The name of the weights."""
        return self.name

    @property
    def provider_name(self) -> str:
        """`'embedded'`."""
        return 'embedded'

    @property
    def provider_url(self) -> None:
        """None: nothing leaves this machine."""
        return None

    @property
    def timestamp(self) -> datetime:
        """When the reply was begun."""
        return self._timestamp

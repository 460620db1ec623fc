"""How much of its context window a model has before it: what was measured, and an estimate of what was added since."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextContent,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters

__all__ = ['COMPRESSED_AT', 'FILE_TOKENS', 'context_size', 'estimate', 'estimate_parameters', 'last_measured']

COMPRESSED_AT = 'deep_notebook.compressed_at'
"""The key in a `CompactionPart`'s metadata under which the time of a compression is, in ISO format."""
FILE_TOKENS = 1_500
"""What a picture or another file counts; Anthropic and OpenAI scale pictures to about as much."""
_BYTES_PER_TOKEN = 4
"""Of UTF-8: four letters of English, or one and a third Chinese signs."""


def context_size(
    messages: Sequence[ModelMessage],
    parameters: ModelRequestParameters | None = None,
    *,
    measured: int | None = None,
) -> int:
    """Return how many tokens a request with `messages` has.

    Args:
        messages: The history, with the request that is to be sent.
        parameters: The request's tools and instructions; they count where no response has measured them.
        measured: The context that the response of `last_measured` left behind, where that is known better than from
            its usage.
    """
    at = last_measured(messages)
    if at is None:
        return sum(map(estimate, messages)) + (0 if parameters is None else estimate_parameters(parameters))
    response = messages[at]
    assert isinstance(response, ModelResponse)
    used = response.usage.input_tokens + response.usage.output_tokens if measured is None else measured
    return used + sum(map(estimate, messages[at + 1 :]))


def last_measured(messages: Sequence[ModelMessage]) -> int | None:
    """Return the index of the latest response whose usage says how large the context is, or `None`.

    Responses from before a compression measured what is not there any more.
    """
    compressed = max((when for message in messages if (when := _compressed_at(message)) is not None), default=None)
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, ModelResponse) and message.usage.input_tokens:
            return index if compressed is None or message.timestamp.timestamp() > compressed else None
    return None


def estimate(message: ModelMessage) -> int:
    """Return about how many tokens `message` has."""
    return sum(map(_part, message.parts))


def estimate_parameters(parameters: ModelRequestParameters) -> int:
    """Return about how many tokens the tools and instructions of a request have."""
    tools = [
        f'{tool.name}{tool.description}{json.dumps(tool.parameters_json_schema)}'
        for tool in (*parameters.function_tools, *parameters.output_tools)
    ]
    instructions = [part.content for part in parameters.instruction_parts or []]
    return sum(map(_text, [*tools, *instructions]))


def _part(part: ModelRequestPart | ModelResponsePart) -> int:
    if isinstance(part, ToolCallPart):
        return _text(part.tool_name) + _text(part.args_as_json_str())
    if isinstance(part, ToolReturnPart):
        return _text(part.model_response_str()) + FILE_TOKENS * len(part.files)
    if isinstance(part, UserPromptPart):
        return _text(part.content) if isinstance(part.content, str) else sum(map(_item, part.content))
    content = getattr(part, 'content', None)
    return _text(content) if isinstance(content, str) else 0


def _item(item: Any) -> int:
    if isinstance(item, TextContent):
        return _text(item.content)
    return _text(item) if isinstance(item, str) else FILE_TOKENS


def _text(text: str | None) -> int:
    if not text:
        return 0
    return (len(text) if text.isascii() else len(text.encode('utf-8', 'replace'))) // _BYTES_PER_TOKEN


def _compressed_at(message: ModelMessage) -> float | None:
    if not isinstance(message, ModelRequest):
        return None
    for part in message.parts:
        if isinstance(part, CompactionPart) and (when := (part.metadata or {}).get(COMPRESSED_AT)) is not None:
            return datetime.fromisoformat(when).timestamp()
    return None

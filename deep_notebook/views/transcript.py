"""What was said and done in a conversation, as a reader follows it: who spoke, and each call with its result."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    ModelMessage,
    ModelRequest,
    RetryPromptPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

__all__ = ['Called', 'Entry', 'Prompted', 'Said', 'Summarised', 'transcript']


@dataclass(frozen=True)
class Prompted:
    """What the agent was asked."""

    text: str
    by_person: bool
    """Else it was told something by us, such as that a subagent is done."""


@dataclass(frozen=True)
class Said:
    """What the agent said, as Markdown."""

    text: str


@dataclass(frozen=True)
class Called:
    """A tool call of the agent."""

    call: ToolCallPart
    result: ToolReturnPart | RetryPromptPart | None
    """`None` where the conversation ends before it."""


@dataclass(frozen=True)
class Summarised:
    """From here on the agent saw this in the place of what stands above."""

    text: str


Entry: TypeAlias = Prompted | Said | Called | Summarised


def transcript(messages: Sequence[ModelMessage], *, prompts: Collection[str]) -> Iterator[Entry]:
    """Yield what happened in `messages`, in order; thinking, instructions and system prompts are left out.

    Args:
        messages: A conversation.
        prompts: What the person asked: what else comes in their place was not said by them.
    """
    results = _results(messages)
    for message in messages:
        for part in message.parts:
            match part:
                case UserPromptPart():
                    yield from _prompted(part.content, prompts)
                case CompactionPart(content=str(text)) if isinstance(message, ModelRequest):
                    yield Summarised(text)
                case TextPart(content=text) if text.strip():
                    yield Said(text)
                case ToolCallPart():
                    yield Called(part, results.get(id(part)))
                case _:
                    pass


def _results(messages: Sequence[ModelMessage]) -> dict[int, ToolReturnPart | RetryPromptPart]:
    """Return the results of calls, by the `id()` of the call: after a compression the ids of old calls come again."""
    results: dict[int, ToolReturnPart | RetryPromptPart] = {}
    waiting: dict[str, ToolCallPart] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                waiting[part.tool_call_id] = part
            elif isinstance(part, ToolReturnPart | RetryPromptPart) and part.tool_call_id in waiting:
                results[id(waiting.pop(part.tool_call_id))] = part
    return results


def _prompted(content: str | Sequence[UserContent], prompts: Collection[str]) -> Iterator[Prompted]:
    items = [content] if isinstance(content, str) else content
    texts = [(_text(item), isinstance(item, str)) for item in items]
    asked = [text for text, said in texts if said and text in prompts]
    if asked:
        # What stands beside the person's words is from us, but for what they showed.
        yield Prompted('\n\n'.join(text for text, said in texts if not said or text in prompts), by_person=True)
    elif text := '\n\n'.join(filter(None, (text for text, said in texts if said))):
        yield Prompted(text, by_person=False)


def _text(item: UserContent) -> str:
    match item:
        case str(text) | TextContent(content=text):
            return text
        case BinaryContent():
            return f'[{item.media_type}, {len(item.data):,} bytes]'
        case _:
            return f'[{getattr(item, "url", type(item).__name__)}]'

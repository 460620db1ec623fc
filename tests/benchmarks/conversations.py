"""Conversations to measure with."""

from __future__ import annotations

import random
from pydoc_data.topics import topics

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

__all__ = ['calls_and_results', 'prompts_and_answers']


def calls_and_results(count: int) -> list[ModelMessage]:
    """Return a conversation of `count` messages: a prompt, then calls and results of about 2 kB."""
    words = random.Random(7)
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart('Look at everything.')])]
    while len(messages) < count:
        text = ' '.join(words.choice(('alpha', 'beta', 'gamma', 'delta', 'Größe', '数据')) for _ in range(230))
        id = f'call_{len(messages)}'
        messages.append(ModelResponse(parts=[TextPart('Next.'), ToolCallPart('read', {'n': len(messages)}, id)]))
        messages.append(ModelRequest(parts=[ToolReturnPart('read', text, tool_call_id=id)]))
    return messages[:count]


def prompts_and_answers(count: int) -> list[ModelMessage]:
    """Return a conversation of `count` messages in English: a prompt, a call, its result, an answer, and again."""
    chance = random.Random(4)
    lines = [line.strip() for text in topics.values() for line in text.splitlines() if len(line.split()) > 5]

    def text(length: int) -> str:
        return '\n'.join(chance.choices(lines, k=length))

    messages: list[ModelMessage] = []
    for number in range(count // 4):
        call = ToolCallPart('read_file', {'path': f'{number}.py'}, f'c{number}')
        messages += [
            ModelRequest(parts=[UserPromptPart(text(2))]),
            ModelResponse(parts=[TextPart(text(1)), call]),
            ModelRequest(parts=[ToolReturnPart('read_file', text(30), f'c{number}')]),
            ModelResponse(parts=[TextPart(text(8))]),
        ]
    return messages

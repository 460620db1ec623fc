"""The scripted model behind the recorded tutorials: what it answers to each of their prompts.

It is no language model: each answer was written by hand, in one module for each notebook. The tools that it calls run
for real, and it reads their results where an answer depends on them. `record_tutorials.py` records it; the recordings
say "scripted".
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from . import approvals, files, history, skills, specs, subagents, travel
from .turns import Answer, Answers, Results, Turn

__all__ = ['tutorial_model']

_ANSWERS: Answers = {
    **approvals.ANSWERS,
    **files.ANSWERS,
    **subagents.ANSWERS,
    **skills.ANSWERS,
    **specs.ANSWERS,
    **travel.ANSWERS,
    **history.ANSWERS,
}


def tutorial_model() -> FunctionModel:
    """Return the scripted model."""
    return FunctionModel(_whole, stream_function=_streamed, model_name='scripted')


def _whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Answer in one piece, as it is wanted of a summary."""
    answer = _answer(messages, info)
    assert isinstance(answer, str)
    return ModelResponse(parts=[TextPart(answer)])


async def _streamed(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    answer = _answer(messages, info)
    if isinstance(answer, str):
        yield answer
        return
    for index, made in enumerate(answer):
        yield {
            index: DeltaToolCall(
                name=made.tool, json_args=json.dumps(made.args), tool_call_id=f'call-{len(messages)}-{index + 1}'
            )
        }


def _answer(messages: list[ModelMessage], info: AgentInfo) -> Answer:
    start, turns = _turn_under_way(messages)
    number = sum(isinstance(message, ModelResponse) for message in messages[start:])
    results = Results(
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    )
    results.instructions = info.instructions or ''
    turn = turns[number]
    return turn(results) if callable(turn) else turn


def _turn_under_way(messages: Sequence[ModelMessage]) -> tuple[int, list[Turn]]:
    """Return where the turn under way begins, and the answers to what was asked there.

    What else comes as a prompt, such as the report of a subagent, belongs to the turn.
    """
    for position in reversed(range(len(messages))):
        for part in messages[position].parts:
            if isinstance(part, UserPromptPart):
                prompt = part.content if isinstance(part.content, str) else str(part.content[-1])
                for begin, turns in _ANSWERS.items():
                    if prompt.startswith(begin):
                        return position, turns
    raise LookupError('nobody asked anything that is answered here')

"""What is loaded on demand replays from a recording, and does not confuse the embedded model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    AgentInstructionSource,
    InstructionDeltaPart,
    InstructionId,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from deep_notebook.capabilities.on_demand import LoadNamed, deferred
from deep_notebook.capabilities.plan import PlanCapability
from deep_notebook.capabilities.skills import SkillsCapability
from deep_notebook.capabilities.todos import Todos
from deep_notebook.capabilities.tool_classes import tool_class
from deep_notebook.models import Recording, RecordingModel, ReplayModel
from deep_notebook.models.embedded import EmbeddedModel
from deep_notebook.models.embedded_prompt import without_loads
from deep_notebook.models.recording import recording_path
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, tool_returns
from harness.scripted_completion import ScriptedCompletion

pytestmark = pytest.mark.anyio

Turns = Sequence[tuple[str, dict[str, Any]]]
LOAD_SKILLS = ('load_capability', {'id': 'skills'})
LIST_SKILLS: tuple[str, dict[str, Any]] = ('list_skills', {})


def calling(*calls: tuple[str, dict[str, Any]]) -> FunctionModel:
    """A model that makes one call after the other."""
    left = list(calls)

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if not left:
            yield 'Done.'
            return
        name, args = left.pop(0)
        yield {0: DeltaToolCall(name=name, json_args=json.dumps(args))}

    return FunctionModel(stream_function=stream)


async def run(model: Model, prompt: str, directory: Path, history: Sequence[ModelMessage] = ()) -> list[ModelMessage]:
    given = [*deferred([Todos(), SkillsCapability(), PlanCapability()]), LoadNamed()]
    agent: Agent[Any, str] = Agent(model, instructions='Be brief.', capabilities=given)
    async with agent.run_stream_events(
        prompt, deps=Deps(KernelWorkspace(directory)), message_history=list(history)
    ) as stream:
        async for _ in stream:
            pass
        return stream.all_messages()


@pytest.mark.parametrize(
    ('prompt', 'calls'),
    [('What is there?', [LOAD_SKILLS, LIST_SKILLS]), ('Which skills are there?', [LIST_SKILLS])],
    ids=['by the model', 'by the prompt'],
)
async def test_a_run_that_loaded_something_replays(tmp_path: Path, prompt: str, calls: Turns) -> None:
    path = recording_path(tmp_path, 'notebook')
    history: list[ModelMessage] = []
    for cell, cell_calls in (('a', calls), ('b', [LIST_SKILLS])):
        recording = Recording.open(path, workspace=tmp_path)
        model = calling(*cell_calls)
        draft = recording.record(cell, model, name='mine', tool_class=tool_class)
        history = await run(RecordingModel(model, draft), prompt, tmp_path, history)
        draft.save()

    replayed: list[ModelMessage] = []
    recording = Recording.load(path, workspace=tmp_path)
    for cell in ('a', 'b'):
        replayed = await run(ReplayModel(recording.cell(cell)), prompt, tmp_path, replayed)
    assert recording.unused() == []
    contents = [part.content for part in tool_returns(replayed)]
    assert contents == [part.content for part in tool_returns(history)]
    assert str(contents[-1]).startswith('- data-cleaning')


async def test_the_embedded_model_sees_neither_the_loader_nor_the_list_of_what_waits(tmp_path: Path) -> None:
    complete = ScriptedCompletion(['{"tool": "answer"}', '\n Hello.'])
    await run(EmbeddedModel(complete=complete), 'Hello', tmp_path)
    assert 'load_capability' not in complete.requests[0].prompt
    assert 'plan:' not in complete.requests[0].prompt
    assert 'context' not in complete.requests[0].prompt


async def test_the_embedded_model_has_what_the_prompt_names_and_hears_nothing_else_of_it(tmp_path: Path) -> None:
    complete = ScriptedCompletion(['{"tool": "list_skills"}', '{"tool": "answer"}', '\n Four.'])
    await run(EmbeddedModel(complete=complete), 'Count the skills', tmp_path)
    for request in complete.requests:
        assert '{"tool": "list_skills"}' in request.prompt
        assert 'now available' not in request.prompt
        assert 'load it with load_skill' not in request.prompt
        assert '<|im_start|>user\nCount the skills<|im_end|>' in request.prompt


async def test_the_embedded_model_goes_on_where_another_loaded(tmp_path: Path) -> None:
    history = await run(calling(LOAD_SKILLS, LIST_SKILLS), 'What is there?', tmp_path)
    complete = ScriptedCompletion(['{"tool": "answer"}', '\n Four.'])
    await run(EmbeddedModel(complete=complete), 'How many?', tmp_path, history)
    prompt = complete.requests[0].prompt
    assert 'load_capability' not in prompt
    assert 'Result of list_skills' in prompt
    assert prompt.count('<|im_start|>user') == 3, 'two prompts and one result'


def test_only_what_tells_of_a_load_is_left_out() -> None:
    call, returned = ToolCallPart('ls', {}, tool_call_id='1'), ToolReturnPart('ls', 'a', tool_call_id='1')
    loading = ToolCallPart('load_capability', {'id': 'x'}, tool_call_id='2')
    refused = ToolReturnPart('load_capability', 'No.', tool_call_id='2', outcome='retried')
    own = InstructionDeltaPart(id=InstructionId(AgentInstructionSource(), name='tone'), content='Rhyme.')
    messages: list[ModelMessage] = [
        ModelRequest([UserPromptPart('Hi')]),
        ModelResponse([loading]),
        ModelRequest([refused]),
        ModelResponse([call, loading]),
        ModelRequest([returned, refused, own]),
        ModelResponse([TextPart('Done.')]),
        ModelResponse([]),
    ]
    assert [message.parts for message in without_loads(messages)] == [
        [UserPromptPart('Hi', timestamp=messages[0].parts[0].timestamp)],  # type: ignore[union-attr]
        [call],
        [returned, own],
        [TextPart('Done.')],
        [],
    ]
    assert len(messages[3].parts) == 2, 'what is stored stays as it is'

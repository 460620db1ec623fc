"""What answers `%%deep` is what `create_deep_agent()` makes: nothing learnt in a script is wrong in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import CompactionPart, ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from deep_notebook import create_deep_agent
from deep_notebook.kernel.answering import live
from deep_notebook.kernel.session import NotebookSession
from deep_notebook.settling import settle

pytestmark = pytest.mark.anyio


def session(tmp_path: Path) -> NotebookSession:
    return NotebookSession(directory=tmp_path, notebook=None, database=tmp_path / 'session.db', namespace={})


async def first_request(agent: Agent[Any, Any], deps: Any) -> tuple[list[str], list[Any]]:
    model = TestModel(call_tools=[])
    await agent.run('Hi', deps=deps, model=model)
    parameters = model.last_model_request_parameters
    assert parameters is not None
    tools = [(tool.name, tool.description, tool.parameters_json_schema) for tool in parameters.function_tools]
    return [part.content for part in parameters.instruction_parts or []], tools


async def test_both_send_the_same_first_request(tmp_path: Path) -> None:
    (tmp_path / 'AGENTS.md').write_text('Use tabs.')
    notebook = session(tmp_path)
    told, tools = await first_request(notebook._agent(), notebook.deps)
    assert (told, tools) == await first_request(create_deep_agent(context_discovery=True), notebook.deps)
    assert any('Use tabs.' in text for text in told)


def test_an_agent_of_the_persons_answers_without_one_of_ours_being_made(tmp_path: Path) -> None:
    own = Agent(TestModel())
    notebook = NotebookSession(directory=tmp_path, notebook=None, database=tmp_path / 'x.db', namespace={'own': own})

    def make() -> Agent[Any, Any]:
        raise AssertionError

    assert live(notebook.resolve('own'), make).agent is own


async def test_options_of_a_file_hold_in_the_notebook_and_its_defaults_do_not_beat_them(tmp_path: Path) -> None:
    (tmp_path / 'AGENTS.md').write_text('Use tabs.')
    notebook = session(tmp_path)
    notebook.use(settle({'context_discovery': False, 'include_memory': False, 'instructions': 'Be brief.'}))
    told, tools = await first_request(notebook._agent(), notebook.deps)
    assert 'Be brief.' in told
    assert not any('Use tabs.' in text for text in told)
    assert 'read_memory' not in {name for name, _, _ in tools}


async def test_a_conversation_that_overflows_is_compressed_once_and_all_of_it_is_kept(tmp_path: Path) -> None:
    path, told, sent = tmp_path / 'messages.json', [], []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if 'transcript is material' in (info.instructions or ''):
            return ModelResponse(parts=[TextPart('They spoke of herons.')])
        sent.append(messages)
        return ModelResponse(parts=[TextPart(f'Heron{len(sent)}. {"It is so. " * 300}')])

    notebook = session(tmp_path)
    objects = {'on_context_update': lambda share, used, most: told.append((used, most))}
    notebook.use(settle({'history_messages_path': str(path), 'context_manager_max_tokens': 6_000, **objects}))
    store = await notebook.store()
    history: list[ModelMessage] = []
    for number in range(1, 13):
        agent, model = notebook._agent(), FunctionModel(answer)
        result = await agent.run(f'Question {number}?', model=model, deps=notebook.deps, message_history=history)
        history = result.all_messages()
        await store.sync(history)

    compressed = [any(isinstance(part, CompactionPart) for part in messages[0].parts) for messages in sent]
    assert 0 < compressed.count(True) < len(compressed)
    assert compressed == sorted(compressed)
    summaries = {part.content for messages in sent for part in messages[0].parts if isinstance(part, CompactionPart)}
    assert len(summaries) == 1
    assert all('Question' in str(messages[-1].parts[-1]) for messages in sent)
    assert max(used for used, most in told if most == 6_000) <= 6_000
    kept = str(ModelMessagesTypeAdapter.validate_json(path.read_bytes()))
    for number in range(1, 13):
        assert f'Question {number}?' in kept
        assert f'Heron{number}.' in kept
        assert (await store.search(f'Heron{number}'))[0].speaker == 'Assistant'
    transcript = str(await store.transcript(await store.conversation()))
    assert all(f'Heron{number}.' in transcript for number in range(1, 13))
    await notebook.close()

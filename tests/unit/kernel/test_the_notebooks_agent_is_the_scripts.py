"""What answers `%%deep` is what `create_deep_agent()` makes: nothing learnt in a script is wrong in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
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

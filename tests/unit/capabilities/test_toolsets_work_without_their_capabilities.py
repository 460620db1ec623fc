"""The plan and the files as toolsets of a plain agent: what the capabilities attach is not needed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults

import deep_notebook
from deep_notebook import StateBackend, create_console_toolset, create_todo_toolset
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, play

pytestmark = pytest.mark.anyio

PLAN = ('write_todos', {'todos': [{'content': 'Read', 'status': 'in_progress'}]})


async def test_files_are_those_of_the_deps(tmp_path: Path) -> None:
    played = await play(
        [('write_file', {'path': 'a.txt', 'content': 'one\n'})],
        [('read_file', {'path': 'a.txt'})],
        capabilities=[],
        toolsets=[create_console_toolset(edit_format='str_replace', require_execute_approval=False)],
        deps=Deps(KernelWorkspace(tmp_path)),
    )
    assert (tmp_path / 'a.txt').read_text() == 'one\n'
    assert 'one' in played.texts[1]
    assert played.tools == ['ls', 'read_file', 'glob', 'grep', 'write_file', 'edit_file', 'execute']


async def test_there_are_no_commands_where_none_can_run() -> None:
    played = await play(capabilities=[], toolsets=[create_console_toolset()], deps=Deps(StateBackend()))
    assert 'execute' not in played.tools


@pytest.mark.parametrize(('writes', 'asked'), [(False, ['execute']), (True, ['write_file', 'execute'])])
async def test_what_needs_a_yes_waits_for_one(tmp_path: Path, writes: bool, asked: list[str]) -> None:
    toolsets = [create_console_toolset(require_write_approval=writes)]
    calls = [('write_file', {'path': 'a.txt', 'content': 'one\n'}), ('execute', {'command': 'echo > b.txt'})]
    deps = Deps(KernelWorkspace(tmp_path))
    played = await play(calls, capabilities=[], toolsets=toolsets, deps=deps)
    assert isinstance(played.output, DeferredToolRequests)
    assert [call.tool_name for call in played.output.approvals] == asked
    assert not (tmp_path / 'b.txt').exists()
    assert (tmp_path / 'a.txt').exists() is not writes

    yes = DeferredToolResults(approvals={call.tool_call_id: True for call in played.output.approvals})
    await play(capabilities=[], toolsets=toolsets, deps=deps, history=played.messages, results=yes)
    assert (tmp_path / 'a.txt').exists()
    assert (tmp_path / 'b.txt').exists()


async def test_an_edit_of_what_changed_meanwhile_is_refused_there_too(tmp_path: Path) -> None:
    file = tmp_path / 'a.txt'
    file.write_text('one\n')

    def meanwhile(_: Any) -> list[Any]:
        file.write_text('mine\n')
        return [('write_file', {'path': 'a.txt', 'content': 'two\n'})]

    played = await play(
        [('read_file', {'path': 'a.txt'})],
        meanwhile,
        capabilities=[],
        toolsets=[create_console_toolset()],
        deps=Deps(KernelWorkspace(tmp_path)),
    )
    assert 'read it again' in played.texts[1]
    assert file.read_text() == 'mine\n'


async def test_the_plan_is_in_the_deps() -> None:
    deps = Deps(StateBackend())
    await play([PLAN], capabilities=[], toolsets=[create_todo_toolset()], deps=deps)
    assert [todo.content for todo in deps.todos] == ['Read']


async def test_without_deps_the_plan_is_in_the_storage() -> None:
    storage = Deps(StateBackend())
    toolset = create_todo_toolset(storage)
    await play([PLAN], capabilities=[], toolsets=[toolset])
    played = await play([('read_todos', {})], capabilities=[], toolsets=[toolset])
    assert [todo.content for todo in storage.todos] == ['Read']
    assert played.texts == ['- [*] [1] Read']


async def test_without_either_each_run_has_its_own() -> None:
    toolset = create_todo_toolset()
    first, second = await asyncio.gather(
        play([PLAN], [('read_todos', {})], capabilities=[], toolsets=[toolset]),
        play([('read_todos', {})], capabilities=[], toolsets=[toolset]),
    )
    assert first.texts[1] == '- [*] [1] Read'
    assert second.texts == ['The list is empty.']


@pytest.mark.parametrize('name', ['create_console_toolset', 'create_plan_toolset', 'create_todo_toolset'])
async def test_the_model_is_told_how_to_use_them(name: str) -> None:
    model = TestModel(call_tools=[])
    agent = Agent(model, toolsets=[getattr(deep_notebook, name)()], deps_type=Deps)
    await agent.run('go', deps=Deps(StateBackend()))
    assert model.last_model_request_parameters is not None
    assert model.last_model_request_parameters.function_tools

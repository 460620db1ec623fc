"""In review mode what the journal covers happens at once; everything else still needs a yes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import RunContext, Tool
from pydantic_ai.toolsets import FunctionToolset

from deep_notebook.capabilities.approvals import (
    PREVIEW,
    ApprovalDecision,
    ApprovalGate,
    ApprovalRequest,
    Preview,
    requests_of,
)
from deep_notebook.capabilities.checkpoints import CheckpointCapability
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.memory import MemoryCapability
from deep_notebook.capabilities.subagents import SubAgentCapability
from deep_notebook.capabilities.tool_classes import WRITE as WRITE_CLASS
from deep_notebook.errors import UsageError
from deep_notebook.store.checkpoints import InMemoryCheckpointStore
from deep_notebook.workspaces import KernelWorkspace
from harness.cast import Cast, perform
from harness.play import Deps, Played, names, play

pytestmark = pytest.mark.anyio

WRITE = ('write_file', {'path': 'a', 'content': 'one\ntwo\n'})
EDIT = ('edit_file', {'path': 'a', 'old_string': 'two', 'new_string': '2'})
COMMAND = ('execute', {'command': 'touch b'})


@dataclass
class Person:
    asked: list[ApprovalRequest] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
        self.asked.append(request)
        await asyncio.sleep(0)
        return ApprovalDecision(verdict='deny' if request.tool == 'rewind_to' else 'approve', channel='widget')

    async def denied(self, request: ApprovalRequest) -> None:
        self.heard.append(request.tool)

    @property
    def tools(self) -> list[str]:
        return [request.tool for request in self.asked]


def review(person: Person | None, **options: Any) -> ApprovalGate[Any]:
    return ApprovalGate('review', person, journalled=True, **options)


async def run(tmp_path: Path, *turns: Any, gate: ApprovalGate[Any], **options: Any) -> Played:
    capabilities = [
        Filesystem('str_replace'),
        MemoryCapability(memory_dir='notes'),
        CheckpointCapability(InMemoryCheckpointStore()),
        gate,
    ]
    return await play(*turns, capabilities=capabilities, deps=Deps(KernelWorkspace(tmp_path)), **options)


async def test_writes_and_edits_happen_and_a_command_asks(tmp_path: Path) -> None:
    person = Person()
    note = ('write_memory', {'content': 'noted\n'})
    await run(tmp_path, [WRITE], [EDIT], [note], [COMMAND], gate=review(person))
    assert person.tools == ['execute']
    assert (tmp_path / 'a').read_text() == 'one\n2\n'
    assert names(tmp_path) == ['a', 'b', 'notes']


async def test_a_tool_that_does_more_than_write_the_file_it_names_asks(tmp_path: Path) -> None:
    def publish() -> str:
        return 'published'

    async def preview(ctx: RunContext[Any], args: dict[str, Any]) -> Preview:
        return Preview(title='Publish?', path='report.md')

    person = Person()
    tools = FunctionToolset[Any]([Tool(publish, metadata={**WRITE_CLASS, PREVIEW: preview})])
    await run(tmp_path, [('publish', {})], gate=review(person), toolsets=[tools])
    assert person.tools == ['publish']


async def test_what_says_no_class_and_a_rewind_ask(tmp_path: Path) -> None:
    def publish() -> str:
        return 'published'

    person = Person()
    await run(
        tmp_path,
        [('publish', {}), ('save_checkpoint', {'label': 'here'})],
        [('rewind_to', {'checkpoint': 'here'})],
        gate=review(person),
        toolsets=[FunctionToolset([publish])],
    )
    assert person.tools == ['publish', 'rewind_to']


@pytest.mark.parametrize(
    'path', ['.deep/skills/report/run.py', '.git/hooks/pre-commit', 'lib/.Git/config', 'link/pre-commit']
)
async def test_a_write_that_no_journal_keeps_asks(tmp_path: Path, path: str) -> None:
    """Skills, and the hooks of version control, run as code later, and what lies there is not journalled."""
    (tmp_path / '.git' / 'hooks').mkdir(parents=True)
    (tmp_path / 'link').symlink_to('.git/hooks')
    person = Person()
    await run(tmp_path, [('write_file', {'path': f'x/../{path}', 'content': 'x\n'})], gate=review(person))
    assert [request.path for request in person.asked] == [path]


async def test_explicit_choices_win(tmp_path: Path) -> None:
    person = Person()
    await run(tmp_path, [WRITE, COMMAND], gate=review(person, interrupt_on={'write_file': True, 'execute': False}))
    assert person.tools == ['write_file']


async def test_where_nobody_is_writes_happen_and_commands_are_denied_with_the_remedy(tmp_path: Path) -> None:
    person = Person()
    played = await run(tmp_path, [WRITE, COMMAND], gate=review(person, attended=False))
    assert names(tmp_path) == ['a']
    assert played.output == 'done'
    assert (person.tools, person.heard) == ([], ['execute'])
    assert '%%deep --approve auto' in played.texts[1]


async def test_what_nobody_can_decide_now_is_suspended(tmp_path: Path) -> None:
    played = await run(tmp_path, [WRITE, COMMAND], gate=review(None))
    assert [request.tool for request in requests_of(played.output)] == ['execute']
    assert names(tmp_path) == ['a']


async def test_subagents_inherit_it(tmp_path: Path) -> None:
    person = Person()
    cast = Cast({'go': [[('task', {'description': 'a'})], 'end'], 'a': [[WRITE], [COMMAND], 'done']})
    await perform(cast, SubAgentCapability(), review(person), deps=Deps(KernelWorkspace(tmp_path)))
    assert [(request.tool, request.asked_by) for request in person.asked] == [('execute', 'general')]
    assert names(tmp_path) == ['a', 'b']


async def test_without_a_journal_it_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'review' needs a notebook.*take 'ask' or 'auto'"):
        await run(tmp_path, [WRITE], gate=ApprovalGate('review', Person()))
    assert names(tmp_path) == []

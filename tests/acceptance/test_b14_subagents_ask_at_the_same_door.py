"""B14 (deepagents PR#2334): a subagent's write asks as its parent's would, with its name on it; headless is denied."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deep_notebook.capabilities.approvals import ApprovalDecision, ApprovalGate, ApprovalRequest
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.subagents import SubAgentCapability
from deep_notebook.workspaces import KernelWorkspace
from harness.cast import Cast, perform, texts_of
from harness.play import Deps, names

pytestmark = pytest.mark.anyio

WRITE = [('write_file', {'path': 'report.md', 'content': '# Report\n\nFine.\n'})]


class Person:
    def __init__(self, verdict: Any) -> None:
        self.verdict = verdict
        self.asked: list[ApprovalRequest] = []

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
        self.asked.append(request)
        return None if self.verdict is None else ApprovalDecision(verdict=self.verdict, channel='widget')


def delegating(background: bool = False) -> Cast:
    task = ('task', {'description': 'report', 'subagent_type': 'general', 'background': background})
    return Cast({'go': [[task], 'hm', 'end'], 'report': [WRITE, lambda messages: texts_of(messages)[-1]]})


async def run(cast: Cast, gate: ApprovalGate[Any], root: Path) -> Any:
    async with asyncio.timeout(20):
        return await perform(cast, Filesystem(), SubAgentCapability(), gate, deps=Deps(KernelWorkspace(root)))


@pytest.mark.parametrize('background', [False, True])
async def test_the_question_is_the_parents_own_with_the_subagents_name(tmp_path: Path, background: bool) -> None:
    parent, child = Person('approve'), Person('approve')
    (tmp_path / 'one').mkdir()
    (tmp_path / 'two').mkdir()
    await run(Cast({'go': [WRITE, 'end']}), ApprovalGate(approver=parent), tmp_path / 'one')
    await run(delegating(background), ApprovalGate(approver=child), tmp_path / 'two')
    [own], [its] = parent.asked, child.asked
    assert (own.asked_by, its.asked_by) == ('main', 'general')
    assert replace(its, asked_by=own.asked_by, id=own.id) == own
    assert (tmp_path / 'two' / 'report.md').read_text() == '# Report\n\nFine.\n'


@pytest.mark.parametrize('background', [False, True])
async def test_a_no_is_a_no(tmp_path: Path, background: bool) -> None:
    cast = delegating(background)
    await run(cast, ApprovalGate(approver=Person('deny')), tmp_path)
    assert texts_of(cast.requests_of('report')[-1].messages) == ['The person said no. Nothing was done.']
    assert names(tmp_path) == []


HEADLESS = {
    'nobody was ever there': ApprovalGate[Any](),
    'nobody can decide now': ApprovalGate[Any](approver=Person(None)),
    'nobody is to be asked': ApprovalGate[Any]('deny', Person('approve')),
}


@pytest.mark.parametrize('background', [False, True])
@pytest.mark.parametrize('gate', HEADLESS.values(), ids=HEADLESS)
async def test_headless_is_denied_and_does_not_hang(tmp_path: Path, gate: ApprovalGate[Any], background: bool) -> None:
    cast = delegating(background)
    played = await run(cast, gate, tmp_path)
    [denied] = texts_of(cast.requests_of('report')[-1].messages)
    assert 'nobody' in denied
    assert 'write_file' in denied
    assert isinstance(played.output, str)
    assert names(tmp_path) == []

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.tools import DeferredToolRequests

from deep_notebook.capabilities.approvals import ApprovalGate, requests_of
from deep_notebook.capabilities.memory import MemoryCapability
from deep_notebook.capabilities.plan import PlanCapability
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Call, Deps, play

pytestmark = pytest.mark.anyio

NOTE: Call = ('write_memory', {'content': '- port 8080'})
PLAN: Call = ('save_plan', {'title': 'Move it', 'steps': [{'title': 'Look'}]})


@dataclass(frozen=True)
class Case:
    capability: Any
    call: Call
    file: str


OWN = [
    Case(MemoryCapability(), NOTE, '.deep/memory/main/MEMORY.md'),
    Case(MemoryCapability(memory_dir='.deep/memory/team'), NOTE, '.deep/memory/team/main/MEMORY.md'),
    Case(PlanCapability(), PLAN, '.deep/plans/move-it.md'),
]
THE_PERSONS = [
    Case(MemoryCapability(memory_dir='notes'), NOTE, 'notes/main/MEMORY.md'),
    Case(MemoryCapability(memory_dir='.deep/memory/../../notes'), NOTE, 'notes/main/MEMORY.md'),
    Case(PlanCapability(plans_dir='docs/plans'), PLAN, 'docs/plans/move-it.md'),
]


@pytest.mark.parametrize('case', OWN, ids=lambda case: case.file)
async def test_in_its_own_spot_an_agent_writes_without_a_question(tmp_path: Path, case: Case) -> None:
    gate = ApprovalGate(mode='deny')
    await play([case.call], capabilities=[case.capability, gate], deps=Deps(KernelWorkspace(tmp_path)))
    assert (tmp_path / case.file).is_file()


@pytest.mark.parametrize('case', THE_PERSONS, ids=lambda case: case.file)
async def test_among_the_persons_files_it_asks_with_a_diff(tmp_path: Path, case: Case) -> None:
    deps = Deps(KernelWorkspace(tmp_path))
    played = await play([case.call], capabilities=[case.capability, ApprovalGate()], deps=deps)
    assert isinstance(played.output, DeferredToolRequests)
    (request,) = requests_of(played.output)
    assert request.title == f'Write {case.file}?'
    assert request.diff is not None
    assert not (tmp_path / case.file).exists()


async def test_the_person_can_edit_what_gets_noted_among_their_files(tmp_path: Path) -> None:
    deps = Deps(KernelWorkspace(tmp_path))
    capabilities = [MemoryCapability(memory_dir='notes'), ApprovalGate()]
    (tmp_path / 'notes' / 'main').mkdir(parents=True)
    (tmp_path / 'notes' / 'main' / 'MEMORY.md').write_text('a\n')
    played = await play(
        [NOTE, ('update_memory', {'old_string': 'a', 'new_string': 'b'})], capabilities=capabilities, deps=deps
    )
    assert [request.editable for request in requests_of(played.output)] == ['content', 'new_string']


async def test_a_link_in_its_own_spot_leads_no_plan_out_of_it(tmp_path: Path) -> None:
    (tmp_path / 'src').mkdir()
    (tmp_path / '.deep').mkdir()
    (tmp_path / '.deep' / 'plans').symlink_to('../src')
    played = await play([PLAN], capabilities=[PlanCapability()], deps=Deps(KernelWorkspace(tmp_path)))
    assert played.returns[0].outcome == 'failed'
    assert list((tmp_path / 'src').iterdir()) == []

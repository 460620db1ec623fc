"""In a notebook, what the deep agent changes is kept; what an agent of the person's own changes is not our business."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from deep_notebook.capabilities.journal import Journaling
from deep_notebook.kernel.run import Outcome, RunInput
from deep_notebook.kernel.session import NotebookSession
from deep_notebook.workspaces import KernelWorkspace

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize('ours', [True, False])
async def test_runs_of_the_deep_agent_are_journalled(tmp_path: Path, ours: bool) -> None:
    session = NotebookSession(
        directory=tmp_path, notebook=tmp_path / 'a.ipynb', database=tmp_path / 'session.db', namespace={}
    )
    given: list[RunInput] = []
    told: list[Any] = []

    async def drive(run_input: RunInput) -> Outcome:
        given.append(run_input)
        return Outcome(run=3, phase='done')

    await session.store()
    run: Any = SimpleNamespace(id=3, drive=drive, apply=told.append)
    who: Any = SimpleNamespace(ours=ours, keep=None)
    empty = RunInput(
        agent=cast(Any, None),
        model=None,
        prompt=None,
        history=[],
        deps=None,
        workspace=None,
        capabilities=[],
        request_limit=1,
    )
    await session._drive(run, empty, who)
    journaling = [each for each in given[0].capabilities if isinstance(each, Journaling)]
    assert [each.run for each in journaling] == ([3] if ours else [])
    assert isinstance(session.deps.backend, KernelWorkspace)
    assert session.deps.backend.keeper is session.journal
    for each in journaling:
        assert each.tell is not None
        each.tell('a line')
    assert [event.text for event in told] == (['a line'] if ours else [])
    await session.close()

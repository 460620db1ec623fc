"""A recording that one person makes replays for another, whose notes are their own and are in no recording."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model

from deep_notebook import DeepAgentDeps, KernelWorkspace, create_deep_agent, create_default_deps
from deep_notebook.capabilities.tool_classes import tool_class
from deep_notebook.models import Recording, RecordingModel, ReplayModel
from deep_notebook.models.recording import recording_path
from harness.scripted import call, script

pytestmark = pytest.mark.anyio

NOTE = 'The person lives in Bern.'


def note(directory: Path, text: str) -> None:
    path = directory / '.deep/memory/main/MEMORY.md'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def converse(model: Model, deps: DeepAgentDeps, directory: Path, change: str) -> str:
    """Two turns; the notes change between them."""
    agent = create_deep_agent(model)
    first = await agent.run('Look.', deps=deps)
    note(directory, change)
    history: list[ModelMessage] = first.all_messages()
    return (await agent.run('And now?', deps=deps, message_history=history, workspace=deps.backend)).output


async def test_notes_are_neither_recorded_nor_compared(tmp_path: Path) -> None:
    (tmp_path / 'a.txt').write_text('a\n')
    model = script(call('read_file', path='a.txt'), 'I see.', 'Nothing new.')
    recording = Recording.open(recording_path(tmp_path, 'talk'), workspace=tmp_path)
    draft = recording.record('cell', model, name='scripted', tool_class=tool_class)
    note(tmp_path, NOTE)
    await converse(
        RecordingModel(model, draft), create_default_deps(KernelWorkspace(tmp_path)), tmp_path, f'{NOTE}\nMore.'
    )
    draft.save()
    assert 'Bern' not in recording_path(tmp_path, 'talk').read_text()

    note(tmp_path, 'Somebody else.')
    cell = Recording.load(recording_path(tmp_path, 'talk'), workspace=tmp_path).cell('cell')
    deps = create_default_deps(KernelWorkspace(tmp_path))
    assert await converse(ReplayModel(cell), deps, tmp_path, '') == 'Nothing new.'

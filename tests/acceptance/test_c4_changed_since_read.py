"""C4 (mito#2102): a file changed since the agent read it is not edited; the user's text stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, anchors, play

pytestmark = pytest.mark.anyio

BEFORE = 'title\n\nbody\n'
USERS = 'title\n\nbody, and what the user wrote\n'


@pytest.mark.parametrize('way', ['edit by anchor', 'edit by quotation', 'overwrite'])
@pytest.mark.parametrize('where', ['between two turns', 'between two runs', 'by a command of the agent'])
async def test_the_users_text_stays(tmp_path: Path, way: str, where: str) -> None:
    file = tmp_path / 'notes.md'
    file.write_text(BEFORE)
    deps = Deps(KernelWorkspace(tmp_path))
    capabilities = [Filesystem(edit_format='str_replace' if way == 'edit by quotation' else 'hashline')]
    read = ('read_file', {'path': 'notes.md'})

    def change(text: str) -> list[tuple[str, dict[str, Any]]]:
        if way == 'overwrite':
            return [('write_file', {'path': 'notes.md', 'content': 'mine\n'})]
        if way == 'edit by quotation':
            return [('edit_file', {'path': 'notes.md', 'old_string': 'title', 'new_string': 'TITLE'})]
        operation = {'op': 'replace', 'anchor': anchors(text)[0], 'text': 'TITLE'}
        return [('edit_file', {'path': 'notes.md', 'operations': [operation]})]

    def by_the_user(returns: list[Any]) -> list[tuple[str, dict[str, Any]]]:
        file.write_text(USERS)
        return change(returns[0].content)

    if where == 'between two runs':
        first = await play([read], capabilities=capabilities, deps=deps)
        file.write_text(USERS)
        turns: list[Any] = [change(first.returns[0].content)]
    elif where == 'by a command of the agent':
        command = ('execute', {'command': "sed -i 's/^body/body, and what the user wrote/' notes.md"})
        turns = [[read], [command], lambda returns: change(returns[0].content)]
    else:
        turns = [[read], by_the_user]
    turns += [[read], lambda returns: change(returns[-1].content)]
    played = await play(*turns, capabilities=capabilities, deps=deps)

    refused = played.returns[-3]
    assert refused.outcome == 'failed'
    assert 'read it again' in refused.content
    assert played.returns[-1].outcome == 'success'
    after_reading = 'mine\n' if way == 'overwrite' else USERS.replace('title', 'TITLE')
    assert file.read_text() == after_reading

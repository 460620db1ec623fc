"""C20 and C21 (deepagents#5789, deepagentsjs#653), through the tools: refused, not read, not listed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.workspaces import LocalWorkspaceBackend

from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, names, play

pytestmark = pytest.mark.anyio

WAYS_OUT = [
    '/etc/passwd',
    '~',
    '~/secret.txt',
    'a/../../secret.txt',
    '../secret.txt',
    'link',
    'linked/secret.txt',
    'C:\\secret.txt',
    '..\\secret.txt',
    '\\\\server\\secret.txt',
    'a\0b',
]


@pytest.fixture(params=['confined', 'plain'])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    root = tmp_path / 'root'
    root.mkdir()
    (tmp_path / 'secret.txt').write_text('the secret\n')
    (root / 'link').symlink_to(tmp_path / 'secret.txt')
    (root / 'linked').symlink_to(tmp_path)
    (root / 'report..final.md').write_text('fine\n')
    return KernelWorkspace(root) if request.param == 'confined' else LocalWorkspaceBackend(root)


@pytest.mark.parametrize('path', WAYS_OUT)
async def test_a_way_out_is_refused_and_the_run_goes_on(tmp_path: Path, backend: Any, path: str) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ('read_file', {'path': path}),
        ('ls', {'path': path}),
        ('write_file', {'path': path, 'content': 'x'}),
        ('edit_file', {'path': path, 'operations': [{'op': 'delete', 'anchor': '1:aa'}]}),
        ('grep', {'pattern': 'secret', 'path': path}),
        ('glob', {'pattern': '*', 'path': path}),
    ]
    played = await play(
        calls, [('read_file', {'path': 'report..final.md'})], capabilities=[Filesystem()], deps=Deps(backend)
    )
    assert {part.outcome for part in played.returns[:-1]} == {'failed'}
    assert 'the secret' not in ''.join(played.texts)
    assert played.texts[-1].endswith('|fine')
    assert played.output == 'done'
    assert (tmp_path / 'secret.txt').read_text() == 'the secret\n'
    assert names(tmp_path) == ['root', 'secret.txt']


async def test_what_leads_out_is_not_listed(backend: Any) -> None:
    played = await play(
        [('ls', {}), ('glob', {'pattern': '**/*'}), ('grep', {'pattern': 'secret|fine'})],
        capabilities=[Filesystem(edit_format='str_replace')],
        deps=Deps(backend),
    )
    assert played.texts == ['report..final.md  5 B', 'report..final.md', 'report..final.md\n1:fine']


async def test_the_model_is_never_shown_where_the_workspace_is(tmp_path: Path, backend: Any) -> None:
    played = await play(
        [
            ('read_file', {'path': path})
            for path in ('nowhere', 'linked/secret.txt', '../secret.txt', 'report..final.md/x')
        ],
        capabilities=[Filesystem()],
        deps=Deps(backend),
    )
    assert str(tmp_path) not in ''.join(played.texts)

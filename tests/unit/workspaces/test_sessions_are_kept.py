"""What deep_notebook stores in `.deep/` is neither shown to the agent nor changed by it, but for the agent's spots."""

from __future__ import annotations

from pathlib import Path

import pytest

from deep_notebook.errors import PathRefusedError
from deep_notebook.workspaces import AGENT_SPOTS, KernelWorkspace

pytestmark = pytest.mark.anyio

SESSION = '.deep/analysis.ipynb/session.db'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / SESSION).parent.mkdir(parents=True)
    (tmp_path / SESSION).write_bytes(b'history')
    (tmp_path / 'sub' / SESSION).parent.mkdir(parents=True)
    (tmp_path / 'sub' / SESSION).write_bytes(b'history')
    (tmp_path / 'shortcut').symlink_to(SESSION)
    (tmp_path / '.deep' / 'memory').mkdir()
    (tmp_path / '.deep' / 'memory' / 'shortcut').symlink_to('../analysis.ipynb')
    return tmp_path


@pytest.fixture
def workspace(root: Path) -> KernelWorkspace:
    return KernelWorkspace(root)


def kept(root: Path) -> bool:
    return all((root / path).read_bytes() == b'history' for path in (SESSION, f'sub/{SESSION}'))


PROTECTED = [
    SESSION,
    f'{SESSION}-wal',
    f'sub/{SESSION}',
    '.deep/analysis.ipynb',
    '.deep/other',
    '.deep/memory/../analysis.ipynb/session.db',
    '.deep/memory/shortcut/session.db',
    'shortcut',
    '.DEEP/analysis.ipynb/session.db',
    '.de\u200cep/analysis.ipynb/session.db',
]


@pytest.mark.parametrize('path', PROTECTED)
async def test_a_session_is_not_touched(workspace: KernelWorkspace, root: Path, path: str) -> None:
    for operation in (
        workspace.read_bytes(path),
        workspace.write_bytes(path, b'mine'),
        workspace.stat(path),
        workspace.list_dir(path),
        workspace.exists(path),
        workspace.make_dir(path),
        workspace.realpath(path),
    ):
        with pytest.raises(PathRefusedError, match=r'only \.deep/large_tool_results, .* can be used'):
            await operation
    assert not workspace.allows(path)
    assert kept(root)


@pytest.mark.parametrize('path', ['.deep', '.deep/analysis.ipynb', SESSION, 'sub', 'sub/.deep'])
async def test_a_session_is_not_removed(workspace: KernelWorkspace, root: Path, path: str) -> None:
    with pytest.raises(PathRefusedError, match=r'kept by deep_notebook'):
        await workspace.remove(path)
    assert kept(root)


async def test_sessions_are_not_listed(workspace: KernelWorkspace) -> None:
    assert [entry.name for entry in await workspace.list_dir('.deep')] == ['memory']
    assert await workspace.list_dir('sub/.deep') == []
    assert await workspace.list_dir('.deep/memory') == []
    assert [entry.name for entry in await workspace.list_dir('.')] == ['.deep', 'sub']


@pytest.mark.parametrize('spot', AGENT_SPOTS)
async def test_the_agent_uses_its_own_spots(workspace: KernelWorkspace, root: Path, spot: str) -> None:
    path = f'.deep/{spot}/nested/file.md'
    await workspace.write_bytes(path, b'text')
    assert await workspace.read_bytes(path) == b'text'
    assert spot in [entry.name for entry in await workspace.list_dir('.deep')]
    await workspace.remove(f'.deep/{spot}')
    assert kept(root)


async def test_a_linked_deep_directory_is_not_entered_under_either_name(tmp_path: Path) -> None:
    (tmp_path / 'elsewhere').mkdir()
    (tmp_path / '.deep').symlink_to('elsewhere')
    with pytest.raises(PathRefusedError):
        await KernelWorkspace(tmp_path).read_bytes('.deep/memory/MEMORY.md')


async def test_no_file_takes_the_place_of_the_deep_directory(tmp_path: Path) -> None:
    workspace = KernelWorkspace(tmp_path)
    with pytest.raises(PathRefusedError):
        await workspace.write_bytes('.deep', b'')
    await workspace.make_dir('.deep')
    assert (tmp_path / '.deep').is_dir()


async def test_a_name_that_only_resembles_it_is_ordinary(workspace: KernelWorkspace) -> None:
    await workspace.write_bytes('.deeper/notes', b'text')
    await workspace.write_bytes('deep/notes', b'text')
    await workspace.remove('.deeper')
    assert (await workspace.exists('.deeper'), await workspace.read_bytes('deep/notes')) == (False, b'text')

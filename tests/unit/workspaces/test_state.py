from __future__ import annotations

import pytest
from pydantic_ai.workspaces import Workspace

from deep_notebook.workspaces import BackendProtocol, FileData, StateBackend

pytestmark = pytest.mark.anyio


def test_it_is_a_backend() -> None:
    assert isinstance(StateBackend(), BackendProtocol)


async def test_a_given_dict_is_shared_both_ways() -> None:
    files: dict[str, FileData] = {}
    backend = StateBackend(files)
    await backend.write_bytes('/notes.md', b'one')
    assert files == {'/notes.md': b'one'}
    files['/data/a.csv'] = b'a,b\n'
    assert await backend.read_bytes('/data/a.csv') == b'a,b\n'
    assert [entry.path for entry in await backend.list_dir('/')] == ['/data', '/notes.md']
    del files['/notes.md']
    assert not await backend.exists('/notes.md')


async def test_another_dict_can_be_put_in_place() -> None:
    backend = StateBackend()
    backend.files = {'/a': b'text'}
    assert await backend.read_bytes('/a') == b'text'


@pytest.mark.parametrize(
    'path', ['notes.md', './notes.md', 'x/../notes.md', '../../notes.md', '//notes.md', '/notes.md/']
)
async def test_a_path_is_normalised_and_cannot_rise_above_the_root(path: str) -> None:
    backend = StateBackend({'/notes.md': b'text'})
    assert await backend.read_bytes(path) == b'text'


async def test_a_directory_outlives_its_last_file() -> None:
    backend = StateBackend({'/plans/old/a.md': b''})
    await backend.remove('/plans/old/a.md')
    assert await backend.list_dir('/plans/old') == []
    await backend.remove('/plans')
    assert await backend.list_dir('/') == []


async def test_removing_a_directory_leaves_its_neighbours() -> None:
    backend = StateBackend({'/a/x': b'', '/ab': b'', '/a.md': b''})
    await backend.remove('/a')
    assert sorted(backend.files) == ['/a.md', '/ab']


async def test_what_is_written_is_a_copy() -> None:
    backend, data = StateBackend(), bytearray(b'one')
    await backend.write_bytes('/a', data)
    data[:] = b'two'
    assert await backend.read_bytes('/a') == b'one'


async def test_below_a_file_there_is_nothing() -> None:
    workspace = Workspace(StateBackend({'/file': b''}))
    for operation in (workspace.read_bytes, workspace.stat, workspace.list_dir, workspace.remove):
        with pytest.raises(NotADirectoryError):
            await operation('/file/child')
    assert not await workspace.exists('/file/child')

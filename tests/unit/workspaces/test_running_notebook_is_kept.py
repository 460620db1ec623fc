"""The notebook that is open in the browser is never overwritten, replaced or removed on disk."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from deep_notebook.errors import PathRefusedError
from deep_notebook.workspaces import KernelWorkspace

pytestmark = pytest.mark.anyio

NOTEBOOK = b'{"cells": []}'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / 'work').mkdir()
    (tmp_path / 'work' / 'analysis.ipynb').write_bytes(NOTEBOOK)
    (tmp_path / 'other.ipynb').write_bytes(NOTEBOOK)
    return tmp_path


@pytest.fixture
def workspace(root: Path) -> KernelWorkspace:
    return KernelWorkspace(root, notebook='work/analysis.ipynb')


async def test_it_can_be_read(workspace: KernelWorkspace) -> None:
    assert await workspace.read_bytes('work/analysis.ipynb') == NOTEBOOK
    assert (await workspace.stat('work/analysis.ipynb')).size == len(NOTEBOOK)


@dataclass(frozen=True)
class Case:
    id: str
    path: str


WAYS = [
    Case('its name', 'work/analysis.ipynb'),
    Case('a detour', 'work/../work/./analysis.ipynb'),
    Case('a link', 'link.ipynb'),
    Case('a hard link', 'hard.ipynb'),
    Case('a linked directory', 'linked/analysis.ipynb'),
]


@pytest.fixture
def aliases(root: Path) -> None:
    (root / 'link.ipynb').symlink_to('work/analysis.ipynb')
    os.link(root / 'work' / 'analysis.ipynb', root / 'hard.ipynb')
    (root / 'linked').symlink_to('work')


@pytest.mark.usefixtures('aliases')
@pytest.mark.parametrize('case', WAYS, ids=lambda case: case.id)
async def test_it_is_not_written(workspace: KernelWorkspace, root: Path, case: Case) -> None:
    with pytest.raises(PathRefusedError, match='open and running: use another name'):
        await workspace.write_bytes(case.path, b'{}')
    assert (root / 'work' / 'analysis.ipynb').read_bytes() == NOTEBOOK


@pytest.mark.parametrize('path', ['work/analysis.ipynb', 'work', 'linked/analysis.ipynb', 'hard.ipynb'])
@pytest.mark.usefixtures('aliases')
async def test_it_is_not_removed(workspace: KernelWorkspace, root: Path, path: str) -> None:
    with pytest.raises(PathRefusedError, match='open and running'):
        await workspace.remove(path)
    assert (root / 'work' / 'analysis.ipynb').read_bytes() == NOTEBOOK


@pytest.mark.usefixtures('aliases')
async def test_a_link_to_it_can_be_removed(workspace: KernelWorkspace, root: Path) -> None:
    await workspace.remove('link.ipynb')
    await workspace.remove('linked')
    assert (root / 'work' / 'analysis.ipynb').read_bytes() == NOTEBOOK


@pytest.mark.parametrize('path', ['work/analysis.ipynb', 'work/ANALYSIS.ipynb', 'work/analysis.ipynb/x'])
async def test_its_name_stays_free_while_it_is_not_on_disk(workspace: KernelWorkspace, root: Path, path: str) -> None:
    (root / 'work' / 'analysis.ipynb').unlink()
    with pytest.raises(PathRefusedError, match='open and running'):
        await workspace.write_bytes(path, b'{}')
    with pytest.raises(PathRefusedError, match='open and running'):
        await workspace.make_dir(path)
    assert os.listdir(root / 'work') == []


async def test_it_may_lie_outside_and_is_still_known_by_a_hard_link(tmp_path: Path) -> None:
    root = tmp_path / 'root'
    root.mkdir()
    (tmp_path / 'outside.ipynb').write_bytes(NOTEBOOK)
    os.link(tmp_path / 'outside.ipynb', root / 'alias.ipynb')
    workspace = KernelWorkspace(root, notebook=tmp_path / 'outside.ipynb')
    with pytest.raises(PathRefusedError, match='open and running'):
        await workspace.write_bytes('alias.ipynb', b'{}')


async def test_a_notebook_that_is_a_link_is_kept_under_both_names(root: Path) -> None:
    (root / 'opened.ipynb').symlink_to('work/analysis.ipynb')
    workspace = KernelWorkspace(root, notebook='opened.ipynb')
    for path in ('opened.ipynb', 'work/analysis.ipynb'):
        with pytest.raises(PathRefusedError):
            await workspace.write_bytes(path, b'{}')
        with pytest.raises(PathRefusedError):
            await workspace.remove(path)
    assert (root / 'opened.ipynb').read_bytes() == NOTEBOOK


async def test_another_notebook_is_a_file_like_any_other(workspace: KernelWorkspace, root: Path) -> None:
    await workspace.write_bytes('other.ipynb', b'{}')
    assert (root / 'other.ipynb').read_bytes() == b'{}'
    await workspace.remove('other.ipynb')


async def test_a_renamed_notebook_is_kept_under_its_new_name(workspace: KernelWorkspace, root: Path) -> None:
    (root / 'work' / 'analysis.ipynb').rename(root / 'final.ipynb')
    workspace.notebook = Path('final.ipynb')
    with pytest.raises(PathRefusedError):
        await workspace.write_bytes('final.ipynb', b'{}')
    await workspace.write_bytes('work/analysis.ipynb', b'{}')

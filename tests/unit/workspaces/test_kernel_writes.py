"""A write lands as a whole or not at all, and leaves the file otherwise as it was."""

from __future__ import annotations

import errno
import os
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from deep_notebook.workspaces import KernelWorkspace, kernel
from deep_notebook.workspaces.files import replace_file

pytestmark = pytest.mark.anyio


@pytest.fixture
def workspace(tmp_path: Path) -> KernelWorkspace:
    return KernelWorkspace(tmp_path)


@pytest.mark.parametrize('mode', [0o600, 0o640, 0o755, 0o666])
async def test_a_file_keeps_its_mode(workspace: KernelWorkspace, tmp_path: Path, mode: int) -> None:
    file = tmp_path / 'script.sh'
    file.write_bytes(b'old')
    file.chmod(mode)
    await workspace.write_bytes('script.sh', b'new')
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b'new', mode)


async def test_a_new_file_gets_the_usual_mode(workspace: KernelWorkspace, tmp_path: Path) -> None:
    (tmp_path / 'by-hand').write_bytes(b'')
    await workspace.write_bytes('by-agent', b'')
    assert (tmp_path / 'by-agent').stat().st_mode == (tmp_path / 'by-hand').stat().st_mode


@pytest.mark.skipif(os.geteuid() != 0, reason='only root can give a file away')
async def test_a_file_keeps_its_owner(workspace: KernelWorkspace, tmp_path: Path) -> None:
    file = tmp_path / 'of-somebody'
    file.write_bytes(b'old')
    os.chown(file, 1234, 4321)
    await workspace.write_bytes('of-somebody', b'new')
    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 4321)


async def test_a_link_stays_a_link(workspace: KernelWorkspace, tmp_path: Path) -> None:
    (tmp_path / 'target').write_bytes(b'old')
    (tmp_path / 'link').symlink_to('target')
    await workspace.write_bytes('link', b'new')
    assert (tmp_path / 'link').is_symlink()
    assert (tmp_path / 'target').read_bytes() == b'new'


async def test_a_write_that_fails_leaves_the_old_file_and_no_litter(
    workspace: KernelWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / 'report.md').write_bytes(b'old')

    def full(*args: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, 'replace', full)
    with pytest.raises(OSError, match=r"No space left on device: 'report\.md'"):
        await workspace.write_bytes('report.md', b'new')
    assert os.listdir(tmp_path) == ['report.md']
    assert (tmp_path / 'report.md').read_bytes() == b'old'


async def test_an_open_reader_keeps_the_whole_old_contents(workspace: KernelWorkspace, tmp_path: Path) -> None:
    (tmp_path / 'data').write_bytes(b'old' * 1000)
    with (tmp_path / 'data').open('rb') as reader:
        beginning = reader.read(3)
        await workspace.write_bytes('data', b'new')
        assert beginning + reader.read() == b'old' * 1000


async def test_parallel_writes_of_one_file_do_not_overlap(
    workspace: KernelWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = threading.Lock()
    overlaps: list[str] = []

    def watched(name: str, data: bytes, parent: int) -> None:
        if not at_once.acquire(blocking=False):
            overlaps.append(name)
            return
        for _ in range(20):
            replace_file(name, data, parent)
        at_once.release()

    monkeypatch.setattr(kernel, 'replace_file', watched)
    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(workspace.write_bytes, 'shared', b'%d' % number)
    assert overlaps == []
    assert os.listdir(tmp_path) == ['shared']


@pytest.fixture(params=['unread FIFO', 'FIFO being read', 'socket'])
def special(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with ExitStack() as cleanup:
        if request.param == 'socket':
            cleanup.enter_context(socket.socket(socket.AF_UNIX)).bind('special')
        else:
            os.mkfifo('special')
        if request.param == 'FIFO being read':
            cleanup.callback(os.close, os.open('special', os.O_RDONLY | os.O_NONBLOCK))
        yield tmp_path / 'special'


async def test_what_is_no_file_is_neither_read_nor_replaced(workspace: KernelWorkspace, special: Path) -> None:
    before = os.lstat(special)
    for operation in (workspace.read_bytes('special'), workspace.write_bytes('special', b'x')):
        with pytest.raises(OSError, match="'special'"):
            await operation
    assert os.path.samestat(os.lstat(special), before)
    assert [(entry.name, entry.size) for entry in await workspace.list_dir('.')] == [('special', None)]


@pytest.mark.skipif(not hasattr(os, 'O_PATH'), reason='only Linux opens a directory without the right to list it')
async def test_a_directory_is_searched_without_the_right_to_list_it(workspace: KernelWorkspace, tmp_path: Path) -> None:
    (tmp_path / 'closed').mkdir()
    (tmp_path / 'closed' / 'file').write_bytes(b'text')
    (tmp_path / 'closed').chmod(0o311)
    assert await workspace.read_bytes('closed/file') == b'text'
    (tmp_path / 'closed').chmod(0o755)


async def test_no_descriptor_is_left_open(workspace: KernelWorkspace, tmp_path: Path) -> None:
    (tmp_path / 'link').symlink_to('/etc')
    await workspace.write_bytes('a/b/c', b'text')
    before = len(os.listdir('/dev/fd'))
    for path in ('a/b/c', 'a/b', 'a/missing/x', 'link', 'a/b/c/d'):
        for operation in (workspace.read_bytes, workspace.stat, workspace.list_dir, workspace.make_dir):
            try:
                await operation(path)
            except OSError:
                continue
    await workspace.write_bytes('a/b/c', b'again')
    await workspace.remove('a')
    assert len(os.listdir('/dev/fd')) == before

"""An agent reads, changes or finds out nothing outside the workspace, whatever path it asks for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic_ai.workspaces import Workspace, WorkspaceUnavailableError

from deep_notebook.errors import PathRefusedError, UsageError
from deep_notebook.workspaces import KernelWorkspace
from deep_notebook.workspaces.confinement import ConfinedDirectory, Parts

pytestmark = pytest.mark.anyio

Operation = Callable[[Workspace | KernelWorkspace, str], Awaitable[object]]

LOOKING: dict[str, Operation] = {
    'read_bytes': lambda workspace, path: workspace.read_bytes(path),
    'stat': lambda workspace, path: workspace.stat(path),
    'list_dir': lambda workspace, path: workspace.list_dir(path),
    'exists': lambda workspace, path: workspace.exists(path),
}
CHANGING: dict[str, Operation] = {
    'write_bytes': lambda workspace, path: workspace.write_bytes(path, b'mine'),
    'make_dir': lambda workspace, path: workspace.make_dir(path),
}
OPERATIONS = {**LOOKING, **CHANGING}


@dataclass(frozen=True)
class House:
    """A workspace, the directory it is in, and a secret in the directory next to it."""

    workspace: KernelWorkspace
    root: Path
    secret: Path

    def outside(self) -> dict[str, bytes | None]:
        """Everything beside the workspace, to see that it stays as it was."""
        return {
            str(path): path.read_bytes() if path.is_file() else None
            for path in sorted(self.root.parent.rglob('*'))
            if self.root not in (path, *path.parents)
        }


@pytest.fixture
def house(tmp_path: Path) -> House:
    root, outside = tmp_path / 'project', tmp_path / 'outside'
    (root / 'inner').mkdir(parents=True)
    (root / 'data.csv').write_bytes(b'a,b\n')
    (outside / 'deeper').mkdir(parents=True)
    (outside / 'secret').write_bytes(b'key')
    (tmp_path / 'project-2').mkdir()
    (root / 'out').symlink_to(outside)
    (root / 'out-relative').symlink_to('../outside')
    (root / 'out-file').symlink_to(outside / 'secret')
    (root / 'out-chained').symlink_to('inner/../out')
    (root / 'out-missing').symlink_to(outside / 'missing')
    (root / 'out-home').symlink_to(Path.home())
    (root / 'inner' / 'up').symlink_to('../..')
    return House(KernelWorkspace(root), root, outside / 'secret')


@dataclass(frozen=True)
class Case:
    id: str
    path: str
    out_as_text: bool = True
    """Whether the path still leads out once pydantic-ai's `Workspace` has collapsed `..` as text."""


PATHS_OUT = [
    Case('an absolute path', '/etc/passwd'),
    Case('the root of the machine', '/'),
    Case('two slashes', '//etc/passwd'),
    Case('the process itself', '/proc/self/environ'),
    Case('the parent', '..'),
    Case('a neighbour', '../outside/secret'),
    Case('a neighbour with the same beginning', '../project-2/x'),
    Case('up through a directory', 'inner/../../outside/secret'),
    Case('up through what is missing', 'a/../../etc'),
    Case('home', '~'),
    Case('a file at home', '~/.ssh/id_rsa'),
    Case('the home of root', '~root/.profile'),
    Case('a drive', 'C:\\Windows\\x'),
    Case('a drive with slashes', 'C:/Windows/x'),
    Case('a place on a drive', 'C:x'),
    Case('up with a backslash', '..\\outside\\secret'),
    Case('mixed separators', 'inner\\..\\../../outside', out_as_text=False),
    Case('a share', '\\\\server\\share\\x'),
    Case('a share with slashes', '//server/share/x'),
    Case('a device path', '\\\\?\\C:\\x'),
    Case('a null byte', 'data.csv\0.txt'),
    Case('a URL of a file', 'file:///etc/passwd'),
    Case('half a character', 'data\ud800.csv'),
    Case('a link out', 'out'),
    Case('below a link out', 'out/secret'),
    Case('deep below a link out', 'out/deeper/missing'),
    Case('a relative link out', 'out-relative/secret'),
    Case('a link to a file outside', 'out-file'),
    Case('a link to a link out', 'out-chained/secret'),
    Case('a link to nothing outside', 'out-missing'),
    Case('a link home', 'out-home/.bashrc'),
    Case('a link to the parent', 'inner/up/outside/secret'),
    Case('back in through a link out', 'out/../project/data.csv', out_as_text=False),
]


@pytest.mark.parametrize('operation', OPERATIONS)
@pytest.mark.parametrize('case', PATHS_OUT, ids=lambda case: case.id)
async def test_a_path_out_is_refused_and_nothing_changes_outside(house: House, case: Case, operation: str) -> None:
    before = house.outside()
    with pytest.raises(PathRefusedError, match=r'^[^\n]+$') as refused:
        await OPERATIONS[operation](house.workspace, case.path)
    assert isinstance(refused.value, PermissionError)
    assert house.outside() == before
    assert not house.workspace.allows(case.path)


@pytest.mark.parametrize('case', [case for case in PATHS_OUT if case.out_as_text], ids=lambda case: case.id)
async def test_a_path_out_is_refused_through_pydantic_ai_too(house: House, case: Case) -> None:
    workspace = Workspace(house.workspace)
    for operation in OPERATIONS.values():
        with pytest.raises(PathRefusedError):
            await operation(workspace, case.path)


async def test_a_refusal_says_what_to_use_instead(house: House) -> None:
    with pytest.raises(PathRefusedError) as refused:
        await house.workspace.read_bytes('/etc/passwd')
    assert str(refused.value) == (
        "'/etc/passwd' leads out of the workspace: use a path relative to the workspace, with forward slashes, "
        "such as 'data/sales.csv'."
    )


@pytest.mark.parametrize('operation', OPERATIONS)
async def test_a_refusal_does_not_tell_what_exists_outside(house: House, operation: str) -> None:
    said = set()
    for name in ('secret', 'deeper', 'absent'):
        with pytest.raises(PathRefusedError) as refused:
            await OPERATIONS[operation](house.workspace, f'out/{name}')
        said.add(str(refused.value).replace(name, 'NAME'))
    assert len(said) == 1


async def test_links_out_are_not_listed(house: House) -> None:
    assert [entry.name for entry in await house.workspace.list_dir('.')] == ['data.csv', 'inner']
    assert await house.workspace.list_dir('inner') == []


async def test_a_link_out_is_not_resolved(house: House) -> None:
    for path in ('out', 'out/secret', 'out-chained'):
        with pytest.raises(PathRefusedError):
            await house.workspace.realpath(path)


async def test_removing_a_link_out_leaves_what_it_leads_to(house: House) -> None:
    before = house.outside()
    await house.workspace.remove('out')
    assert 'out' not in os.listdir(house.root)
    assert house.outside() == before


@pytest.mark.parametrize('path', ['out/secret', 'out/deeper', 'out-file/', '../outside/secret', 'C:\\x', '~/x'])
async def test_nothing_outside_is_removed(house: House, path: str) -> None:
    if path == 'out-file/':
        await house.workspace.remove(path)
    else:
        with pytest.raises(PathRefusedError):
            await house.workspace.remove(path)
    assert house.secret.read_bytes() == b'key'


async def test_removing_a_directory_does_not_follow_the_links_in_it(house: House) -> None:
    (house.root / 'inner' / 'out').symlink_to(house.secret.parent)
    before = house.outside()
    await house.workspace.remove('inner')
    assert not (house.root / 'inner').exists()
    assert house.outside() == before


@pytest.mark.parametrize('place', ['last', 'on the way'])
@pytest.mark.parametrize('operation', [*OPERATIONS, 'remove'])
async def test_a_link_that_is_put_in_place_after_the_check_is_not_followed(
    house: House, operation: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = 'inner' if place == 'last' else 'inner/deeper'
    check = ConfinedDirectory.real_parts

    def check_then_swap(self: ConfinedDirectory, path: str, *, follow: bool = True) -> Parts:
        parts = check(self, path, follow=follow)
        shutil.rmtree(house.root / 'inner')
        (house.root / 'inner').symlink_to(house.secret.parent)
        return parts

    monkeypatch.setattr(ConfinedDirectory, 'real_parts', check_then_swap)
    before = house.outside()
    if operation == 'remove' and place == 'last':
        await house.workspace.remove(path)
    else:
        operations = {**OPERATIONS, 'remove': lambda workspace, path: workspace.remove(path)}
        with pytest.raises(PathRefusedError, match='became a link'):
            await operations[operation](house.workspace, path)
    assert house.outside() == before


@pytest.mark.parametrize('operation', OPERATIONS)
async def test_a_workspace_replaced_by_a_link_is_gone(house: House, operation: str) -> None:
    await house.workspace.working_dir()
    house.root.rename(house.root.with_name('moved'))
    with pytest.raises(WorkspaceUnavailableError):
        await OPERATIONS[operation](house.workspace, 'data.csv')
    assert not house.root.exists()


GOOD_PATHS = [
    Case('a plain name', 'notes.md'),
    Case('two dots in a name', 'report..final.md'),
    Case('a name of dots', '...'),
    Case('dots at both ends', '..hidden..'),
    Case('a hidden name', '.env'),
    Case('a tilde inside', 'inner/~'),
    Case('a backup', 'notes.md~'),
    Case('a colon inside', 'inner/a:b.txt'),
    Case('a name with spaces', ' two  words .txt'),
    Case('another script', 'résumé-数据.txt'),
    Case('there and back', 'inner/../notes.md'),
    Case('missing and back', 'missing/../notes.md'),
    Case('doubled slashes', 'inner//./notes.md'),
]


@pytest.mark.parametrize('case', GOOD_PATHS, ids=lambda case: case.id)
async def test_an_unusual_name_inside_can_be_used(house: House, case: Case) -> None:
    await house.workspace.write_bytes(case.path, b'text')
    assert await house.workspace.read_bytes(case.path) == b'text'
    assert await house.workspace.exists(case.path)
    assert house.workspace.allows(case.path)
    await house.workspace.remove(case.path)
    assert not await house.workspace.exists(case.path)


@pytest.mark.parametrize('name', ['~', '~backup', 'C:x', 'file:'])
async def test_a_strange_name_that_really_exists_can_be_used(house: House, name: str) -> None:
    (house.root / name).write_bytes(b'text')
    assert await house.workspace.read_bytes(name) == b'text'


async def test_links_inside_are_followed(house: House) -> None:
    (house.root / 'relative').symlink_to('inner/../data.csv')
    (house.root / 'absolute').symlink_to(house.root / 'data.csv')
    (house.root / 'directory').symlink_to('inner')
    (house.root / 'self').symlink_to('.')
    (house.root / 'inner' / 'absolute').symlink_to(house.root / 'data.csv')
    for path in ('relative', 'absolute', 'inner/absolute', 'directory/../data.csv', 'self/self/data.csv'):
        assert await house.workspace.read_bytes(path) == b'a,b\n'
    await house.workspace.write_bytes('directory/new.txt', b'new')
    assert (house.root / 'inner' / 'new.txt').read_bytes() == b'new'
    entries = {entry.name: (entry.is_dir, entry.size) for entry in await house.workspace.list_dir('.')}
    assert entries['relative'] == entries['absolute'] == (False, 4)
    assert entries['directory'] == entries['self'] == (True, None)


async def test_a_link_to_nothing_inside_makes_the_file_that_it_names(house: House) -> None:
    (house.root / 'later').symlink_to('inner/later.txt')
    assert not await house.workspace.exists('later')
    await house.workspace.write_bytes('later', b'now')
    assert (house.root / 'inner' / 'later.txt').read_bytes() == b'now'
    assert (house.root / 'later').is_symlink()


async def test_a_loop_of_links_ends(house: House) -> None:
    (house.root / 'one').symlink_to('two')
    (house.root / 'two').symlink_to('one')
    assert not await house.workspace.exists('one')
    with pytest.raises(OSError, match='symbolic links'):
        await house.workspace.read_bytes('one/x')
    await house.workspace.remove('one')
    assert 'one' not in os.listdir(house.root)


async def test_a_workspace_given_through_a_link_is_confined_to_the_real_directory(house: House) -> None:
    spelled = house.root.parent / 'spelled'
    spelled.symlink_to(house.root)
    workspace = KernelWorkspace(spelled)
    (house.root / 'by-spelling').symlink_to(spelled / 'data.csv')
    assert workspace.root == house.root
    for path in ('data.csv', str(spelled / 'data.csv'), str(house.root / 'data.csv'), 'by-spelling'):
        assert await workspace.read_bytes(path) == b'a,b\n'
    with pytest.raises(PathRefusedError):
        await workspace.read_bytes(str(spelled / '..' / 'outside' / 'secret'))


async def test_directories_above_resolve_to_themselves_so_that_authority_can_be_worked_out(house: House) -> None:
    (house.root / 'linked.csv').symlink_to('data.csv')
    assert await house.workspace.realpath(str(house.root.parent)) == str(house.root.parent)
    assert await Workspace(house.workspace).authority_of('linked.csv') == 'operator'


async def test_an_error_names_the_path_that_was_asked_for(house: House) -> None:
    with pytest.raises(FileNotFoundError, match=r"'inner/missing/x\.csv'$"):
        await house.workspace.read_bytes(str(house.root / 'inner' / 'missing' / 'x.csv'))


def test_a_system_that_cannot_confine_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, 'supports_dir_fd', set())
    with pytest.raises(UsageError, match='Linux or macOS'):
        KernelWorkspace(tmp_path)

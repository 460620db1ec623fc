from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic_ai.workspaces import FileEntry, Workspace

from deep_notebook.capabilities.skills import (
    BackendSkillsDirectory,
    LocalSkillScriptExecutor,
    Skill,
    SkillsDirectory,
    directories,
)
from deep_notebook.errors import SkillError
from deep_notebook.workspaces import KernelWorkspace, StateBackend

pytestmark = pytest.mark.anyio


def text_of(name: str, description: str = 'Something.', content: str = 'Do.') -> str:
    return f'---\nname: {name}\ndescription: {description}\n---\n{content}\n'


def write_skill(root: Path, path: str, **files: str) -> Path:
    folder = root / path
    folder.mkdir(parents=True)
    (folder / 'SKILL.md').write_text(text_of(folder.name))
    for name, text in files.items():
        (folder / name.replace('_', '.')).write_text(text)
    return folder


def names(skills: list[Skill]) -> list[str]:
    return [skill.name for skill in skills]


def test_every_directory_with_a_skill_file_is_a_skill(tmp_path: Path) -> None:
    write_skill(tmp_path, 'two', FORMS_md='f', data_csv='d', run_py='r')
    write_skill(tmp_path, 'group/one')
    (tmp_path / 'no-skill').mkdir()
    (tmp_path / 'README.md').write_text('---\nname: readme\n---\n')
    one, two = SkillsDirectory(tmp_path).get_skills()
    assert (one.name, one.description, one.content) == ('one', 'Something.', 'Do.')
    assert [each.name for each in two.resources] == ['FORMS.md', 'data.csv']
    assert [each.name for each in two.scripts] == ['run.py']
    assert two.uri == f'{tmp_path}/two'
    assert two.scripts[0].uri == f'{tmp_path}/two/run.py'


def test_the_files_of_a_skill_are_all_below_it_but_hidden_ones(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, 'one')
    for path in ['ref/a/deep.md', 'ref/a/b/deeper.md', '.git/config', '__pycache__/x.pyc', '.hidden', 'lib/SKILL.md']:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    (skill,) = SkillsDirectory(tmp_path).get_skills()
    assert [each.name for each in skill.resources] == ['lib/SKILL.md', 'ref/a/deep.md']


@pytest.mark.parametrize(('depth', 'found'), [(0, []), (1, ['a']), (2, ['a', 'b']), (None, ['a', 'b', 'c'])])
def test_depth_is_limited(tmp_path: Path, depth: int | None, found: list[str]) -> None:
    write_skill(tmp_path, 'a')
    write_skill(tmp_path, 'x/b')
    write_skill(tmp_path, 'x/x/x/x/c')
    assert names(SkillsDirectory(tmp_path, max_depth=depth).get_skills()) == found
    assert names(SkillsDirectory(tmp_path).get_skills()) == ['a', 'b']


def test_a_directory_can_be_a_skill_itself(tmp_path: Path) -> None:
    write_skill(tmp_path, 'one')
    assert names(SkillsDirectory(tmp_path / 'one').get_skills()) == ['one']


def test_a_bad_skill_keeps_no_other_away(tmp_path: Path) -> None:
    write_skill(tmp_path, 'good')
    for name, text in {'bad': 'Do.', 'torn': '---\nname: t', 'other': text_of('name')}.items():
        (write_skill(tmp_path, name) / 'SKILL.md').write_text(text)
    (tmp_path / 'lower').mkdir()
    (tmp_path / 'lower/skill.md').touch()
    os.mkfifo(tmp_path / 'lower/pipe')
    (tmp_path / 'pipe').mkdir()
    os.mkfifo(tmp_path / 'pipe/SKILL.md')
    found = SkillsDirectory(tmp_path)
    assert names(found.get_skills()) == ['good']
    assert [problem.removeprefix(f'{tmp_path}/').split(': ')[0] for problem in found.problems] == [
        'bad/SKILL.md',
        'lower/skill.md',
        'other/SKILL.md',
        'pipe/SKILL.md',
        'torn/SKILL.md',
    ]


def test_a_skill_is_loaded_by_name(tmp_path: Path) -> None:
    write_skill(tmp_path, 'cleaning')
    (write_skill(tmp_path, 'bad') / 'SKILL.md').write_text('Do.')
    directory = SkillsDirectory(tmp_path)
    assert directory.load_skill('cleaning').content == 'Do.'
    with pytest.raises(SkillError, match=r"no skill 'cleanin'. Did you mean 'cleaning'\? The skills are: cleaning."):
        directory.load_skill('cleanin')
    with pytest.raises(SkillError, match=r"The skill 'bad' cannot be used. .*bad/SKILL.md: it has no front matter"):
        directory.load_skill('bad')


def test_without_validation_names_are_taken_as_they_are(tmp_path: Path) -> None:
    (write_skill(tmp_path, 'a b') / 'SKILL.md').write_text('# All about a and b')
    (skill,) = SkillsDirectory(tmp_path, validate=False).get_skills()
    assert (skill.name, skill.description) == ('a b', 'All about a and b')


def test_two_skills_of_one_name_are_told_apart(tmp_path: Path) -> None:
    write_skill(tmp_path, 'a/one')
    write_skill(tmp_path, 'b/one')
    directory = SkillsDirectory(tmp_path)
    (skill,) = directory.get_skills()
    assert skill.uri == f'{tmp_path}/a/one'
    assert directory.problems == [
        f"{tmp_path}/b/one: it is not used, because {tmp_path}/a/one is called 'one' too: rename one of them."
    ]


def test_a_missing_directory_is_said_with_the_one_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / 'skills').mkdir()
    with pytest.raises(SkillError, match=r"skilz: there is no such directory of skills. Did you mean 'skills'\?"):
        SkillsDirectory(tmp_path / 'skilz').get_skills()


def test_a_relative_directory_stays_where_it_was_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_skill(tmp_path, 'skills/one')
    monkeypatch.chdir(tmp_path)
    directory = SkillsDirectory('skills')
    monkeypatch.chdir('/')
    assert names(directory.get_skills()) == ['one']


async def test_a_search_works_where_a_loop_runs(tmp_path: Path) -> None:
    write_skill(tmp_path, 'one')
    assert names(SkillsDirectory(tmp_path).get_skills()) == ['one']
    assert list((await SkillsDirectory(tmp_path).find()).skills) == ['one']


def test_a_huge_tree_is_not_searched_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, '_MAX_DIRECTORIES', 5)
    for number in range(9):
        (tmp_path / str(number)).mkdir()
    write_skill(tmp_path, 'last')
    directory = SkillsDirectory(tmp_path)
    assert directory.get_skills() == []
    assert directory.problems == [
        f'{tmp_path}: only 5 directories were looked into: move its skills to a directory of their own.'
    ]


def test_of_very_many_files_the_first_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, '_MAX_FILES', 3)
    write_skill(tmp_path, 'one', **{f'{number}_md': '' for number in range(9)})
    (skill,) = SkillsDirectory(tmp_path).get_skills()
    assert [each.name for each in skill.resources] == ['0.md', '1.md', '2.md']


async def test_a_backend_in_memory_holds_skills() -> None:
    backend = StateBackend(
        {
            '/skills/one/SKILL.md': text_of('one').encode(),
            '/skills/one/run.py': b'',
            '/skills/bad/SKILL.md': b'',
            '/else/two/SKILL.md': text_of('two').encode(),
        }
    )
    directory = BackendSkillsDirectory(backend)
    (skill,) = await directory.get_skills()
    assert (skill.name, skill.uri, skill.scripts[0].uri) == ('one', 'skills/one', 'skills/one/run.py')
    assert directory.problems[0].startswith('skills/bad/SKILL.md: it has no front matter')
    assert names(await BackendSkillsDirectory(backend, '/else').get_skills()) == ['two']
    assert (await directory.load_skill('one')).content == 'Do.'


class Locked(StateBackend):
    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        if path.endswith('locked'):
            raise PermissionError(errno.EACCES, 'Permission denied')
        return await super().list_dir(path)


async def test_a_directory_that_cannot_be_read_keeps_no_skill_away() -> None:
    backend = Locked({'/skills/one/SKILL.md': text_of('one').encode(), '/skills/locked/two/SKILL.md': b''})
    directory = BackendSkillsDirectory(backend)
    assert names(await directory.get_skills()) == ['one']
    assert directory.problems == ['skills/locked: it cannot be read: Permission denied.']


def test_a_home_directory_is_not_spelled_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('HOME', str(tmp_path))
    write_skill(tmp_path, 'mine/one')
    (skill,) = SkillsDirectory('~/mine').get_skills()
    assert skill.uri == '~/mine/one'


async def test_in_a_persons_directory_skills_are_in_the_agents_spot(tmp_path: Path) -> None:
    write_skill(tmp_path, '.deep/skills/one')
    write_skill(tmp_path, 'docs/two')
    backend = KernelWorkspace(tmp_path)
    (skill,) = await BackendSkillsDirectory(backend).get_skills()
    assert (skill.name, skill.uri) == ('one', '.deep/skills/one')
    assert names(await BackendSkillsDirectory(backend, 'docs').get_skills()) == ['two']
    assert names(await BackendSkillsDirectory(backend, str(tmp_path / 'docs')).get_skills()) == ['two']


@pytest.mark.parametrize('there', ['nothing', 'a file'])
async def test_no_skills_are_no_problem_but_a_file_in_their_place_is(tmp_path: Path, there: str) -> None:
    if there == 'a file':
        (tmp_path / '.deep').mkdir()
        (tmp_path / '.deep/skills').touch()
    directory = BackendSkillsDirectory(KernelWorkspace(tmp_path))
    assert await directory.get_skills() == []
    assert directory.problems == (
        [] if there == 'nothing' else ['/skills: it is a file: make it a directory of skills.']
    )


async def test_a_directory_without_backend_is_searched_in_the_workspace_of_a_run() -> None:
    directory = BackendSkillsDirectory()
    backend = StateBackend({'/skills/one/SKILL.md': text_of('one').encode()})
    assert list((await directory.find(Workspace(backend))).skills) == ['one']
    with pytest.raises(ValueError, match='can only be searched in a run'):
        await directory.get_skills()


async def test_the_scripts_of_a_directory_get_its_executor(tmp_path: Path) -> None:
    write_skill(tmp_path, 'one', run_py='')
    executor = LocalSkillScriptExecutor(timeout=5)
    (skill,) = SkillsDirectory(tmp_path, script_executor=executor).get_skills()
    assert skill.scripts[0].executor is executor

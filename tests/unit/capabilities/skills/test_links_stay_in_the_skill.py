"""A skill of somebody else's cannot show or run what lies outside of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from deep_notebook.capabilities.skills import SkillsCapability, SkillsDirectory
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, Played, play

pytestmark = pytest.mark.anyio

SECRET = 'swordfish'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a secret, a secret beside it, and a skill."""
    root = tmp_path / 'work'
    folder = root / '.deep/skills/one'
    folder.mkdir(parents=True)
    (folder / 'SKILL.md').write_text('---\nname: one\ndescription: d\n---\nDo.\n')
    (folder / 'run.py').write_text('print("ran")')
    (folder / 'notes.md').write_text('fine')
    (root / 'secret.txt').write_text(SECRET)
    (root / 'secret.py').write_text(f'print("{SECRET}")')
    (tmp_path / 'outside.py').write_text(f'print("{SECRET}")')
    return root


async def used(root: Path, name: str, *, local: bool) -> Played:
    """Read and run the file `name` of the skill, found in the workspace or in a directory of this machine."""
    directories = [SkillsDirectory(root / '.deep/skills')] if local else None
    return await play(
        [('read_skill_resource', {'skill_name': 'one', 'resource_name': name})],
        [('run_skill_script', {'skill_name': 'one', 'script_name': name})],
        capabilities=[SkillsCapability(directories=directories)],
        deps=Deps(KernelWorkspace(root)),
    )


@pytest.mark.parametrize('local', [False, True])
@pytest.mark.parametrize(
    'target',
    [
        '../../../secret.py',
        '../two/secret.py',
        '../one-more/secret.py',
        '{root}/secret.py',
        '{root}/../outside.py',
        '../../../../outside.py',
    ],
)
async def test_a_link_to_a_file_is_not_followed_out(root: Path, target: str, local: bool) -> None:
    for other in ('two', 'one-more'):
        (root / '.deep/skills' / other).mkdir()
        (root / '.deep/skills' / other / 'secret.py').write_text(f'print("{SECRET}")')
    (root / '.deep/skills/one/link.py').symlink_to(target.format(root=root))
    played = await used(root, 'link.py', local=local)
    assert [part.outcome for part in played.returns] == ['failed', 'failed']
    assert SECRET not in ''.join(played.texts)


@pytest.mark.parametrize('local', [False, True])
async def test_a_link_that_appears_after_the_search_is_not_followed_out(root: Path, local: bool) -> None:
    script = root / '.deep/skills/one/run.py'

    def swapped(returns: object) -> list[tuple[str, dict[str, str]]]:
        script.unlink()
        script.symlink_to('../../../secret.py')
        return [
            ('read_skill_resource', {'skill_name': 'one', 'resource_name': 'run.py'}),
            ('run_skill_script', {'skill_name': 'one', 'script_name': 'run.py'}),
        ]

    played = await play(
        [('list_skills', {})],
        swapped,
        capabilities=[SkillsCapability(directories=[SkillsDirectory(root / '.deep/skills')] if local else None)],
        deps=Deps(KernelWorkspace(root)),
    )
    assert [part.outcome for part in played.returns] == ['success', 'failed', 'failed']
    assert 'leads out of' in played.texts[1]
    assert SECRET not in ''.join(played.texts)


class Swapping(KernelWorkspace):
    """A link in it changes right after it was looked at."""

    async def realpath(self, path: str) -> str:
        real = await super().realpath(path)
        link = Path(path)
        if link.is_symlink():
            link.unlink()
            link.symlink_to('../../../secret.py')
        return real


async def test_a_link_that_changes_after_the_look_shows_what_was_looked_at(root: Path) -> None:
    (root / '.deep/skills/one/link.py').symlink_to('run.py')
    call = ('read_skill_resource', {'skill_name': 'one', 'resource_name': 'link.py'})
    played = await play([call], capabilities=[SkillsCapability()], deps=Deps(Swapping(root)))
    assert played.texts == ['print("ran")']


async def test_a_link_inside_the_skill_works(root: Path) -> None:
    (root / '.deep/skills/one/link.py').symlink_to('run.py')
    played = await used(root, 'link.py', local=False)
    assert played.texts == ['print("ran")', 'ran\n[exit code 0]']


async def test_links_to_directories_are_not_searched(root: Path) -> None:
    skills = root / '.deep/skills'
    (skills / 'one/all').symlink_to('../../..')
    (skills / 'one/self').symlink_to('.')
    (skills / 'copy').symlink_to('one')
    (root / 'elsewhere').symlink_to('.deep/skills')
    for directory in [SkillsDirectory(skills), SkillsDirectory(root / 'elsewhere')]:
        (skill,) = directory.get_skills()
        assert [each.name for each in skill.resources] == ['notes.md']
        assert directory.problems == []


@pytest.mark.parametrize(
    'name', ['../../../secret.txt', '/etc/passwd', '..', 'notes.md/../../two/secret.py', 'SKILL.md\0']
)
async def test_names_are_no_paths(root: Path, name: str) -> None:
    played = await used(root, name, local=False)
    assert [part.outcome for part in played.returns] == ['failed', 'failed']
    assert 'has no resource' in played.texts[0]
    assert 'It has: run.py.' in played.texts[1]


async def test_a_skill_file_that_links_out_is_no_skill(root: Path) -> None:
    (root / 'SKILL.md').write_text('---\nname: two\ndescription: stolen\n---\nDo.\n')
    (root / '.deep/skills/two').mkdir()
    (root / '.deep/skills/two/SKILL.md').symlink_to('../../../SKILL.md')
    played = await play([('list_skills', {})], capabilities=[SkillsCapability()], deps=Deps(KernelWorkspace(root)))
    assert 'stolen' not in played.texts[0]
    assert '.deep/skills/two/SKILL.md leads out of its skill' in played.texts[0]

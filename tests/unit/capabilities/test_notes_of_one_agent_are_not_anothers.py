from __future__ import annotations

import unicodedata
from itertools import combinations
from pathlib import Path

import pytest

from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.memory import MemoryCapability, memory_file
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, play

pytestmark = pytest.mark.anyio

NAMES = [
    'main',
    'Main',
    'MAIN ',
    'code-reviewer',
    'Code Reviewer',
    'code reviewer',
    'code/reviewer',
    '../main',
    '..',
    '.',
    '',
    '/etc',
    'main/MEMORY.md',
    'a\0b',
    'a\nb',
    'C:\\main',
    'рецензент',
    '校对',
    '🚀',
    '🛠',
    unicodedata.normalize('NFC', 'é'),
    unicodedata.normalize('NFD', 'é'),
    'x' * 60,
    'x' * 61,
    'x' * 5_000,
    '\ud800',
]


def test_each_name_has_a_directory_of_its_own_below_the_memory_directory() -> None:
    paths = {name: memory_file(name) for name in NAMES}
    assert all(path.startswith('/.deep/memory/') and path.count('/') == 4 for path in paths.values())
    assert all('..' not in path and '\0' not in path and '\n' not in path for path in paths.values())
    for one, other in combinations(NAMES, 2):
        assert paths[one].casefold() != paths[other].casefold(), (one, other)


def test_a_plain_name_is_its_directory() -> None:
    assert memory_file('code-reviewer') == '/.deep/memory/code-reviewer/MEMORY.md'


def test_nobody_can_be_called_like_the_directory_of_another() -> None:
    directory = memory_file('Code Reviewer').split('/')[-2]
    assert memory_file(directory) != memory_file('Code Reviewer')


@pytest.mark.parametrize('name', NAMES)
async def test_any_name_can_keep_notes_on_disk(tmp_path: Path, name: str) -> None:
    deps = Deps(KernelWorkspace(tmp_path))
    await play([('write_memory', {'content': 'mine'})], capabilities=[MemoryCapability(name)], deps=deps)
    found = [path for path in tmp_path.rglob('*') if path.is_file()]
    assert [path.parent.parent for path in found] == [tmp_path / '.deep' / 'memory']
    assert found[0].read_text() == 'mine\n'


async def test_an_agent_neither_sees_nor_reads_the_notes_of_another(tmp_path: Path) -> None:
    deps = Deps(KernelWorkspace(tmp_path))
    await play([('write_memory', {'content': 'secret plan'})], capabilities=[MemoryCapability('one')], deps=deps)
    played = await play([('read_memory', {})], capabilities=[MemoryCapability('two')], deps=deps)
    assert played.texts == ['You have no notes.']
    assert 'secret plan' not in str(played.messages)


@pytest.mark.parametrize('target', ['two', '../../src'])
async def test_a_link_does_not_lead_notes_elsewhere(tmp_path: Path, target: str) -> None:
    for directory in ('.deep/memory/two', 'src'):
        (tmp_path / directory).mkdir(parents=True)
        (tmp_path / directory / 'MEMORY.md').write_text('not yours\n')
    (tmp_path / '.deep' / 'memory' / 'one').symlink_to(target)
    played = await play(
        [('read_memory', {})],
        [('write_memory', {'content': 'x'})],
        [('update_memory', {'old_string': 'not', 'new_string': 'now'})],
        capabilities=[Filesystem(), MemoryCapability('one')],
        deps=Deps(KernelWorkspace(tmp_path)),
    )
    assert [part.outcome for part in played.returns] == ['failed'] * 3
    assert 'not yours\n' not in str(played.messages)
    assert (tmp_path / 'src' / 'MEMORY.md').read_text() == 'not yours\n'
    assert (tmp_path / '.deep' / 'memory' / 'two' / 'MEMORY.md').read_text() == 'not yours\n'

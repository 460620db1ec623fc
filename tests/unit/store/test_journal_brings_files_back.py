"""What the agent changed can be put back exactly; what somebody else did is not lost without a question."""

from __future__ import annotations

import os

import pytest

from deep_notebook.errors import UsageError
from deep_notebook.store import journal_files, journal_restoring
from deep_notebook.store.journal import FileState, JournalCall
from harness.journal import Agent, tree

pytestmark = pytest.mark.anyio


async def test_written_files_go_back_and_forth(agent: Agent) -> None:
    (agent.root / 'a').write_bytes(b'\xff\x00old')
    (agent.root / 'a').chmod(0o600)
    before = tree(agent.root)
    await agent.writes('a', b'new')
    await agent.writes('new/deep/b', b'b', run=2)
    after = tree(agent.root)

    plans = await agent.journal.plan(0)
    assert [(plan.path, plan.action, plan.yours, plan.possible) for plan in plans] == [
        ('a', 'edit', False, True),
        ('new/deep/b', 'delete', False, True),
    ]
    assert await agent.journal.runs() == [2, 1]
    change = await agent.journal.restore(plans, source='rewind')
    assert tree(agent.root) == before
    await agent.takes_back(change)
    assert tree(agent.root) == after


async def test_what_a_command_did_goes_back_and_forth(agent: Agent) -> None:
    (agent.root / 'edited').write_text('old')
    (agent.root / 'deleted').write_text('old')
    (agent.root / 'linked').symlink_to('edited')
    (agent.root / 'sub' / 'empty').mkdir(parents=True)
    (agent.root / 'sub').chmod(0o700)
    (agent.root / 'sub' / 'dangling').symlink_to('nowhere')
    before = tree(agent.root)
    async with agent.executes() as gaps:
        (agent.root / 'edited').write_text('new')
        (agent.root / 'edited').chmod(0o755)
        (agent.root / 'deleted').unlink()
        (agent.root / 'linked').unlink()
        (agent.root / 'linked').write_text('no link any more')
        (agent.root / 'sub' / 'dangling').unlink()
        (agent.root / 'sub' / 'empty').rmdir()
        (agent.root / 'sub').rmdir()
        (agent.root / 'made' / 'empty').mkdir(parents=True)
        (agent.root / 'made' / 'file').write_text('x')
    after = tree(agent.root)
    assert gaps == []
    assert {change.source for change in await agent.journal.changes()} == {'scan'}
    change = await agent.goes_back(0)
    assert tree(agent.root) == before
    await agent.takes_back(change)
    assert tree(agent.root) == after


async def test_a_name_that_is_no_utf_8_goes_back(agent: Agent) -> None:
    name = os.fsdecode(b'caf\xe9')
    (agent.root / name).write_text('old')
    async with agent.executes():
        (agent.root / name).write_text('new')
    await agent.goes_back(0)
    assert (agent.root / name).read_text() == 'old'


async def test_files_that_the_agent_never_touched_stay(agent: Agent) -> None:
    async with agent.executes():
        (agent.root / 'out').mkdir()
        (agent.root / 'out' / 'agents').write_text('x')
    (agent.root / 'mine').write_text('mine')
    (agent.root / 'out' / 'mine').write_text('mine')
    await agent.goes_back(0)
    assert tree(agent.root).keys() == {'mine', 'out', 'out/mine'}


async def test_what_is_different_before_a_command_is_not_the_commands(agent: Agent) -> None:
    async with agent.executes():
        (agent.root / 'a').write_text('agent')
    (agent.root / 'b').write_text('person')
    (agent.root / 'a').write_text('person')
    async with agent.executes():
        pass
    assert [change.path for change in await agent.journal.changes()] == ['a']


async def test_a_file_that_the_person_changed_since_is_told(agent: Agent) -> None:
    await agent.writes('a', b'agent')
    (agent.root / 'a').write_text('person')
    [plan] = await agent.journal.plan(0)
    assert plan.yours
    assert plan.left != plan.now


async def test_a_version_of_the_persons_between_two_of_the_agents_is_told(agent: Agent) -> None:
    await agent.writes('a', b'one')
    (agent.root / 'a').write_text('person')
    await agent.writes('a', b'two')
    [plan] = await agent.journal.plan(0)
    assert plan.yours


async def test_one_run_is_taken_back_without_those_after_it(agent: Agent) -> None:
    await agent.writes('a', b'one', run=1)
    last = await agent.journal.position()
    await agent.writes('b', b'two', run=2)
    plans = await agent.journal.plan(0, until=last)
    assert [plan.path for plan in plans] == ['a']


async def test_a_file_in_the_place_of_a_directory_is_replaced_and_the_reverse(agent: Agent) -> None:
    (agent.root / 'd').mkdir()
    (agent.root / 'd' / 'x').write_text('x')
    (agent.root / 'f').write_text('f')
    before = tree(agent.root)
    async with agent.executes():
        (agent.root / 'd' / 'x').unlink()
        (agent.root / 'd').rmdir()
        (agent.root / 'd').write_text('file now')
        (agent.root / 'f').unlink()
        (agent.root / 'f').mkdir()
        (agent.root / 'f' / 'y').write_text('y')
    after = tree(agent.root)
    change = await agent.goes_back(0)
    assert tree(agent.root) == before
    await agent.takes_back(change)
    assert tree(agent.root) == after


async def test_a_removed_directory_comes_back(agent: Agent) -> None:
    (agent.root / 'd' / 'e').mkdir(parents=True)
    (agent.root / 'd').chmod(0o750)
    (agent.root / 'd' / 'e' / 'f').write_text('f')
    before = tree(agent.root)
    await agent.removes('d')
    await agent.goes_back(0)
    assert tree(agent.root) == before


async def test_a_file_that_changed_after_the_plan_is_left_alone(agent: Agent) -> None:
    await agent.writes('a', b'agent')
    await agent.writes('b', b'agent')
    plans = await agent.journal.plan(0)
    (agent.root / 'b').write_text('person')
    before = tree(agent.root)
    with pytest.raises(UsageError, match='b has changed meanwhile'):
        await agent.journal.restore(plans, source='rewind')
    assert tree(agent.root) == before


@pytest.mark.parametrize('at', range(4))
async def test_going_back_that_fails_half_way_leaves_all_as_it_was(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    (agent.root / 'd').mkdir()
    for name in ('a', 'b', 'd/c'):
        (agent.root / name).write_text('old')
    async with agent.executes():
        (agent.root / 'a').write_text('new')
        (agent.root / 'b').unlink()
        (agent.root / 'd' / 'c').unlink()
        (agent.root / 'd').rmdir()
        (agent.root / 'n').write_text('new')
    before = tree(agent.root)
    position = await agent.journal.position()
    left = iter(range(100))
    put = journal_files.put

    def fails_once(*args: object) -> None:
        if next(left) == at:
            raise OSError(28, 'No space left on device')
        put(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(journal_restoring, 'put', fails_once)
    with pytest.raises(UsageError, match=r'No space left on device\. All files are as they were before\.'):
        await agent.goes_back(0)
    assert tree(agent.root) == before
    assert await agent.journal.position() == position


async def test_what_could_not_be_taken_back_is_named(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    await agent.writes('a', b'a')
    await agent.writes('b', b'b')
    left = iter(range(100))
    put = journal_files.put

    def fails_from_the_second_on(*args: object) -> None:
        if next(left) >= 1:
            raise OSError(28, 'No space left on device')
        put(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(journal_restoring, 'put', fails_from_the_second_on)
    with pytest.raises(UsageError, match='as they were before, but for a:'):
        await agent.goes_back(0)
    assert [change.path for change in await agent.journal.changes(after=2)] == ['a']


async def test_a_path_that_leads_out_now_is_refused(agent: Agent, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp('outside')
    (agent.root / 'd').mkdir()
    (agent.root / 'd' / 'a').write_text('old')
    await agent.writes('d/a', b'agent')
    (agent.root / 'd' / 'a').rename(outside / 'a')
    (agent.root / 'd').rmdir()
    (agent.root / 'd').symlink_to(outside)
    [plan] = await agent.journal.plan(0)
    assert (plan.yours, plan.possible) == (True, False)
    with pytest.raises(UsageError, match=r'd/a: .* All files are as they were before\.'):
        await agent.journal.restore([plan], source='rewind')
    assert (outside / 'a').read_bytes() == b'agent'


@pytest.mark.parametrize(
    'place', ['../x', '/etc/x', 'a/../../x', '', '.git/config', 'sub/.GIT/hooks/x', '.deep/memory/x']
)
async def test_places_that_are_never_written(agent: Agent, place: str) -> None:
    nothing = FileState(digest=None, mode=None, kept=True)
    with pytest.raises(UsageError):
        await agent.journal.write(place, b'x', expected=nothing, source='review')


async def test_version_control_and_the_notebooks_own_files_are_not_looked_at(agent: Agent) -> None:
    async with agent.executes():
        for name in ('.git', '.deep/memory', 'node_modules', '__pycache__', 'env', '.ipynb_checkpoints'):
            (agent.root / name).mkdir(parents=True, exist_ok=True)
            (agent.root / name / 'x').write_text('x')
        (agent.root / 'env' / 'pyvenv.cfg').write_text('')
        (agent.root / 'sales.ipynb').write_text('saved by the front end')
        (agent.root / '.~sales.ipynb').write_text('about to be')
    assert await agent.journal.changes() == []
    with agent.journal.during(JournalCall(run=1, call='c', tool='write_file')):
        await agent.workspace.write_bytes('.git/config', b'x')
        await agent.workspace.write_bytes('.deep/memory/x', b'y')
    assert await agent.journal.changes() == []
    assert [gap.what for gap in await agent.journal.gaps()] == [
        'write_file changed .git/config: what belongs to version control is never put back.'
    ]


async def test_what_the_person_does_through_the_workspace_is_not_the_agents(agent: Agent) -> None:
    await agent.workspace.write_bytes('a', b'person')
    assert await agent.journal.changes() == []


async def test_a_write_that_fails_is_no_change(agent: Agent) -> None:
    (agent.root / 'd').mkdir()
    with pytest.raises(IsADirectoryError):
        await agent.writes('d', b'x')
    assert await agent.journal.changes() == []


async def test_a_hunk_is_written_only_over_what_was_shown(agent: Agent) -> None:
    await agent.writes('a', b'one\ntwo\n')
    shown = await agent.journal.state_of('a')
    id = await agent.journal.write('a', b'one\n', expected=shown, source='review', run=1)
    assert (agent.root / 'a').read_bytes() == b'one\n'
    [change] = await agent.journal.changes(after=id - 1)
    assert (change.source, change.run, change.after.mode) == ('review', 1, shown.mode)
    assert change.before.digest is not None
    assert await agent.journal.content(change.before.digest) == b'one\ntwo\n'
    with pytest.raises(UsageError, match='a has changed meanwhile'):
        await agent.journal.write('a', b'', expected=shown, source='review')
    await agent.journal.write('a', None, expected=await agent.journal.state_of('a'), source='review')
    assert not (agent.root / 'a').exists()

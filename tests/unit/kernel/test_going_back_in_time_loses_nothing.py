"""A rewind brings files, plan and conversation back together, keeps what is the person's, and can be undone exactly."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from deep_notebook.errors import UsageError
from deep_notebook.kernel.compacting import compact
from deep_notebook.kernel.requests import Answer
from deep_notebook.kernel.session import NotebookSession
from deep_notebook.kernel.travel_panel import TimelinePanel
from deep_notebook.kernel.travel_words import done, planned
from deep_notebook.settling import settle
from deep_notebook.store.rewinds import Rewinds
from deep_notebook.views.panel_shapes import Timeline
from harness.scripted import Call, call, prompts, script
from harness.sessions import opened_cells
from harness.travel import ask, opened, tree

pytestmark = pytest.mark.anyio


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[NotebookSession]:
    async with opened(tmp_path) as session:
        yield session


def writes(**files: str) -> list[Call]:
    return [call('write_file', path=name.replace('_', '.'), content=text) for name, text in files.items()]


def plan_of(*items: str) -> Call:
    return call('write_todos', todos=[{'content': item, 'status': 'pending'} for item in items])


async def state(session: NotebookSession) -> dict[str, Any]:
    """All that a rewind may change."""
    return {
        'tree': tree(session.directory),
        'history': await (await session.store()).history(),
        'todos': [asdict(todo) for todo in session.deps.todos],
        'digests': dict(session.deps.read_digests),
    }


async def go(session: NotebookSession, target: str | None = None, **options: Any) -> str:
    mine = options.pop('mine', False)
    plan = await session.travel.plan(target, **options)
    await session.travel.rewind(plan, mine=mine)
    return done(plan, mine=mine)


async def undo(session: NotebookSession, *, mine: bool = False) -> str:
    plan = await session.travel.plan_undo()
    await session.travel.rewind(plan, mine=mine)
    return done(plan, mine=mine)


async def labels(session: NotebookSession) -> list[str]:
    return [point.label for point in await session.travel.points()]


async def test_created_files_go_deleted_return_edited_are_as_before(session: NotebookSession) -> None:
    (session.directory / 'gone.txt').write_text('precious')
    (session.directory / 'edited.txt').write_bytes(b'one\r\ntwo\r\n')
    await ask(session, [plan_of('old')], 'Planned.')
    before = await state(session)
    await ask(
        session,
        [call('read_file', path='edited.txt'), *writes(new_txt='new'), plan_of('other')],
        [*writes(edited_txt='changed'), call('execute', command='rm gone.txt; mkdir -p sub; echo x > sub/by_command')],
        'Done.',
    )
    after = await state(session)
    assert set(after['tree']) == {'edited.txt', 'new.txt', 'sub/by_command'}

    told = await go(session)

    assert await state(session) == before
    assert not (session.directory / 'sub').exists()
    for word in ('new.txt', 'gone.txt', 'edited.txt', 'taken back'):
        assert word in told
    await undo(session)
    assert await state(session) == after


async def test_any_part_goes_back_alone(session: NotebookSession) -> None:
    await ask(session, [plan_of('old')], 'Planned.')
    start = await state(session)
    await ask(session, [*writes(a_txt='a'), plan_of('new')], 'Done.')
    end = await state(session)

    await go(session, parts={'todos'})
    assert await state(session) == end | {'todos': start['todos']}
    await undo(session)
    await go(session, parts={'files'})
    assert await state(session) == end | {'tree': start['tree']}
    await undo(session)
    await go(session, parts={'conversation'})
    assert await state(session) == start | {'tree': end['tree'], 'todos': end['todos']}
    await undo(session)
    assert await state(session) == end


async def test_what_the_person_changed_since_stays_unless_they_say_otherwise(session: NotebookSession) -> None:
    path = session.directory / 'a.txt'
    path.write_text('start')
    await ask(session, [call('read_file', path='a.txt')], writes(a_txt='agent', b_txt='agent'), 'Done.')
    path.write_text('person')

    plan = await session.travel.plan(None)
    assert 'a.txt' in planned(plan, mine=False)
    assert '--mine' in planned(plan, mine=False)
    told = await go(session)
    assert tree(session.directory) == {'a.txt': b'person'}
    assert 'Kept, since somebody else changed it too: a.txt' in told
    await undo(session)
    assert tree(session.directory) == {'a.txt': b'person', 'b.txt': b'agent'}

    await go(session, mine=True)
    assert tree(session.directory) == {'a.txt': b'start'}
    await undo(session)
    assert tree(session.directory) == {'a.txt': b'person', 'b.txt': b'agent'}


async def test_what_a_command_left_running_changes_later_is_named(session: NotebookSession) -> None:
    root = session.directory
    (root / 'log.txt').write_text('start')
    await ask(session, [call('execute', command='echo x > made.txt')], writes(a_txt='agent'), 'Done.')
    assert (await session.travel.plan(None)).question.gaps == ()
    (root / 'log.txt').write_text('written by a process in the background')
    (root / 'late.txt').write_text('written by a process in the background')
    (root / 'made.txt').write_text('changed too, but named in the list')
    named = "after the agent's last command or code, you or another program changed late.txt, log.txt: that stays"
    plan = await session.travel.plan(None)
    assert f'! {named}' in planned(plan, mine=False)
    assert f'Not covered: {named}.' in await go(session, mine=True)
    assert set(tree(root)) == {'log.txt', 'late.txt'}
    await undo(session)
    assert set(tree(root)) == {'log.txt', 'late.txt', 'made.txt', 'a.txt'}
    assert (await session.travel.plan(None, {'conversation'})).question.gaps == ()


async def test_an_undo_does_not_overwrite_what_the_person_changed_since_the_rewind(session: NotebookSession) -> None:
    await ask(session, writes(a_txt='agent', b_txt='agent'), 'Done.')
    await go(session)
    (session.directory / 'a.txt').write_text('person')
    assert 'a.txt' in await undo(session)
    assert tree(session.directory) == {'a.txt': b'person', 'b.txt': b'agent'}


async def test_the_agent_may_edit_what_it_had_seen_and_reads_again_what_it_had_not(session: NotebookSession) -> None:
    (session.directory / 'a.txt').write_text('start\n')
    await ask(session, [call('read_file', path='a.txt')], 'Seen.')
    await ask(session, writes(a_txt='agent\n', b_txt='agent\n'), 'Done.')
    await go(session)
    _, shown = await ask(session, writes(a_txt='again\n'), 'Done.')
    assert (session.directory / 'a.txt').read_text() == 'again\n', shown
    await go(session, parts={'conversation'})
    await ask(session, writes(a_txt='blind\n'), 'Refused.')
    assert (session.directory / 'a.txt').read_text() == 'again\n', 'the rewound agent has not seen this'


async def test_there_is_a_point_before_each_run_and_after_each_step_and_it_names_what_changed(
    session: NotebookSession,
) -> None:
    await ask(session, writes(a_txt='1\n2\n'), 'Done.')
    await ask(session, writes(b_txt='1\n'), 'Done.')
    points = await session.travel.points()
    assert [(point.label, point.run, [file.path for file in point.files]) for point in points] == [
        ('before run 1', 1, []),
        ('auto-1', 1, ['a.txt']),
        ('before run 2', 2, []),
        ('auto-3', 2, ['b.txt']),
    ]
    assert (points[1].files[0].added, points[1].files[0].removed) == (2, 0)
    assert [point.here for point in points] == [False] * 4
    await go(session, 'auto-1')
    assert [point.label for point in await session.travel.points() if point.here] == ['auto-1']


async def test_automatic_points_are_pruned_and_those_before_runs_are_not(tmp_path: Path) -> None:
    async with opened(tmp_path, settled=settle({'max_checkpoints': 1})) as session:
        for number in range(3):
            await ask(session, [plan_of(str(number))], 'Done.')
        assert await labels(session) == ['before run 1', 'before run 2', 'before run 3', 'auto-5']


async def test_explicit_no_takes_no_checkpoints_and_frequency_holds(tmp_path: Path) -> None:
    async with opened(tmp_path, settled=settle({'include_checkpoints': False})) as session:
        await ask(session, [plan_of('a')], 'Done.')
        assert await labels(session) == []
        session.use(settle({'checkpoint_frequency': 'manual_only'}))
        await ask(session, [plan_of('b')], 'Done.')
        assert await labels(session) == ['before run 2']


async def test_without_a_target_each_rewind_takes_back_one_more_run(session: NotebookSession) -> None:
    for number in range(3):
        await ask(session, writes(**{f'f{number}_txt': 'x'}), 'Done.', prompt=f'Prompt {number}.')
    for left in (2, 1, 0):
        await go(session)
        assert len(tree(session.directory)) == left
        assert len(prompts(await (await session.store()).history())) == left
    with pytest.raises(UsageError, match='no run to take back'):
        await go(session)
    for whole in (1, 2, 3):
        await undo(session)
        assert len(tree(session.directory)) == whole


async def test_one_can_go_forward_again(session: NotebookSession) -> None:
    await ask(session, writes(a_txt='a'), 'Done.')
    end = await state(session)
    await go(session, '1')
    await go(session, 'before rewind 1')
    assert await state(session) == end


async def test_targets_that_are_unknown_or_ambiguous_are_one_line_with_the_closest(session: NotebookSession) -> None:
    with pytest.raises(UsageError, match='no checkpoints yet'):
        await session.travel.plan('x')
    await ask(session, [plan_of('a')], 'Done.')
    await session.travel.save('before the refactoring')
    with pytest.raises(UsageError, match="Did you mean 'before the refactoring'"):
        await session.travel.plan('before the refactor')
    with pytest.raises(UsageError, match='already'):
        await session.travel.save(' before  the refactoring')
    with pytest.raises(UsageError, match='another label'):
        await session.travel.save('before run 7')
    await go(session)
    await ask(session, [plan_of('b')], 'Done.')
    with pytest.raises(UsageError, match=r"2 checkpoints are called 'auto-1': say which by its id, \w{8} \(run 1\)"):
        await session.travel.plan('auto-1')
    points = await session.travel.points()
    assert (await session.travel.plan(points[1].id[:8])).label == 'auto-1'
    assert (await session.travel.plan('run 2')).label == 'before run 2'


async def test_a_suspended_run_is_in_the_way_until_it_is_given_up(session: NotebookSession) -> None:
    await ask(session, 'Hello.')
    await ask(session, [call('execute', command='true')], 'Done.', approve='ask')
    plan = await session.travel.plan(None)
    with pytest.raises(UsageError, match=r'Run 2 waits for your answer.*--give-up'):
        await session.travel.rewind(plan)
    assert (await session.suspended())[0].id == 2
    with pytest.raises(UsageError, match='fork … --give-up'):
        await session.travel.fork('before run 2')
    await session.travel.rewind(plan, give_up=True)
    with pytest.raises(UsageError, match='No run waits'):
        await session.suspended()


async def test_nothing_is_rewound_while_a_run_is_in_progress(session: NotebookSession) -> None:
    await ask(session, 'Hello.')
    plan = await session.travel.plan(None)
    async with session.one_run:
        with pytest.raises(UsageError, match='in progress'):
            await session.travel.rewind(plan)
        with pytest.raises(UsageError, match='in progress'):
            await session.travel.fork('1')


async def test_a_plan_that_was_shown_is_not_carried_out_on_another_conversation(session: NotebookSession) -> None:
    await ask(session, writes(a_txt='a'), 'Done.')
    plan = await session.travel.plan(None)
    await ask(session, 'Hello.')
    with pytest.raises(UsageError, match='Something has changed'):
        await session.travel.rewind(plan)
    assert tree(session.directory) == {'a.txt': b'a'}


async def test_a_file_that_changes_between_plan_and_rewind_stops_it_and_nothing_is_half_done(
    session: NotebookSession,
) -> None:
    await ask(session, writes(a_txt='a', b_txt='b'), 'Done.')
    plan = await session.travel.plan(None)
    (session.directory / 'b.txt').write_text('person')
    before = await state(session)
    with pytest.raises(UsageError, match=r'b\.txt'):
        await session.travel.rewind(plan)
    assert await state(session) == before
    assert await session.travel.undoable() is None


@contextmanager
def crashing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The kernel dies when files are back and the conversation is not."""

    async def crash(*_: object) -> None:
        raise KeyError

    with monkeypatch.context() as patch:
        patch.setattr(Rewinds, 'finish', crash)
        yield


async def test_a_rewind_that_a_crash_interrupts_is_completed_or_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as session:
        await ask(session, [*writes(a_txt='a'), plan_of('x')], 'Done.')
        end = await state(session)
    for completes in (False, True):
        async with opened(tmp_path) as session:
            await session.store()
            with crashing(monkeypatch), pytest.raises(KeyError):
                await go(session, '1')
        async with opened(tmp_path) as session:
            now = await state(session)
            assert now == end | {'tree': {}}, 'files are back, and the conversation is whole'
            if completes:
                await go(session, '1')
                assert (await state(session))['history'] == []
            await undo(session)
            assert await state(session) == end
    async with opened(tmp_path) as session:
        with crashing(monkeypatch), pytest.raises(KeyError):
            await go(session, '1')
        _, shown = await ask(session, 'Hello.')
        assert 'A rewind was interrupted' in (shown.notice or '')


def test_checkpoints_of_a_run_that_is_resumed_after_a_restart_know_how_files_were(tmp_path: Path) -> None:
    denied = call('execute', command='true')
    with opened_cells(tmp_path, script(writes(a_txt='a'), 'Done.', denied)) as cells:
        cells.ask('Write.')
        assert cells.ask('Run.', approve='ask').phase == 'suspended'
    with opened_cells(tmp_path, script([plan_of('x')], 'Done.')) as cells:
        cells.answer(Answer(verdict='deny'))
        travel = cells.session.travel
        [*_, last] = cells.call(travel.points())
        assert (last.tool, cells.call(travel.plan(last.id)).paths) == ('write_todos', ())


async def test_a_long_list_leaves_out_old_points_that_nobody_asked_for(session: NotebookSession) -> None:
    await ask(session, 'Hello.')
    await session.travel.save('mine')
    for number in range(110):
        await session.travel.before_run(2 + number)
    shown = await labels(session)
    assert (len(shown), shown[0], shown[1]) == (101, 'mine', 'before run 12')
    assert (await session.travel.plan('before run 1')).label == 'before run 1', 'it is still there'


async def test_plan_and_files_seen_survive_a_restart_after_a_rewind(tmp_path: Path) -> None:
    async with opened(tmp_path) as session:
        await ask(session, [plan_of('old'), *writes(a_txt='1')], 'Done.')
        await ask(session, [plan_of('new'), *writes(a_txt='2', b_txt='2')], 'Done.')
        await go(session)
        rewound = await state(session)
    async with opened(tmp_path) as session:
        await session.store()
        assert await state(session) == rewound


async def test_a_fork_goes_on_in_a_new_conversation_with_the_files_as_they_are(tmp_path: Path) -> None:
    async with opened(tmp_path) as session:
        await ask(session, [plan_of('old')], 'Done.', prompt='One.')
        await ask(session, [plan_of('new'), *writes(a_txt='a')], 'Done.', prompt='Two.')
        await session.travel.fork('before run 2')
        assert tree(tmp_path) == {'a.txt': b'a'}
    async with opened(tmp_path) as session:
        store = await session.store()
        assert prompts(await store.history()) == ['One.']
        assert [todo.content for todo in session.deps.todos] == ['old']
        with pytest.raises(UsageError, match='no rewind to undo'):
            await undo(session)
        with pytest.raises(UsageError, match='in another conversation of this notebook: `%deep fork run 2` goes on'):
            await session.travel.plan('run 2')
        await ask(session, 'Hello.', prompt='Three.')
        await session.travel.fork('before the fork at before run 2')
        assert prompts(await store.history()) == ['One.', 'Two.']


async def test_one_goes_back_behind_a_summary_and_undo_takes_no_message_back(session: NotebookSession) -> None:
    for number in range(4):
        await ask(session, 'It is so. ' * 200, prompt=f'Question {number}?')
    whole = await (await session.store()).history()
    session.namespace['model'] = script('A summary.')
    await compact(session, session.resolve('model'), None)
    summary = await state(session)
    assert len(summary['history']) < len(whole)

    await go(session, 'run 4')
    assert await (await session.store()).history() == whole[:6]
    plan = await session.travel.plan_undo()
    assert 'taken back' not in planned(plan, mine=False) + await undo(session)
    assert await state(session) == summary


async def test_search_still_finds_what_was_taken_back(session: NotebookSession) -> None:
    await ask(session, 'The answer is zebra.')
    await go(session)
    assert len(await (await session.store()).search('zebra')) == 1


async def test_the_agents_own_rewind_takes_files_and_plan_along_and_asks_with_the_list(tmp_path: Path) -> None:
    options = settle({'include_checkpoints': True, 'defer': None})
    async with opened(tmp_path, settled=options) as session:
        await ask(session, [call('save_checkpoint', label='clean'), plan_of('old')], 'Saved.')
        start = await state(session)
        await ask(session, [*writes(a_txt='bad', b_txt='bad'), plan_of('new')], 'Hm.')
        (tmp_path / 'b.txt').write_text('person')

        _, asked = await ask(session, [call('rewind_to', checkpoint='clean')], 'Back.', approve='ask')
        question = asked.approvals[-1]
        assert '1 file deleted' in question.detail
        assert 'b.txt kept' in question.detail
        assert '-bad' in (question.diff or '')

        outcome, shown = await ask(session, [call('rewind_to', checkpoint='clean')], 'Back.')
        assert outcome.phase == 'done', outcome
        assert tree(tmp_path) == {'b.txt': b'person'}
        now = await state(session)
        assert (len(now['history']), now['todos']) == (3, start['todos'])
        notice = shown.notice or ''
        assert 'a.txt removed' in notice
        assert 'b.txt' in notice
        assert '%deep undo' in notice
        await undo(session)
        assert tree(tmp_path) == {'a.txt': b'bad', 'b.txt': b'person'}
        assert prompts((await state(session))['history'])[-1] == 'Go.'


async def test_the_panel_does_what_was_asked_and_looks_again_when_files_have_changed(session: NotebookSession) -> None:
    await ask(session, writes(a_txt='a', b_txt='b'), 'Done.')
    panel = TimelinePanel(session.travel)
    drawn = await panel.draw()
    target = {'id': drawn.points[0].id}
    rewind = {'do': 'rewind', **target, 'parts': ['conversation', 'files', 'todos'], 'mine': True}
    with pytest.raises(UsageError, match='first'):
        await panel.handle(drawn, rewind)
    asked = await panel.handle(drawn, {'do': 'ask', **target})
    assert asked.ask is not None
    assert [file.path for file in asked.ask.files] == ['a.txt', 'b.txt']
    assert (await panel.handle(asked, {'do': 'cancel'})).ask is None

    (session.directory / 'b.txt').write_text('person')
    again = await panel.handle(asked, rewind)
    assert (session.directory / 'a.txt').exists(), 'what was not shown is not done'
    assert again.ask is not None
    assert again.ask.files[1].yours

    rewound = await panel.handle(again, {**rewind, 'mine': False})
    assert tree(session.directory) == {'b.txt': b'person'}
    assert rewound.undo == "Went back to 'before run 1'."
    undone = await panel.handle(rewound, {'do': 'undo'})
    assert isinstance(undone, Timeline)
    assert undone.undo is None
    assert tree(session.directory) == {'a.txt': b'a', 'b.txt': b'person'}


@pytest.mark.parametrize('seed', range(4))
async def test_wherever_a_random_walk_leads_undo_restores_the_state_before_the_rewind(
    session: NotebookSession, seed: int
) -> None:
    dice = random.Random(seed)
    before: list[dict[str, Any]] = []
    for number in range(10):
        match dice.choice(['run', 'run', 'rewind', 'undo', 'undo']):
            case 'run':
                names = dice.sample(['a.txt', 'b.txt', 'c/d.txt'], k=2)
                there = [name for name in names if (session.directory / name).exists()]
                reads = [call('read_file', path=name) for name in there]
                work: list[Call] = [call('write_file', path=names[0], content=f'{number}\n')]
                if dice.random() < 0.5:
                    work.append(call('execute', command=f'rm -rf {names[1]}'))
                await ask(session, *([reads] if reads else []), [*work, plan_of(str(number))], 'Done.')
            case 'rewind' if points := await session.travel.points():
                before.append(await state(session))
                await go(session, dice.choice(points).id)
            case 'undo' if before:
                await undo(session)
                assert await state(session) == before.pop()
    while before:
        await undo(session)
        assert await state(session) == before.pop()

"""Going to another point of a conversation moves references: every message stays, and every rewind can be undone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from deep_notebook.store import SessionStore, SqliteCheckpointStore
from deep_notebook.store.points import Moment, Point
from deep_notebook.store.rewinds import PARTS, Rewinds
from harness.checkpoints import checkpoint

pytestmark = pytest.mark.anyio

REST = Moment(history=0, messages=0, journal=3, todos=[{'content': 'look', 'status': 'pending', 'id': '1'}])


def turn(number: int) -> list[ModelMessage]:
    return [
        ModelRequest(parts=[UserPromptPart(f'question {number}')], conversation_id='c'),
        ModelResponse(parts=[TextPart(f'answer {number}')], conversation_id='c'),
    ]


async def ask(store: SessionStore, rewinds: Rewinds, number: int) -> Point:
    """One run; return the point before it."""
    run = await store.start_run(prompt='', model='m')
    present = await rewinds.present(REST, before_run=run)
    id = await rewinds.mark(f'before run {run}', present, kind='run', before_run=run)
    await store.append(turn(number))
    await store.save_run(run, phase='done')
    return next(point for point in await rewinds.points() if point.id == id)


async def go(rewinds: Rewinds, point: Point, *, finish: bool = True) -> None:
    rewind = await rewinds.begin(
        'rewind',
        label=point.label,
        checkpoint=point.id,
        parts=PARTS,
        before=await rewinds.present(REST),
        after=point.moment,
    )
    if finish:
        await rewinds.finish(rewind, None)


async def undo(rewinds: Rewinds) -> None:
    rewind = await rewinds.undoable()
    assert rewind is not None
    begun = await rewinds.begin(
        'undo',
        label=rewind.label,
        checkpoint=None,
        parts=rewind.parts,
        before=await rewinds.present(REST),
        after=rewind.before,
        undoes=rewind.id,
    )
    await rewinds.finish(begun, None)


async def texts(store: SessionStore) -> list[str]:
    return [str(getattr(part, 'content', '')) for message in await store.history() for part in message.parts]


async def test_the_conversation_goes_back_and_undo_brings_every_message_again(store: SessionStore) -> None:
    rewinds = Rewinds(store)
    await ask(store, rewinds, 1)
    second = await ask(store, rewinds, 2)
    whole = await store.history()

    await go(rewinds, second)
    assert await texts(store) == ['question 1', 'answer 1']
    assert [hit.snippet for hit in await store.search('question 2')], 'what was taken back is still found'

    await undo(rewinds)
    assert await store.history() == whole
    assert await rewinds.undoable() is None


async def test_rewinds_are_undone_one_after_the_other(store: SessionStore) -> None:
    rewinds = Rewinds(store)
    first, second = await ask(store, rewinds, 1), await ask(store, rewinds, 2)
    await go(rewinds, second)
    await go(rewinds, first)
    assert await texts(store) == []
    await undo(rewinds)
    assert await texts(store) == ['question 1', 'answer 1']
    await undo(rewinds)
    assert len(await texts(store)) == 4


async def test_the_last_run_is_the_one_that_the_conversation_ends_with(store: SessionStore) -> None:
    rewinds = Rewinds(store)
    points = [await ask(store, rewinds, number) for number in (1, 2, 3)]
    assert (await rewinds.present(REST)).run == 3
    await go(rewinds, points[2])
    assert (await rewinds.present(REST)).run == 2
    await go(rewinds, points[1])
    assert (await rewinds.present(REST)).run == 1
    await go(rewinds, points[0])
    assert (await rewinds.present(REST)).run is None
    await ask(store, rewinds, 4)
    assert (await rewinds.present(REST)).run == 4
    await undo(rewinds)
    assert (await rewinds.present(REST)).run == 1


async def test_after_a_rewind_one_can_go_forward_to_what_was_last_said(store: SessionStore) -> None:
    rewinds = Rewinds(store)
    await ask(store, rewinds, 1)
    await go(rewinds, await ask(store, rewinds, 2))
    left = next(point for point in await rewinds.points() if point.label == 'before rewind 1')
    await go(rewinds, left)
    assert (await texts(store))[-1] == 'answer 2'


async def test_an_interrupted_rewind_leaves_the_conversation_and_can_be_completed(path: Path) -> None:
    with SessionStore.open(path) as store:
        rewinds = Rewinds(store)
        first = await ask(store, rewinds, 1)
        await go(rewinds, first, finish=False)
    with SessionStore.open(path) as store:
        rewinds = Rewinds(store)
        assert len(await texts(store)) == 2
        latest = await rewinds.latest()
        assert latest is not None
        assert not latest.done
        assert await rewinds.in_force() is None
        await go(rewinds, first)
        again = await rewinds.latest()
        assert again is not None
        assert (again.id, again.done, again.before.messages) == (latest.id, True, 2)
        assert await texts(store) == []
        await undo(rewinds)
        assert len(await texts(store)) == 2


async def test_an_interrupted_rewind_can_be_undone(store: SessionStore) -> None:
    rewinds = Rewinds(store)
    first = await ask(store, rewinds, 1)
    await go(rewinds, first, finish=False)
    await undo(rewinds)
    assert len(await texts(store)) == 2
    assert await rewinds.undoable() is None


async def test_plan_and_files_seen_are_those_of_the_rewind_until_the_next_run(path: Path) -> None:
    with SessionStore.open(path) as store:
        rewinds = Rewinds(store)
        first = await ask(store, rewinds, 1)
        await go(rewinds, replace(first, moment=replace(first.moment, digests={'a': 'x'})))
    with SessionStore.open(path) as store:
        rewinds = Rewinds(store)
        in_force = await rewinds.in_force()
        assert in_force is not None
        assert (in_force.after.todos, in_force.after.digests) == (REST.todos, {'a': 'x'})
        await ask(store, rewinds, 2)
        assert await rewinds.in_force() is None


async def test_a_fork_begins_at_the_point_and_the_old_conversation_stays(store: SessionStore) -> None:
    rewinds = Rewinds(store)
    await ask(store, rewinds, 1)
    second = await ask(store, rewinds, 2)
    old = await store.conversation()

    assert await rewinds.fork(second, await rewinds.present(REST)) != old

    assert await texts(store) == ['question 1', 'answer 1']
    assert [point.label for point in await rewinds.points()] == ['fork of before run 2']
    assert await rewinds.undoable() is None
    end = next(point for point in await rewinds.other_points() if point.label == 'before the fork at before run 2')
    await rewinds.fork(end, await rewinds.present(REST))
    assert (await texts(store))[-1] == 'answer 2'


async def test_points_are_checkpoints_like_any_other_and_pruning_spares_them(store: SessionStore) -> None:
    rewinds, checkpoints = Rewinds(store), SqliteCheckpointStore(store)
    await ask(store, rewinds, 1)
    second = await ask(store, rewinds, 2)
    history = await store.history()
    for number in range(4):
        await checkpoints.save_automatic(checkpoint(f'auto-{number}', history, automatic=True), 2)
    labels = [point.label for point in await rewinds.points()]
    assert labels == ['before run 1', 'before run 2', 'auto-2', 'auto-3']
    stored = await checkpoints.get(second.id)
    assert stored is not None
    assert (stored.messages, stored.turn, stored.metadata['conversation']) == (history[:2], 1, 'c')
    assert (await rewinds.points())[2].moment.history == (await rewinds.present(REST)).history


async def test_what_is_taken_back_is_counted(store: SessionStore) -> None:
    rewinds = Rewinds(store)
    first, second = await ask(store, rewinds, 1), await ask(store, rewinds, 2)
    whole = await rewinds.present(REST)
    assert await rewinds.taken_back(whole, first.moment) == 4
    assert await rewinds.taken_back(whole, second.moment) == 2
    await go(rewinds, second)
    back = await rewinds.present(REST)
    assert await rewinds.taken_back(back, whole) == 0
    await ask(store, rewinds, 3)
    assert await rewinds.taken_back(await rewinds.present(REST), whole) == 2


async def test_variables_are_those_changed_after_the_point_in_this_kernel(store: SessionStore) -> None:
    rewinds = Rewinds(store)
    first = await ask(store, rewinds, 1)
    await rewinds.note_variables('k', 1, ['a', 'b'])
    second = await ask(store, rewinds, 2)
    await rewinds.note_variables('k', 2, ['b', 'c'])
    await rewinds.note_variables('another', 2, ['d'])
    assert await rewinds.variables_since('k', first) == ['a', 'b', 'c']
    assert await rewinds.variables_since('k', second) == ['b', 'c']

"""A notebook open in two kernels: each has its own line of the conversation, finds it again, and is told so."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from deep_notebook.errors import UsageError
from deep_notebook.kernel.branch_commands import COMMANDS, branch_status
from deep_notebook.store import SqliteCheckpointStore, session_path
from harness.far_cells import FarProcess, model
from harness.histories import problems
from harness.scripted import prompts
from harness.sessions import Cells, opened_cells

FRESH = 'Note: the kernel was restarted'
SECOND = 'This notebook is open in another kernel: this one continues on its own branch of the conversation.'


@pytest.fixture(scope='module')
def far() -> Iterator[FarProcess]:
    with closing(FarProcess()) as process:
        yield process


@pytest.fixture(scope='module')
def other_far() -> Iterator[FarProcess]:
    with closing(FarProcess()) as process:
        yield process


@contextmanager
def near_cells(directory: Path, kernel: str) -> Iterator[Cells]:
    """The cells of a kernel that is this process: one at a time."""
    with opened_cells(directory, model(), {'include_checkpoints': True}, kernel=kernel) as cells:
        yield cells


def asked(cells: Cells) -> list[str]:
    history = cells.call(cells.call(cells.session.store()).history())
    assert problems(history) == []
    return said(prompts(history))


def said(texts: list[str]) -> list[str]:
    """The words of the person among prompts."""
    return [text for text in texts if not text.startswith(FRESH)]


def branch(cells: Cells, rest: str = '') -> str:
    return COMMANDS['branch'](cells, rest)  # type: ignore[arg-type]


def notice(cells: Cells) -> str | None:
    found: str | None = cells.call(cells.session.store()).notice
    return found


def test_both_write_at_once_and_nothing_is_lost_or_mixed(
    far: FarProcess, other_far: FarProcess, tmp_path: Path
) -> None:
    ours, theirs = ([f'{name} {number}' for number in range(15)] for name in ('one', 'two'))
    with far.cells(tmp_path, 'one') as one, other_far.cells(tmp_path, 'two') as two:
        assert one.ask('hello') == {'prompts': ['hello'], 'notice': None}
        second = two.ask('me too')
        assert said(second['prompts']) == ['hello', 'me too']
        assert second['notice'] == SECOND
        one.begin(*ours)
        two.begin(*theirs)
        assert said(one.end()['prompts']) == ['hello', *ours]
        assert said(two.end()['prompts']) == ['hello', 'me too', *theirs]
        one.close()
        with near_cells(tmp_path, 'three') as three:
            assert asked(three) == ['hello', *ours], 'the main line is free again'
            assert notice(three) is None
            listed = branch(three)
            assert listed.splitlines()[0].startswith('* main ')
            assert 'last asked “two 14”, open in another kernel' in listed.splitlines()[1]
            found = three.call(three.call(three.session.store()).search('two 7'))
            assert any('two 7' in hit.snippet for hit in found)
            for checkpoint in three.call(SqliteCheckpointStore(three.call(three.session.store())).list_all()):
                assert problems(checkpoint.messages) == []
    with closing(sqlite3.connect(session_path(tmp_path / 'sales.ipynb'))) as connection:
        assert connection.execute('PRAGMA integrity_check').fetchall() == [('ok',)]
        [[runs]] = connection.execute("SELECT count(*) FROM runs WHERE phase = 'done'").fetchall()
        assert runs == 32


def test_a_kernel_that_restarts_goes_on_with_its_branch(far: FarProcess, tmp_path: Path) -> None:
    with far.cells(tmp_path, 'one') as one:
        one.ask('hello')
        with near_cells(tmp_path, 'two') as two:
            assert two.ask('on a branch').phase == 'done'
        one.ask('on main')
        with near_cells(tmp_path, 'two') as two:
            assert asked(two) == ['hello', 'on a branch']
            assert 'continues on its own branch' in str(notice(two))
            assert two.ask('further').phase == 'done'
        one.close()
        with near_cells(tmp_path, 'two') as two:
            assert asked(two) == ['hello', 'on a branch', 'further'], 'also when the first kernel is gone'
            with far.cells(tmp_path, 'three') as three:
                third = three.ask('who is on main?')
                assert said(third['prompts']) == ['hello', 'on main', 'who is on main?']
                assert third['notice'] is None


def test_a_branch_in_which_nothing_was_asked_is_not_gone_on_with(far: FarProcess, tmp_path: Path) -> None:
    with far.cells(tmp_path, 'one') as one:
        one.ask('hello')
        with near_cells(tmp_path, 'two') as two:
            assert asked(two) == ['hello']
        one.ask('on main')
        with near_cells(tmp_path, 'two') as two:
            assert asked(two) == ['hello', 'on main']


def test_a_new_conversation_on_a_branch_is_found_again(far: FarProcess, tmp_path: Path) -> None:
    with far.cells(tmp_path, 'one') as one:
        one.ask('hello')
        with near_cells(tmp_path, 'two') as two:
            two.ask('on a branch')
            two.ask('anew', new=True)
        with near_cells(tmp_path, 'two') as two:
            assert asked(two) == ['anew']


def test_a_branch_whose_kernel_is_gone_is_said_and_can_be_gone_on_with(far: FarProcess, tmp_path: Path) -> None:
    with far.cells(tmp_path, 'one') as one:
        one.ask('hello')
        with near_cells(tmp_path, 'two') as two:
            two.ask('on a branch')
        one.close()
    with near_cells(tmp_path, 'three') as three:
        told = str(notice(three))
        assert asked(three) == ['hello']
        assert told.startswith('The latest work in this notebook is on a branch')
        number = told.split('`%deep branch ')[1].split('`')[0]
        assert branch_status(three) == (  # type: ignore[arg-type]
            'You are on the main line, one of 2 lines of this conversation: `%deep branch` lists them.'
        )
        assert branch(three, number) == f'Your next %%deep goes on branch {number}.'
        assert asked(three) == ['hello', 'on a branch']
        assert branch(three).splitlines()[1].startswith(f'* {number} ')
    with near_cells(tmp_path, 'three') as three:
        assert asked(three) == ['hello', 'on a branch'], 'also after a restart'
        assert branch(three, 'main') == 'Your next %%deep goes on the main line.'
        three.ask('on main')
        assert asked(three) == ['hello', 'on main']
        three.ask('still there')
        assert notice(three) is None, 'the latest work is here'


def test_a_line_that_is_open_elsewhere_is_not_taken_from_under_its_kernel(far: FarProcess, tmp_path: Path) -> None:
    with far.cells(tmp_path, 'one') as one:
        one.ask('hello')
        with near_cells(tmp_path, 'two') as two:
            two.ask('on a branch')
            for line, why in [
                ('main', 'The main line is open in another kernel'),
                ('99', 'no branch 99'),
                ('x', 'not .x.'),
            ]:
                with pytest.raises(UsageError, match=why):
                    branch(two, line)
            assert asked(two) == ['hello', 'on a branch']


def test_a_killed_branch_leaves_no_run_that_goes_on(far: FarProcess, tmp_path: Path) -> None:
    with far.cells(tmp_path, 'one') as one:
        one.ask('hello')
        with near_cells(tmp_path, 'two') as two:
            two.ask('on a branch')
            store: Any = two.call(two.session.store())
            killed = two.call(store.start_run(prompt='killed', model='m'))
        with near_cells(tmp_path, 'two') as two:
            assert two.call(two.session.stored_run(killed)).phase == 'stopped'


def test_a_rewind_takes_back_only_what_its_own_kernel_did(far: FarProcess, tmp_path: Path) -> None:
    with far.cells(tmp_path, 'one') as one:
        one.ask('write first')
        with near_cells(tmp_path, 'two') as two:
            for prompt in ('write near', 'write both'):
                two.ask(prompt)
            one.ask('write far')
            (tmp_path / 'both').write_text('changed in between')
            travel = two.session.travel
            assert two.call(travel.points())[0].label == 'before run 2'

            plan = two.call(travel.plan('2'))
            assert [(path.path, path.yours) for path in plan.paths] == [('both', True), ('near', False)]
            two.call(travel.rewind(plan))

            assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ['both', 'far', 'first']
            assert said(asked(two)) == ['write first']
            assert one.ask('go on')['prompts'] == ['write first', 'write far', 'go on']

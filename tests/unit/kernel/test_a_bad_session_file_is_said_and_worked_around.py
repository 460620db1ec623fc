"""What is wrong with the session's file is one line in the run, and never a reason not to work."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from deep_notebook.errors import StoreError
from deep_notebook.kernel.run_words import NOT_KEPT
from deep_notebook.store import SessionStore, session_path
from deep_notebook.store import database as database_module
from harness.histories import problems
from harness.scripted import call, prompts, script
from harness.sessions import Cells, opened_cells

OPTIONS = {'include_checkpoints': True}


def asked(cells: Cells) -> list[str]:
    history = cells.call(cells.call(cells.session.store()).history())
    assert problems(history) == []
    return [text for text in prompts(history) if not text.startswith('Note: ')]


def some_work(directory: Path) -> Path:
    with opened_cells(directory, script(call('ls', path='.'), 'Yes.'), OPTIONS) as cells:
        assert cells.ask('earlier').phase == 'done'
    return session_path(directory / 'sales.ipynb')


class ReadOnly:
    """`os`, for whoever may not write; tests may run as root, whom no permission stops."""

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def open(self, file: str | Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(13, 'Permission denied', str(file))
        return os.open(file, flags, mode)


def read_only(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, 'os', ReadOnly())


def newer(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('PRAGMA user_version=99')


def damaged(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b'this is no database, ' * 500)


def damaged_for_good(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged(path, monkeypatch)

    def rename(self: Path, target: Path) -> Path:
        raise PermissionError(13, 'Permission denied', str(self))

    monkeypatch.setattr(Path, 'rename', rename)


@pytest.mark.parametrize(
    ('spoil', 'before', 'line', 'lasts'),
    [
        (
            read_only,
            ['earlier'],
            'cannot be written: what it holds was read, but this session is kept in memory',
            False,
        ),
        (newer, [], 'was written by a newer version of deep_notebook: this session is kept in memory only', False),
        (damaged, [], 'was damaged: it was moved to session.db.damaged-', True),
        (damaged_for_good, [], 'is damaged and cannot be moved aside: this session is kept in memory only', False),
    ],
)
def test_the_run_says_it_and_goes_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Path, pytest.MonkeyPatch], None],
    before: list[str],
    line: str,
    lasts: bool,
) -> None:
    path = some_work(tmp_path)
    spoil(path, monkeypatch)
    with opened_cells(tmp_path, script(call('ls', path='.'), 'Yes.'), OPTIONS) as cells:
        assert cells.ask('now').phase == 'done'
        assert line in str(cells.shown.state.notice)
        assert '\n' not in str(cells.shown.state.notice)
        assert cells.ask('then').phase == 'done'
        assert asked(cells) == [*before, 'now', 'then']
    monkeypatch.undo()
    with opened_cells(tmp_path, script('Yes.'), OPTIONS) as cells:
        assert asked(cells) == (['now', 'then'] if lasts else before)


def test_a_file_that_another_program_holds_stops_the_run_and_is_used_again_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, '_BUSY_SECONDS', 0.05)
    path = some_work(tmp_path)
    released = threading.Event()
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:

        def hold() -> str:
            if not released.is_set():
                other.execute('BEGIN IMMEDIATE')
            return 'held'

        model = script(call('ls', path='.'), lambda messages: hold() and 'Yes.', 'Yes.')
        with opened_cells(tmp_path, model, OPTIONS) as cells:
            assert cells.ask('first').phase == 'failed'
            assert 'another process has been writing to it' in str(cells.shown.state.error)
            assert cells.shown.state.notice == NOT_KEPT
            released.set()
            other.execute('ROLLBACK')
            assert cells.ask('second').phase == 'done'
            assert asked(cells) == ['earlier', 'first', 'second']


def test_a_message_that_cannot_be_read_is_said_with_the_way_out(tmp_path: Path) -> None:
    path = some_work(tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE messages SET body = replace(body, 'user-prompt', 'of-the-future')")
    with opened_cells(tmp_path, script('Yes.'), OPTIONS) as cells:
        with pytest.raises(StoreError, match=r'`%deep reset` begins a new one') as refused:
            cells.ask('now')
        assert len(refused.value._render_traceback_()) == 1
        cells.call(cells.session.reset())
        assert cells.ask('now').phase == 'done'
        assert asked(cells) == ['now']


def test_what_could_not_be_read_at_first_is_not_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = call('write_todos', todos=[{'content': 'count the herons', 'status': 'in_progress'}])
    with opened_cells(tmp_path, script(plan, 'Yes.')) as cells:
        assert cells.ask('plan').phase == 'done'
    with opened_cells(tmp_path, script('Yes.')) as cells:
        with monkeypatch.context() as patched:
            patched.setattr(SessionStore, 'last_run', locked)
            with pytest.raises(StoreError, match='locked'):
                cells.call(cells.session.store())
        cells.call(cells.session.store())
        assert [todo.content for todo in cells.session.deps.todos] == ['count the herons']


async def locked(store: SessionStore) -> None:
    await store.conversation()
    raise StoreError('The session file is locked.')

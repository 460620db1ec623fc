"""Wherever a disk is full: the run stops, one line says why, what was kept stays, and with room again it goes on."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import FunctionModel

from deep_notebook.capabilities.context_manager import ContextManagerCapability
from deep_notebook.errors import StoreError, UsageError
from deep_notebook.kernel import agent_commands, history_commands
from deep_notebook.kernel.requests import Answer
from deep_notebook.kernel.run import Outcome
from deep_notebook.kernel.run_words import NOT_KEPT
from deep_notebook.store import database as database_module
from deep_notebook.workspaces import files as files_module
from harness.histories import problems
from harness.scripted import call, prompts, returns, script
from harness.sessions import Cells, opened_cells

T = TypeVar('T')

OPTIONS = {'include_checkpoints': True}


def at_work(*, text: str = 'x') -> FunctionModel:
    """One answer, then a run with calls side by side, then answers."""
    reading = [call('ls', path='.'), call('read_file', path='a.txt')]
    return script('First.', call('write_file', path='a.txt', content=text), reading, 'Second.', 'Third.')


class Disk:
    """A disk for SQLite on which `room` more transactions find a place."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room: int | None = None
        real = database_module._in_transaction

        def in_transaction(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
            def full(connection: sqlite3.Connection) -> T:
                work(connection)
                raise sqlite3.OperationalError('database or disk is full')

            if self.room is None:
                return real(connection, work)
            self.room = max(self.room - 1, -1)
            return real(connection, work if self.room >= 0 else full)

        monkeypatch.setattr(database_module, '_in_transaction', in_transaction)


def ended(run: Callable[[], Outcome]) -> Outcome | StoreError:
    """Return how a run ended, or why it did not begin."""
    try:
        return run()
    except StoreError as error:
        return error


def stopped_by_it(cells: Cells, run: Callable[[], Outcome]) -> bool:
    """Whether the disk is too full for a run, in which case one line says so."""
    outcome = ended(run)
    if isinstance(outcome, StoreError):
        assert 'full' in str(outcome)
        assert outcome._render_traceback_() == [str(outcome)]
        return True
    if outcome.phase == 'done':
        return False
    state = cells.shown.state
    assert (outcome.phase, state.phase) == ('failed', 'failed')
    assert outcome.error is not None
    assert 'full' in outcome.error
    assert '\n' not in outcome.error
    assert state.error == outcome.error
    assert state.notice == NOT_KEPT
    return True


def history(cells: Cells) -> list[ModelMessage]:
    found: list[ModelMessage] = cells.call(cells.call(cells.session.store()).history())
    return found


def check_it_goes_on(cells: Cells) -> None:
    outcome = cells.ask('third')
    assert (outcome.phase, outcome.error) == ('done', None)
    now = history(cells)
    assert problems(now) == []
    assert prompts(now)[:1] == ['first']
    assert prompts(now)[-1:] == ['third']
    assert {record.phase for record in cells.call(cells.session.runs())} <= {'done', 'failed', 'stopped'}


def test_at_every_transaction_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    for room in range(200):
        directory = tmp_path / str(room)
        directory.mkdir()
        with opened_cells(directory, at_work(), OPTIONS) as cells:
            assert cells.ask('first').phase == 'done'
            before = history(cells)
            disk.room = room
            stopped = stopped_by_it(cells, lambda: cells.ask('second'))
            disk.room = None
            assert history(cells)[:2] == before
            check_it_goes_on(cells)
        with opened_cells(directory, script('And on.'), OPTIONS) as cells:
            assert cells.ask('in another kernel').phase == 'done'
            assert prompts(history(cells))[0] == 'first'
        if not stopped:
            break
    assert room > 10, 'a run has more transactions than that'


def test_at_every_transaction_of_a_run_that_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    waited = 0
    for room in range(200):
        directory = tmp_path / str(room)
        directory.mkdir()
        model = script('First.', call('write_file', path='a.txt', content='x'), 'Second.', 'Third.')
        with opened_cells(directory, model, OPTIONS) as cells:
            cells.ask('first')
            assert cells.ask('second', approve='ask').phase == 'suspended'
            disk.room = room
            stopped = stopped_by_it(cells, lambda: cells.answer(Answer(verdict='approve')))
            disk.room = None
            if stopped and cells.shown.state.phase == 'suspended':
                waited += 1
                assert not (directory / 'a.txt').exists()
                assert cells.answer(Answer(verdict='approve')).phase == 'done'
                assert (directory / 'a.txt').read_text() == 'x'
            check_it_goes_on(cells)
        if not stopped:
            break
    assert room > waited > 0, 'the answer is asked for again as long as nothing was done on it'


def test_at_every_page_of_the_file(tmp_path: Path) -> None:
    def limit(cells: Cells, further: int | None) -> None:
        def work(connection: sqlite3.Connection) -> None:
            [pages] = connection.execute('PRAGMA page_count').fetchone()
            connection.execute(f'PRAGMA max_page_count={2**30 if further is None else pages + further}').fetchone()

        cells.call(cells.call(cells.session.store()).database.run(work))

    for further in range(200):
        directory = tmp_path / str(further)
        directory.mkdir()
        with opened_cells(directory, at_work(text='x' * 20_000), OPTIONS) as cells:
            assert cells.ask('first').phase == 'done'
            limit(cells, further)
            stopped = stopped_by_it(cells, lambda: cells.ask('second'))
            limit(cells, None)
            check_it_goes_on(cells)
        if not stopped:
            break
    assert further > 10, 'there are more points than that'


def test_before_anything_was_ever_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is no read-only one: what is said while it is full must not be gone with the kernel."""
    with opened_cells(tmp_path, script('Here.'), OPTIONS) as cells:
        with monkeypatch.context() as full:
            full.setattr(Path, 'mkdir', lambda *args, **options: no_space(str(args[0])))
            with pytest.raises(StoreError, match='the disk is full'):
                cells.ask('first')
        assert cells.ask('first').phase == 'done'
        assert cells.call(cells.session.store()).notice is None


def no_space(path: str) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


@contextmanager
def small_disk(directory: Path, size: str) -> Iterator[Path | None]:
    """A real file system of that size, or `None` where this process may not mount one."""
    directory.mkdir()
    mounted = subprocess.run(
        ['mount', '-t', 'tmpfs', '-o', f'size={size}', 'tmpfs', str(directory)], check=False, capture_output=True
    )
    try:
        yield directory if mounted.returncode == 0 else None
    finally:
        if mounted.returncode == 0:
            subprocess.run(['umount', str(directory)], check=True)


def fill(path: Path) -> None:
    with suppress(OSError), path.open('wb', buffering=0) as file:
        while True:
            file.write(b'x' * 4096)


def test_on_a_small_disk(tmp_path: Path) -> None:
    """The real thing where it can be had; everywhere else, the tests above stand for it."""
    with small_disk(tmp_path / 'disk', '2m') as disk:
        if disk is None:
            return
        model = script(
            'First.', call('write_file', path='a.txt', content='x'), 'y' * 400_000, 'Third.', 'Fourth.', 'Fifth.'
        )
        with opened_cells(disk, model, OPTIONS) as cells:
            assert cells.ask('first').phase == 'done'
            ballast = disk / 'ballast'
            fill(ballast)
            assert stopped_by_it(cells, lambda: cells.ask('second'))
            ballast.unlink()
            check_it_goes_on(cells)


# --- what is written beside the session ---


@pytest.fixture
def full_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every write of a workspace's file, and every flush of a file to the disk, finds it full."""
    real_open = open

    def opening(file: int, mode: str) -> Any:
        os.close(file)
        no_space('draft')

    with monkeypatch.context() as full:
        full.setattr(files_module, 'open', opening, raising=False)
        full.setattr(os, 'fsync', lambda file: no_space('draft'))
        yield
    assert open is real_open


@pytest.mark.usefixtures('full_files')
def test_the_agent_reads_why_its_file_was_not_written(tmp_path: Path) -> None:
    (tmp_path / 'a.txt').write_text('as it was')
    model = script(call('read_file', path='a.txt'), call('write_file', path='a.txt', content='new'), 'I see.')
    with opened_cells(tmp_path, model) as cells:
        assert cells.ask('write').phase == 'done'
        [_, written] = returns(history(cells))
    assert written.content == 'a.txt: No space left on device.'
    assert (tmp_path / 'a.txt').read_text() == 'as it was'
    assert sorted(path.name for path in tmp_path.iterdir()) == ['.deep', 'a.txt']


@pytest.mark.usefixtures('full_files')
def test_a_result_that_cannot_be_moved_into_a_file_stays_whole(tmp_path: Path) -> None:
    (tmp_path / 'long.txt').write_text('\n'.join(f'line {number}' for number in range(100)))
    with opened_cells(tmp_path, script(call('grep', pattern='line'), 'Read.'), {'eviction_token_limit': 50}) as cells:
        assert cells.ask('look').phase == 'done'
        [result] = returns(history(cells))
    assert 'line 99' in str(result.content)


@pytest.mark.usefixtures('full_files')
def test_an_archive_that_cannot_be_written_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened_cells(tmp_path, script('unused')) as cells:
        archiving = ContextManagerCapability[None](archive=tmp_path / 'messages.json')
        cells.session.namespace['model'] = Agent(script('Yes.'), capabilities=[archiving])
        assert cells.ask('hello').phase == 'done'
    [record] = caplog.records
    assert record.getMessage().startswith('The history was not archived: ')
    assert 'No space left' in record.getMessage()


@pytest.mark.usefixtures('full_files')
def test_a_recording_that_cannot_be_written_is_said_and_the_run_is_kept(tmp_path: Path) -> None:
    with opened_cells(tmp_path, script('Yes.')) as cells:
        with pytest.raises(UsageError, match=r'its recording could not be written \(.*No space left'):
            cells.ask('hello', record='demo')
        assert prompts(history(cells)) == ['hello']
        assert [record.phase for record in cells.call(cells.session.runs())] == ['done']
    assert list((tmp_path / 'recordings').iterdir()) == []


@pytest.mark.usefixtures('full_files')
@pytest.mark.parametrize(
    'line',
    ['upload sales.csv', 'memory add Likes teal.', 'spec --save agent.yaml', 'export all.md', 'export all.ipynb'],
)
def test_a_command_says_what_it_could_not_write(tmp_path: Path, line: str) -> None:
    (tmp_path / 'sales.csv').write_text('1')
    name, _, rest = line.partition(' ')
    with opened_cells(tmp_path, script('Yes.')) as cells:
        cells.ask('hello')
        cells.magics = SimpleNamespace(model='', budget=0)  # type: ignore[attr-defined]
        with pytest.raises(UsageError, match='No space left'):
            {**agent_commands.COMMANDS, **history_commands.COMMANDS}[name](cells, rest)  # type: ignore[arg-type]

"""`%deep rewind` shows what it would do before it does it, and `%deep undo` where something would stay as it is."""

from __future__ import annotations

import asyncio
import builtins
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deep_notebook.errors import UsageError
from deep_notebook.kernel import travel_commands
from deep_notebook.kernel.travel_commands import COMMANDS
from deep_notebook.kernel.travel_panel import TimelinePanel
from harness.scripted import call, script
from harness.sessions import Cells, opened_cells
from harness.travel import tree


@pytest.fixture
def cells(tmp_path: Path) -> Iterator[Cells]:
    model = script([call('write_file', path=name, content='agent') for name in ('a.txt', 'b.txt')], 'Done.')
    with opened_cells(tmp_path, model) as cells:
        cells.ask('Write.')
        yield cells


class Person:
    """Answers `input()`, or nobody does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cells: Cells) -> None:
        self.asked: list[str] = []
        self.answer: str | None = None
        self._cells = SimpleNamespace(session=cells.session, shell=SimpleNamespace())
        self._capsys = capsys
        monkeypatch.setattr(builtins, 'input', self._input)

    def deep(self, line: str, answer: str | None = None) -> str:
        """What a `%deep` line prints."""
        self.answer = answer
        self.asked.clear()
        name, _, rest = line.partition(' ')
        cells: Any = self._cells
        COMMANDS[name](cells, rest)
        return self._capsys.readouterr().out

    def _input(self, prompt: str) -> str:
        self.asked.append(prompt)
        if self.answer is None:
            raise EOFError
        return self.answer


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cells: Cells) -> Person:
    return Person(monkeypatch, capsys, cells)


BOTH = {'a.txt': b'agent', 'b.txt': b'agent'}


def test_only_a_yes_goes_back(person: Person, tmp_path: Path) -> None:
    for answer in ('', 'n', 'what?'):
        assert 'Nothing was changed.' in person.deep('rewind', answer)
        assert tree(tmp_path) == BOTH
    with pytest.raises(UsageError, match=r'`%deep rewind --files --yes` does it'):
        person.deep('rewind --files')
    shown = person.deep('rewind', 'Y')
    assert person.asked == ['Go back? [y/N] ']
    assert '- a.txt  −1 · is removed' in shown
    assert tree(tmp_path) == {}


def test_an_undo_asks_only_where_something_would_stay(person: Person, tmp_path: Path) -> None:
    person.deep('rewind --yes')
    assert person.asked == []
    person.deep('undo')
    assert person.asked == []
    assert tree(tmp_path) == BOTH

    person.deep('rewind --yes')
    (tmp_path / 'a.txt').write_text('person')
    shown = person.deep('undo', 'n')
    assert person.asked == ['Undo it? [y/N] ']
    assert '! a.txt  +1 −1 · stays: changed since by you or another program (--mine takes it back as well)' in shown
    assert tree(tmp_path) == {'a.txt': b'person'}
    person.deep('undo --mine', 'y')
    assert tree(tmp_path) == BOTH


@pytest.mark.parametrize('parts', ['', '--files'])
def test_an_undo_that_takes_later_runs_along_asks(person: Person, cells: Cells, tmp_path: Path, parts: str) -> None:
    person.deep(f'rewind {parts} --yes')
    cells.session.namespace['model'] = script([call('write_file', path='c.txt', content='agent')], 'Done.')
    cells.ask('Write another.')
    with pytest.raises(UsageError, match='`%deep undo --yes` does it'):
        person.deep('undo')
    assert 'what run 2 did since then goes back, too' in person.deep('undo', 'n')
    panel = TimelinePanel(cells.session.travel)
    with pytest.raises(UsageError, match='What run 2 did since then goes back, too: `%deep undo` in a cell asks first'):
        cells.call(panel.handle(cells.call(panel.draw()), {'do': 'undo'}))
    assert tree(tmp_path) == {'c.txt': b'agent'}
    person.deep('undo', 'y')
    assert tree(tmp_path) == BOTH


def test_an_interrupt_does_not_end_the_cell_before_the_rewind(
    person: Person, cells: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = cells.session.journal
    assert journal is not None
    restore, told = journal.restore, threading.Event()

    async def slow(*args: Any, **options: Any) -> Any:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        assert await asyncio.to_thread(told.wait, 10), 'the interrupt ended the cell'
        return await restore(*args, **options)

    def tell(text: str) -> None:
        print(text)
        told.set()

    monkeypatch.setattr(journal, 'restore', slow)
    monkeypatch.setattr(travel_commands, 'say', tell)
    shown = person.deep('rewind --yes')
    assert tree(tmp_path) == {}
    assert shown.splitlines()[0].startswith('Files are being put back: that is finished first.')
    assert "Went back to 'before run 1'" in shown


def test_a_label_may_be_in_quotes(person: Person, tmp_path: Path) -> None:
    person.deep('checkpoint "as it should be"')
    (tmp_path / 'a.txt').unlink()
    assert "Went back to 'as it should be'" in person.deep('rewind "as it should be" --yes')
    with pytest.raises(UsageError, match='already'):
        person.deep("checkpoint 'as it should be'")
    with pytest.raises(UsageError, match='another label'):
        person.deep('checkpoint before --files')


def test_the_name_of_a_file_is_no_line_of_its_own(person: Person, cells: Cells, tmp_path: Path) -> None:
    name = 'x\n  + precious.csv  +9 · comes back\x1b[2J'
    cells.session.namespace['model'] = script([call('write_file', path=name, content='agent')], 'Done.')
    cells.ask('Write.')
    shown = person.deep('rewind', 'y')
    assert '- x␊  + precious.csv  +9 · comes back␛[2J  −1 · is removed\n' in shown
    assert 'x␊  + precious.csv  +9 · comes back␛[2J removed.' in shown


@pytest.mark.parametrize(
    ('line', 'says'),
    [
        ('rewind --file', r"no option --file. Did you mean '--files'\?"),
        ('undo before run 1', 'takes back the latest rewind'),
        ('undo', 'no rewind to undo'),
        ('fork', 'takes a checkpoint'),
        ('checkpoint', 'A label has 1 to 100 characters'),
        ('checkpoints 3', 'takes nothing'),
    ],
)
def test_what_cannot_be_done_is_one_line_with_the_fix(person: Person, line: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as raised:
        person.deep(line)
    assert '\n' not in str(raised.value)

"""After a review the agent neither believes that its changes are there nor writes over what the person put back."""

from __future__ import annotations

import builtins
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage

from deep_notebook.kernel.requests import Answer, CellSide
from deep_notebook.kernel.runner import MainThread
from harness.scripted import call, prompts, returns, script
from harness.sessions import Cells, opened_cells

LINES = [f'line {number}\n' for number in range(1, 31)]
AFTER = [*LINES[:4], 'first\n', *LINES[5:19], 'second\n', *LINES[20:]]


def write(content: str, path: str = 'model.py') -> Any:
    return call('write_file', path=path, content=content)


def test_its_next_edit_is_refused_until_it_reads_again(tmp_path: Path) -> None:
    file = tmp_path / 'model.py'
    file.write_text(''.join(LINES))
    seen: list[list[ModelMessage]] = []
    edit = call('edit_file', path='model.py', operations=[{'op': 'insert_after', 'anchor': '30', 'content': 'more'}])
    model = script(
        call('read_file', path='model.py'),
        write(''.join(AFTER)),
        'Done.',
        edit,
        write('all new\n'),
        'Refused.',
        seen=seen,
    )
    with opened_cells(tmp_path, model) as cells:
        shown = cells.ask('Change it.', approve='review').changes
        assert shown is not None
        assert [len(changed.hunks) for changed in shown.files] == [2]
        cells.call(cells.session.review.decide(1, 'undo', 'model.py', shown.files[0].hunks[1].id))
        undone = ''.join([*AFTER[:19], 'line 20\n', *AFTER[20:]])
        assert file.read_text() == undone
        cells.ask('Go on.', approve='review')

    assert 'Note: you changed model.py; the person undid model.py (1 of 2 hunks).' in prompts(seen[3])
    assert all('has changed since you read it' in str(part.content) for part in returns(seen[-1])[-2:])
    assert file.read_text() == undone


class Waiting(Cells):
    """A notebook whose person could be asked by `input()`, but does not answer."""

    def side(self, main: MainThread) -> CellSide:
        return replace(super().side(main), can_input=True)


def test_a_run_that_waited_goes_on_in_review_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr(builtins, 'input', nobody)
    model = script(
        [write('early\n', 'early.md'), call('execute', id='x', command='true')], write('late\n', 'late.md'), 'Done.'
    )
    cells = Waiting(tmp_path, model)
    try:
        waiting = cells.ask('Run it.', approve='review')
        assert (waiting.phase, waiting.changes) == ('suspended', None)
        done = cells.answer(Answer(verdict='approve'))
        assert done.phase == 'done'
        assert (tmp_path / 'late.md').read_text() == 'late\n'
        assert done.changes is not None
        assert [file.path for file in done.changes.files] == ['early.md', 'late.md']
    finally:
        cells.close()

"""C4 (mito#2102), in a notebook: a file that the person changed between two cells is not edited but read again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.deep import asked, decide, deep, front_end, run_deep, start_deep
from harness.kernels import RealKernel

pytestmark = pytest.mark.kernel

BEFORE = 'title\n\nbody\n'
MINE = 'title\n\nbody, and what the person wrote: Ärger\n'
SETUP = """
import re
def edit(messages):
    anchors = re.findall(r'^(\\d+:[0-9a-f]{2})\\|', str(returns(messages)[0].content), re.M)
    return call('edit_file', path='notes.md', operations=[{'op': 'replace', 'anchor': anchors[0], 'text': 'TITLE'}])
def told(messages): return f'{returns(messages)[-1].outcome}: {returns(messages)[-1].content}'
model = script(call('read_file', path='notes.md'), 'Read.', edit, told)
writer = script(call('write_file', path='notes.md', content='all new'), told)
"""


@pytest.mark.parametrize('restarted', [False, True], ids=['same kernel', 'after a restart'])
def test_the_edit_is_refused_and_the_persons_text_stays(
    start_kernel: Callable[..., RealKernel], tmp_path: Path, restarted: bool
) -> None:
    file = tmp_path / 'notes.md'
    file.write_text(BEFORE)
    kernel = start_kernel('7.4', env={'JPY_SESSION_NAME': str(tmp_path / 'work.ipynb')})
    deep(kernel, SETUP)
    run_deep(kernel, '', 'Read my notes.')
    file.write_text(MINE)
    if restarted:
        kernel.restart()
        deep(kernel, SETUP.replace("call('read_file', path='notes.md'), 'Read.', ", ''))

    result = run_deep(kernel, '--approve auto', 'Make the title loud.')
    assert 'failed' in result.displays[-1]['text/plain']
    assert 'read it again' in result.displays[-1]['text/plain']
    assert file.read_text() == MINE

    overwritten = run_deep(kernel, '-m writer --approve auto', 'Start over.')
    assert 'failed' in overwritten.displays[-1]['text/plain']
    assert file.read_text() == MINE


def test_what_the_person_changes_while_the_question_is_open_stays(
    start_kernel: Callable[..., RealKernel], tmp_path: Path
) -> None:
    file = tmp_path / 'notes.md'
    file.write_text(BEFORE)
    kernel = start_kernel('7.4')
    deep(kernel, SETUP)
    run_deep(kernel, '', 'Read my notes.')
    cell = start_deep(kernel, '', 'Make the title loud.')
    widget = front_end(cell)
    asked(widget, 'call_3_1')
    file.write_text(MINE)
    decide(widget, 'call_3_1', 'approve')

    text = cell.result().displays[-1]['text/plain']
    assert 'nothing was written' in text
    assert 'read it again' in text
    assert file.read_text() == MINE


def test_a_change_of_the_agents_own_is_no_reason_to_refuse(
    start_kernel: Callable[..., RealKernel], tmp_path: Path
) -> None:
    file = tmp_path / 'notes.md'
    file.write_text(BEFORE)
    kernel = start_kernel('7.4')
    deep(kernel, SETUP)
    run_deep(kernel, '', 'Read my notes.')
    run_deep(kernel, '--approve auto', 'Make the title loud.')
    run_deep(kernel, '-m writer --approve auto', 'Start over.')

    assert file.read_text() == 'all new'

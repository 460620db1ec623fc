"""C22 (nbconvert#288, papermill#296): without a person a notebook ends in time, writes nothing and says how it may."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from harness.environment import clean_env, kernel_name, write_kernelspecs
from harness.processes import succeed

SECONDS = 60
"""A run has three cells to execute and a kernel to start; a hang would last for ever."""

SETUP = """%load_ext deep_notebook
from harness.scripted import script, call, returns
model = script(
    call('read_file', path='data.csv'),
    [call('write_file', path='report.md', content='# Ä\\n'), call('execute', command='touch by_command')],
    lambda m: '\\n'.join(f'{part.outcome}: {part.content}' for part in returns(m)),
)"""
RUNNERS = {
    'papermill': (sys.executable, '-m', 'papermill', 'in.ipynb', 'out.ipynb', '--no-progress-bar', '--kernel'),
    'nbclient': (sys.executable, '-m', 'jupyter', 'execute', 'in.ipynb', '--output=out.ipynb', '--kernel_name'),
    'nbconvert': (
        *(sys.executable, '-m', 'jupyter', 'nbconvert', '--execute', '--to=notebook', 'in.ipynb'),
        '--output=out.ipynb',
        '--ExecutePreprocessor.kernel_name',
    ),
}


def executed(place: Path, runner: str, version: str, line: str) -> Any:
    """Run a notebook with one `%%deep` cell and return that cell."""
    (place / 'data.csv').write_text('a,b\n1,2\n')
    cells = [new_code_cell(source) for source in (SETUP, f'%%deep -m model {line}\nWrite a report.', 'print("after")')]
    metadata = {'kernelspec': {'name': kernel_name(version), 'display_name': 'Python', 'language': 'python'}}
    nbformat.write(new_notebook(cells=cells, metadata=metadata), place / 'in.ipynb')
    home = place.with_name(f'{place.name}-home')
    write_kernelspecs(home / 'specs')
    env = clean_env(home, {'JUPYTER_PATH': str(home / 'specs'), 'PYTHONWARNINGS': 'ignore'})
    started = time.monotonic()
    succeed(*RUNNERS[runner], kernel_name(version), cwd=place, env=env, timeout=SECONDS)
    assert time.monotonic() - started < SECONDS
    notebook = nbformat.read(place / 'out.ipynb', as_version=4)
    assert notebook.cells[-1].outputs[0].text == 'after\n', 'the cells below run too'
    return next(cell for cell in notebook.cells if cell.source.startswith('%%deep'))


@pytest.mark.parametrize(
    ('runner', 'version'), [('papermill', '7.3'), ('papermill', '7.4'), ('nbclient', '7.4'), ('nbconvert', '7.3')]
)
def test_a_write_is_denied_and_the_message_names_the_option(tmp_path: Path, runner: str, version: str) -> None:
    cell = executed(tmp_path, runner, version, '')

    assert not (tmp_path / 'report.md').exists()
    assert not (tmp_path / 'by_command').exists()
    [output] = cell.outputs
    text = output['data']['text/plain']
    assert '%%deep --approve auto' in text
    assert 'success: ' in text, 'reading needs no approval'
    assert text.count('denied: ') >= 2
    assert '%%deep --approve auto' in output['data']['text/html']


def test_with_the_option_it_is_written(tmp_path: Path) -> None:
    cell = executed(tmp_path, 'papermill', '7.4', '--approve auto')

    assert (tmp_path / 'report.md').read_text(encoding='utf-8') == '# Ä\n'
    assert (tmp_path / 'by_command').exists()
    [output] = cell.outputs
    assert 'report.md  +1' in output['data']['text/plain']


def test_asking_where_nobody_answers_suspends_and_ends(tmp_path: Path) -> None:
    cell = executed(tmp_path, 'papermill', '7.4', '--approve ask')

    assert not (tmp_path / 'report.md').exists()
    [output] = cell.outputs
    assert '%deep approve' in output['data']['text/plain']


def test_a_mistake_fails_the_notebook_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match="UsageError: There is no model or variable called 'modle'"):
        executed(tmp_path, 'papermill', '7.4', '-m modle')

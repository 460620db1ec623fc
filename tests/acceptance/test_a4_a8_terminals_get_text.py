"""A4 and A8 (jupyter-ai#345, #1560): in plain IPython, without JupyterLab, everything works as text."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.environment import kernel_python
from harness.terminal import Terminal, ipython

SETUP = (
    '%load_ext deep_notebook',
    'from harness.scripted import call, prompts, returns, script',
    'seen = []; model = script("All **well** é🌍.", seen=seen)',
)
NO_TEXT = re.compile(r'<div|<style|<span|RunWidget|<deep|Traceback|object at 0x|pydantic-ai v')


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    (tmp_path / 'work').mkdir()
    with ipython(kernel_python('7.4'), tmp_path / 'work') as terminal:
        yield terminal
        assert NO_TEXT.search(terminal.screen) is None


def test_help_needs_no_jupyterlab(terminal: Terminal) -> None:
    assert 'None' in terminal.run('import importlib.util; print(importlib.util.find_spec("jupyterlab"))')
    terminal.run(SETUP[0])

    told = terminal.run('%deep help')
    assert '--approve, -a ask|review|auto|deny' in told
    assert 'draw a stored run again' in told


def test_a_cell_and_its_answer(terminal: Terminal, tmp_path: Path) -> None:
    for line in SETUP:
        terminal.run(line)

    answered = terminal.run('%%deep -m model --into ans\nhi ü🌍')
    assert 'model · scripted' in answered
    assert 'All **well** é🌍.' in answered
    assert 'Done' in answered
    assert r"'All **well** \xe9\U0001f30d. ' ['hi \xfc\U0001f30d" in terminal.run(
        'print(ascii(ans), ascii(prompts(seen[-1])))'
    )
    assert 'All **well** é🌍.' in terminal.run('%deep show')
    assert 'UsageError: Write what you want below %%deep' in terminal.run('%%deep')
    assert "Did you mean 'model'?" in terminal.run('%%deep -m modle\nhi')
    assert 'Last run: 1, done' in terminal.run('%deep status')
    assert 'fine' in terminal.run('import asyncio; await asyncio.sleep(0, "fine")')
    assert 'All **well**' in terminal.run('get_ipython().run_cell_magic("deep", "-m model", "hi")')
    terminal.run('%autoawait trio')
    assert 'All **well**' in terminal.run('%%deep -m model\nhi')


def test_a_question_shows_what_it_is_about_and_takes_an_answer(terminal: Terminal, tmp_path: Path) -> None:
    for line in SETUP[:2]:
        terminal.run(line)
    terminal.run('model = script(call("write_file", path="a.txt", content="eins\\nzwei\\n"), "Written.")')
    terminal.run('keeper = script(call("write_file", path="b.txt", content="x"), lambda m: returns(m)[-1].content)')

    terminal.enter('%%deep -m model\nwrite')
    question = terminal.wait_for('of this run: ')
    for line in ('? Write a.txt?', 'path: a.txt', '+++ b/a.txt', '+eins', '+zwei', '[y]es, [n]o', '[e]dit'):
        assert line in question
    assert not (tmp_path / 'work' / 'a.txt').exists()
    terminal.send('y\n')
    assert 'Written.' in terminal.wait_for('In [')
    assert (tmp_path / 'work' / 'a.txt').read_text() == 'eins\nzwei\n'

    terminal.enter('%%deep -m keeper --new\nwrite')
    terminal.wait_for('of this run: ')
    terminal.send('no für mich\n')
    assert 'für mich' in terminal.wait_for('In [')
    assert not (tmp_path / 'work' / 'b.txt').exists()


def test_control_c_stops_the_run_in_one_line(terminal: Terminal) -> None:
    for line in SETUP[:2]:
        terminal.run(line)
    terminal.run('slow = script(lambda m: "word\\n " * 2000, "Again.", pause=0.01)')

    terminal.enter('%%deep -m slow\ntalk')
    terminal.wait_for('word\n word\n')
    at = time.monotonic()
    terminal.interrupt()
    said = terminal.wait_for('In [')
    assert time.monotonic() - at < 2
    assert 'Stopped by you' in said
    assert 'Again.' in terminal.run('%%deep -m slow\ngo on')


def test_the_full_line_editor_does_the_same(tmp_path: Path) -> None:
    (tmp_path / 'work').mkdir()
    with ipython(kernel_python('7.4'), tmp_path / 'work', simple=False, env={'PROMPT_TOOLKIT_NO_CPR': '1'}) as terminal:
        for number, line in enumerate(SETUP, start=2):
            terminal.send(f'{line}\r')
            terminal.wait_for(f'In [{number}]: ')
        # As from the clipboard; an empty last line makes the cell complete.
        terminal.send('\x1b[200~%%deep -m model\nhi é🌍\n\n\x1b[201~')
        terminal.wait_for('hi é🌍')
        terminal.send('\r')

        said = terminal.wait_for('In [5]: ')
        assert 'All **well** é🌍.' in said
        assert 'Done · model · scripted' in said
        assert NO_TEXT.search(terminal.screen) is None

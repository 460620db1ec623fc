from __future__ import annotations

import pytest

from deep_notebook.kernel.transformer import transform

CASES = {
    '%%deep\nhello\n': "await get_ipython().run_deep_cell('', 'hello\\n')\n",
    '%%deep --model x\nhello\n': "await get_ipython().run_deep_cell('--model x', 'hello\\n')\n",
    '%%deep hi\n': "await get_ipython().run_deep_cell('hi', '')\n",
    '%deep approve\n': "await get_ipython().run_deep_line('approve')\n",
    '%deep deny 2 keep the port\n\n': "await get_ipython().run_deep_line('deny 2 keep the port')\n",
    '%%time\n\n%%deep\nhello\n': "get_ipython().refuse_deep_cell('the %%time line')\n",
    '# a note\n\n# more\n%%deep\nhello\n': "get_ipython().refuse_deep_cell('the comment above it')\n",
    '\n \n%%deep\nhello\n': "await get_ipython().run_deep_cell('', 'hello\\n')\n",
    '  %%deep\n  hello\n   you\n': "await get_ipython().run_deep_cell('', 'hello\\n you\\n')\n",
    '%%deep\n>>> f(1)\n  \n    x\n': "await get_ipython().run_deep_cell('', '>>> f(1)\\n  \\n    x\\n')\n",
}

LEFT_ALONE = [
    '%%deeper\nhello\n',
    '%%deepsync\nhello\n',
    '%%deep?\n',
    '%deep status\n',
    '%deep approve\nx = 1\n',
    '%deep approvement\n',
    '%%writefile notes.txt\n%%deep\nhello\n',
    '%%time\nx = "%%deep"\n',
    'x = 1\n%%deep\n',
    '# a note\nx = 1\n%%deep\n',
    '\n \n',
    '',
]


@pytest.mark.parametrize(('cell', 'expected'), CASES.items())
def test_a_cell_that_can_await_is_made_to(cell: str, expected: str) -> None:
    assert ''.join(transform(cell.splitlines(keepends=True))) == expected


@pytest.mark.parametrize('cell', LEFT_ALONE)
def test_every_other_cell_stays_as_it_is(cell: str) -> None:
    lines = cell.splitlines(keepends=True)
    assert transform(lines) == lines

"""`%deep search`, `evicted`, `export` and `compact` in a real kernel, on what the agent really did."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import nbformat

from harness.deep import deep, run_deep
from harness.kernels import CellResult, RealKernel

SPOT = '.deep/large_tool_results'


def one_line(result: CellResult) -> str:
    assert 'Traceback' not in result.text
    [line] = result.text.strip().splitlines()
    return line.removeprefix('UsageError: ')


def test_a_long_conversation_stays_at_hand(start_kernel: Callable[..., RealKernel], tmp_path: Path) -> None:
    (tmp_path / 'agent.yaml').write_text('eviction_token_limit: 500\ncontext_manager_max_tokens: 30000\n')
    kernel = start_kernel('7.4')
    deep(
        kernel,
        """
        seen = []
        rows = 'print("\\\\n".join(f"row {number}" for number in range(1, 1001)))'
        model = script(
            call('run_python', code=rows, id='rows'),
            call('read_file', path='.deep/large_tool_results/rows', limit=1000, id='again'),
            'There are **1000 rows**, the heron said.',
            'Long. ' + 'So it is with herons. ' * 200,
            'They counted rows.',
            'Welcome back.',
            seen=seen,
        )
        """,
    )
    assert one_line(kernel.run('%deep export talk.md')) == 'Nothing was said yet: there is nothing to export.'
    kernel.run('%deep spec agent.yaml')
    kernel.run('%deep model model')

    # What was too large is in a file, and what the agent reads there is not moved again.
    ran = run_deep(kernel, '--approve auto', 'Count the rows.')
    assert f'The whole is in {SPOT}/rows: %deep evicted rows' in ran.displays[-1]['text/html']
    assert (tmp_path / SPOT / 'rows').read_text().count('\n') == 999
    assert [path.name for path in (tmp_path / SPOT).iterdir()] == ['rows']
    listed = kernel.run('%deep evicted').stdout
    assert 'rows   run_python · 7 kB · run 1 · ' in listed
    page = kernel.run('%deep evicted rows 5').displays[-1]
    assert 'row 801\n' in page['text/plain']
    assert 'row 1000' in page['text/html']
    assert 'row 1\n' not in page['text/plain']
    assert one_line(kernel.run('%deep evicted rows 6')) == 'rows has the pages 1 to 5.'

    # A summary takes its place when the person wants it; what it stands for is found and exported all the same.
    run_deep(kernel, '', 'Tell me more about herons.')
    told = kernel.run('%deep compact the rows').stdout
    assert told.startswith('The conversation has about '), told
    found = kernel.run('%deep search row 777').displays[-1]
    assert f'run 1 · Tool [run_python] in {SPOT}/rows' in found['text/plain']
    assert '> *row* *777*' in found['text/plain']
    run_deep(kernel, '', 'And now?')
    sent = kernel.run('print([type(part).__name__ for message in seen[-1] for part in message.parts])').stdout
    assert sent == "['CompactionPart', 'UserPromptPart', 'TextPart', 'UserPromptPart']\n"

    assert kernel.run('%deep export talk.json').stdout.startswith('The conversation, ')
    [conversation] = json.loads((tmp_path / 'talk.json').read_text())['conversations']
    parts = [part for message in conversation['messages'] for part in message['parts']]
    assert [part['content'] for part in parts if part['part_kind'] == 'user-prompt'] == [
        ['Count the rows.'],
        ['Tell me more about herons.'],
        ['And now?'],
    ]
    kernel.run('%deep export talk.ipynb')
    cells = nbformat.read(tmp_path / 'talk.ipynb', as_version=4).cells
    assert [cell.source for cell in cells if cell.cell_type == 'code'] == [kernel.run('print(rows)').stdout.strip()]
    kernel.run('%deep export talk.md')
    assert 'There are **1000 rows**, the heron said.' in (tmp_path / 'talk.md').read_text()
    assert 'is there already' in one_line(kernel.run('%deep export talk.md'))

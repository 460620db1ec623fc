"""D1 (copilot-cli#1675), D4 (zed#28676): a rewind leaves what is not the agent's; undo brings all back as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.deep import deep, run_deep
from harness.kernels import RealKernel
from harness.travel import tree

pytestmark = pytest.mark.kernel

SENT = 'print(prompts(seen[-1]), [part.content for part in returns(seen[-1])])'


def test_a_rewind_asks_first_leaves_the_persons_files_and_is_undone(kernel: RealKernel, tmp_path: Path) -> None:
    deep(
        kernel,
        """
        seen = []
        plan = call('write_todos', todos=[{'content': 'clean', 'status': 'in_progress'}])
        model = script(
            [call('write_file', path='notes.md', content='one\\n')], 'Noted.',
            [call('write_file', path='notes.md', content='two\\n'), call('write_file', path='new.md', content='x\\n'),
             call('run_python', code='rows = [1, 2]'), plan], 'Done.',
            'Hello.', seen=seen,
        )
        """,
    )
    run_deep(kernel, '--approve auto', 'Take a note.')
    first = tree(tmp_path)
    run_deep(kernel, '--approve auto', 'Work on it.')
    (tmp_path / 'out.csv').write_text('the agent never touched this')
    assert kernel.run('%deep todos').stdout.strip().endswith('clean')
    whole = tree(tmp_path)

    refused = kernel.run('%deep rewind', stdin=['n'])
    assert '~ notes.md  +1 −1' in refused.stdout
    assert 'Variables are not taken back: rows' in refused.stdout
    assert refused.stdout.endswith('Nothing was changed.\n')
    assert tree(tmp_path) == whole

    rewound = kernel.run('%deep rewind', stdin=['y'])
    assert "Went back to 'before run 2'" in rewound.stdout, rewound.text
    assert tree(tmp_path) == {**first, 'out.csv': b'the agent never touched this'}
    assert 'There is no plan' in kernel.run('%deep todos').stdout

    assert 'Undid the rewind' in kernel.run('%deep undo').stdout
    assert tree(tmp_path) == whole
    assert kernel.run('%deep todos').stdout.strip().endswith('clean')
    run_deep(kernel, '', 'And now?')
    sent = kernel.run(SENT).stdout
    assert "['Take a note.', 'Work on it.', 'And now?']" in sent
    assert 'rows' in kernel.run('print("rows", rows)').stdout

    listed = kernel.run('%deep checkpoints').displays[-1]['text/plain']
    assert 'before run 3' in listed
    assert 'new.md' in listed
    unknown = kernel.run('%deep rewind befor run 3')
    assert "Did you mean 'before run 3'?" in unknown.text
    assert 'Saved' in kernel.run('%deep checkpoint good state').stdout
    run_deep(kernel, '', 'More.')
    assert 'taken back' in kernel.run('%deep rewind good state --yes').stdout
    headless = kernel.run('%deep rewind before run 1 --files', allow_stdin=False)
    assert headless.status == 'error'
    assert '- new.md' in headless.stdout
    assert headless.error is not None
    assert '`%deep rewind before run 1 --files --yes` does it' in headless.error.value
    assert tree(tmp_path) == whole

    forked = kernel.run('%deep fork before run 2')
    assert 'A new conversation' in forked.stdout
    assert tree(tmp_path) == whole
    run_deep(kernel, '', 'Otherwise?')
    assert "['Take a note.', 'Otherwise?']" in kernel.run(SENT).stdout

"""A6 and A8 (jupyter-ai#1244, #1560), consoles: without comms there is text, without a traceback or a widget's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.deep import deep
from harness.kernels import CellResult, RealKernel

pytestmark = pytest.mark.kernel


def as_a_console_prints_it(result: CellResult) -> str:
    """What a front end shows that knows printed text and text/plain, and follows no updates."""
    return ''.join(output.get('text') or output['data'].get('text/plain', '') + '\n' for output in result.outputs)


def shown_at_first(kernel: RealKernel) -> list[str]:
    return [m.content['data']['text/plain'] for m in kernel.messages if m.kind == 'display_data']


@pytest.mark.parametrize('comms', ['ignored', 'refused'])
def test_a_console_gets_text(kernel: RealKernel, tmp_path: Path, comms: str) -> None:
    deep(
        kernel,
        """
        model = script('All **well**.')
        def told(messages): return f'You said: {returns(messages)[-1].content}'
        writer = script(call('write_file', path='note.txt', content='hello\\n'), told)
        keeper = script(call('write_file', path='kept.txt', content='other\\n'), told)
        %config DeepMagics.ready_timeout = 0.2
        """,
    )
    if comms == 'refused':
        kernel.run('import comm\ndef refuse(*_, **__): raise RuntimeError("no comms here")\ncomm.create_comm = refuse')
    before = len(kernel.messages)

    hello = kernel.run('%%deep -m model\nhi')
    approved = kernel.run('%%deep -m writer\nWrite.', stdin=['y'])
    denied = kernel.run('%%deep -m keeper --new\nWrite.', stdin=['no, keep it'])

    for result in (hello, approved, denied):
        assert result.status == 'ok', result.error
        assert result.stderr == ''
        text = as_a_console_prints_it(result)
        assert not any(sign in text for sign in ('<div', '<style', 'RunWidget', 'deep run', 'Traceback')), text
    assert 'All **well**.' in as_a_console_prints_it(hello)
    assert shown_at_first(kernel)[:1] in ([], ['model · scripted']), 'a console shows this as it is'

    assert (tmp_path / 'note.txt').read_text() == 'hello\n'
    question = as_a_console_prints_it(approved)
    for line in ('? Write note.txt?', 'path: note.txt', '+++ b/note.txt', '+hello'):
        assert line in question
    assert not (tmp_path / 'kept.txt').exists()
    assert 'keep it' in as_a_console_prints_it(denied)
    asked = [m.content['prompt'] for m in kernel.messages[before:] if m.kind == 'input_request']
    assert [prompt.partition(' [')[0] for prompt in asked] == ['Write note.txt?', 'Write kept.txt?']


def test_a_second_question_does_not_wait_for_a_page_again(kernel: RealKernel, tmp_path: Path) -> None:
    deep(
        kernel,
        """
        model = script(*(call('write_file', path=f'{n}.txt', content='x') for n in range(5)), 'Done.')
        %config DeepMagics.ready_timeout = 2
        """,
    )

    result = kernel.run('%%deep -m model\nWrite.', stdin=['y'] * 5)

    assert sorted(path.name for path in tmp_path.glob('*.txt')) == [f'{n}.txt' for n in range(5)]
    assert 2 < result.seconds < 6

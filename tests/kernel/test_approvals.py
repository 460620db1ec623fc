"""Questions and answers in a real kernel, each channel, also after a restart."""

from __future__ import annotations

from pathlib import Path

from harness.deep import asked, decide, deep, front_end, run_deep, start_deep
from harness.kernels import RealKernel

WRITE = "model = script(call('write_file', path='note.txt', content='hello\\n'), 'Written.')"


def test_denied_edited_and_approved_are_decided_apart(kernel: RealKernel, tmp_path: Path) -> None:
    deep(
        kernel,
        """
        def told(messages):
            return ' | '.join(f'{part.outcome}: {part.content}' for part in returns(messages))
        model = script(
            [call('write_file', path=f'{name}.txt', content=name) for name in 'abc'], told
        )
        """,
    )
    cell = start_deep(kernel, '', 'Write three.')
    widget = front_end(cell)
    asked(widget, 'call_1_1', 'call_1_2', 'call_1_3')

    decide(widget, 'call_1_2', 'deny', reason='keep the port')
    decide(widget, 'call_1_3', 'approve', text='other text')
    decide(widget, 'call_1_1', 'approve')
    result = cell.result()

    written = {path.name: path.read_text() for path in tmp_path.glob('*.txt')}
    assert written == {'a.txt': 'a', 'c.txt': 'other text'}
    answer = result.displays[-1]['text/plain']
    assert 'keep the port' in answer
    assert 'The person changed' in answer


def test_one_yes_can_cover_the_rest_of_a_tool(kernel: RealKernel, tmp_path: Path) -> None:
    deep(
        kernel,
        """
        model = script(
            call('write_file', path='a.txt', content='a'), call('write_file', path='b.txt', content='b'),
            call('execute', command='touch c.txt'), 'Done.',
        )
        """,
    )
    cell = start_deep(kernel, '', 'Write.')
    widget = front_end(cell)
    asked(widget, 'call_1_1')
    decide(widget, 'call_1_1', 'approve', scope='tool')
    asked(widget, 'call_3_1')
    assert (tmp_path / 'b.txt').exists()
    decide(widget, 'call_3_1', 'deny')
    cell.result()

    assert not (tmp_path / 'c.txt').exists()


def test_a_front_end_without_widgets_is_asked_by_input(kernel: RealKernel, tmp_path: Path) -> None:
    deep(kernel, WRITE)
    kernel.run('%config DeepMagics.ready_timeout = 0.1')

    result = kernel.run('%%deep -m model\nWrite.', stdin=['y'])

    assert (tmp_path / 'note.txt').read_text() == 'hello\n'
    assert 'Written.' in result.displays[-1]['text/plain']

    kernel.run("model = script(call('write_file', path='b.txt', content='b'), lambda m: returns(m)[-1].content)")
    denied = kernel.run('%%deep -m model --new\nWrite.', stdin=['no it is in the way'])
    assert not (tmp_path / 'b.txt').exists()
    assert 'it is in the way' in denied.displays[-1]['text/plain']


def test_without_a_person_a_write_is_denied_and_the_message_says_how_to_allow_it(
    kernel: RealKernel, tmp_path: Path
) -> None:
    deep(kernel, "model = script(call('write_file', path='a.txt', content='a'), lambda m: returns(m)[-1].content)")

    result = run_deep(kernel, '', 'Write.', allow_stdin=False)

    assert result.status == 'ok'
    assert not (tmp_path / 'a.txt').exists()
    notice = 'Denied without a question: `write_file`. `%%deep --approve auto` allows it.'
    assert notice in result.displays[-1]['text/plain']
    assert len(result.outputs) == 1

    run_deep(kernel, '--approve auto --new', 'Write.', allow_stdin=False)
    assert kernel.run('model = script(call("write_file", path="a.txt", content="a"), "ok")').status == 'ok'
    run_deep(kernel, '--approve auto --new', 'Write.', allow_stdin=False)
    assert (tmp_path / 'a.txt').read_text() == 'a'


def test_a_subagents_write_that_was_denied_is_said_and_how_to_allow_it(kernel: RealKernel) -> None:
    deep(
        kernel,
        """
        model = script(
            call('task', description='Do it.'), call('write_file', path='a.txt', content='a'), 'Tried.', 'Ok.'
        )
        """,
    )

    text = run_deep(kernel, '', 'Go.', allow_stdin=False).displays[-1]['text/plain']

    assert 'general asked  Write a.txt? · denied by policy' in text
    assert 'Denied without a question: `write_file`. `%%deep --approve auto` allows it.' in text


def test_what_a_hook_denied_is_not_said_to_be_allowed_by_approve_auto(kernel: RealKernel, tmp_path: Path) -> None:
    (tmp_path / 'agent.yaml').write_text('capabilities: [SecurityHooks]\n')
    deep(kernel, "model = script(call('read_file', path='.env'), 'No.')")
    kernel.run('%deep spec agent.yaml')

    text = run_deep(kernel, '', 'Read it.', allow_stdin=False).displays[-1]['text/plain']

    assert 'A hook said no' in text
    assert '--approve auto' not in text


def test_resume_asks_again_and_answers_can_come_one_by_one(kernel: RealKernel, tmp_path: Path) -> None:
    deep(
        kernel,
        """
        model = script(
            [call('write_file', path='a.txt', content='a'), call('write_file', path='b.txt', content='b')], 'Done.'
        )
        """,
    )
    run_deep(kernel, '--approve ask', 'Write.', allow_stdin=False)

    first = kernel.start('%deep approve 2')
    widget = front_end(first)
    asked(widget, 'call_1_1')
    assert not (tmp_path / 'a.txt').exists()
    decide(widget, 'call_1_1', 'deny')
    first.result()

    assert (tmp_path / 'b.txt').read_text() == 'b'
    assert not (tmp_path / 'a.txt').exists()


def test_a_new_prompt_gives_the_waiting_run_up_and_says_so(kernel: RealKernel, tmp_path: Path) -> None:
    deep(kernel, "seen = []\nmodel = script(call('write_file', path='a.txt', content='a'), 'Fine.', seen=seen)")
    run_deep(kernel, '--approve ask', 'Write.', allow_stdin=False)

    result = run_deep(kernel, '', 'Never mind.')

    assert result.status == 'ok'
    assert 'Run 1 was waiting for an answer; it was given up.' in result.displays[-1]['text/plain']
    assert kernel.run('print([part.outcome for part in returns(seen[-1])])').stdout == "['interrupted']\n"
    assert not (tmp_path / 'a.txt').exists()


def test_a_file_that_changed_while_the_question_waited_is_left_alone(kernel: RealKernel, tmp_path: Path) -> None:
    (tmp_path / 'note.txt').write_text('old')
    deep(
        kernel,
        """
        model = script(
            call('read_file', path='note.txt'), call('write_file', path='note.txt', content='new'),
            lambda m: returns(m)[-1].content,
        )
        """,
    )
    cell = start_deep(kernel, '', 'Write.')
    widget = front_end(cell)
    asked(widget, 'call_2_1')
    (tmp_path / 'note.txt').write_text('mine')
    decide(widget, 'call_2_1', 'approve')

    assert 'changed since you read it, so nothing was written' in cell.result().displays[-1]['text/plain']
    assert (tmp_path / 'note.txt').read_text() == 'mine'

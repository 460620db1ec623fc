"""`%%deep` in a real kernel: prompts, conversation, answers."""

from __future__ import annotations

from pathlib import Path

from harness.deep import deep, run_deep
from harness.kernels import RealKernel


def test_the_agent_runs_python_in_the_kernel_and_leaves_the_counts_alone(kernel: RealKernel) -> None:
    deep(
        kernel,
        """
        model = script(
            call('run_python', code='print(x + 1)\\ny = 5\\ny * 2'),
            lambda messages: returns(messages)[-1].content,
        )
        x = 41
        """,
    )

    result = run_deep(kernel, '--approve auto', 'Add one.')

    assert '42' in result.displays[-1]['text/plain']
    assert '10' in result.displays[-1]['text/plain']
    after = kernel.run('print(y, len(In), _)')
    assert after.stdout.startswith('5 ')
    assert result.execution_count is not None
    assert after.execution_count == result.execution_count + 1


def test_an_error_and_a_picture_come_back_to_the_model(kernel: RealKernel) -> None:
    picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
    code = f"""from IPython.display import Image, display
import base64
display(Image(base64.b64decode('{picture}')))
1/0"""
    deep(kernel, f"model = script(call('run_python', code={code!r}), lambda m: str(returns(m)[-1].content))")

    result = run_deep(kernel, '--approve auto', 'Try.')

    assert result.status == 'ok'
    assert 'ZeroDivisionError' in result.displays[-1]['text/plain']
    assert picture in result.displays[-1]['text/html']


def test_the_agents_python_may_await(kernel: RealKernel) -> None:
    code = 'import asyncio\nawait asyncio.sleep(0)\nprint("awaited")'
    deep(kernel, f"model = script(call('run_python', code={code!r}), lambda m: str(returns(m)[-1].content))")

    assert 'awaited' in run_deep(kernel, '--approve auto', 'Go.').displays[-1]['text/plain']


def test_an_ordinary_cell_magic_does_the_same_where_nothing_can_be_awaited(kernel: RealKernel) -> None:
    deep(kernel, "model = script(call('run_python', code='z = 7'), 'Done here.')")

    result = kernel.run("get_ipython().run_cell_magic('deep', '-m model -a auto', 'Go on.')\nprint(z)")

    assert result.stdout.endswith('7\n')
    assert any('Done here.' in display.get('text/plain', '') for display in result.displays)


def test_a_mistake_is_one_line_without_a_traceback(kernel: RealKernel) -> None:
    deep(kernel, 'model = script("ok")\nx = 1')
    for cell, words in {
        '%%deep --appove auto\nhi': "Did you mean '--approve'?",
        '%%deep -m modle\nhi': "Did you mean 'model'?",
        '%%deep -m x\nhi': "'x' is of type int, not a pydantic-ai Model or Agent",
        '%deep stats': "Did you mean 'status'?",
        '%deep approve': 'No run waits',
        '%deep show 99': 'There is no stored run 99',
        '%%time\n%%deep\nhi': '%%deep has to be the first line',
        '# a note\n%%deep\nhi': 'take the comment above it away',
    }.items():
        result = kernel.run(cell)

        assert result.status == 'error', cell
        assert words in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1, cell
        assert not any(output['output_type'] == 'error' for output in result.outputs), cell


def test_a_failing_model_is_one_line_and_the_conversation_goes_on(kernel: RealKernel) -> None:
    deep(
        kernel,
        """
        turns = iter([0])
        def answer(messages):
            if next(turns, None) is None:
                return 'Better now.'
            raise RuntimeError('the wire is cut')
        model = script(answer)
        """,
    )

    result = run_deep(kernel, '', 'hi')

    assert result.status == 'error'
    assert 'the wire is cut' in result.displays[-1]['text/plain']
    assert result.error is not None
    assert len(result.error.traceback) == 1
    assert 'Better now.' in run_deep(kernel, '', 'again').displays[-1]['text/plain']


def test_settings_have_help_and_refuse_nonsense(kernel: RealKernel) -> None:
    deep(kernel, 'model = script("ok")')

    assert 'US dollars' in kernel.run('%config DeepMagics').stdout
    result = kernel.run("%config DeepMagics.approve = 'maybe'\nprint('went on')")
    assert 'maybe' in result.stderr + result.stdout
    assert kernel.run("%config DeepMagics.approve = 'auto'").stderr == ''


def test_tab_completes_options_commands_and_models(kernel: RealKernel) -> None:
    deep(kernel, 'my_model = script("ok")')

    assert '--approve' in kernel.complete('%%deep --app')
    assert 'auto' in kernel.complete('%%deep --approve au')
    assert 'status' in kernel.complete('%deep st')
    assert 'my_model' in kernel.complete('%%deep -m my_')
    assert 'embedded' in kernel.complete('%deep model emb')
    assert '--files' in kernel.complete('%deep rewind before run 1 --fi')
    assert 'undo' in kernel.complete('%deep review un')


def test_a_stored_run_can_be_drawn_again(kernel: RealKernel, tmp_path: Path) -> None:
    deep(kernel, "model = script('First answer.', 'Second answer.')")
    run_deep(kernel, '', 'one')
    run_deep(kernel, '', 'two')

    assert 'Second answer.' in kernel.run('%deep show').displays[-1]['text/html']
    assert 'First answer.' in kernel.run('%deep show 1').displays[-1]['text/plain']
    status = kernel.run('%deep status').stdout
    assert 'Last run: 2, done' in status
    assert '2 runs, 2 requests' in kernel.run('%deep cost').stdout

"""`%%deep` in a real kernel: prompts, conversation, answers."""

from __future__ import annotations

from pathlib import Path

from harness.deep import deep, run_deep
from harness.kernels import RealKernel


def test_the_answer_is_shown_and_kept_in_a_variable(kernel: RealKernel) -> None:
    deep(kernel, "model = script('All is well.')")

    result = run_deep(kernel, '--into ans', 'How is it?')

    assert result.status == 'ok', result.error
    assert 'All is well.' in result.displays[-1]['text/html']
    assert 'All is well.' in result.displays[-1]['text/plain']
    assert kernel.run('print(ans)').stdout.strip() == 'All is well.'


def test_the_prompt_reaches_the_model_byte_for_byte(kernel: RealKernel) -> None:
    deep(kernel, 'seen = []\nmodel = script("ok", seen=seen)\nd = {}; v = 1; k = 2; t = "{x}"; x = 0')

    run_deep(kernel, '', '{v:k for k,v in d.items()}\n  {t} ')

    assert kernel.run('print(repr(prompts(seen[-1])))').stdout == "['{v:k for k,v in d.items()}\\n  {x} ']\n"


def test_the_conversation_goes_on_until_it_is_reset(kernel: RealKernel) -> None:
    deep(kernel, 'seen = []\nmodel = script("ok", seen=seen)')
    run_deep(kernel, '', 'My colour is green.')
    run_deep(kernel, '', 'Which colour?')
    assert kernel.run('print(prompts(seen[-1]))').stdout == "['My colour is green.', 'Which colour?']\n"

    assert kernel.run('%deep reset').status == 'ok'
    run_deep(kernel, '', 'Which colour now?')
    assert kernel.run('print(prompts(seen[-1]))').stdout == "['Which colour now?']\n"

    run_deep(kernel, '--new', 'Anew.')
    assert kernel.run('print(prompts(seen[-1]))').stdout == "['Anew.']\n"


def test_a_restarted_kernel_finds_its_conversation_and_tells_the_model(kernel: RealKernel) -> None:
    setup = 'seen = []\nmodel = script("ok", seen=seen)'
    deep(kernel, setup)
    run_deep(kernel, '', 'My colour is green.')
    kernel.restart()
    deep(kernel, setup)

    run_deep(kernel, '', 'Which colour?')

    first = kernel.run('print(prompts(seen[-1]))').stdout
    assert 'My colour is green.' in first
    assert 'variables and imports are gone' in first
    run_deep(kernel, '', 'And now?')
    again = kernel.run('print(prompts(seen[-1]))').stdout
    assert again.count('variables and imports are gone') == 1


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


def test_a_later_cell_can_await(kernel: RealKernel) -> None:
    deep(kernel, 'model = script("ok")')
    run_deep(kernel, '', 'hi')

    assert kernel.run('import asyncio; print(await asyncio.sleep(0, "fine"))').stdout == 'fine\n'


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


def test_a_stored_run_can_be_drawn_again(kernel: RealKernel, tmp_path: Path) -> None:
    deep(kernel, "model = script('First answer.', 'Second answer.')")
    run_deep(kernel, '', 'one')
    run_deep(kernel, '', 'two')

    assert 'Second answer.' in kernel.run('%deep show').displays[-1]['text/html']
    assert 'First answer.' in kernel.run('%deep show 1').displays[-1]['text/plain']
    status = kernel.run('%deep status').stdout
    assert 'Last run: 2, done' in status
    assert '2 runs, 2 requests' in kernel.run('%deep cost').stdout

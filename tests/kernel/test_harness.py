"""The harness itself, on plain ipywidgets: what every kernel test relies on."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest
from dirty_equals import IsPartialDict, IsStr

from harness.kernels import RealKernel


def source(code: str) -> str:
    return textwrap.dedent(code).strip()


def test_a_cell_prints_shows_and_returns(kernel: RealKernel) -> None:
    result = kernel.run('import ipykernel; print(ipykernel.__version__); 6 * 7')

    assert result.status == 'ok'
    assert result.execution_count == 1
    assert result.stdout.startswith(('7.3.', '7.4.'))
    assert result.outputs[1] == IsPartialDict(output_type='execute_result', data={'text/plain': '42'})
    assert 0 < result.seconds < 10


def test_both_versions_run_the_project_in_its_own_environment(start_kernel: Callable[..., RealKernel]) -> None:
    code = 'import ipykernel, deep_notebook; print(ipykernel.__version__, deep_notebook.__version__)'

    assert start_kernel('7.3').run(code).stdout.startswith('7.3.')
    assert start_kernel('7.4').run(code).stdout.startswith('7.4.')


def test_an_error_is_an_error(kernel: RealKernel) -> None:
    result = kernel.run('1 / 0')

    assert result.status == 'error'
    assert result.error is not None
    assert (result.error.name, result.error.value) == ('ZeroDivisionError', 'division by zero')


def test_no_key_or_home_of_the_person_is_seen(kernel: RealKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    result = kernel.run('import os; print([name for name in os.environ if "KEY" in name], os.path.expanduser("~"))')

    assert result.stdout == IsStr(regex=r'\[\] .*-home\n')


def test_display_updates_reach_the_output_they_belong_to(kernel: RealKernel) -> None:
    kernel.start('from IPython.display import display; handle = display({"n": 1}, display_id="one")').result()
    first = kernel.start('shown = display("a", display_id="two"); print("between"); shown.update("b")').result()

    assert [output.get('text') or output['data']['text/plain'] for output in first.outputs] == ["'b'", 'between\n']


def test_cells_queue_up_and_an_error_aborts_the_rest(kernel: RealKernel) -> None:
    cells = [kernel.start(code) for code in ('x = 1', 'x / 0', 'x = 2')]

    assert [cell.result().status for cell in cells] == ['ok', 'error', 'aborted']
    assert kernel.run('print(x)').stdout == '1\n'


def test_interrupt_comes_when_the_test_says_so(kernel: RealKernel) -> None:
    cell = kernel.start('print("sleeping", flush=True)\nimport time\ntime.sleep(60)')
    cell.wait_for_text('sleeping')
    at = kernel.interrupt()
    result = cell.result()

    assert result.error is not None
    assert result.error.name == 'KeyboardInterrupt'
    assert result.ended - at < 2


def test_input_is_answered_or_refused(kernel: RealKernel) -> None:
    assert kernel.run('print(input("name? "))', stdin=['Ada']).stdout == 'Ada\n'
    refused = kernel.run('input("name? ")', allow_stdin=False)
    assert refused.error is not None
    assert refused.error.name == 'StdinNotImplementedError'


def test_a_click_reaches_a_button(kernel: RealKernel) -> None:
    cell = kernel.start(
        source("""
            import ipywidgets
            button = ipywidgets.Button(description='Go')
            button.on_click(lambda _: setattr(button, 'description', 'Gone'))
            button
        """)
    )
    button = cell.wait_for_comm(description='Go')
    cell.result()
    button.click()
    button.wait_for_state(description='Gone')

    assert button.target == 'jupyter.widget'
    assert kernel.run('print(button.description)').stdout == 'Gone\n'


def test_custom_messages_go_both_ways_while_a_cell_awaits(kernel: RealKernel) -> None:
    cell = kernel.start(
        source("""
            import anywidget, asyncio
            loop, asked = asyncio.get_running_loop(), asyncio.Event()
            class Question(anywidget.AnyWidget):
                _esm = 'export default {}'
            question = Question()
            def decide(_, content, buffers):
                question.send({'heard': content})
                loop.call_soon_threadsafe(asked.set)
            question.on_msg(decide)
            question.send({'kind': 'ask'})
            await asked.wait()
            print('decided')
        """)
    )
    question = cell.wait_for_comm(_esm='export default {}')
    question.wait_for(lambda content: content.get('kind') == 'ask')
    assert not cell.done
    question.send({'verdict': 'approve'})

    assert question.wait_for(lambda content: 'heard' in content) == {'heard': {'verdict': 'approve'}}
    assert cell.result().stdout == 'decided\n'


def test_a_restart_forgets_variables_and_keeps_the_place(kernel: RealKernel) -> None:
    kernel.run('import pathlib; pathlib.Path("kept.txt").write_text("kept"); x = 1')
    kernel.restart()

    assert kernel.run('print("x" in globals(), pathlib)').error is not None
    assert kernel.run('import pathlib; print(pathlib.Path("kept.txt").read_text())').stdout == 'kept\n'
    assert kernel.run('1').execution_count == 3


def test_completion_asks_the_kernel(kernel: RealKernel) -> None:
    kernel.run('import pathlib')

    assert 'pathlib' in kernel.complete('pathl')


def test_waiting_in_vain_says_for_what(kernel: RealKernel) -> None:
    cell = kernel.start('print("here")')

    with pytest.raises(TimeoutError, match='kernel alive: True'):
        cell.wait_for(lambda message: message.kind == 'no_such_message', timeout=1)

"""The harness itself, on plain ipywidgets: what every browser test relies on."""

from __future__ import annotations

from harness.lab_fixtures import OpenNotebook

BUTTON = """
import ipywidgets
button, heard = ipywidgets.Button(description='Press me'), ipywidgets.Label('not yet')
button.on_click(lambda _: setattr(heard, 'value', 'heard it'))
ipywidgets.VBox([button, heard])
"""

ANYWIDGET = """
import anywidget, asyncio, traitlets
class Question(anywidget.AnyWidget):
    _esm = '''export default { render({model, el}) {
        const button = document.createElement('button');
        button.textContent = 'Approve';
        button.onclick = () => model.send({verdict: 'approve'});
        el.append(button);
    } }'''
loop, answered = asyncio.get_running_loop(), asyncio.Event()
question = Question()
question.on_msg(lambda _, content, buffers: loop.call_soon_threadsafe(answered.set))
display(question)
await answered.wait()
print('approved')
"""


def test_cells_run_in_the_kernel_that_was_asked_for(open_notebook: OpenNotebook, lab_kernel: str) -> None:
    notebook = open_notebook(['import ipykernel; print(ipykernel.__version__)', '6 * 7'], kernel=lab_kernel)
    notebook.run_all()

    assert notebook.wait_for_prompt(1) == 2
    assert notebook.outputs(0)[0]['text'].startswith({'py73': '7.3.', 'py74': '7.4.'}[lab_kernel])
    assert notebook.outputs(1)[0]['data'] == {'text/plain': '42'}
    assert notebook.console_errors == []


def test_a_click_is_heard_by_the_kernel(open_notebook: OpenNotebook, lab_kernel: str) -> None:
    notebook = open_notebook([BUTTON], kernel=lab_kernel)
    notebook.run_all()
    notebook.wait_for_prompt(0)
    notebook.click('Press me')

    notebook.wait_for_text('heard it', cell=0)
    assert notebook.screenshot(f'harness-click-{lab_kernel}').exists()


def test_a_click_is_heard_while_a_cell_awaits(open_notebook: OpenNotebook, lab_kernel: str) -> None:
    notebook = open_notebook([ANYWIDGET, 'print("next")'], kernel=lab_kernel)
    notebook.run_all()
    notebook.button('Approve').wait_for()
    assert (notebook.prompt(0), notebook.prompt(1)) == ('[*]:', '[*]:')
    notebook.click('Approve')

    assert notebook.wait_for_prompt(1) == 2
    assert [output.get('text') for output in notebook.outputs(0)][1:] == ['approved\n']


def test_interrupt_stops_a_cell(open_notebook: OpenNotebook, lab_kernel: str) -> None:
    notebook = open_notebook(['print("sleeping", flush=True)\nimport time\ntime.sleep(60)'], kernel=lab_kernel)
    notebook.run_all()
    notebook.wait_for_text('sleeping', cell=0)
    notebook.interrupt()
    notebook.wait_for_prompt(0)

    assert notebook.outputs(0)[-1]['ename'] == 'KeyboardInterrupt'


def test_a_reload_keeps_the_kernel_and_the_saved_outputs(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook(['x = 1; print("kept")', 'print(x + 1)'])
    notebook.run_cell(0)
    notebook.wait_for_prompt(0)
    notebook.reload()
    notebook.wait_for_text('kept', cell=0)
    notebook.run_cell(1)
    notebook.wait_for_prompt(1, 2)

    assert notebook.outputs(1)[0]['text'] == '2\n'


def test_a_notebook_reopened_without_kernel_shows_what_was_saved(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook(['print("for later")'])
    notebook.run_all()
    notebook.wait_for_prompt(0)
    notebook.reopen_without_kernel()
    notebook.wait_for_text('for later', cell=0)

    assert notebook.lab.request('GET', '/api/kernels') == []
    assert notebook.read().cells[0].outputs[0].text == 'for later\n'


def test_files_lie_beside_the_notebook_and_its_kernel_works_there(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook(['print(open("data.csv").read())'], files={'data.csv': 'a,b'})
    notebook.run_all()
    notebook.wait_for_prompt(0)

    assert notebook.outputs(0)[0]['text'] == 'a,b\n'
    assert (notebook.directory / 'data.csv').exists()


def test_the_theme_changes_and_is_forgotten_after_the_test(open_notebook: OpenNotebook) -> None:
    dark, light = open_notebook(['1']), None
    dark.set_theme('JupyterLab Dark')
    assert dark.page.evaluate('() => document.body.dataset.jpThemeLight') == 'false'
    dark.close()
    light = open_notebook(['1'])

    assert light.page.evaluate('() => document.body.dataset.jpThemeLight') == 'true'

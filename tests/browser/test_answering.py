"""Questions in JupyterLab, answered by mouse and by keyboard."""

from __future__ import annotations

import time

from harness.lab import NotebookPage
from harness.lab_deep import DEEP, ask, run_view, wait_until

WRITE = """
model = script(
    call('write_file', path='{name}', content='# Note\\n\\nhello\\n'),
    lambda messages: f'{{len(returns(messages))}} result: {{returns(messages)[-1].content}}',
)
"""

SPENT = """async button => {
    const buttons = [...button.closest('.dn-ask').querySelectorAll('button')];
    button.click();
    button.click();
    await new Promise(resolve => setTimeout(resolve));
    return buttons.map(button => button.disabled);
}"""


def test_a_click_writes_the_file_once_and_the_buttons_are_spent(notebook: NotebookPage) -> None:
    path = notebook.directory / 'click.md'
    ask(notebook, WRITE.format(name=path.name), prompt='Write a note.')
    approve = notebook.button('Approve', cell=DEEP)
    approve.wait_for()
    notebook.screenshot(f'question-{notebook.kernel}')
    assert not path.exists()

    clicked = time.monotonic()
    assert approve.evaluate(SPENT) == [True] * 4
    wait_until(path.exists, timeout=2)
    assert time.monotonic() - clicked < 2

    notebook.wait_for_prompt(DEEP)
    notebook.wait_for_text('1 result', cell=DEEP)
    assert path.read_text() == '# Note\n\nhello\n'
    assert len(notebook.outputs(DEEP)) == 1
    notebook.screenshot(f'done-{notebook.kernel}')


def test_the_reason_of_a_denial_reaches_the_agent(notebook: NotebookPage) -> None:
    ask(notebook, WRITE.format(name='denied.md'))
    notebook.click('Deny…', cell=DEEP)
    notebook.page.keyboard.type('keep the port')
    notebook.screenshot(f'deny-{notebook.kernel}')
    notebook.button('Deny', cell=DEEP).click()
    notebook.wait_for_prompt(DEEP)

    view = run_view(notebook)
    assert 'keep the port' in view.inner_text()
    view.get_by_text('Work · 1 tool').click()
    assert 'denied: "keep the port"' in view.inner_text()
    assert not (notebook.directory / 'denied.md').exists()
    notebook.screenshot(f'denied-{notebook.kernel}')


def test_the_edited_text_is_what_is_written(notebook: NotebookPage) -> None:
    notebook.page.set_viewport_size({'width': 1280, 'height': 560})
    ask(notebook, WRITE.format(name='edited.md'))
    notebook.click('Edit first…', cell=DEEP)
    field = notebook.output(DEEP).get_by_role('textbox')
    assert field.input_value() == '# Note\n\nhello\n'
    field.fill('# Note\n\ngood morning\n')
    notebook.screenshot(f'edit-{notebook.kernel}')
    assert 'Approve edited' in notebook.visible_text()
    notebook.click('Approve edited', cell=DEEP)
    notebook.wait_for_prompt(DEEP)

    assert (notebook.directory / 'edited.md').read_text() == '# Note\n\ngood morning\n'
    assert 'The person changed' in run_view(notebook).inner_text()


def test_what_is_typed_into_a_question_is_nothing_to_lab(notebook: NotebookPage) -> None:
    ask(notebook, WRITE.format(name='typed.md'), 'x = 1')
    sources = notebook.sources()
    notebook.click('Edit first…', cell=DEEP)
    field = notebook.output(DEEP).get_by_role('textbox')
    field.fill('')
    for key in (*'dd', 'a', 'b', 'x', 'm', 'z', '0', '0', 'Shift+Enter', 'Control+A', 'End', '!'):
        field.press(key)
    assert field.input_value() == 'ddabxmz00\n!'
    assert notebook.sources() == sources
    assert [notebook.prompt(index) for index in (1, 2)] == ['[*]:', '[*]:']
    assert not (notebook.directory / 'typed.md').exists()

    field.press('Control+Enter')
    notebook.wait_for_prompt(2)
    assert notebook.sources() == sources
    assert (notebook.directory / 'typed.md').read_text() == 'ddabxmz00\n!'
    counts = [notebook.wait_for_prompt(index) for index in range(3)]
    assert counts == [counts[0], counts[0] + 1, counts[0] + 2]


def test_one_yes_for_the_rest_of_a_tool_asks_no_more_for_it(notebook: NotebookPage) -> None:
    ask(
        notebook,
        """
        model = script(
            call('write_file', path='rest-1.md', content='1'), call('write_file', path='rest-2.md', content='2'),
            call('execute', command='touch rest-3.md'), 'Done.',
        )
        """,
    )
    notebook.click('Approve the rest of this run', cell=DEEP)
    notebook.screenshot(f'rest-{notebook.kernel}')
    notebook.click('for write_file', cell=DEEP)
    notebook.wait_for_text('Run a command?', cell=DEEP)
    notebook.screenshot(f'command-{notebook.kernel}')
    assert (notebook.directory / 'rest-2.md').read_text() == '2'

    notebook.click('Deny…', cell=DEEP)
    notebook.page.keyboard.press('Enter')
    notebook.wait_for_prompt(DEEP)
    assert not (notebook.directory / 'rest-3.md').exists()


def test_questions_asked_together_are_answered_apart(notebook: NotebookPage) -> None:
    ask(
        notebook,
        """
        model = script(
            [call('write_file', path=f'{name}.md', content=f'# {name}\\n') for name in ('one', 'two')], 'Done.'
        )
        """,
    )
    notebook.wait_for_text('2 questions, each with its own answer', cell=DEEP)
    notebook.screenshot(f'two-questions-{notebook.kernel}')
    first, second = (notebook.output(DEEP).locator('.dn-ask').nth(index) for index in (0, 1))
    second.get_by_role('button', name='Approve', exact=True).click()
    second.get_by_text('approved by you').wait_for(state='detached')
    first.get_by_role('button', name='Deny…').click()
    notebook.page.keyboard.press('Enter')
    notebook.wait_for_prompt(DEEP)

    assert not (notebook.directory / 'one.md').exists()
    assert (notebook.directory / 'two.md').read_text() == '# two\n'


def test_the_keyboard_alone_can_approve(notebook: NotebookPage) -> None:
    ask(notebook, WRITE.format(name='keyboard.md'))
    notebook.button('Approve', cell=DEEP).wait_for()
    notebook.cell(DEEP).locator('.jp-InputPrompt').click()
    focused = "() => document.activeElement?.closest('.dn-run') && document.activeElement.innerText"
    for _ in range(30):
        notebook.page.keyboard.press('Tab')
        if notebook.page.evaluate(focused) == 'Approve':
            break
    assert notebook.page.evaluate(focused) == 'Approve'
    notebook.screenshot(f'keyboard-{notebook.kernel}')
    notebook.page.keyboard.press('Enter')
    notebook.wait_for_prompt(DEEP)

    assert (notebook.directory / 'keyboard.md').exists()


def test_run_all_waits_and_everything_lands_in_its_own_cell(notebook: NotebookPage) -> None:
    """Before ipykernel 7.4 the click comes on another thread than the one that runs cells."""
    ask(notebook, WRITE.format(name='order.md'), 'x = 1', "print('later', open('order.md').read())")
    notebook.button('Approve', cell=DEEP).wait_for()
    assert [notebook.prompt(index) for index in (1, 2, 3)] == ['[*]:'] * 3
    assert notebook.outputs(3) == []

    notebook.click('Approve', cell=DEEP)
    counts = [notebook.wait_for_prompt(index) for index in (1, 2, 3)]

    assert counts == [counts[0], counts[0] + 1, counts[0] + 2]
    (run,) = notebook.outputs(DEEP)
    assert 'order.md' in run['data']['text/plain']
    assert notebook.outputs(2) == []
    assert [output['text'] for output in notebook.outputs(3)] == ['later # Note\n\nhello\n\n']

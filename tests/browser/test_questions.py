"""Decisions that the agent leaves to the person, in JupyterLab: each way to answer, after a reload, in each theme."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator

from harness.axe import faults
from harness.lab import NotebookPage
from harness.lab_deep import DEEP, LOAD, ask, run_view
from harness.lab_fixtures import OpenNotebook

SETUP = """
ports = [
    dict(label='9090', description='Nothing else listens there.', recommended=True),
    dict(label='8081', description='Next to the old one, which the tests still use: so they have to change too.'),
    dict(label='Let the system pick one'),
]
model = script(
    [call('write_todos', todos=[dict(content='Find out where the port is named', status='completed'),
                                dict(content='Move it', status='in_progress')]),
     call('ls')],
    call('ask_user', question='Which port should the server use?', options=ports),
    lambda messages: f'{returns(messages)[-1].content}. I moved it.',
)
"""
PROMPT = 'Ask me which port, then move the server.'


@pytest.fixture(params=['JupyterLab Light', 'JupyterLab Dark', 'JupyterLab Dark High Contrast'])
def theme(notebook: NotebookPage, request: pytest.FixtureRequest) -> Iterator[str]:
    notebook.set_theme(request.param)
    yield request.param.removeprefix('JupyterLab ').replace(' ', '-').lower()
    notebook.set_theme('JupyterLab Light')


def choice(notebook: NotebookPage, label: str) -> Locator:
    return notebook.output(DEEP).locator('.dn-choice', has_text=label)


def test_a_click_decides_once(notebook: NotebookPage) -> None:
    ask(notebook, SETUP, prompt=PROMPT)
    choice(notebook, '8081').dblclick()
    notebook.wait_for_prompt(DEEP)
    notebook.wait_for_text('The person chose: 8081. I moved it.', cell=DEEP)
    view = run_view(notebook)
    view.get_by_text('Work · 3 tools').click()
    row = view.locator('summary', has_text='ask_user')
    assert 'Which port should the server use? → 8081' in row.inner_text()
    row.click()
    assert 'you chose: 8081' in view.inner_text()
    notebook.screenshot(f'question-decided-{notebook.kernel}')
    assert len(notebook.outputs(DEEP)) == 1


def test_the_keyboard_alone_answers_in_words_of_ones_own(notebook: NotebookPage) -> None:
    ask(notebook, SETUP, 'x = 1', prompt=PROMPT)
    sources = notebook.sources()
    field = notebook.output(DEEP).get_by_role('textbox', name='Or an answer of your own')
    field.wait_for()
    notebook.cell(DEEP).locator('.jp-InputPrompt').click()
    focused = "() => document.activeElement?.matches('.dn-form input')"
    for _ in range(30):
        notebook.page.keyboard.press('Tab')
        if notebook.page.evaluate(focused):
            break
    assert notebook.page.evaluate(focused)
    notebook.page.keyboard.type('80, dd as before')
    notebook.screenshot(f'question-own-words-{notebook.kernel}')
    notebook.page.keyboard.press('Enter')
    notebook.wait_for_prompt(DEEP)
    notebook.wait_for_text('The person answered: 80, dd as before. I moved it.', cell=DEEP)
    assert notebook.sources() == sources


def test_the_keyboard_alone_picks_a_choice(notebook: NotebookPage) -> None:
    ask(notebook, SETUP, prompt=PROMPT)
    choice(notebook, '9090').focus()
    notebook.page.keyboard.press('Tab')
    notebook.page.keyboard.press('Enter')
    notebook.wait_for_prompt(DEEP)
    assert 'The person chose: 8081. I moved it.' in run_view(notebook).inner_text()


@pytest.mark.parametrize('how', ['view', 'toolbar'])
def test_a_run_that_waits_for_a_decision_is_stopped(notebook: NotebookPage, how: str) -> None:
    ask(notebook, SETUP, prompt=PROMPT)
    choice(notebook, '9090').wait_for()
    if how == 'view':
        notebook.click('Stop', cell=DEEP)
    else:
        notebook.press_stop_in_toolbar()
    notebook.wait_for_prompt(DEEP, timeout=5)
    text = run_view(notebook).inner_text()
    assert text.startswith('Stopped by you')
    assert 'Which port should the server use? · interrupted' in text


def test_a_question_is_readable_in_every_theme(notebook: NotebookPage, theme: str) -> None:
    ask(notebook, SETUP, prompt=PROMPT)
    choice(notebook, '9090').wait_for()
    assert faults(notebook.page, '.dn-run') == []
    notebook.screenshot(f'question-{theme}-{notebook.kernel}')
    choice(notebook, '9090').click()
    notebook.wait_for_prompt(DEEP)
    run_view(notebook).evaluate("run => run.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    assert faults(notebook.page, '.deep-run') == []
    notebook.screenshot(f'question-{theme}-done-{notebook.kernel}')


def test_a_question_survives_a_reload_of_the_page(open_notebook: OpenNotebook, lab_kernel: str) -> None:
    notebook = open_notebook([LOAD], kernel=lab_kernel)
    notebook.run_all()
    notebook.wait_for_prompt(0)
    ask(notebook, SETUP, prompt=PROMPT)
    choice(notebook, '9090').wait_for()
    notebook.reload()
    choice(notebook, '8081').wait_for()
    assert 'Waiting for you' in run_view(notebook).inner_text()
    notebook.screenshot(f'question-reloaded-{lab_kernel}')
    choice(notebook, '8081').click()
    notebook.wait_for_text('The person chose: 8081. I moved it.', cell=DEEP)
    assert notebook.console_errors == []

"""What a person sees in JupyterLab while a run goes on, and what is left of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from harness.lab import NotebookPage
from harness.lab_deep import DEEP, ask, run_view

LISTEN = """() => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    const messages = window.deepMessages = [];
    const listen = (_, message) => messages.push({
        at: Date.parse(message.header.date) / 1000,
        type: message.header.msg_type,
        display: message.content.transient?.display_id ?? null,
        kind: message.content.data?.content?.kind ?? null,
    });
    kernel.iopubMessage.connect(listen);
    window.deepStopListening = () => kernel.iopubMessage.disconnect(listen);
}"""

WATCH = """() => {
    const lengths = window.deepLengths = [];
    const observer = new MutationObserver(() => {
        const answer = document.querySelector('.dn-answer');
        if (answer && document.querySelector('.dn-running')) lengths.push(answer.textContent.length);
    });
    observer.observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


@pytest.fixture
def messages(notebook: NotebookPage) -> Iterator[list[dict[str, Any]]]:
    """What the kernel sends during the test; filled when `heard` is called."""
    notebook.page.evaluate(LISTEN)
    yield []
    notebook.page.evaluate('() => window.deepStopListening()')


def test_the_plan_changes_while_the_run_goes_on(notebook: NotebookPage) -> None:
    ask(
        notebook,
        """
        def plan(*status):
            items = ['Read the data', 'Write the report', 'Check it']
            return call('write_todos', todos=[dict(content=c, status=s) for c, s in zip(items, status)])

        def wait(name):
            return call('execute', command=f'while [ ! -e {name} ]; do sleep 0.02; done; echo {name}')

        model = script(
            [plan('in_progress', 'pending', 'pending'), wait('go-1')],
            [plan('completed', 'in_progress', 'blocked'), wait('go-2')],
            [plan('completed', 'completed', 'completed')],
            'All done.',
        )
        """,
        options='--approve auto',
    )
    view = run_view(notebook)
    items = view.locator('.dn-todos li')
    notebook.wait_for_text('Plan · 0 of 3', cell=DEEP)
    view.locator('.dn-tool.dn-running', has_text='execute').wait_for()
    assert [text.split('\n') for text in items.all_inner_texts()] == [
        ['◐', 'Read the data', '(in progress)'],
        ['○', 'Write the report', '(pending)'],
        ['○', 'Check it', '(pending)'],
    ]
    notebook.screenshot(f'running-{notebook.kernel}')

    (notebook.directory / 'go-1').touch()
    notebook.wait_for_text('Plan · 1 of 3', cell=DEEP)
    assert [text.split('\n')[0] for text in items.all_inner_texts()] == ['✓', '◐', '⊘']
    assert notebook.prompt(DEEP) == '[*]:'

    (notebook.directory / 'go-2').touch()
    notebook.wait_for_prompt(DEEP)
    assert 'Plan · 3 of 3' in view.inner_text()


def test_an_answer_grows_in_one_output_at_a_bearable_pace(
    notebook: NotebookPage, messages: list[dict[str, Any]]
) -> None:
    notebook.page.evaluate(WATCH)
    ask(notebook, "model = script(' '.join(f'word{number}' for number in range(200)), pause=0.015)")
    notebook.wait_for_prompt(DEEP)
    messages = notebook.page.evaluate('() => window.deepMessages')

    lengths = notebook.page.evaluate('() => window.deepLengths')
    assert sorted(lengths) == lengths
    assert len(set(lengths)) > 10

    shown = [message for message in messages if message['type'] in ('display_data', 'update_display_data')]
    assert [message['type'] for message in shown] == ['display_data', 'update_display_data']
    assert len({message['display'] for message in shown}) == 1

    patches = [message['at'] for message in messages if message['kind'] == 'patch']
    assert len(patches) > 10
    assert all(later - earlier > 0.04 for earlier, later in pairwise(patches[:-1]))

    (cell,) = (cell for cell in notebook.read().cells if cell.source.startswith('%%deep'))
    (bundle,) = cell.outputs
    assert set(bundle.data) == {'text/html', 'text/plain'}
    assert 'word199' in bundle.data['text/html']
    assert 'widgets' not in notebook.read().metadata


def test_math_is_typeset_while_the_answer_grows_and_at_the_end(notebook: NotebookPage) -> None:
    ask(
        notebook,
        r"""
        answer = r'''Then \(x=2\), and

        \[E=mc^2\]

        ```latex
        \(x=2\) for $5 and $6
        ```

        Use `\(y\)` for $5 or $6. '''.replace('\n        ', '\n')
        model = script(answer + 'And so on. ' * 400, pause=0.02)
        """,
    )
    live = notebook.output(DEEP).locator('.dn-run')
    live.locator('mjx-container').nth(1).wait_for()
    live.get_by_text('And so on.').first.wait_for()
    code = live.locator('pre')
    assert code.inner_text().strip() == r'\(x=2\) for $5 and $6'
    assert live.locator('mjx-container').count() == 2
    notebook.screenshot(f'math-{notebook.kernel}')
    notebook.click('Stop', cell=DEEP)
    notebook.wait_for_prompt(DEEP)

    final = notebook.output(DEEP).locator('.deep-run')
    final.locator('mjx-container').nth(1).wait_for()
    assert final.locator('mjx-container').count() == 2
    assert final.locator('pre').inner_text().strip() == r'\(x=2\) for $5 and $6'
    assert r'\(y\)' in final.inner_text()
    notebook.screenshot(f'math-final-{notebook.kernel}')


def test_a_run_that_ends_stays_in_sight(notebook: NotebookPage) -> None:
    notebook.page.set_viewport_size({'width': 1280, 'height': 500})
    ask(
        notebook,
        """
        model = script(
            [call('ls') for _ in range(20)], call('write_file', path='sight.md', content='line\\n' * 30), 'Written.'
        )
        """,
    )
    notebook.button('Approve', cell=DEEP).scroll_into_view_if_needed()
    assert 'Waiting for you' not in notebook.visible_text()
    notebook.click('Approve', cell=DEEP)
    notebook.wait_for_prompt(DEEP)

    notebook.page.wait_for_function(
        """() => {
            const { top, bottom } = document.querySelector('.deep-answer').getBoundingClientRect();
            const frame = document.querySelector('.jp-NotebookPanel-notebook').getBoundingClientRect();
            return top >= frame.top && bottom <= frame.bottom;
        }"""
    )

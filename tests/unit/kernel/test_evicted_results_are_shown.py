"""Every result that was too large for the conversation is listed, and read a page at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from inline_snapshot import snapshot
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart

from deep_notebook.errors import UsageError
from deep_notebook.kernel.evicted import evicted_page, list_evicted
from deep_notebook.kernel.session import NotebookSession

pytestmark = pytest.mark.anyio

SPOT = '.deep/large_tool_results'
KEY = 'sk-ant-api03-abcdefghijklmnop'


def evicted(root: Path, id: str, text: str | None, tool: str = 'execute') -> ModelRequest:
    if text is not None:
        (root / SPOT).mkdir(parents=True, exist_ok=True)
        (root / SPOT / id).write_text(text)
    preview = f'Tool result too large, saved to: {SPOT}/{id}\n\nPreview (head/tail):\n'
    return ModelRequest(parts=[ToolReturnPart(tool, preview, id)])


async def opened(root: Path, messages: list[ModelMessage]) -> NotebookSession:
    notebook = NotebookSession(directory=root, notebook=None, database=root / 'session.db', namespace={})
    store = await notebook.store()
    await store.start_run(prompt='Go', model='m')
    await store.sync(messages)
    return notebook


async def test_the_newest_comes_last_and_what_is_gone_is_said(tmp_path: Path) -> None:
    notebook = await opened(
        tmp_path,
        [
            evicted(tmp_path, 'call_1', 'x' * 2_400_000),
            evicted(tmp_path, 'call_2', None, 'fetch'),
            evicted(tmp_path, 'call_3', 'x' * 90_000),
        ],
    )
    assert await list_evicted(notebook, times=False) == snapshot("""\
Too large for the conversation, the newest last. `%deep evicted ID` shows one:
  call_1   execute · 2.4 MB · run 1 · .deep/large_tool_results/call_1
  call_2   fetch · gone · run 1 · .deep/large_tool_results/call_2
  call_3   execute · 90 kB · run 1 · .deep/large_tool_results/call_3\
""")
    with pytest.raises(UsageError, match=r'The file of call_2 is gone: .* `%deep show 1` has'):
        await evicted_page(notebook, 'call_2', 1)
    await notebook.close()


async def test_what_a_subagent_left_is_shown_by_its_id(tmp_path: Path) -> None:
    evicted(tmp_path, 'childs', 'row')
    notebook = await opened(tmp_path, [])
    assert (await evicted_page(notebook, 'childs', 1)).text == 'row'
    await notebook.close()


async def test_the_pages_of_a_result_hold_all_of_it(tmp_path: Path) -> None:
    text = '\n'.join(f'row {number}' for number in range(1, 501))
    notebook = await opened(tmp_path, [evicted(tmp_path, 'call_1', text)])
    pages = [
        await evicted_page(notebook, name, number)
        for name, number in (('call_1', 1), (f'{SPOT}/call_1', 2), ('cal', 3))
    ]
    assert ''.join(page.text for page in pages) == text
    assert {(page.title, page.path, page.pages, page.lines) for page in pages} == {
        ('execute', f'{SPOT}/call_1', 3, 500)
    }
    assert [(page.page, page.first_line) for page in pages] == [(1, 1), (2, 201), (3, 401)]
    await notebook.close()


async def test_a_secret_across_two_pages_stays_hidden(tmp_path: Path) -> None:
    notebook = await opened(tmp_path, [evicted(tmp_path, 'call_1', 'x' * 19_980 + f' {KEY} end')])
    shown = [(await evicted_page(notebook, 'call_1', number)).text for number in (1,)]
    assert 'sk-…[masked] end' in ''.join(shown)
    await notebook.close()


@pytest.mark.parametrize(
    ('wanted', 'page', 'message'),
    [
        ('call_9', 1, "There is no evicted result 'call_9'. Did you mean 'call_2'?"),
        ('call', 1, "'call' is how 2 evicted results begin: call_1, call_2"),
        ('call_1', 2, 'call_1 has the pages 1 to 1.'),
        ('call_1', 0, 'call_1 has the pages 1 to 1.'),
        ('/etc/passwd', 1, "There is no evicted result '/etc/passwd'"),
        ('../secret', 1, "There is no evicted result '../secret'"),
    ],
)
async def test_what_cannot_be_shown_is_one_line(tmp_path: Path, wanted: str, page: int, message: str) -> None:
    (tmp_path / 'secret').write_text('x')
    notebook = await opened(tmp_path, [evicted(tmp_path, f'call_{n}', 'x') for n in (1, 2)])
    with pytest.raises(UsageError) as raised:
        await evicted_page(notebook, wanted, page)
    assert str(raised.value).startswith(message)
    assert '\n' not in str(raised.value)
    await notebook.close()


async def test_nothing_evicted_is_said(tmp_path: Path) -> None:
    notebook = await opened(tmp_path, [])
    assert await list_evicted(notebook) == 'No result was too large for the conversation yet.'
    await notebook.close()

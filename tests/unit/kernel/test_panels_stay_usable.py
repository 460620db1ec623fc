"""A panel is used after its cell has ended: nothing that is clicked is lost, done twice, or breaks it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm
from dirty_equals import IsPartialDict, IsStr

from deep_notebook.errors import UsageError
from deep_notebook.kernel import panels
from deep_notebook.kernel.panels import LIVE_PANELS, Handle, show_panel
from deep_notebook.kernel.runner import AgentThread
from deep_notebook.views.panel_shapes import Action, Pages, Panel

PAGES = Pages(title='Result', page=1, pages=9, lines=9, text='one')
WAIT = 5.0


@dataclass
class Page:
    """The other end of every comm, and the page that outputs go to."""

    opened: list[BaseComm] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    closed: int = 0
    outputs: list[tuple[Any, dict[str, Any]]] = field(default_factory=list)
    news: threading.Condition = field(default_factory=threading.Condition)

    def open_comm(self, **kwargs: Any) -> BaseComm:
        page = self

        class RecordingComm(BaseComm):
            def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
                with page.news:
                    if msg_type == 'comm_msg' and data.get('method') == 'custom':
                        page.told.append(data['content'])
                    page.closed += msg_type == 'comm_close'
                    page.news.notify_all()

        comm = RecordingComm(**kwargs)
        if '_esm' in (kwargs.get('data') or {}).get('state', {}):
            self.opened.append(comm)
        return comm

    def display(self, output: Any, **options: Any) -> None:
        with self.news:
            self.outputs.append((output, options))
            self.news.notify_all()

    def say(self, **content: Any) -> None:
        data = {'method': 'custom', 'content': content}
        self.opened[-1].handle_msg({'content': {'data': data}, 'buffers': []})

    def act(self, seq: int, **action: Any) -> None:
        self.say(kind='action', seq=seq, **action)

    def wait(self, happened: Callable[[], bool]) -> None:
        with self.news:
            assert self.news.wait_for(happened, WAIT)

    def heard(self, number: int) -> dict[str, Any]:
        """The message with this number, counted from 0, and the output that went with it."""
        self.wait(lambda: len(self.told) > number)
        return self.told[number]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    page = Page()
    monkeypatch.setattr(comm, 'create_comm', page.open_comm)
    monkeypatch.setattr(panels, 'display', page.display)
    panels._live.clear()
    yield page
    panels._live.clear()


def show(handle: Handle, panel: Panel = PAGES, *, stdin: bool = True, kernel: bool = True) -> None:
    shell = SimpleNamespace(kernel=SimpleNamespace(_allow_stdin=stdin)) if kernel else SimpleNamespace()
    cells: Any = SimpleNamespace(shell=shell)
    show_panel(cells, panel, handle)


async def turn(panel: Panel, action: Action) -> Panel:
    assert isinstance(panel, Pages)
    return replace(panel, page=action['page'], text=threading.current_thread().name)


def test_a_terminal_gets_text(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    show(turn, kernel=False)

    assert capsys.readouterr().out == 'Result\nPage 1 of 9 · line 1 of 9\none\n'
    assert (page.outputs, page.opened) == ([], [])


def test_a_notebook_run_without_anybody_gets_one_static_bundle(page: Page) -> None:
    show(turn, stdin=False)

    bundle = {'text/html': IsStr(regex='(?s)<div class="deep-run .*'), 'text/plain': IsStr(regex='(?s)Result\n.*')}
    assert page.outputs == [(bundle, {'raw': True})]
    assert page.opened == []


def test_a_page_without_comms_gets_the_static_bundle(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comm, 'create_comm', comm.DummyComm)
    show(turn)

    assert 'Page 1 of 9' in page.outputs[0][0]['text/html']


def test_an_action_is_done_on_the_agents_thread_and_kept_in_the_notebook(page: Page) -> None:
    show(turn)
    (shown, options), *_ = page.outputs
    place = page.opened[-1]
    page.say(kind='ready')
    assert page.heard(0) == IsPartialDict(kind='panel', seq=0, state=IsPartialDict(page=1), unsaved=False)
    assert f'<div class="{page.told[0]["place"]}">' in shown['text/html']

    page.act(0, do='page', page=4)
    assert page.heard(1) == IsPartialDict(seq=1, state=IsPartialDict(page=4, text='deep-agent'), unsaved=False)
    page.wait(lambda: len(page.outputs) == 2)
    updated, how = page.outputs[1]
    assert how == {**options, 'update': True}
    assert 'Page 4 of 9' in updated['text/html']
    assert 'Page 4 of 9' in updated['text/plain']
    assert place is page.opened[-1]


def test_a_double_click_is_done_once(page: Page) -> None:
    done: list[Action] = []

    async def count(panel: Panel, action: Action) -> Panel:
        done.append(action)
        return panel

    show(count)
    page.act(0, do='undo')
    page.act(0, do='undo')
    assert [page.heard(0)['seq'], page.heard(1)['seq']] == [1, 1]
    assert done == [{'do': 'undo'}]


def test_one_thing_is_done_after_the_other(page: Page) -> None:
    running: list[int] = []
    most: list[int] = []
    free = asyncio.Event()

    async def slow(panel: Panel, action: Action) -> Panel:
        running.append(action['page'])
        most.append(len(running))
        if action['page'] == 1:
            await free.wait()
        running.remove(action['page'])
        return panel

    show(slow)
    page.act(0, do='page', page=1)
    page.act(1, do='page', page=2)
    AgentThread.get().loop.call_soon_threadsafe(free.set)
    assert page.heard(1)['seq'] == 2
    assert most == [1, 1]


def test_what_the_person_can_mend_is_said_in_the_panel_once(page: Page) -> None:
    async def refuse(panel: Panel, action: Action) -> Panel:
        if action['page'] > 9:
            raise UsageError('There are 9 pages.')
        return panel

    show(refuse)
    page.act(0, do='page', page=10)
    page.act(1, do='page', page=9)
    assert page.heard(0)['state'] == IsPartialDict(page=1, notice='There are 9 pages.')
    assert page.heard(1)['state'] == IsPartialDict(notice=None)


def test_an_error_is_one_line_without_secrets_and_the_panel_goes_on(
    page: Page, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(panel: Panel, action: Action) -> Panel:
        raise OSError('password=hunter2-hunter2\nsecond line')

    show(fail)
    with caplog.at_level(logging.INFO):
        page.act(0, do='undo')
        notice = page.heard(0)['state']['notice']
    assert notice == IsStr(regex='It failed. OSError: password=.*')
    assert 'hunter2' not in notice
    assert 'second line' in caplog.text
    page.act(1, do='undo')
    assert page.heard(1)['seq'] == 2


def test_a_page_loaded_anew_is_told_that_the_notebook_keeps_an_earlier_state(page: Page) -> None:
    show(turn)
    page.say(kind='ready')
    page.say(kind='ready')
    page.act(0, do='page', page=2)

    assert [page.heard(number)['unsaved'] for number in range(3)] == [False, False, True]


def test_nonsense_from_a_page_is_ignored(page: Page, caplog: pytest.LogCaptureFixture) -> None:
    show(turn)
    for nonsense in ({}, {'kind': 'action'}, {'kind': 'action', 'seq': '0', 'do': 'page'}, {'kind': 'stop'}):
        page.say(**nonsense)
    page.act(0, do='page', page=3)

    assert page.heard(0)['state']['page'] == 3
    assert caplog.text.count('says nothing known') == 4


def test_comms_do_not_pile_up_when_cells_are_run_again_and_again(page: Page) -> None:
    for _ in range(LIVE_PANELS + 3):
        show(turn)

    assert len(page.opened) == LIVE_PANELS + 3
    assert page.closed == 3 * 2, 'a widget brings a layout along'

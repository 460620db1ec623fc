from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm
from dirty_equals import IsPartialDict, IsStr

from deep_notebook.capabilities.approvals import ApprovalDecision
from deep_notebook.views import delta, widget
from deep_notebook.views.run_shape import RunState, from_json, to_json
from deep_notebook.views.widget import PATCH_INTERVAL, WidgetView

pytestmark = pytest.mark.anyio

STATES = Path(__file__).parents[2] / 'fixtures' / 'run_states'


def a_state(name: str = 'waiting') -> RunState:
    return from_json(json.loads((STATES / f'{name}.json').read_text('utf-8')))


@dataclass
class FrontEnd:
    """The other end of every comm, and the page that outputs go to."""

    published: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    outputs: list[tuple[Any, dict[str, Any]]] = field(default_factory=list)
    comms: list[BaseComm] = field(default_factory=list)
    broken: bool = False
    threads: list[int] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def open_comm(self, **kwargs: Any) -> BaseComm:
        front_end = self

        class RecordingComm(BaseComm):
            def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
                if front_end.broken:
                    raise OSError('the socket is closed')
                front_end.threads.append(threading.get_ident())
                sent = json.dumps(data or {}, ensure_ascii=False).encode()
                front_end.published.append((msg_type, json.loads(sent)))
                front_end.arrived.set()

        opened = RecordingComm(**kwargs)
        self.comms.append(opened)
        return opened

    def display(self, output: Any, **options: Any) -> None:
        self.outputs.append((output, options))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The custom messages so far."""
        return [data['content'] for kind, data in self.published if kind == 'comm_msg' and data['method'] == 'custom']

    @property
    def state(self) -> Any:
        """The state of the comm when it was opened, with all patches since."""
        state = self.opened['snapshot']['state']
        for message in self.messages:
            state = message['state'] if message['kind'] == 'snapshot' else delta.apply(state, message['ops'])
        return state

    @property
    def opened(self) -> dict[str, Any]:
        """The traits of the widget as its comm was opened with them."""
        return next(data['state'] for kind, data in self.published if kind == 'comm_open' and '_esm' in data['state'])

    def send(self, content: dict[str, Any]) -> None:
        """Send a custom message to the widget, as the page would."""
        data = {'method': 'custom', 'content': content}
        self.comms[-1].handle_msg({'content': {'data': data}, 'buffers': []})

    async def message(self, number: int) -> dict[str, Any]:
        """Wait for a message."""
        async with asyncio.timeout(5):
            while len(self.messages) <= number:
                self.arrived.clear()
                await self.arrived.wait()
        return self.messages[number]


@pytest.fixture
def front_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[FrontEnd]:
    front_end = FrontEnd()
    monkeypatch.setattr(comm, 'create_comm', front_end.open_comm)
    monkeypatch.setattr(widget, 'display', front_end.display)
    yield front_end
    front_end.broken = False


async def test_a_question_for_input_is_printed_where_nobody_has_the_widget(
    front_end: FrontEnd, capsys: pytest.CaptureFixture[str]
) -> None:
    view, state = WidgetView(), a_state()
    view.open(state)
    view.update(state)
    assert capsys.readouterr().out == ''

    [approval] = state.approvals
    for _ in range(2):
        view.update(replace(state, approvals=(replace(approval, state='superseded'),)))
    printed = capsys.readouterr().out
    assert printed.count(f'? {approval.title}') == 1
    assert approval.diff is not None
    assert [f'    {line}' in printed.splitlines() for line in approval.diff.splitlines()].count(False) == 0


async def test_half_a_character_ends_no_view(front_end: FrontEnd) -> None:
    view, state = WidgetView(), a_state()
    view.open(state)
    view.update(replace(state, answer='cut \ud83d'))
    view.close(replace(state, answer='cut \ud83d', phase='done'))
    assert front_end.state['answer'] == 'cut ?'
    assert 'cut ?' in front_end.outputs[-1][0]['text/plain']


async def test_one_widget_is_shown_with_the_state_and_a_name_without_an_address(front_end: FrontEnd) -> None:
    WidgetView().open(a_state())
    [(output, options)] = front_end.outputs
    label = 'Qwen2.5-Coder-1.5B · local, limited'
    assert repr(output) == label
    data, _ = output._repr_mimebundle_()
    assert data == {'text/plain': label, 'application/vnd.jupyter.widget-view+json': IsPartialDict()}
    assert options == {'display_id': IsStr(), 'raw': False}
    assert front_end.opened['snapshot'] == {'seq': 0, 'state': IsPartialDict(run='3', phase='waiting')}
    assert 'export{' in front_end.opened['_esm'].replace(' ', '')
    assert '.dn-run' in front_end.opened['_css']


async def test_the_first_change_goes_out_at_once_and_two_hundred_make_one_more_patch(front_end: FrontEnd) -> None:
    view = WidgetView(interval=0.001)
    state = a_state()
    view.open(state)
    for count in range(200):
        view.update(replace(state, answer='x' * (count + 1)))
    assert front_end.messages == [{'kind': 'patch', 'seq': 1, 'ops': [['append', ['answer'], 'x']]}]
    assert await front_end.message(1) == {'kind': 'patch', 'seq': 2, 'ops': [['append', ['answer'], 'x' * 199]]}


def test_patches_come_at_most_twenty_times_a_second() -> None:
    assert PATCH_INTERVAL >= 1 / 20


async def test_the_interval_is_what_the_view_waits(front_end: FrontEnd, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    loop = asyncio.get_running_loop()
    call_later = loop.call_later
    monkeypatch.setattr(loop, 'call_later', lambda wait, *args: waits.append(wait) or call_later(0, *args))
    view = WidgetView()
    view.open(a_state())
    view.update(replace(a_state(), answer='a'))
    view.update(replace(a_state(), answer='ab'))
    await front_end.message(1)
    assert set(waits) == {PATCH_INTERVAL}


async def test_a_change_of_nothing_sends_nothing(front_end: FrontEnd) -> None:
    view = WidgetView()
    view.open(a_state())
    view.update(a_state())
    assert front_end.messages == []


async def test_the_last_state_is_never_lost(front_end: FrontEnd) -> None:
    view = WidgetView(interval=3600)
    view.open(a_state())
    view.update(replace(a_state(), answer='a'))
    view.update(replace(a_state(), answer='ab'))
    view.close(a_state('done'))
    assert front_end.state == to_json(a_state('done'))


async def test_a_page_that_reports_itself_gets_the_whole_state_and_all_patches_follow_it(front_end: FrontEnd) -> None:
    view = WidgetView(interval=0.001)
    view.open(a_state())
    view.update(replace(a_state(), answer='a'))
    front_end.send({'kind': 'ready'})
    assert await view.wait_ready(5)
    assert await front_end.message(1) == {'kind': 'snapshot', 'seq': 1, 'state': IsPartialDict(answer='a')}
    view.update(replace(a_state(), answer='abc'))
    assert IsPartialDict(kind='patch', seq=2, ops=[['append', ['answer'], 'bc']]) == await front_end.message(2)


async def test_a_page_that_missed_a_patch_gets_the_whole_state(front_end: FrontEnd) -> None:
    WidgetView().open(a_state())
    front_end.send({'kind': 'resync'})
    assert (await front_end.message(0))['kind'] == 'snapshot'


async def test_a_reloaded_page_finds_the_present_state_in_the_trait(front_end: FrontEnd) -> None:
    view = WidgetView()
    view.open(a_state())
    view.update(replace(a_state(), answer='so far'))
    [(output, _)] = front_end.outputs
    assert output.get_state('snapshot') == {'snapshot': {'seq': 1, 'state': IsPartialDict(answer='so far')}}


async def test_a_reloaded_page_sees_the_time_that_has_passed(
    front_end: FrontEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = a_state()
    monkeypatch.setattr(widget.time, 'time', lambda: state.started + 100.26)
    view = WidgetView()
    view.open(state)
    [(output, _)] = front_end.outputs
    assert output.get_state()['snapshot']['state']['elapsed'] == 100.3
    view.update(a_state('done'))
    assert output.get_state()['snapshot']['state']['elapsed'] == 31.4


async def test_a_page_cannot_write_the_state(front_end: FrontEnd) -> None:
    WidgetView().open(a_state())
    data = {'method': 'update', 'state': {'snapshot': {'seq': 9, 'state': {}}}, 'buffer_paths': []}
    front_end.comms[-1].handle_msg({'content': {'data': data}, 'buffers': []})
    [(output, _)] = front_end.outputs
    assert output.get_state()['snapshot'] == {'seq': 0, 'state': IsPartialDict(run='3')}


@dataclass(frozen=True)
class Click:
    name: str
    message: dict[str, Any]
    decision: ApprovalDecision


CLICKS = [
    Click('approve', {'verdict': 'approve'}, ApprovalDecision(verdict='approve', channel='widget')),
    Click(
        'approve an edited text',
        {'verdict': 'approve', 'text': 'new', 'reason': None, 'scope': 'once'},
        ApprovalDecision(verdict='approve', edited='new', channel='widget'),
    ),
    Click(
        'approve the rest for a path',
        {'verdict': 'approve', 'text': None, 'scope': 'path'},
        ApprovalDecision(verdict='approve', scope='path', channel='widget'),
    ),
    Click(
        'deny with a reason',
        {'verdict': 'deny', 'text': None, 'reason': 'keep it', 'scope': 'once'},
        ApprovalDecision(verdict='deny', reason='keep it', channel='widget'),
    ),
]


@pytest.mark.parametrize('click', CLICKS, ids=lambda click: click.name)
async def test_a_click_becomes_a_decision(front_end: FrontEnd, click: Click) -> None:
    heard: list[tuple[str, ApprovalDecision]] = []
    view = WidgetView()
    view.on_decision(lambda id, decision: heard.append((id, decision)))
    view.open(a_state())
    front_end.send({'kind': 'decision', 'id': 'call_3', **click.message})
    assert heard == [('call_3', click.decision)]


@pytest.mark.parametrize(
    ('message', 'answer'),
    [({'option': 0, 'text': None}, 0), ({'option': 2, 'text': None}, 2), ({'option': None, 'text': ' 80 '}, '80')],
)
async def test_a_click_becomes_an_answer(front_end: FrontEnd, message: dict[str, Any], answer: int | str) -> None:
    heard: list[tuple[str, int | str]] = []
    view = WidgetView()
    view.on_answer(lambda id, answer: heard.append((id, answer)))
    view.open(a_state('asking'))
    front_end.send({'kind': 'answer', 'id': 'q3', **message})
    assert heard == [('q3', answer)]


async def test_a_question_that_input_asks_is_printed_where_nobody_has_the_widget(
    front_end: FrontEnd, capsys: pytest.CaptureFixture[str]
) -> None:
    view, state = WidgetView(), a_state('asking')
    view.open(state)
    view.update(state)
    assert capsys.readouterr().out == ''
    questions = (*state.questions[:2], replace(state.questions[2], state='superseded'))
    for _ in range(2):
        view.update(replace(state, questions=questions))
    shown = capsys.readouterr().out
    assert shown.startswith('? Which port should the server use?')
    assert shown.count('    1. 9090 (recommended)') == 1


MALFORMED: list[Any] = [
    {'kind': 'answer', 'id': 'q3', 'option': None, 'text': None},
    {'kind': 'answer', 'id': 'q3', 'option': None, 'text': '  '},
    {'kind': 'answer', 'id': 'q3', 'option': 0, 'text': 'both'},
    {'kind': 'answer', 'id': 'q3', 'option': -1, 'text': None},
    {'kind': 'answer', 'id': 'q3', 'option': True, 'text': None},
    {'kind': 'answer', 'id': 'q3', 'option': '0', 'text': None},
    {'kind': 'answer', 'id': 3, 'option': 0, 'text': None},
    {'kind': 'decision', 'id': 'call_3', 'verdict': 'maybe'},
    {'kind': 'decision', 'id': 'call_3', 'verdict': 'approve', 'scope': 'everything'},
    {'kind': 'decision', 'id': 'call_3', 'verdict': 'approve', 'text': 7},
    {'kind': 'decision', 'id': 3, 'verdict': 'approve'},
    {'kind': 'decision', 'verdict': 'approve'},
    {'kind': 'something'},
    'ready',
    None,
]


@pytest.mark.parametrize('message', MALFORMED, ids=repr)
async def test_a_message_that_says_nothing_known_approves_nothing(
    front_end: FrontEnd, message: Any, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[object] = []
    view = WidgetView()
    view.on_decision(lambda *decision: heard.append(decision))
    view.on_answer(lambda *answer: heard.append(answer))
    view.on_stop(lambda: heard.append('stop'))
    view.open(a_state())
    front_end.send(message)
    assert heard == []
    assert 'Ignored a message' in caplog.text


async def test_stop_is_told(front_end: FrontEnd) -> None:
    heard: list[str] = []
    view = WidgetView()
    view.on_stop(lambda: heard.append('stop'))
    view.open(a_state())
    front_end.send({'kind': 'stop'})
    assert heard == ['stop']


async def test_messages_may_come_on_any_thread_and_are_answered_on_the_agents(front_end: FrontEnd) -> None:
    view = WidgetView()
    view.open(a_state())
    thread = threading.Thread(target=front_end.send, args=({'kind': 'ready'},))
    thread.start()
    assert await view.wait_ready(5)
    thread.join()
    assert (await front_end.message(0))['kind'] == 'snapshot'
    assert set(front_end.threads) == {threading.get_ident()}


async def test_a_page_that_never_reports_itself_is_not_waited_for_longer_than_asked(front_end: FrontEnd) -> None:
    view = WidgetView()
    view.open(a_state())
    assert not await view.wait_ready(0.001)


async def test_at_the_end_one_static_bundle_takes_the_place_of_the_widget(front_end: FrontEnd) -> None:
    view = WidgetView()
    view.open(a_state())
    front_end.send({'kind': 'ready'})
    await view.wait_ready(5)
    view.close(a_state('done'))
    (_, shown), (bundle, options) = front_end.outputs
    assert options == {'display_id': shown['display_id'], 'update': True, 'raw': True}
    assert bundle == {'text/html': IsStr(), 'text/plain': IsStr()}
    assert 'report.md' in bundle['text/html']
    assert 'report.md' in bundle['text/plain']


async def test_where_no_page_loaded_the_widget_the_end_is_a_new_output(front_end: FrontEnd) -> None:
    view = WidgetView()
    view.open(a_state())
    view.close(a_state('done'))
    _, (emptied, update), (bundle, options) = front_end.outputs
    assert emptied == {'text/plain': ''}
    assert update['update']
    assert bundle == {'text/html': IsStr(), 'text/plain': IsStr()}
    assert options == {'raw': True}


async def test_a_closed_view_leaves_no_comm_open(front_end: FrontEnd) -> None:
    view = WidgetView()
    view.open(a_state())
    view.update(replace(a_state(), answer='a'))
    view.close(a_state('done'))
    kinds = [kind for kind, _ in front_end.published]
    assert kinds.count('comm_close') == kinds.count('comm_open') > 0


async def test_a_page_that_was_reloaded_keeps_the_widget_and_says_how_to_keep_the_run(front_end: FrontEnd) -> None:
    view = WidgetView()
    view.open(a_state())
    front_end.send({'kind': 'ready'})
    front_end.send({'kind': 'ready'})
    await front_end.message(1)
    view.close(a_state('done'))
    assert 'comm_close' not in [kind for kind, _ in front_end.published]
    assert front_end.state == IsPartialDict(phase='done', notice=IsStr(regex='.*reloaded.*`%deep show 3`.*'))
    assert 'reloaded' not in front_end.outputs[-1][0]['text/plain']
    front_end.send({'kind': 'ready'})
    assert (await front_end.message(3))['state']['phase'] == 'done'


async def test_a_page_that_asks_again_has_not_been_reloaded(front_end: FrontEnd) -> None:
    view = WidgetView()
    view.open(a_state())
    front_end.send({'kind': 'ready'})
    front_end.send({'kind': 'resync'})
    await front_end.message(1)
    view.close(a_state('done'))
    assert front_end.published[-1][0] == 'comm_close'
    assert front_end.state == to_json(a_state('done'))


async def test_a_page_that_speaks_too_late_is_not_answered(front_end: FrontEnd) -> None:
    view = WidgetView()
    view.open(a_state())
    view.close(a_state('done'))
    spoken = len(front_end.messages)
    front_end.send({'kind': 'ready'})
    assert await asyncio.wait_for(view._ready.wait(), 5)
    assert len(front_end.messages) == spoken


async def test_a_comm_that_breaks_ends_the_live_view_and_not_the_run(
    front_end: FrontEnd, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level('INFO')
    view = WidgetView(interval=0)
    view.open(a_state())
    front_end.broken = True
    view.update(replace(a_state(), answer='a'))
    view.update(replace(a_state(), answer='ab'))
    view.close(a_state('done'))
    assert 'report.md' in front_end.outputs[-1][0]['text/plain']
    assert caplog.text.count('its comm is broken') == 1
    assert not await view.wait_ready(5)


class TextRecorder:
    """Stands for the text view."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def open(self, state: RunState) -> None:
        self.told.append(f'open {state.phase}')

    def update(self, state: RunState) -> None:
        self.told.append(f'update {state.phase}')

    def close(self, state: RunState) -> None:
        self.told.append(f'close {state.phase}')


@pytest.mark.parametrize('why', ['no comm', 'a dummy comm'])
async def test_where_no_comm_can_be_opened_the_run_is_shown_as_text(
    front_end: FrontEnd, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    text = TextRecorder()
    monkeypatch.setattr(widget.text, 'TextView', lambda: text)
    front_end.broken = why == 'no comm'
    if why == 'a dummy comm':
        monkeypatch.setattr(comm, 'create_comm', comm.DummyComm)
    view = WidgetView()
    view.open(a_state())
    view.update(a_state())
    view.close(a_state('done'))
    assert text.told == ['open waiting', 'update waiting', 'close done']
    assert front_end.outputs == []
    assert not await view.wait_ready(5)

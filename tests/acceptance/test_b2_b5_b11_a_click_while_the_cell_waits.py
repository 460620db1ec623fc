"""B2, B5, B11 (ipywidgets#3145, jupyter-ui-poll PR#22, jupyter-ai#1623): a click goes on at once, once, in order."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from harness.comms import Comm
from harness.deep import asked, decide, deep, front_end, start_deep
from harness.kernels import RealKernel

pytestmark = pytest.mark.kernel

SETUP = """
model = script(
    call('execute', command='echo once >> log.txt'), lambda m: f'{len(returns(m))} result: {returns(m)[-1].outcome}'
)
"""


def verdict(widget: Comm, id: str) -> str:
    """What the widget shows of the decision: replay its messages as the page does."""
    from deep_notebook.views import delta

    state = None
    for message in widget.received:
        state = message['state'] if message['kind'] == 'snapshot' else delta.apply(state, message['ops'])
    assert state is not None
    return next(str(approval['state']) for approval in state['approvals'] if approval['id'] == id)


def test_b2_b11_a_double_click_executes_once_within_two_seconds(kernel: RealKernel, tmp_path: Path) -> None:
    deep(kernel, SETUP)
    cell = start_deep(kernel, '', 'Log it.')
    widget = front_end(cell)
    asked(widget, 'call_1_1')
    assert not (tmp_path / 'log.txt').exists()

    at = time.monotonic()
    decide(widget, 'call_1_1', 'approve')
    decide(widget, 'call_1_1', 'approve')
    decide(widget, 'call_1_1', 'deny', reason='too late')
    decide(widget, 'no_such_call', 'approve')
    widget.send({'kind': 'decision', 'id': 'call_1_1', 'verdict': 'perhaps'})
    widget.send({'kind': 'nonsense'})
    result = cell.result()

    assert result.ended - at < 2
    assert (tmp_path / 'log.txt').read_text() == 'once\n'
    assert '1 result: success' in result.displays[-1]['text/plain']
    assert verdict(widget, 'call_1_1') == 'approved'
    assert result.stderr == ''


def test_b5_run_all_goes_on_when_the_waiting_cell_has_ended(kernel: RealKernel, tmp_path: Path) -> None:
    deep(kernel, SETUP)
    waiting = start_deep(kernel, '', 'Log it.')
    second = start_deep(kernel, '', 'And now?')
    third = kernel.start("x = 1\nprint(open('log.txt').read())")
    widget = front_end(waiting)
    asked(widget, 'call_1_1')
    # What a page that is open sends meanwhile is answered and moves nothing.
    assert kernel.complete('import pathl') == ['pathlib']
    assert kernel.request('kernel_info_request', {})['status'] == 'ok'
    assert not second.done
    assert third.outputs == []

    decide(widget, 'call_1_1', 'approve')
    first = waiting.result()
    page = second.wait_for_comm(_model_module='anywidget')
    page.send({'kind': 'ready'})
    results = [first, second.result(), third.result()]

    assert [result.status for result in results] == ['ok', 'ok', 'ok']
    assert [result.execution_count for result in results] == [2, 3, 4]
    assert [result.ended for result in results] == sorted(result.ended for result in results)
    assert results[2].stdout == 'once\n\n'

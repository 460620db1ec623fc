"""B17 (ipywidgets#2243): 200 chunks → one display id, at most about 20 updates a second, one bundle that is saved."""

from __future__ import annotations

from collections import Counter

import pytest

from harness.deep import deep, front_end, start_deep
from harness.kernels import RealKernel

pytestmark = pytest.mark.kernel

PER_SECOND = 20
CASES = {
    'chunks': "script('word ' * 200 + 'end.', pause=0.01)",
    'calls': "script(*[call('ls')] * 40, 'Now the end.', pause=0.01)",
    'plan': (
        "script(*[call('write_todos', todos=[{'content': f'Step {n}', 'status': 'pending'} for n in range(m + 1)])"
        " for m in range(40)], 'And the end.')"
    ),
}


@pytest.mark.parametrize('name', CASES)
def test_live_updates_are_few_and_one_bundle_is_left(kernel: RealKernel, name: str) -> None:
    deep(kernel, f'model = {CASES[name]}')
    cell = start_deep(kernel, '', 'Talk.')
    widget = front_end(cell)
    result = cell.result()

    assert result.status == 'ok', result.error
    shown = [m.content for m in cell.messages if m.kind in ('display_data', 'update_display_data')]
    assert len({content['transient']['display_id'] for content in shown}) == 1
    assert Counter(m.kind for m in cell.messages)['display_data'] == 1
    assert Counter(m.kind for m in cell.messages)['update_display_data'] == 1

    [output] = result.outputs
    assert sorted(output['data']) == ['text/html', 'text/plain']
    assert 'end.' in output['data']['text/plain']

    patches = sorted(
        at for at, message in zip(widget.received_at, widget.received, strict=True) if message['kind'] == 'patch'
    )
    allowed = PER_SECOND * result.seconds + 5
    assert 1 < len(patches) < allowed, f'{len(patches)} in {result.seconds:.1f} s'
    busiest = max(sum(start <= at < start + 1 for at in patches) for start in patches)
    assert busiest <= PER_SECOND + 5, 'in one second'
    assert widget.updates == 0, 'traits stay as they are: front ends throttle and save them'
    assert sum(len(str(message)) for message in widget.received) < 40 * len(str(widget.state['snapshot'])) + 60_000

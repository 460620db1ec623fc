"""B4 (ipykernel#1564): a decision that comes on another thread leaves the output in the cell that asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.deep import asked, decide, deep, front_end, start_deep
from harness.kernels import RealKernel

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize('subshells', [True, False], ids=['subshell', 'main shell'])
def test_output_lands_in_the_cell_that_asked(
    start_kernel: Callable[..., RealKernel], kernel_version: str, subshells: bool
) -> None:
    kernel = start_kernel(kernel_version, subshells=subshells)
    code = 'from IPython.display import display\nprint("printed by the agent")\ndisplay("shown by the agent")'
    deep(
        kernel,
        f"""
        model = script(call('run_python', code={code!r}), call('execute', command='echo from a command'), 'All done.')
        """,
    )
    # A cell before and one after, so that there is another place for the output to wander to.
    before = kernel.start('x = 1')
    cell = start_deep(kernel, '', 'Go.')
    after = kernel.start('print("after")')
    widget = front_end(cell)
    for id in ('call_1_1', 'call_2_1'):
        asked(widget, id)
        decide(widget, id, 'approve')
    result = cell.result()

    assert 'All done.' in result.displays[-1]['text/plain']
    assert len(result.displays) == 1, 'what the agent printed is in the run, not beside it'
    assert before.result().outputs == []
    assert after.result().outputs == [{'output_type': 'stream', 'name': 'stdout', 'text': 'after\n'}]
    drawn = [m for m in kernel.messages if m.kind in ('display_data', 'update_display_data', 'stream', 'error')]
    assert {m.parent for m in drawn} == {cell.msg_id, after.msg_id}
    assert {m.parent for m in drawn if m.kind != 'stream'} == {cell.msg_id}

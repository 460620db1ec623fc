"""An interrupt anywhere ends the cell at once, and the conversation stays whole."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from harness.deep import deep, front_end, run_deep, start_deep
from harness.kernels import Cell, RealKernel

END_SECONDS = 0.3
"""A cell ends this long after an interrupt."""
SLACK_SECONDS = 0.7
"""What a busy machine may add, between two processes."""


@dataclass(frozen=True)
class Case:
    name: str
    script: str
    marker: str
    """What the widget shows when the moment to interrupt has come."""


BUSY = "open('started', 'w').close()\nwhile True: pass"

CASES = [
    Case('streaming', "script(lambda m: 'word ' * 2000, pause=0.01)", 'word word'),
    Case('tool', "script(call('execute', command='echo on > started; sleep 60'))", 'file:started'),
    Case('approval', "script(call('write_file', path='a.txt', content='a'))", '"pending"'),
    Case(
        'main thread', 'script(call(\'run_python\', code=\'open("started", "w")\\nwhile True: pass\'))', 'file:started'
    ),
]


def wait_for(cell: Cell, kernel: RealKernel, marker: str) -> None:
    widget = front_end(cell)
    if marker.startswith('file:'):
        path = kernel.cwd / marker.removeprefix('file:')
        deadline = time.monotonic() + 30
        while not path.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return
    widget.wait_for(lambda _: marker in str(widget.received).replace("'", '"'))


@pytest.mark.parametrize('twice', [False, True], ids=['once', 'twice'])
def test_an_interrupt_ends_the_cell_and_the_next_prompt_goes_on(kernel: RealKernel, twice: bool) -> None:
    deep(kernel, 'seen = []')
    for case in CASES:
        (kernel.cwd / 'started').unlink(missing_ok=True)
        approve = 'ask' if case.name == 'approval' else 'auto'
        kernel.run(f'model = {case.script}')
        cell = start_deep(kernel, f'--approve {approve} --new', f'Go: {case.name}.')
        wait_for(cell, kernel, case.marker)
        at = kernel.interrupt()
        if twice:
            kernel.interrupt()
        result = cell.result()

        assert result.ended - at < END_SECONDS + SLACK_SECONDS, case.name
        assert (result.status, result.error.name if result.error else None) == ('error', 'RunInterrupted'), case.name
        assert 'Stopped by you' in result.displays[-1]['text/plain'], case.name

        kernel.run('model = script(lambda m: "ok", seen=seen)')
        again = run_deep(kernel, '', 'hi')
        assert again.status == 'ok', (case.name, again.error)
        check = """
        from pydantic_ai.messages import ModelResponse
        calls = [p.tool_call_id for m in seen[-1] if isinstance(m, ModelResponse) for p in m.tool_calls]
        answered = [part.tool_call_id for part in returns(seen[-1])]
        print(sorted(calls) == sorted(answered), [part.outcome for part in returns(seen[-1])], prompts(seen[-1]))
        """
        told = kernel.run('\n'.join(line.strip() for line in check.strip().splitlines())).stdout
        assert told.startswith('True'), (case.name, told)
        assert f'Go: {case.name}.' in told
        if case.name != 'streaming':
            assert "['interrupted']" in told, case.name


def test_the_stop_button_stops_the_run(kernel: RealKernel) -> None:
    deep(kernel, "model = script(lambda m: 'word ' * 2000, pause=0.01)")
    cell = start_deep(kernel, '', 'Talk.')
    widget = front_end(cell)
    widget.wait_for(lambda _: 'word word' in str(widget.received))

    widget.send({'kind': 'stop'})
    result = cell.result()

    assert result.error is not None
    assert result.error.name == 'RunInterrupted'
    assert 'Stopped by you' in result.displays[-1]['text/plain']


def test_limits_stop_a_run_and_say_which_option_lifts_them(kernel: RealKernel) -> None:
    deep(kernel, "model = script(call('ls'))")

    result = run_deep(kernel, '--max-requests 2', 'Loop.')
    assert 'Stopped after 2 requests' in result.displays[-1]['text/plain']
    assert '--max-requests' in result.displays[-1]['text/plain']

    kernel.run("model = script(lambda m: 'word ' * 2000, pause=0.01)")
    result = run_deep(kernel, '--timeout 0.5', 'Talk.')
    assert 'Stopped after 0.5 s of work' in result.displays[-1]['text/plain']


def test_an_interrupt_while_the_model_is_looked_for_ends_the_cell(kernel: RealKernel) -> None:
    deep(
        kernel,
        """
        import time
        import deep_notebook.kernel.session as session
        kept, looking = session.resolve_model, []
        def slow(*args, **options):
            looking.append(1)
            open('started', 'w').close()
            time.sleep(2)
            return kept(*args, **options)
        session.resolve_model = slow
        model = script('ok')
        """,
    )
    cell = start_deep(kernel, '', 'hi', stop_on_error=False)
    deadline = time.monotonic() + 30
    while not (kernel.cwd / 'started').exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    at = kernel.interrupt()
    result = cell.result()

    assert result.ended - at < END_SECONDS + SLACK_SECONDS
    assert result.error is not None
    assert result.error.name == 'RunInterrupted'
    kernel.run('session.resolve_model = kept')
    assert run_deep(kernel, '', 'hi').status == 'ok'

"""B6, B9 (claude-code#1776, opencode#5750, jupyterlab#12194): nothing goes on, and every call has its one return.

`tests/kernel/test_interrupts.py` interrupts everywhere else, once and twice.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.deep import deep, front_end, run_deep, start_deep
from harness.kernels import RealKernel

pytestmark = pytest.mark.kernel

CHECK = """
import json
from pydantic_ai.messages import ModelResponse
sent = seen[-1]
calls = [part.tool_call_id for message in sent if isinstance(message, ModelResponse) for part in message.tool_calls]
print(json.dumps({
    'calls': calls, 'returned': [part.tool_call_id for part in returns(sent)],
    'outcomes': [part.outcome for part in returns(sent)], 'prompts': prompts(sent),
}))
"""
CALLS = {
    'one': "call('execute', command='touch started; sleep 60', id='a')",
    'one of three at once': (
        "[call('ls', id='a'), call('execute', command='touch started; sleep 60', id='b'), call('ls', id='c')]"
    ),
    'the second of two writes': (
        "[call('write_file', path='x.txt', content='x', id='a'),"
        " call('run_python', code='open(\\'started\\', \\'w\\').close()\\nimport time; time.sleep(60)', id='b')]"
    ),
}


def wait_for_file(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_b6_every_call_has_exactly_one_return(kernel: RealKernel, tmp_path: Path) -> None:
    deep(kernel, 'seen = []')
    for name, calls in CALLS.items():
        kernel.run(f"model = script({calls}, 'Hello.', seen=seen)")
        (tmp_path / 'started').unlink(missing_ok=True)
        cell = start_deep(kernel, '--approve auto --new', f'Go: {name}.')
        front_end(cell)
        wait_for_file(tmp_path / 'started')
        at = kernel.interrupt()
        result = cell.result()
        assert result.ended - at < 1, name
        assert result.error is not None
        assert result.error.name == 'RunInterrupted'

        assert run_deep(kernel, '', 'hi').status == 'ok', name
        sent = json.loads(kernel.run(CHECK).stdout)
        assert sorted(sent['calls']) == sorted(sent['returned']), name
        assert len(set(sent['returned'])) == len(sent['returned']), name
        assert 'interrupted' in sent['outcomes'], name
        assert [prompt for prompt in sent['prompts'] if prompt.startswith('Go')] == [f'Go: {name}.'], name
        assert sent['prompts'][-1] == 'hi'


def test_b6_the_history_is_as_whole_after_a_restart(start_kernel: Callable[..., RealKernel], tmp_path: Path) -> None:
    kernel = start_kernel('7.4')
    deep(kernel, f"seen = []\nmodel = script({CALLS['one of three at once']}, 'Hello.', seen=seen)")
    cell = start_deep(kernel, '--approve auto', 'Go.')
    front_end(cell)
    wait_for_file(tmp_path / 'started')
    kernel.restart()  # kills the kernel in the middle of the call
    deep(kernel, "seen = []\nmodel = script('Hello.', seen=seen)")

    assert run_deep(kernel, '', 'hi').status == 'ok'
    sent = json.loads(kernel.run(CHECK).stdout)
    assert sorted(sent['calls']) == sorted(sent['returned']) == ['a', 'b', 'c']
    assert 'Last run: 2, done' in kernel.run('%deep status').stdout


def test_b9_no_chunk_and_no_call_follow_an_interrupted_stream(kernel: RealKernel, tmp_path: Path) -> None:
    deep(
        kernel,
        """
        import asyncio, threading
        from pydantic_ai.models.function import DeltaToolCall, FunctionModel
        from deep_notebook.kernel.runner import AgentThread
        produced = []
        async def stream(messages, info):
            for number in range(1000):
                produced.append(number)
                yield f'{number} '
                await asyncio.sleep(0.01)
            yield {0: DeltaToolCall(name='write_file', json_args='{"path": "late.txt", "content": "x"}')}
        model = FunctionModel(stream_function=stream)
        async def tasks(): return len(asyncio.all_tasks()) - 1
        quick = script('ok')
        """,
    )
    run_deep(kernel, '-m quick', 'Warm up.')
    count = 'print(AgentThread.get().call(tasks()), threading.active_count())'
    baseline = kernel.run(count).stdout
    cell = start_deep(kernel, '--approve auto', 'Count.')
    widget = front_end(cell)
    widget.wait_for(lambda _: '5 ' in str(widget.received))
    at = kernel.interrupt()
    result = cell.result()
    assert result.ended - at < 1

    kernel.run('before = len(produced)')
    after = kernel.run('import time; time.sleep(1); print(len(produced) - before, len(produced) < 500)')
    assert after.stdout == '0 True\n'
    messages = len(widget.received)
    assert kernel.run(count).stdout == baseline, 'tasks or threads are left over'
    assert len(widget.received) == messages
    assert not (tmp_path / 'late.txt').exists()
    assert '5' in result.displays[-1]['text/plain']

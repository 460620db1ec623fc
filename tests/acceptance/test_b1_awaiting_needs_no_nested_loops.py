"""B1 (pydantic-ai#144, #3014): works in a live kernel without nested event loops; later cells still await."""

from __future__ import annotations

import pytest

from harness.deep import deep, run_deep
from harness.kernels import RealKernel

pytestmark = pytest.mark.kernel


def test_the_kernels_loop_is_left_as_it_was(kernel: RealKernel) -> None:
    loop = 'import asyncio; loop = asyncio.get_running_loop(); before = (type(loop), loop.run_until_complete.__func__)'
    kernel.run(loop)
    deep(
        kernel,
        """
        code = 'import asyncio\\nprint(await asyncio.sleep(0, "the agent awaits"))'
        model = script(call('run_python', code=code), lambda m: str(returns(m)[-1].content))
        ok = script('ok')
        """,
    )
    assert kernel.run('print(await asyncio.sleep(0, "before"))').stdout == 'before\n'

    assert 'the agent awaits' in run_deep(kernel, '--approve auto', 'Go.').displays[-1]['text/plain']
    kernel.run("get_ipython().run_cell_magic('deep', '-m ok', 'blocking')", allow_stdin=False)
    background = 'task = asyncio.create_task(asyncio.sleep(0.05, "in the background"))'
    assert kernel.run(background).status == 'ok'
    assert run_deep(kernel, '', 'Again.').status == 'ok'

    assert kernel.run('print(await asyncio.sleep(0, "after"))').stdout == 'after\n'
    assert kernel.run('print(await task)').stdout == 'in the background\n'
    after = (
        'print((type(asyncio.get_running_loop()), asyncio.get_running_loop().run_until_complete.__func__) == before)'
    )
    assert kernel.run(after).stdout == 'True\n'
    assert kernel.run('asyncio.run(asyncio.sleep(0))').error is not None, 'loops can be nested now'
    assert kernel.run('import sys; print([m for m in sys.modules if "nest" in m and "asyncio" in m])').stdout == '[]\n'


def test_an_agent_of_the_persons_own_runs_in_a_later_cell(kernel: RealKernel) -> None:
    deep(kernel, "from pydantic_ai import Agent\nmodel = script('ok')\nagent = Agent(script('my own'))")
    run_deep(kernel, '', 'hi', allow_stdin=False)

    code = 'async with agent.run_stream("hi") as result:\n    print(await result.get_output())'
    assert kernel.run(code).stdout.strip() == 'my own'

"""An agent of the person's own: its tools count as writes, and what it lacks is said before it runs."""

from __future__ import annotations

from harness.deep import asked, decide, deep, front_end, run_deep, start_deep
from harness.kernels import RealKernel

SETUP = """
from pydantic_ai import Agent
ran = []
def drop_table(table: str) -> str:
    "Drop a table."
    ran.append(table)
    return 'dropped'
def made():
    answers = lambda m: str(returns(m)[-1].content) if returns(m) else call('drop_table', table='users')
    return Agent(script(answers), tools=[drop_table])
mine = made()
without_model = Agent()
without_key = Agent('anthropic:claude-opus-4-6', defer_model_check=True)
needs_deps = Agent(script(call('address'), 'Done.'), deps_type=dict)
@needs_deps.tool
def address(ctx) -> str:
    "Tell the address."
    return ctx.deps['address']
"""


def test_a_tool_of_unknown_class_asks_first(kernel: RealKernel) -> None:
    deep(kernel, SETUP)
    denied = run_deep(kernel, '-m mine --new', 'Drop it.', allow_stdin=False)
    assert '--approve auto' in denied.displays[-1]['text/plain']
    assert kernel.run('print(ran)').stdout == '[]\n'

    cell = start_deep(kernel, '-m mine --new', 'Drop it.')
    widget = front_end(cell)
    asked(widget, 'call_3_1')
    decide(widget, 'call_3_1', 'approve')
    assert 'dropped' in cell.result().displays[-1]['text/plain']
    assert kernel.run('print(ran)').stdout == "['users']\n"

    run_deep(kernel, '-m mine --new --approve auto', 'Drop it.', allow_stdin=False)
    assert kernel.run('print(ran)').stdout == "['users', 'users']\n"


def test_what_an_agent_lacks_is_one_line(kernel: RealKernel) -> None:
    deep(kernel, SETUP)
    for name, words in {
        'without_model': "The agent 'without_model' has no model",
        'without_key': 'anthropic:claude-opus-4-6 needs ANTHROPIC_API_KEY',
    }.items():
        result = kernel.run(f'%%deep -m {name}\nhi')
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1
        assert result.displays == []

    failed = run_deep(kernel, '-m needs_deps --approve auto', 'Where?', allow_stdin=False)
    assert failed.error is not None
    assert len(failed.error.traceback) == 1
    assert 'TypeError' in failed.error.traceback[0]

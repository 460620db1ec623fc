"""A12 (jupyter-ai#603): `--into ans` puts the answer into `ans`, whatever type the agent answers with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.deep import deep, run_deep
from harness.kernels import RealKernel

pytestmark = pytest.mark.kernel

SETUP = """
from pydantic import BaseModel
from pydantic_ai import Agent
from harness.scripted import Call

class City(BaseModel):
    name: str
    people: int

def double(number: int) -> str:
    "Double it."
    return str(2 * number)

text = script('Naïve **answer** 🌍.')
model = text
final = lambda **args: script(lambda messages: Call('final_result', args))
typed = Agent(final(name='Wien', people=2), output_type=City)
listed = Agent(final(response=[1, 2, 3]), output_type=list[int])
function = Agent(final(number=4), output_type=double)
plain = Agent(script('plain'))
"""
CASES = {
    'text': "'Naïve **answer** 🌍. '",
    'typed': "City(name='Wien', people=2)",
    'listed': '[1, 2, 3]',
    'function': "'8'",
    'plain': "'plain '",
}


def test_the_answer_is_in_the_variable(start_kernel: Callable[..., RealKernel]) -> None:
    kernel = start_kernel('7.4')
    deep(kernel, SETUP)
    for name, expected in CASES.items():
        result = run_deep(kernel, f'-m {name} --into ans --new', 'Answer.', allow_stdin=False)

        assert result.status == 'ok', (name, result.error)
        assert kernel.run('print(repr(ans))').stdout == f'{expected}\n', name
    for code in ('%%deep -i größe -m model\nhi', 'get_ipython().run_cell_magic("deep", "-m model -i größe", "hi")'):
        assert kernel.run(code, allow_stdin=False).status == 'ok'
        assert kernel.run('print(größe)\ndel größe').stdout == 'Naïve **answer** 🌍. \n'


def test_what_did_not_end_well_leaves_the_variable_as_it_was(start_kernel: Callable[..., RealKernel]) -> None:
    kernel = start_kernel('7.4')
    deep(
        kernel,
        """
        def broken(messages): raise RuntimeError('the wire is cut')
        model = script(broken)
        waiting = script(call('write_file', path='a.txt', content='a'), 'Done.')
        ans = 'before'
        """,
    )

    assert run_deep(kernel, '--into ans', 'hi', allow_stdin=False).status == 'error'
    assert kernel.run('%%deep -m waiting --approve ask --into ans\nhi', allow_stdin=False).status == 'ok'
    assert kernel.run('print(ans)').stdout == 'before\n'
    for bad in ('3x', 'a.b', 'class', 'a-b'):
        assert 'takes the name of a variable' in kernel.run(f'%%deep --into {bad}\nhi').stderr


def test_the_answer_of_a_resumed_run_is_in_the_variable_it_was_asked_for(
    start_kernel: Callable[..., RealKernel],
) -> None:
    kernel = start_kernel('7.4')
    deep(kernel, "model = script(call('write_file', path='a.txt', content='a'), 'Done now.')")
    kernel.run('%%deep -m model --approve ask --into ans\nhi', allow_stdin=False)

    assert kernel.run('%deep approve', allow_stdin=False).status == 'ok'
    assert kernel.run('print(ans)').stdout == 'Done now. \n'

"""The agent is imported while the kernel is idle, and never beside a cell that imports the same."""

from __future__ import annotations

from harness.kernels import RealKernel


def test_the_extension_warms_up_between_cells_without_a_thread_of_its_own(kernel: RealKernel) -> None:
    loaded = kernel.run("import sys, threading\n%load_ext deep_notebook\nprint('pydantic_ai' in sys.modules)")
    assert loaded.stdout == 'False\n'
    waiting = """
import asyncio
while 'deep_notebook.kernel.cells' not in sys.modules:
    await asyncio.sleep(0.01)
print([thread.name for thread in threading.enumerate() if 'warm' in thread.name])
"""
    assert kernel.run(waiting).stdout == '[]\n'


def test_a_cell_may_import_the_agent_as_soon_as_the_extension_is_loaded(kernel: RealKernel) -> None:
    result = kernel.run(
        '%load_ext deep_notebook\nfrom deep_notebook.capabilities.todos import Todos\n'
        'from pydantic_ai.models.test import TestModel\nfrom deep_notebook import create_deep_agent\n'
        'print(create_deep_agent(TestModel()).name)'
    )
    assert (result.status, result.stdout) == ('ok', 'main\n'), result.error

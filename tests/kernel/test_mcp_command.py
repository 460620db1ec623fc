"""`%deep mcp` in a real kernel, with a real server."""

from __future__ import annotations

import sys
from pathlib import Path

from harness.deep import deep, run_deep
from harness.environment import ROOT
from harness.kernels import RealKernel

SERVER = f'{sys.executable} {ROOT}/tests/fixtures/mcp_server.py'


def test_a_server_is_added_looked_at_used_kept_and_removed(kernel: RealKernel, tmp_path: Path) -> None:
    deep(
        kernel,
        """
        def adding():
            return script(call('mine_add', a=2, b=3), lambda messages: str(returns(messages)[-1].content))
        model = adding()
        """,
    )
    assert kernel.run('%deep mcp').stdout.startswith('There are no MCP servers.')
    assert 'mine is added: ' in kernel.run(f'%deep mcp add mine {SERVER}').stdout
    assert '  mine_add' in kernel.run('%deep mcp tools mine').stdout

    denied = run_deep(kernel, '--approve deny', 'Add 2 and 3 with mine.')
    assert 'needs an approval' in denied.displays[-1]['text/plain']
    kernel.run('model = adding()')
    allowed = run_deep(kernel, '--approve auto', 'Add 2 and 3 with mine.')
    assert '5' in allowed.displays[-1]['text/plain']

    kernel.run('%deep spec --save agent.yaml')
    assert 'mcp_servers:\n  mine:\n    command: ' in (tmp_path / 'agent.yaml').read_text()
    assert kernel.run('%deep mcp remove mine').stdout.startswith('mine is removed.')
    kernel.run('%deep spec agent.yaml')
    assert '  mine: ' in kernel.run('%deep mcp').stdout
    assert "has no 'ad'. Did you mean 'add'?" in kernel.run('%deep mcp ad x').text

"""`%%deep` where IPython cannot await it, and within a run of its own."""

from __future__ import annotations

import json
from pathlib import Path

from harness.deep import deep, run_deep
from harness.kernels import RealKernel


def test_a_cell_that_ipython_does_not_await_works_all_the_same(kernel: RealKernel, tmp_path: Path) -> None:
    deep(kernel, 'seen = []\nmodel = script("Answered.", seen=seen)')
    (tmp_path / 'notes.ipy').write_text('%%deep -m model\nfrom a script')
    notebook = {'cells': [{'cell_type': 'code', 'source': '%%deep -m model\nfrom a notebook', 'metadata': {}}]}
    (tmp_path / 'notes.ipynb').write_text(json.dumps({**notebook, 'metadata': {}, 'nbformat': 4, 'nbformat_minor': 4}))
    ways = {
        '%run notes.ipy': 'from a script',
        'x = get_ipython().run_cell("%%deep -m model\\nfrom run_cell\\n>>> f(1)\\n  \\n  1")': (
            'from run_cell\n>>> f(1)\n  \n  1'
        ),
        'def ask():\n    get_ipython().run_cell_magic("deep", "-m model", "from a function")\nask()': 'from a function',
        "exec(\"get_ipython().run_cell_magic('deep', '-m model', 'from exec')\")": 'from exec',
        'import asyncio\nawait asyncio.sleep(0)\nx = get_ipython().run_cell("%%deep -m model\\nwithin async")': (
            'within async'
        ),
        '%autoawait off': None,
        '%%deep -m model\nwithout autoawait': 'without autoawait',
    }
    for code, prompt in ways.items():
        result = kernel.run(code, allow_stdin=False)
        assert result.status == 'ok', (code, result.error)
        if prompt is not None:
            assert 'Answered.' in result.displays[-1]['text/plain'] or 'Answered.' in result.text, code
            assert kernel.run('print(ascii(prompts(seen[-1])[-1]))').stdout == ascii(prompt) + '\n'


def test_a_run_does_not_wait_for_a_run_that_it_starts_itself(kernel: RealKernel) -> None:
    deep(kernel, "inner = script('inner answer')")
    for code in (
        "get_ipython().run_cell_magic('deep', '-m inner', 'hi')",
        '%%deep -m inner\nhi',
        "await get_ipython().run_deep_cell('-m inner', 'hi')",
    ):
        kernel.run(f"model = script(call('run_python', code={code!r}), lambda m: str(returns(m)[-1].content))")

        result = run_deep(kernel, '--approve auto', 'Ask yourself.')

        assert result.status == 'ok', result.error
        assert 'A run cannot start another one' in result.displays[-1]['text/plain']
        assert 'inner answer' not in result.displays[-1]['text/plain']

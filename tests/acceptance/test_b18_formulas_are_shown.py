r"""`\(x=2\)` and `\[E=mc^2\]` in an answer are left for MathJax; what stands in code is left alone."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

from deep_notebook.views import RunState, reduce
from deep_notebook.views.run_state import ModelInfo, RunStarted, UsageUpdated
from deep_notebook.views.static_html import render

pytestmark = pytest.mark.anyio

ANSWER = r"""Then \(x=2\), and \[E=mc^2\] holds.

\[
\sum_{i=1}^n a_i * b_i * c_i
\]

```latex
\(x=2\) costs $5 and $6
```

Use `\(y\)` for what costs $5 or $6."""


async def answered() -> RunState:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        for start in range(0, len(ANSWER), 7):
            yield ANSWER[start : start + 7]

    state = reduce(RunState(), RunStarted(run='1', prompt='Why?', model=ModelInfo(), at=0, budget='0.50'), now=0)
    async with Agent(FunctionModel(stream_function=stream)).run_stream_events('Why?') as events:
        async for event in events:
            state = reduce(state, event, now=1)
    return reduce(state, UsageUpdated(requests=1, input_tokens=1, output_tokens=1, cost='0.07'), now=2)


async def test_formulas_reach_mathjax_and_nothing_else_does() -> None:
    html = render(await answered())
    processed = re.findall(r'<(?:span|div) class="mathjax_process tex2jax_process">(.*?)</', html, flags=re.DOTALL)
    assert processed == [r'\(x=2\)', r'\[E=mc^2\]', '\\[\n\\sum_{i=1}^n a_i * b_i * c_i\n\\]']
    assert html.startswith('<div class="deep-run mathjax_ignore tex2jax_ignore'), 'prices would be typeset'
    assert '$0.07 of $0.50' in html


async def test_code_is_untouched() -> None:
    html = render(await answered())
    assert '<pre><code>\\(x=2\\) costs $5 and $6\n</code></pre>' in html
    assert r'Use <code>\(y\)</code> for what costs $5 or $6.' in html

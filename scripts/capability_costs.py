"""Print what each capability costs in the first request, as the table in docs/capabilities.md has it.

    python scripts/capability_costs.py
    python scripts/capability_costs.py --write    # into the page

Run it when a tool, its description or instructions changed.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / 'tests'))

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability

from deep_notebook.agent import create_deep_agent
from deep_notebook.capabilities import CAPABILITIES
from deep_notebook.capabilities.on_demand import AUTO_DEFERRED
from deep_notebook.capabilities.python import PythonResult, RunPython
from deep_notebook.deps import create_default_deps
from deep_notebook.errors import UsageError
from deep_notebook.workspaces import KernelWorkspace
from harness.request_cost import Cost, cost_of_loading, eager_cost, on_demand_cost

PAGE = Path(__file__).parents[1] / 'docs' / 'capabilities.md'
BEGIN, END = '<!-- costs -->\n', '<!-- /costs -->'


def main() -> None:
    """Print the table, or write it into the page."""
    with tempfile.TemporaryDirectory() as directory:
        measured = asyncio.run(table(Path(directory)))
    print(measured)
    if '--write' in sys.argv:
        before, _, rest = PAGE.read_text(encoding='utf-8').partition(BEGIN)
        PAGE.write_text(f'{before}{BEGIN}{measured}\n{END}{rest.partition(END)[2]}', encoding='utf-8')


async def table(directory: Path) -> str:
    """Return the table, measured with the defaults of each capability in the empty `directory`."""
    deps = create_default_deps(KernelWorkspace(str(directory)))
    loading = await cost_of_loading(_agent, deps)
    rows = [
        '| capability | tools | tokens, eager | tokens, on demand |',
        '|---|---|---:|---:|',
    ]
    for id in sorted(CAPABILITIES):
        eager = await eager_cost(_agent, _made(id), deps)
        if eager.total:
            on_demand = await _on_demand(id, deps)
            star = '*' if id in AUTO_DEFERRED else ''
            rows.append(f'| `{id}`{star} | {_names(eager)} | {eager.total} | {on_demand} |')
    rows += [
        '',
        f'\\* On demand by default. Being able to load capabilities costs {loading.total} tokens once.',
    ]
    return '\n'.join(rows)


async def _on_demand(id: str, deps: Any) -> str:
    try:
        cost = await on_demand_cost(_agent, _made(id), deps)
    except UsageError:
        return 'always there'
    return str(cost.total)


def _names(cost: Cost) -> str:
    return ', '.join(f'`{name}`' for name in cost.tools)


def _agent(capabilities: Sequence[AbstractCapability[Any]]) -> Agent[Any, Any]:
    return create_deep_agent(
        capabilities=capabilities,
        include_todo=False,
        include_filesystem=False,
        include_subagents=False,
        include_skills=False,
        include_memory=False,
        include_plan=False,
        context_manager=False,
        defer=None,
    )


def _made(id: str) -> AbstractCapability[Any]:
    return RunPython(_NoRunner()) if id == 'python' else CAPABILITIES[id]()


class _NoRunner:
    async def run(self, code: str, *, timeout: float | None) -> PythonResult:
        raise NotImplementedError


if __name__ == '__main__':
    main()

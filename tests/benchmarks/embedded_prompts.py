"""Measure prompts against the embedded model: each in fresh sessions, on the real tools, over the tutorials' data.

    python tests/benchmarks/embedded_prompts.py --times 3 "Which files are here?" "First prompt || its follow-up"

Prints every tool call, then a line per prompt with seconds, requests and tokens, and the files that were written.
Prompts that README and tutorials show have passed here three times in a row.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import shutil
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

from pydantic_ai.messages import FunctionToolCallEvent, FunctionToolResultEvent, ModelMessage
from pydantic_ai.usage import UsageLimits

from deep_notebook.agent import create_deep_agent
from deep_notebook.capabilities.python import PythonResult, RunPython
from deep_notebook.deps import DeepAgentDeps
from deep_notebook.models.embedded import MAX_REQUESTS, EmbeddedModel
from deep_notebook.workspaces import KernelWorkspace

DATA = Path(__file__).parents[2] / 'notebooks' / 'data'


class InProcessPython:
    """Runs code in one namespace of this process; good enough to measure with."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._namespace: dict[str, Any] = {}

    async def run(self, code: str, *, timeout: float | None) -> PythonResult:
        printed = io.StringIO()
        error = None
        with contextlib.chdir(self._directory), contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter('ignore')  # the model seldom closes a file
            try:
                exec(code, self._namespace)
            except Exception:
                error = traceback.format_exc()
        return PythonResult(text=printed.getvalue(), error=error)


async def run_session(prompts: list[str], *, data: Path, tell: bool) -> str:
    """Run `prompts` as one conversation in a fresh directory and return what was written and answered."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for file in data.iterdir():
            if file.suffix == '.csv':
                shutil.copy(file, directory)
        given = {path.name for path in directory.iterdir()}
        agent = create_deep_agent()
        deps = DeepAgentDeps(backend=KernelWorkspace(directory))
        python = RunPython[DeepAgentDeps](runner=InProcessPython(directory))
        history: list[ModelMessage] = []
        outcome: list[str] = []
        for prompt in prompts:
            started = time.monotonic()
            async with agent.run_stream_events(
                prompt,
                model=EmbeddedModel(),
                deps=deps,
                message_history=history,
                capabilities=[python],
                usage_limits=UsageLimits(request_limit=MAX_REQUESTS),
            ) as events:
                async for event in events:
                    if tell and isinstance(event, FunctionToolCallEvent):
                        print(f'  {time.monotonic() - started:5.1f} s  {event.part.tool_name} {event.part.args}')
                    elif tell and isinstance(event, FunctionToolResultEvent):
                        print(f'           {str(event.part.content)[:500]!r}')
                history = events.all_messages()
                result = events.result
            assert result is not None
            usage = result.usage
            print(
                f'  {time.monotonic() - started:5.1f} s  {usage.requests} requests, {usage.input_tokens} tokens in '
                f'({usage.cache_read_tokens} cached), {usage.output_tokens} out: {result.output!r}'
            )
            outcome.append(str(result.output))
        for path in sorted(directory.iterdir()):
            if path.is_file() and path.name not in given:
                outcome.append(f'{path.name}:\n{path.read_text(encoding="utf-8")}')
        return '\n'.join(outcome)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('prompts', nargs='+', help='one session each; `||` separates the turns of a session')
    parser.add_argument('--times', type=int, default=1, help='how many fresh sessions')
    parser.add_argument('--data', type=Path, default=DATA, help='a directory of CSV files to work on')
    options = parser.parse_args()
    for prompt in options.prompts:
        print(f'# {prompt}', flush=True)
        turns = [turn.strip() for turn in prompt.split('||')]
        outcomes = [
            asyncio.run(run_session(turns, data=options.data, tell=number == 0)) for number in range(options.times)
        ]
        print(outcomes[0])
        print(f'  same outcome {outcomes.count(outcomes[0])} of {options.times} times', flush=True)


if __name__ == '__main__':
    main()

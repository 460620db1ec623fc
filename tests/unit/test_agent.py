from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.models.test import TestModel

from deep_notebook import DeepAgentDeps, KernelWorkspace, StateBackend, create_deep_agent, create_default_deps
from deep_notebook.agent import BASE_INSTRUCTIONS
from deep_notebook.capabilities.python import PythonResult, RunPython
from harness.request_cost import first_request_cost

pytestmark = pytest.mark.anyio

FIRST_REQUEST_TOKENS = 2_000
"""What the first request of the default agent may cost, in characters / 4 of instructions and tool schemas."""
EAGER_TOKENS = 5_000
"""What it may cost with nothing on demand."""


async def first_request(deps: DeepAgentDeps, **options: object) -> TestModel:
    model = TestModel(call_tools=[])
    await create_deep_agent(model, **options).run('hi', deps=deps)  # type: ignore[arg-type]
    return model


async def test_the_default_agent_fits_its_first_request(tmp_path: Path) -> None:
    deps = create_default_deps(KernelWorkspace(tmp_path))
    python = RunPython[DeepAgentDeps](runner=NoKernel())
    default = await first_request_cost(create_deep_agent(capabilities=[python]), deps)
    everything = create_deep_agent(
        capabilities=[python], defer=None, web_search=True, web_fetch=True, include_checkpoints=True
    )
    eager = await first_request_cost(everything, deps)
    print(
        f'first request: {default.total} of {FIRST_REQUEST_TOKENS} tokens; all eager: {eager.total} of {EAGER_TOKENS}'
    )
    assert 'load_capability' in default.tools
    assert default.total <= FIRST_REQUEST_TOKENS
    assert eager.total <= EAGER_TOKENS


class NoKernel:
    async def run(self, code: str, *, timeout: float | None) -> PythonResult:
        raise NotImplementedError


async def test_own_instructions_follow_the_base() -> None:
    model = await first_request(create_default_deps(), instructions='Answer in rhyme.')
    assert model.last_model_request_parameters is not None
    parts = [part.content for part in model.last_model_request_parameters.instruction_parts or []]
    assert parts[:2] == [BASE_INSTRUCTIONS, 'Answer in rhyme.']


async def test_commands_are_offered_only_where_the_workspace_runs_them(tmp_path: object) -> None:
    async def names(deps: DeepAgentDeps) -> set[str]:
        parameters = (await first_request(deps)).last_model_request_parameters
        assert parameters is not None
        return {tool.name for tool in parameters.function_tools}

    assert 'execute' in await names(create_default_deps(KernelWorkspace(str(tmp_path))))
    assert 'execute' not in await names(create_default_deps(StateBackend()))


async def test_two_runs_of_one_agent_keep_their_own_plans() -> None:
    agent = create_deep_agent(TestModel(call_tools=['write_todos'], custom_output_text='done'))
    first, second = create_default_deps(), create_default_deps()
    await agent.run('one', deps=first)
    assert second.todos == []
    await agent.run('two', deps=second)
    assert first.todos is not second.todos

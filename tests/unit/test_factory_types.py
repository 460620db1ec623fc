"""What type checkers know of the factory; the check of types reads this file, and pytest runs it."""

from __future__ import annotations

from typing import assert_type

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from deep_notebook import DeepAgentDeps, UsageError, create_deep_agent, create_default_deps, run_with_files


class Report(BaseModel):
    total: int


def test_the_output_type_of_an_agent_is_known() -> None:
    assert_type(create_deep_agent(), Agent[DeepAgentDeps, str])
    assert_type(create_deep_agent('test', output_type=None, include_todo=False), Agent[DeepAgentDeps, str])
    assert_type(create_deep_agent(TestModel(), output_type=Report), Agent[DeepAgentDeps, Report])


def test_a_misspelt_or_mistyped_option_is_an_error_of_types_and_of_values() -> None:
    with pytest.raises(UsageError):
        create_deep_agent('test', include_todos=True)  # type: ignore[call-overload]
    with pytest.raises(UsageError):
        create_deep_agent('test', edit_format='lines')  # type: ignore[call-overload]


@pytest.mark.anyio
async def test_a_run_with_files_returns_what_the_agent_answers() -> None:
    agent = create_deep_agent(TestModel(call_tools=[], custom_output_args={'total': 3}), output_type=Report)
    deps = create_default_deps()
    output = await run_with_files(agent, 'Sum up.', deps, [('../a\n.csv', b'x\n1\n')])
    assert_type(output, Report)
    assert output.total == 3
    assert deps.uploads['/uploads/a.csv']['line_count'] == 2

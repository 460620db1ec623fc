"""Definitions that cannot work are refused in words; what is handed in is never changed; registries stand threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

import pytest
from inline_snapshot import snapshot
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from deep_notebook.capabilities import CAPABILITIES
from deep_notebook.capabilities.subagents import (
    DynamicAgentRegistry,
    SubAgentCapability,
    SubAgentConfig,
    builtin_subagents,
    create_subagent_toolset,
    default_agent_factory,
)
from deep_notebook.errors import UsageError
from harness.cast import Cast, perform

pytestmark = pytest.mark.anyio

HELPER: SubAgentConfig = {'name': 'helper', 'description': 'Helps.'}


@dataclass(frozen=True)
class Wrong:
    config: dict[str, Any]
    said: str


WRONG = [
    Wrong({'description': 'x'}, 'needs a name of one line, not None'),
    Wrong({'name': ' ', 'description': 'x'}, "needs a name of one line, not ' '"),
    Wrong({'name': 'a\nb', 'description': 'x'}, 'needs a name of one line'),
    Wrong({'name': 'a'}, "'a' needs a description: when is it to be used?"),
    Wrong({'name': 'a', 'description': ''}, "'a' needs a description"),
    Wrong({'name': 'a', 'description': 'x', 'instruction': 'y'}, "no 'instruction'. Did you mean 'instructions'?"),
]


@pytest.mark.parametrize('case', WRONG, ids=lambda case: case.said)
def test_a_definition_that_cannot_work_is_refused_in_one_line(case: Wrong) -> None:
    config = cast(SubAgentConfig, case.config)
    makers = (lambda: SubAgentCapability([config]), lambda: DynamicAgentRegistry().register(config))
    for make in (*makers, lambda: create_subagent_toolset([config])):
        with pytest.raises(UsageError) as raised:
            make()
        assert case.said in str(raised.value)
        assert '\n' not in str(raised.value)


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="Two subagents are called 'helper'"):
        SubAgentCapability([HELPER, HELPER])


def test_what_is_handed_in_is_not_changed() -> None:
    configs = [HELPER.copy()]
    SubAgentCapability(configs)
    assert configs == [HELPER]


@dataclass(frozen=True)
class BuiltIn:
    options: dict[str, Any]
    names: list[str]


@pytest.mark.parametrize(
    'case',
    [
        BuiltIn({}, ['general', 'research', 'planner']),
        BuiltIn({'include_plan': False}, ['general', 'research']),
        BuiltIn({'include_builtin_subagents': False}, ['planner']),
        BuiltIn({'include_plan': False, 'include_builtin_subagents': False, 'subagents': [HELPER]}, ['helper']),
        BuiltIn({'subagents': [HELPER]}, ['general', 'research', 'planner', 'helper']),
    ],
    ids=lambda case: str(list(case.options)),
)
async def test_which_subagents_there_are(case: BuiltIn) -> None:
    script = Cast({'go': ['end']})
    await perform(script, SubAgentCapability(**case.options))
    listed = script.requests[0].instructions.split('Subagents:\n')[1]
    assert [line.removeprefix('- ').split(':')[0] for line in listed.splitlines()] == case.names


async def test_ones_own_subagent_takes_the_place_of_a_built_in_one() -> None:
    own = SubAgentConfig(name='general', description='Mine.', instructions='Be mine.')
    script = Cast({'go': [[('task', {'description': 'x'})], 'end'], 'x': ['y']})
    await perform(script, SubAgentCapability([own]))
    assert 'Be mine.' in script.requests_of('x')[0].instructions
    assert 'general: Mine.' in script.requests[0].instructions


async def test_the_planner_can_ask_and_save_plans() -> None:
    script = Cast({'go': [[('task', {'description': 'x', 'subagent_type': 'planner'})], 'end'], 'x': ['y']})
    await perform(script, SubAgentCapability())
    [request] = script.requests_of('x')
    assert {'ask_user', 'save_plan', 'read_file'} <= set(request.tools)
    assert 'You plan' in request.instructions


def test_the_built_in_definitions_are_copies() -> None:
    builtin_subagents()[0]['instructions'] = 'changed'
    assert builtin_subagents()[0]['instructions'] != 'changed'


async def test_memory_and_context_files_are_for_whoever_has_them() -> None:
    config: SubAgentConfig = {**HELPER, 'include_memory': True, 'context_files': ['AGENTS.md']}
    agent = default_agent_factory(config)
    ids = {capability.id for capability in agent.root_capability.capabilities}
    assert {'memory', 'context_files'} <= ids
    plain = {capability.id for capability in default_agent_factory(HELPER).root_capability.capabilities}
    assert not {'memory', 'context_files'} & plain


async def test_a_spec_builds_it() -> None:
    spec = {
        'model': 'test',
        'capabilities': [
            {'SubAgentCapability': {'subagents': [HELPER], 'max_nesting_depth': 2, 'include_plan': False}}
        ],
    }
    agent = Agent.from_spec(spec, custom_capability_types=[CAPABILITIES['subagents']])
    model = TestModel(call_tools=[])
    await agent.run('go', model=model)
    assert model.last_model_request_parameters is not None
    assert [tool.name for tool in model.last_model_request_parameters.function_tools] == ['task', 'check_subagent']


async def test_what_the_model_is_told_stays_short() -> None:
    model = TestModel(call_tools=[])
    await Agent(model, capabilities=[SubAgentCapability()]).run('go')
    parameters = model.last_model_request_parameters
    assert parameters is not None
    tools = [
        (tool.name, tool.description, tool.parameters_json_schema['properties']) for tool in parameters.function_tools
    ]
    assert tools == snapshot(
        [
            (
                'task',
                'Let a subagent do a task and return its report. It sees nothing of this conversation: write all '
                'it needs.',
                {
                    'description': {'type': 'string'},
                    'subagent_type': {'default': 'general', 'type': 'string'},
                    'background': {
                        'default': False,
                        'description': 'Return an id at once, for check_subagent.',
                        'type': 'boolean',
                    },
                },
            ),
            (
                'check_subagent',
                'See background tasks, or one with its result, which is given once.',
                {
                    'task_id': {'default': '', 'type': 'string'},
                    'wait': {
                        'default': 0,
                        'description': 'Seconds to wait for a result or question, at most 300.',
                        'minimum': 0,
                        'type': 'number',
                    },
                    'message': {
                        'default': '',
                        'description': 'Answers the question of the task, or steers it.',
                        'type': 'string',
                    },
                    'cancel': {'default': False, 'description': 'Stops the task.', 'type': 'boolean'},
                },
            ),
        ]
    )
    instructions = parameters.instruction_parts or []
    characters = sum(len(part.content) for part in instructions) + sum(
        len(tool.name) + len(tool.description or '') + len(str(tool.parameters_json_schema))
        for tool in parameters.function_tools
    )
    assert characters / 4 < 500


def test_a_registry_adds_gets_lists_and_removes() -> None:
    registry = DynamicAgentRegistry()
    registry.register(HELPER)
    agent: Any = Agent('test')
    registry.register({'name': 'poet', 'description': 'Writes.'}, agent)
    assert len(registry) == 2
    assert 'poet' in registry
    assert [config['name'] for config in registry.list()] == ['helper', 'poet']
    poet = registry.get('poet')
    assert poet is not None
    assert poet['agent'] is agent
    assert registry.remove('poet')
    assert not registry.remove('poet')
    assert registry.get('poet') is None


def test_a_name_is_only_replaced_on_purpose() -> None:
    registry = DynamicAgentRegistry()
    registry.register(HELPER)
    with pytest.raises(UsageError, match=r"'helper' is registered already: `replace=True` replaces it\."):
        registry.register(HELPER)
    registry.register({'name': 'helper', 'description': 'Helps more.'}, replace=True)
    assert [config['description'] for config in registry.list()] == ['Helps more.']


def test_what_a_registry_holds_cannot_be_changed_from_outside() -> None:
    config = HELPER.copy()
    registry = DynamicAgentRegistry()
    registry.register(config)
    config['description'] = 'changed'
    found = registry.get('helper')
    assert found is not None
    found['description'] = 'changed'
    registry.list()[0]['description'] = 'changed'
    assert registry.list() == (HELPER,)


def test_a_registry_stands_many_threads() -> None:
    registry = DynamicAgentRegistry()

    def use(number: int) -> int:
        name = f'agent-{number % 7}'
        try:
            registry.register({'name': name, 'description': 'x'})
        except UsageError:
            registry.remove(name)
        return len(registry.list())

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(use, range(2000))) <= 7

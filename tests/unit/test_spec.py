"""Spec files: what was written comes back, and what cannot be written is not dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic_ai.models.test import TestModel

from deep_notebook import DeepAgent, DeepAgentDeps, DeepAgentSpec, Hook, HookEvent, KernelWorkspace, UsageError
from deep_notebook.settling import settle, spec_of
from deep_notebook.spec import read_spec, spec_data, write_spec

pytestmark = pytest.mark.anyio

EVERYTHING: dict[str, Any] = {
    'model': 'embedded',
    'name': 'helper',
    'description': 'Helps.',
    'instructions': 'Grüße 日本 "quoted": yes\n- two lines',
    'model_settings': {'temperature': 0.7, 'max_tokens': 100},
    'retries': 5,
    'output_style': 'concise',
    'include_todo': False,
    'include_execute': None,
    'thinking': 'high',
    'subagents': [{'name': 'critic', 'description': 'Reviews.', 'model': None, 'read_only': True}],
    'skill_directories': ['skills', '~/skills'],
    'context_files': ['AGENTS.md'],
    'mcp_servers': {'files': {'command': 'python', 'args': ['-m', 'server']}},
    'interrupt_on': {'write_file': True, 'execute': False},
    'cost_budget_usd': 0.5,
    'defer': None,
    'capabilities': ['SecurityHooks', {'Thinking': 'high'}, {'MemoryCapability': {'max_lines': 5}}],
    'output_schema': {'type': 'object', 'properties': {'x': {'type': 'integer'}}, 'title': 'Out'},
}


@pytest.mark.parametrize('name', ['agent.yaml', 'agent.yml', 'agent.json'])
def test_what_is_written_is_what_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    DeepAgent.to_file(path, **EVERYTHING)
    assert spec_data(read_spec(path).spec) == spec_data(settle(EVERYTHING).spec)
    assert read_spec(path).spec.model_fields_set == set(EVERYTHING)
    before = path.read_bytes()
    write_spec(path, read_spec(path).spec)
    assert path.read_bytes() == before


@given(
    options=st.fixed_dictionaries(
        {},
        optional={
            'instructions': st.text(min_size=1).filter(lambda text: '{{' not in text),
            'retries': st.integers(0, 9),
            'include_todo': st.booleans(),
            'include_execute': st.none() | st.booleans(),
            'thinking': st.none() | st.booleans() | st.sampled_from(['low', 'max']),
            'context_files': st.none() | st.lists(st.text()),
            'interrupt_on': st.none() | st.dictionaries(st.text(), st.booleans()),
            'cost_budget_usd': st.none() | st.floats(0.001, 1e6),
            'defer': st.none() | st.just('auto') | st.lists(st.text()),
        },
    ),
    suffix=st.sampled_from(['.yaml', '.json']),
)
def test_any_options_come_back(tmp_path_factory: pytest.TempPathFactory, options: dict[str, Any], suffix: str) -> None:
    path = tmp_path_factory.mktemp('specs') / f'a{suffix}'
    DeepAgent.to_file(path, **options)
    assert spec_data(read_spec(path).spec) == spec_data(settle(options).spec)


def test_null_is_a_value_and_not_a_default(tmp_path: Path) -> None:
    path = tmp_path / 'a.yaml'
    path.write_text('defer: null\nretries: null\n')
    spec = read_spec(path).spec
    assert (spec.defer, spec.retries) == (None, None)
    assert DeepAgentSpec().defer == 'auto'


@pytest.mark.parametrize(
    ('option', 'value'),
    [
        ('tools', [len]),
        ('hooks', [Hook(HookEvent.AFTER_RUN, command='true')]),
        ('model', TestModel()),
        ('backend', KernelWorkspace('.')),
        ('subagents', [{'name': 'a', 'description': 'b', 'agent': object()}]),
        ('on_cost_update', print),
        ('output_type', int),
    ],
)
def test_what_no_file_can_hold_is_refused_and_the_old_file_stays(tmp_path: Path, option: str, value: Any) -> None:
    path = tmp_path / 'a.yaml'
    path.write_text('retries: 1\n')
    with pytest.raises(UsageError, match=f"'{option}' cannot be stored in a spec file"):
        DeepAgent.to_file(path, **{option: value})
    assert path.read_text() == 'retries: 1\n'
    assert [each.name for each in tmp_path.iterdir()] == ['a.yaml']


@pytest.mark.parametrize(
    ('name', 'text', 'message'),
    [
        ('a.yaml', 'include_todos: true\n', "a.yaml: there is no option 'include_todos'. Did you mean 'include_todo'?"),
        ('a.yaml', 'model: [\n', 'is not YAML in line 2: put texts with special characters in quotes.'),
        ('a.json', '{"model": }', 'is not JSON: Expecting value'),
        ('a.yaml', '- one\n', 'has to hold options by name, such as "model: embedded", not list.'),
        ('a.yaml', 'retries: many\n', "a.yaml: retries should be a valid integer or a valid dictionary, got 'many'."),
        ('a.toml', '', "A spec file is called .yaml, .yml or .json, not 'a.toml'."),
        ('a.yaml', 'capabilities: [Nothing]\n', "There is no capability 'Nothing'."),
        ('a.yaml', 'capabilities: [{MemoryCapability: {max_lines: -1}}]\n', 'max_lines must be 0 or more, got -1'),
        ('a.yaml', 'output_style: conzise\n', "There is no output style 'conzise'. Did you mean 'concise'?"),
    ],
)
def test_a_wrong_file_is_one_line_that_says_where(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        DeepAgent.from_file(path)
    assert message in str(caught.value)
    assert '\n' not in str(caught.value)


def test_a_file_that_is_not_there_or_not_text_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='cannot be read \\(No such file or directory\\)'):
        DeepAgent.from_file(tmp_path / 'a.yaml')
    (tmp_path / 'b.yaml').write_bytes(b'model: \xff\n')
    with pytest.raises(UsageError, match='is not UTF-8'):
        DeepAgent.from_file(tmp_path / 'b.yaml')


def test_an_empty_file_is_the_default_agent(tmp_path: Path) -> None:
    (tmp_path / 'a.yaml').write_text('\n')
    agent, deps = DeepAgent.from_file(tmp_path / 'a.yaml')
    assert agent.name == 'main'
    assert isinstance(deps, DeepAgentDeps)


def test_the_file_in_the_readme_makes_an_agent(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[2] / 'README.md').read_text(encoding='utf-8')
    shown = readme.partition('```yaml\n')[2].partition('```')[0]
    (tmp_path / 'agent.yaml').write_text(shown, encoding='utf-8')
    agent, _ = DeepAgent.from_file(tmp_path / 'agent.yaml')
    assert agent.model == 'anthropic:claude-opus-4-6'


class Answer(BaseModel):
    number: int


async def test_overrides_count_and_objects_pass_through(tmp_path: Path) -> None:
    DeepAgent.to_file(tmp_path / 'a.yaml', model='embedded', include_todo=False, instructions='From the file.')
    workspace = KernelWorkspace(tmp_path)
    model = TestModel(call_tools=[], custom_output_args={'number': 7})
    data = {'instructions': 'Before.'}
    agent, deps = DeepAgent.from_file(
        tmp_path / 'a.yaml', model=model, backend=workspace, output_type=Answer, instructions='Instead.', tools=[_own]
    )
    assert deps.backend is workspace
    result = await agent.run('Hi', deps=deps)
    assert result.output == Answer(number=7)
    assert model.last_model_request_parameters is not None
    names = {tool.name for tool in model.last_model_request_parameters.function_tools}
    assert 'write_todos' not in names
    assert {'_own', 'read_file'} <= names
    parts = [part.content for part in model.last_model_request_parameters.instruction_parts or []]
    assert 'Instead.' in parts
    assert 'From the file.' not in parts

    DeepAgent.from_spec(data, model=model)
    assert data == {'instructions': 'Before.'}
    DeepAgent.from_spec(spec_of(settle(data)), model=model)


def _own() -> str:
    """Do nothing."""
    return ''


async def test_the_output_schema_of_a_file_is_what_a_run_returns() -> None:
    model = TestModel(call_tools=[], custom_output_args={'x': 1})
    agent, deps = DeepAgent.from_spec({'output_schema': EVERYTHING['output_schema']}, model=model)
    assert (await agent.run('Hi', deps=deps)).output == {'x': 1}


async def test_braces_in_instructions_are_no_template() -> None:
    model = TestModel(call_tools=[])
    agent, deps = DeepAgent.from_spec({'instructions': 'Write {{v}} as {v: k}.'}, model=model)
    await agent.run('Hi', deps=deps)
    assert model.last_model_request_parameters is not None
    assert 'Write {{v}} as {v: k}.' in [
        part.content for part in model.last_model_request_parameters.instruction_parts or []
    ]


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    with pytest.raises(UsageError, match='cannot be written'):
        DeepAgent.to_file(tmp_path / 'file' / 'a.yaml')

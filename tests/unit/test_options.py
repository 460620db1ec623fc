"""Options: one definition, clear errors, and nothing of the caller's is touched."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from dirty_equals import IsStr

from deep_notebook import DeepAgentOptions, DeepAgentSpec, OutputStyle, UsageError, create_deep_agent
from deep_notebook.options import StoredSubAgent
from deep_notebook.settling import settle, spec_of

SEED_DEFAULTS: dict[str, Any] = {
    'model': None,
    'instructions': None,
    'output_style': None,
    'styles_dir': None,
    'retries': 3,
    'model_settings': None,
    'include_todo': True,
    'include_current_todos': False,
    'include_filesystem': True,
    'include_subagents': True,
    'include_skills': True,
    'include_builtin_subagents': True,
    'include_plan': True,
    'include_memory': True,
    'include_execute': None,
    'include_checkpoints': False,
    'include_teams': False,
    'include_history_archive': True,
    'eviction_token_limit': 20_000,
    'patch_tool_calls': True,
    'context_manager': True,
    'context_manager_max_tokens': None,
    'summarization_model': None,
    'history_messages_path': None,
    'on_eviction': None,
    'on_context_update': None,
    'on_before_compress': None,
    'on_after_compress': None,
    'checkpoint_frequency': 'every_tool',
    'max_checkpoints': 20,
    'checkpoint_store': None,
    'hooks': None,
    'interrupt_on': None,
    'cost_tracking': True,
    'cost_budget_usd': None,
    'instrument': None,
    'middleware': None,
    'web_search': False,
    'web_fetch': False,
    'thinking': None,
    'subagents': None,
    'skill_directories': None,
    'max_nesting_depth': 1,
    'edit_format': 'hashline',
    'context_files': None,
    'context_discovery': False,
    'memory_dir': '/.deep/memory',
    'plans_dir': '/plans',
    'backend': None,
    'tools': None,
    'toolsets': None,
    'output_type': None,
    'on_cost_update': None,
    'subagent_registry': None,
    'subagent_extra_toolsets': None,
    'history_processors': None,
    'defer': 'auto',
}
"""What the framework's documents list, with the defaults that they give."""


@pytest.mark.parametrize(('name', 'default'), SEED_DEFAULTS.items())
def test_every_parameter_is_there_with_its_default(name: str, default: Any) -> None:
    parameter = inspect.signature(create_deep_agent).parameters[name]
    assert parameter.default == default
    assert name == 'model' or parameter.kind is parameter.KEYWORD_ONLY


def test_what_a_file_holds_a_caller_may_give() -> None:
    """The typed names of callers are those of the spec, but for what the factory gives itself, and objects."""
    callers = set(DeepAgentOptions.__annotations__)
    stored = set(DeepAgentSpec.model_fields) - {'model', 'json_schema_path', 'deps_schema'}
    assert stored <= callers
    assert {name for name in callers - stored if name in DeepAgentSpec.model_fields} == set()


def test_callers_and_files_agree_on_plain_types() -> None:
    callers = get_type_hints(DeepAgentOptions)
    for name, info in DeepAgentSpec.model_fields.items():
        if info.annotation in (bool, str, int):
            assert callers[name] == info.annotation, name


def test_every_option_says_what_it_means() -> None:
    doc = create_deep_agent.__doc__ or ''
    ours = set(DeepAgentSpec.__annotations__) - {'model', 'deps_schema'}
    objects = set(DeepAgentOptions.__annotations__) - set(DeepAgentSpec.model_fields)
    assert [name for name in ours | objects if f'    {name}: ' not in doc] == []


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'include_todos': True}, "there is no option 'include_todos'. Did you mean 'include_todo'? " + '`help'),
        ({'edit_format': 'hashlin'}, "edit_format should be 'hashline', 'str_replace' or 'auto', got 'hashlin'."),
        ({'include_todo': 'perhaps'}, 'include_todo should be a valid boolean'),
        ({'thinking': 'hgh'}, "thinking should be a valid boolean or 'minimal', 'low'"),
        ({'cost_budget_usd': -1}, 'cost_budget_usd should be greater than 0, got -1.'),
        ({'max_nesting_depth': -1}, 'max_nesting_depth should be greater than or equal to 0, got -1.'),
        ({'defer': 'aut'}, "defer should be 'auto' or a valid list, got 'aut'."),
        ({'subagents': [{'nam': 'x'}]}, "subagents.0.nam is not known. Did you mean 'name'?"),
        ({'deps_schema': {}}, 'deps_schema: a deep agent has DeepAgentDeps; leave deps_schema out.'),
        ({'include_teams': True}, 'include_teams: this version has no teams yet; subagents may do.'),
        ({'interrupt_on': {'write_file': 'what'}}, 'interrupt_on.write_file should be a valid boolean'),
    ],
)
def test_a_wrong_option_is_one_line_with_its_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        settle(options)
    assert str(caught.value).startswith(message)
    assert '\n' not in str(caught.value)


def test_a_wrong_option_in_code_is_the_same_error() -> None:
    with pytest.raises(UsageError, match="Did you mean 'include_memory'"):
        create_deep_agent('test', include_memori=True)  # type: ignore[call-overload]


def test_what_callers_give_is_left_as_it_is() -> None:
    given: dict[str, Any] = {
        'subagents': [{'name': 'one', 'description': 'First.'}],
        'interrupt_on': {'write_file': True},
        'model_settings': {'temperature': 0.5},
        'capabilities': ['SecurityHooks'],
        'tools': [len],
        'defer': {'skills', 'plan'},
        'metadata': {'a': [1]},
    }
    before = repr(given)
    create_deep_agent('test', **given)
    assert repr(given) == before
    settled = settle(given)
    given['subagents'].append({'name': 'two', 'description': 'Second.'})
    given['interrupt_on']['write_file'] = False
    assert settled.spec.subagents == [{'name': 'one', 'description': 'First.'}]
    assert settled.spec.interrupt_on == {'write_file': True}


def test_objects_are_kept_beside_what_can_be_stored() -> None:
    style = OutputStyle('mine', 'My style.', 'Rhyme.')
    settled = settle({'output_style': style, 'styles_dir': Path('styles'), 'tools': [len], 'retries': 5})
    assert settled['output_style'] is style
    assert settled['styles_dir'] == 'styles'
    assert settled['tools'] == [len]
    assert settled['hooks'] is None
    assert settled.spec.model_fields_set == {'styles_dir', 'retries'}
    with pytest.raises(UsageError, match=r"'output_style', 'tools' cannot be stored in a spec file: leave out"):
        spec_of(settled)


def test_a_stored_subagent_has_keys_of_the_definition() -> None:
    from deep_notebook import SubAgentConfig

    assert set(StoredSubAgent.__annotations__) < set(SubAgentConfig.__annotations__)


def test_the_help_of_the_factory_shows_types() -> None:
    assert str(inspect.signature(create_deep_agent)) == IsStr(regex=r".*include_todo: 'bool' = True.*", regex_flags=16)

"""From a name, or none, to the model that answers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic_ai import Agent, models
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel

from deep_notebook.errors import UsageError
from deep_notebook.models import weights
from deep_notebook.models.resolve import (
    DEFAULT_MODELS,
    EMBEDDED_NAME,
    ResolvedModel,
    describe,
    known_model_names,
    list_models,
    resolve_model,
)

pytestmark = pytest.mark.usefixtures('bare_environment')


def resolve(name: str | None, directory: Path, **namespace: object) -> ResolvedModel:
    return resolve_model(name, directory=directory, namespace=namespace)


def refusal(name: str | None, directory: Path, **namespace: object) -> str:
    with pytest.raises(UsageError) as caught:
        resolve(name, directory, **namespace)
    message = str(caught.value)
    assert '\n' not in message
    return message


def pull_embedded() -> None:
    path = weights.weights_path()
    path.parent.mkdir(parents=True)
    path.touch()
    os.truncate(path, weights.EMBEDDED.size)


def test_with_nothing_at_all_one_line_says_what_to_do(tmp_path: Path) -> None:
    assert refusal(None, tmp_path) == (
        'No model can answer yet: run `deep-notebook model pull` for the embedded one (1.1 GB, uses 2 GB of memory), '
        'or set ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment or in .env beside the notebook.'
    )


@pytest.mark.parametrize(('variable', 'name'), DEFAULT_MODELS.items())
def test_a_key_in_the_environment_decides(
    variable: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull_embedded()
    monkeypatch.setenv(variable, 'test-key')
    resolved = resolve(None, tmp_path)
    assert resolved.name == resolved.label == name
    assert not resolved.local
    assert resolved.model is not None
    assert f'{resolved.model.system}:{resolved.model.model_name}' == name


def test_an_explicit_choice_beats_the_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('ANTHROPIC_API_KEY', 'test-key')
    monkeypatch.setenv('OPENAI_API_KEY', 'test-key')
    assert resolve('openai:gpt-6-luna', tmp_path).name == 'openai:gpt-6-luna'


def test_an_empty_key_is_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('ANTHROPIC_API_KEY', '')
    assert 'No model can answer' in refusal(None, tmp_path)


def test_without_keys_the_embedded_model_answers_if_its_file_is_there(tmp_path: Path) -> None:
    pull_embedded()
    resolved = resolve(None, tmp_path)
    assert resolved.name == EMBEDDED_NAME
    assert resolved.label == 'Qwen2.5-Coder-1.5B · local, limited'
    assert resolved.local
    assert resolved.request_limit == 8


def test_the_embedded_model_without_its_file_says_how_to_pull_it(tmp_path: Path) -> None:
    assert 'deep-notebook model pull' in refusal('embedded', tmp_path)


def test_a_variable_may_hold_a_model(tmp_path: Path) -> None:
    model = TestModel()
    resolved = resolve('mine', tmp_path, mine=model)
    assert resolved.model is model
    assert resolved.agent is None
    assert resolved.label == 'mine · scripted'


def test_a_variable_may_hold_an_agent(tmp_path: Path) -> None:
    agent = Agent(TestModel())
    resolved = resolve('mine', tmp_path, mine=agent)
    assert resolved.agent is agent
    assert resolved.model is None
    assert resolved.label == 'mine (agent on test · scripted)'


def test_a_variable_that_holds_something_else_is_refused_by_its_type(tmp_path: Path) -> None:
    assert refusal('frame', tmp_path, frame=3) == "'frame' is of type int, not a pydantic-ai Model or Agent."


@dataclass(frozen=True)
class Unknown:
    name: str
    meant: str


UNKNOWN = [
    Unknown('antropic:claude-opus-4-8', "Did you mean 'anthropic:claude-opus-4-8'?"),
    Unknown('claude-opus-4', "Did you mean 'anthropic:claude-opus-4-8'?"),
    Unknown('gpt-6', "Did you mean 'openai-chat:gpt-6"),
    Unknown('embeded', "Did you mean 'embedded'?"),
    Unknown('my_modle', "Did you mean 'my_model'?"),
]


@pytest.mark.parametrize('case', UNKNOWN, ids=lambda case: case.name)
def test_an_unknown_name_gets_the_closest_match(case: Unknown, tmp_path: Path) -> None:
    message = refusal(case.name, tmp_path, my_model=TestModel(), my_frame=3)
    assert message.startswith(f'There is no model or variable called {case.name!r}.')
    if case.name == 'gpt-6':
        assert 'gpt-6' in message.rpartition('Did you mean')[2]
    else:
        assert case.meant in message


def test_a_name_far_from_everything_gets_no_guess(tmp_path: Path) -> None:
    assert refusal('zzzzqqqq', tmp_path) == "There is no model or variable called 'zzzzqqqq'."


def test_a_provider_without_a_model_is_refused(tmp_path: Path) -> None:
    assert refusal('openai:', tmp_path).startswith("'openai:' names a provider but no model.")


def test_a_recording_is_not_a_model(tmp_path: Path) -> None:
    assert refusal('replay:sales', tmp_path) == 'A recording is not a model: use `--replay sales`.'


@pytest.mark.parametrize(
    ('name', 'variable'),
    [
        ('anthropic:claude-opus-4-6', 'ANTHROPIC_API_KEY'),
        ('openai:gpt-6-luna', 'OPENAI_API_KEY'),
        ('openrouter:a/b', 'OPENROUTER_API_KEY'),
    ],
)
def test_a_missing_key_names_its_variable(name: str, variable: str, tmp_path: Path) -> None:
    assert refusal(name, tmp_path) == (
        f'{name} needs {variable}: set it in the environment or in .env beside the notebook.'
    )


@pytest.mark.parametrize(
    ('name', 'extra', 'install'),
    [('google:gemini', 'google', 'deep-notebook[google]'), ('groq:llama', 'groq', 'pydantic-ai-slim[groq]')],
)
def test_a_missing_package_names_the_extra(
    name: str, extra: str, install: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def infer_model(name: str) -> None:
        raise ImportError(f'use the `{extra}` optional group — `pip install "pydantic-ai-slim[{extra}]"`')

    monkeypatch.setattr('deep_notebook.models.resolve.infer_model', infer_model)
    assert refusal(name, tmp_path) == f'{name} needs a package that is not installed: `pip install "{install}"`.'


def test_a_local_server_is_used_when_it_is_named(tmp_path: Path) -> None:
    for name in ('ollama:qwen3', 'lmstudio:qwen3', 'llama-server:qwen3'):
        resolved = resolve(name, tmp_path)
        assert resolved.local
        assert resolved.label == f'{name} · local'


def test_ollama_elsewhere_is_not_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('OLLAMA_BASE_URL', 'https://gpu.example.org/v1')
    assert not resolve('ollama:qwen3', tmp_path).local


def test_a_model_under_a_variable_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'test-key')
    assert describe(OpenAIResponsesModel('gpt-6-luna'), name='mine') == 'mine (openai:gpt-6-luna)'


def test_a_wrapped_scripted_model_is_still_scripted() -> None:
    scripted = FunctionModel(lambda messages, info: pytest.fail('not called'))
    assert 'scripted' in describe(WrapperModel(scripted))


def test_known_names_are_for_completion(tmp_path: Path) -> None:
    names = known_model_names()
    assert names[0] == EMBEDDED_NAME
    assert 'test' not in names
    assert set(models.known_model_names()) - {'test'} < set(names)


def test_the_list_holds_what_would_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('deep_notebook.models.resolve.local_model_names', lambda: ['ollama:qwen3'])
    pull_embedded()
    assert list_models({'OPENAI_API_KEY': 'k'}) == [DEFAULT_MODELS['OPENAI_API_KEY'], EMBEDDED_NAME, 'ollama:qwen3']


def test_the_default_for_openai_is_a_name_that_pydantic_ai_knows() -> None:
    assert DEFAULT_MODELS['OPENAI_API_KEY'] in models.known_model_names()

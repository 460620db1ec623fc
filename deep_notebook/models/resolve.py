"""From a name, or none, to the model that answers.

When none is named: a key in the environment decides; else the embedded model, if its file is there; else one
line that says how to get it. A local server is used only when it is named. `replay` is not a model: a recording
is asked for with `--replay`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic_ai import models
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel

from deep_notebook.errors import UsageError, did_you_mean

from . import weights
from .dotenv import load_dotenv
from .embedded import LABEL, MAX_REQUESTS, EmbeddedModel
from .local_servers import LOCAL_SERVERS, local_model_names

__all__ = [
    'DEFAULT_MODELS',
    'EMBEDDED_NAME',
    'ResolvedModel',
    'describe',
    'is_local',
    'is_scripted',
    'known_model_names',
    'list_models',
    'model_variables',
    'resolve_model',
]

EMBEDDED_NAME = 'embedded'

DEFAULT_MODELS = {'ANTHROPIC_API_KEY': 'anthropic:claude-opus-4-6', 'OPENAI_API_KEY': 'openai:gpt-6.1-sol'}
"""Which model answers when none is named and this variable is set; the first one that is set decides."""

_NO_MODEL = (
    'No model can answer yet: run `deep-notebook model pull` for the embedded one (1.1 GB, uses 2 GB of memory),'
    f' or set {" or ".join(DEFAULT_MODELS)} in the environment or in .env beside the notebook.'
)
_NOT_PULLED = 'The embedded model is not here yet: run `deep-notebook model pull` (1.1 GB, uses 2 GB of memory).'

_VARIABLES = re.compile(r'`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`')
_EXTRA = re.compile(r'pydantic-ai-slim\[([\w-]+)\]')
_LOOPBACK = frozenset({'localhost', '127.0.0.1', '::1'})


@dataclass(frozen=True, kw_only=True)
class ResolvedModel:
    """Who answers: a model, or an agent of the user's that brings its own."""

    model: Model | None
    agent: AbstractAgent[Any, Any] | None
    """Set when the name is a variable that holds a pydantic-ai agent; then `model` is `None`."""
    name: str
    """The name that resolves to it again."""
    label: str
    """What the person reads beside every answer."""
    local: bool
    """It answers on this computer, at no cost."""
    request_limit: int | None
    """How many requests one run may make; `None` leaves that to the session."""
    notice: str | None = None
    """One line for the person about `.env` lines that were ignored."""


def resolve_model(
    name: str | None,
    *,
    directory: Path,
    environ: MutableMapping[str, str] | None = None,
    namespace: Mapping[str, object] | None = None,
) -> ResolvedModel:
    """Return the model called `name`, or the one that answers when none is named.

    Args:
        name: `embedded`, a pydantic-ai name (`provider:model`), `ollama:…`, `lmstudio:…` or `llama-server:…`
            for a server on this computer, or a variable of `namespace` that holds a model or an agent.
        directory: The notebook's; the `.env` there is loaded first.
        environ: Where keys are looked up; the process environment unless given.
        namespace: The user's variables.

    Raises:
        UsageError: The name is unknown, or a key, a package or the file of weights is missing. The one line
            names the variable to set, never a value.
    """
    environ = os.environ if environ is None else environ
    namespace = {} if namespace is None else namespace
    notice = load_dotenv(directory, environ)
    chosen = _default_name(environ) if name is None else name.strip()
    if chosen == EMBEDDED_NAME:
        return ResolvedModel(
            model=_embedded(),
            agent=None,
            name=chosen,
            label=LABEL,
            local=True,
            request_limit=MAX_REQUESTS,
            notice=notice,
        )
    if ':' not in chosen and chosen in namespace:
        return _from_variable(chosen, namespace, notice)
    model = _from_provider(chosen, namespace)
    return ResolvedModel(
        model=model,
        agent=None,
        name=chosen,
        label=describe(model, name=chosen),
        local=is_local(model),
        request_limit=None,
        notice=notice,
    )


@cache
def known_model_names() -> tuple[str, ...]:
    """Return the names to offer for completion; other names that a provider knows work too."""
    return (EMBEDDED_NAME, *(name for name in models.known_model_names() if name != 'test'))


def model_variables(namespace: Mapping[str, object]) -> list[str]:
    """Return the variables of `namespace` that hold a model or an agent."""
    return [
        name
        for name, value in namespace.items()
        if isinstance(value, (Model, AbstractAgent)) and not name.startswith('_')
    ]


def list_models(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the names that would answer here and now: by key, embedded, and what serves on loopback."""
    named = [name for variable, name in DEFAULT_MODELS.items() if environ.get(variable)]
    embedded = [EMBEDDED_NAME] if weights.installed() is not None else []
    return [*named, *embedded, *local_model_names()]


def describe(model: Model, *, name: str | None = None) -> str:
    """Return the label of `model`, which answers to `name`: what it is, and whether it is local or scripted."""
    if is_scripted(model):
        return f'{name or model.model_name} · scripted'
    label = f'{model.system}:{model.model_name}'
    if name is not None and name != label:
        label = name if ':' in name else f'{name} ({label})'
    return f'{label} · local' if is_local(model) else label


def is_scripted(model: Model) -> bool:
    """Say whether the answers of `model` were written by a programmer: it must never pose as a provider's."""
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return isinstance(model, (FunctionModel, TestModel))


def is_local(model: Model) -> bool:
    """Say whether `model` answers on this computer, or from a recording: at no cost."""
    from .replay import ReplayModel

    while isinstance(model, WrapperModel):
        model = model.wrapped
    if isinstance(model, (EmbeddedModel, ReplayModel)) or is_scripted(model):
        return True
    base_url = getattr(model, 'base_url', None)
    return isinstance(base_url, str) and urlsplit(base_url).hostname in _LOOPBACK


def _default_name(environ: Mapping[str, str]) -> str:
    for variable, name in DEFAULT_MODELS.items():
        if environ.get(variable):
            return name
    if weights.installed() is not None:
        return EMBEDDED_NAME
    raise UsageError(_NO_MODEL)


def _embedded() -> Model:
    if weights.installed() is None:
        raise UsageError(_NOT_PULLED)
    return EmbeddedModel()


def _from_variable(name: str, namespace: Mapping[str, object], notice: str | None) -> ResolvedModel:
    value = namespace[name]
    if isinstance(value, AbstractAgent):
        if value.model is None:
            raise UsageError(f"The agent {name!r} has no model: give it one, such as Agent('openai:gpt-6.1-sol').")
        model = value.model if isinstance(value.model, Model) else _from_provider(value.model, namespace)
        return ResolvedModel(
            model=None,
            agent=value,
            name=name,
            label=f'{name} (agent on {describe(model)})',
            local=is_local(model),
            request_limit=None,
            notice=notice,
        )
    if isinstance(value, Model):
        return ResolvedModel(
            model=value,
            agent=None,
            name=name,
            label=describe(value, name=name),
            local=is_local(value),
            request_limit=None,
            notice=notice,
        )
    raise UsageError(f'{name!r} is of type {type(value).__name__}, not a pydantic-ai Model or Agent.')


def _from_provider(name: str, namespace: Mapping[str, object]) -> Model:
    prefix, separator, model_name = name.partition(':')
    if prefix == 'replay':
        raise UsageError(f'A recording is not a model: use `--replay {model_name or "NAME"}`.')
    if separator and not model_name:
        raise UsageError(f'{name!r} names a provider but no model.{_closest(name, namespace)}')
    if (local := _local_server(prefix, model_name)) is not None:
        return local
    try:
        return infer_model(name)
    except ImportError as error:
        raise UsageError(_missing_package(name, str(error))) from error
    except UserError as error:
        if str(error).startswith('Unknown model'):
            raise UsageError(f'There is no model or variable called {name!r}.{_closest(name, namespace)}') from error
        raise UsageError(_missing_setting(name, str(error))) from error


def _local_server(prefix: str, model_name: str) -> Model | None:
    server = next((server for server in LOCAL_SERVERS if server.prefix == prefix), None)
    if server is None:
        return None
    if prefix == 'ollama':
        from pydantic_ai.models.ollama import OllamaModel
        from pydantic_ai.providers.ollama import OllamaProvider

        return OllamaModel(model_name, provider=OllamaProvider(base_url=_ollama_url(server.base_url)))
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel(model_name, provider=OpenAIProvider(base_url=server.base_url, api_key='none-needed'))


def _ollama_url(default: str) -> str:
    return os.environ.get('OLLAMA_BASE_URL') or default


def _missing_package(name: str, message: str) -> str:
    extra = _EXTRA.search(message)
    if extra is None:
        return f'{name} needs a package that is not installed: {message}'
    ours = metadata('deep-notebook').get_all('Provides-Extra') or []
    package = 'deep-notebook' if extra[1] in ours else 'pydantic-ai-slim'
    return f'{name} needs a package that is not installed: `pip install "{package}[{extra[1]}]"`.'


def _missing_setting(name: str, message: str) -> str:
    variables = list(dict.fromkeys(_VARIABLES.findall(message)))
    if not variables:
        return f'{name} cannot be used: {message.splitlines()[0]}'
    return f'{name} needs {" or ".join(variables)}: set it in the environment or in .env beside the notebook.'


def _closest(name: str, namespace: Mapping[str, object]) -> str:
    candidates = [*model_variables(namespace), *known_model_names()]
    wanted = name.lower().rpartition(':')[2]
    if len(wanted) >= 3:
        for candidate in candidates:
            provider, _, model = candidate.partition(':')
            if '/' not in provider and model.startswith(wanted):
                return f' Did you mean {candidate!r}?'
    return did_you_mean(name, candidates)

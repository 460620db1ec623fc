"""Deep agents from files: `DeepAgent` reads and writes `DeepAgentSpec` as YAML or JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic_ai import Agent

from .agent import build_agent
from .deps import DeepAgentDeps, create_default_deps
from .errors import UsageError
from .models.recording_file import write_atomically, yaml_text
from .options import DeepAgentSpec
from .settling import Settled, settle, spec_of

__all__ = ['DeepAgent', 'read_spec', 'spec_data', 'spec_text', 'write_spec']


class DeepAgent:
    """Makes deep agents from what is stored about them."""

    @classmethod
    def from_file(cls, path: str | Path, **overrides: Any) -> tuple[Agent[DeepAgentDeps, Any], DeepAgentDeps]:
        """Return the agent that a file describes, and fresh deps for it.

        Args:
            path: A `.yaml`, `.yml` or `.json` file.
            **overrides: Options that count instead of the file's, and those that no file holds, as
                `create_deep_agent` has them.

        Raises:
            UsageError: The file cannot be read, or an option in it is unknown or has a value that it cannot have; the
                message names it.
        """
        return _made(read_spec(path, **overrides), overrides)

    @classmethod
    def from_spec(
        cls, data: Mapping[str, Any] | DeepAgentSpec, **overrides: Any
    ) -> tuple[Agent[DeepAgentDeps, Any], DeepAgentDeps]:
        """Return the agent that `data` describes, and fresh deps for it.

        Args:
            data: Options by name; they are left as they are.
            **overrides: Options that count instead, and Python objects, as `create_deep_agent` has them.

        Raises:
            UsageError: An option is unknown, or has a value that it cannot have.
        """
        return _made(_settled(data, overrides), overrides)

    @classmethod
    def to_file(cls, path: str | Path, **params: Any) -> None:
        """Write options to a file, from which `from_file` makes the same agent.

        Args:
            path: A `.yaml`, `.yml` or `.json` file; one that is there is replaced.
            **params: Options as `create_deep_agent` has them. Those that are given are written, also `None`.

        Raises:
            UsageError: An option is a Python object, which no file can hold, or the file cannot be written. A file
                that was there is as it was.
        """
        if params.get('output_type') is not None:
            raise UsageError("'output_type' cannot be stored in a spec file: describe the output in output_schema.")
        write_spec(path, spec_of(_settled({}, params)))


def read_spec(path: str | Path, **overrides: Any) -> Settled:
    """Return the options that a file holds, with `overrides` in their place; raises what `DeepAgent.from_file` does."""
    file = Path(path)
    is_json = _format(file) == 'json'
    try:
        text = file.read_text(encoding='utf-8-sig')
        data = json.loads(text) if is_json else _load_yaml(text)
    except OSError as error:
        raise UsageError(f'{path} cannot be read ({error.strerror}).') from error
    except UnicodeDecodeError as error:
        raise UsageError(f'{path} is not UTF-8 (byte {error.start}): save it as UTF-8.') from error
    except ValueError as error:
        raise UsageError(
            f'{path} {error}' if isinstance(error, _NotYaml) else f'{path} is not JSON: {error}.'
        ) from error
    if data is None:
        data = {}
    if not isinstance(data, Mapping):
        raise UsageError(f'{path} has to hold options by name, such as "model: embedded", not {type(data).__name__}.')
    return _settled(data, overrides, where=file.name)


def write_spec(path: str | Path, spec: DeepAgentSpec) -> None:
    """Write what was set in `spec`; raises what `DeepAgent.to_file` does."""
    file = Path(path)
    text = spec_text(spec, _format(file))
    try:
        write_atomically(file, text.encode())
    except OSError as error:
        raise UsageError(f'{path} cannot be written ({error.strerror}).') from error


def spec_data(spec: DeepAgentSpec) -> dict[str, Any]:
    """Return what was set in `spec`, as a file holds it."""
    return spec.model_dump(mode='json', by_alias=True, exclude_unset=True, context={'use_short_form': True})


def spec_text(spec: DeepAgentSpec, format: Literal['yaml', 'json'] = 'yaml') -> str:
    """Return what was set in `spec` as the text of a file; nothing was set, nothing is there."""
    data = spec_data(spec)
    if format == 'json':
        return json.dumps(data, indent=2, ensure_ascii=False) + '\n'
    return yaml_text(data) if data else ''


def _made(settled: Settled, overrides: Mapping[str, Any]) -> tuple[Agent[DeepAgentDeps, Any], DeepAgentDeps]:
    return build_agent(settled, overrides.get('output_type')), create_default_deps(settled['backend'])


def _settled(data: Mapping[str, Any] | DeepAgentSpec, overrides: Mapping[str, Any], *, where: str = '') -> Settled:
    if isinstance(data, DeepAgentSpec):
        data = {name: getattr(data, name) for name in data.model_fields_set}
    options = {name: value for name, value in {**data, **overrides}.items() if name != 'output_type'}
    return settle(options, where=where)


def _format(file: Path) -> Literal['yaml', 'json']:
    match file.suffix.lower():
        case '.yaml' | '.yml':
            return 'yaml'
        case '.json':
            return 'json'
        case _:
            raise UsageError(f'A spec file is called .yaml, .yml or .json, not {file.name!r}.')


class _NotYaml(ValueError):
    pass


def _load_yaml(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
        line = '' if mark is None else f' in line {mark.line + 1}'
        raise _NotYaml(f'is not YAML{line}: put texts with special characters in quotes.') from error

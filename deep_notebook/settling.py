"""Options as they are given become options as they count: checked, copied, completed with the defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_ai.agent.spec import CapabilitySpec

from .errors import UsageError, did_you_mean
from .options import NAMES, OBJECTS, DeepAgentSpec, StoredSubAgent

__all__ = ['Settled', 'settle', 'spec_of']


@dataclass(frozen=True, kw_only=True)
class Settled:
    """Options, checked: what can be stored, and the Python objects beside it or in its place."""

    spec: DeepAgentSpec
    objects: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """Return the value of an option, given or default."""
        if name in self.objects:
            return self.objects[name]
        return getattr(self.spec, name) if name in DeepAgentSpec.model_fields else None


def settle(options: Mapping[str, Any], *, where: str = '') -> Settled:
    """Return `options`, checked and completed with the defaults. What was given is left as it is.

    Args:
        options: By name, as `DeepAgentOptions` has them, and `model`.
        where: What the message of an error begins with, such as the name of a file.

    Raises:
        UsageError: A name is unknown, or a value is not one that the option can have.
    """
    prefix = f'{where}: ' if where else ''
    for name in options:
        if name not in NAMES and name != '$schema':
            raise UsageError(
                f'{prefix}there is no option {name!r}.{did_you_mean(name, NAMES)} '
                '`help(deep_notebook.create_deep_agent)` lists them.'
            )
    stored, objects = {}, {}
    for name, value in options.items():
        plain = _plain(value)
        if name in OBJECTS or plain is _NO_PLAIN:
            objects[name] = value
        else:
            stored[name] = plain
    try:
        spec = DeepAgentSpec.model_validate(stored)
    except ValidationError as error:
        raise UsageError(prefix + _explained(error, stored)) from None
    return Settled(spec=spec, objects=objects)


def spec_of(settled: Settled) -> DeepAgentSpec:
    """Return what can be stored of `settled`, if that is all.

    Raises:
        UsageError: There are Python objects in it: no file can hold them.
    """
    lost = [name for name, value in settled.objects.items() if value not in (None, (), [], {})]
    if lost:
        names = ', '.join(map(repr, lost))
        raise UsageError(
            f'{names} cannot be stored in a spec file: leave out what is a Python object, and give it to '
            'DeepAgent.from_file when the file is read.'
        )
    return settled.spec


_NO_PLAIN = object()


def _plain(value: Any) -> Any:
    """Return a copy of `value` as a file could hold it, or `_NO_PLAIN`."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, CapabilitySpec):
        return value.model_dump(mode='json', context={'use_short_form': True})
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        items = {key: _plain(item) for key, item in value.items()}
        stored = all(isinstance(key, str) for key in items) and _NO_PLAIN not in items.values()
        return items if stored else _NO_PLAIN
    if isinstance(value, list | tuple | set | frozenset):
        listed = [_plain(item) for item in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
        return _NO_PLAIN if any(item is _NO_PLAIN for item in listed) else listed
    return _NO_PLAIN


def _explained(error: ValidationError, given: Mapping[str, Any]) -> str:
    """Return the first fault in one line: where it is, what is wrong, and what was probably meant."""
    faults = error.errors(include_url=False)
    first = faults[0]
    where = _place(first['loc'], given)
    if first['type'] == 'extra_forbidden':
        return f'{where} is not known.{did_you_mean(where.rpartition(".")[2], StoredSubAgent.__annotations__)}'
    messages = [fault['msg'] for fault in faults if _place(fault['loc'], given) == where]
    if not all(message.startswith('Input should be ') for message in messages):
        return f'{where}: {messages[0].removeprefix("Value error, ")}.'
    wanted = dict.fromkeys(message.removeprefix('Input should be ').partition(',')[0] for message in messages[:-1])
    wanted[messages[-1].removeprefix('Input should be ')] = None
    shown = repr(first['input'])
    return f'{where} should be {" or ".join(wanted)}, got {shown if len(shown) <= 60 else f"{shown[:59]}…"}.'


def _place(location: Sequence[int | str], given: Any) -> str:
    """Return where a fault is, without what pydantic adds to tell the members of a union apart."""
    parts: list[str] = []
    for part in location:
        is_there = part in given if isinstance(given, Mapping) else isinstance(given, list) and isinstance(part, int)
        if is_there:
            given = given[part]
            parts.append(str(part))
    return '.'.join(parts)

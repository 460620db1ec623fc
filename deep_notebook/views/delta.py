"""What changed between two run states in JSON, as the shortest list of operations that a live view needs.

Three operations on a path of keys and indices: `["set", path, value]`, `["append", path, text]` for a string that
grew and `["push", path, items]` for a list that grew. What they cannot say (a key that went away, a list that
shrank) sets the container anew. Both functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from pydantic import JsonValue

__all__ = ['Op', 'Path', 'apply', 'diff']

Path: TypeAlias = 'list[str | int]'
Op: TypeAlias = 'tuple[Literal["set", "append", "push"], Path, JsonValue]'
"""Serialises to the three-element list of the protocol."""


def diff(old: JsonValue, new: JsonValue) -> list[Op]:
    """Return the operations that turn `old` into `new`, none when both are equal."""
    return list(_diff(old, new, []))


def _diff(old: JsonValue, new: JsonValue, path: Path) -> Iterator[Op]:
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() <= new.keys():
        for key, value in new.items():
            if key in old:
                yield from _diff(old[key], value, [*path, key])
            else:
                yield 'set', [*path, key], value
    elif isinstance(old, list) and isinstance(new, list) and len(old) <= len(new):
        for index, value in enumerate(old):
            yield from _diff(value, new[index], [*path, index])
        if len(new) > len(old):
            yield 'push', path, new[len(old) :]
    elif isinstance(old, str) and isinstance(new, str) and new.startswith(old):
        if new != old:
            yield 'append', path, new[len(old) :]
    elif type(old) is not type(new) or old != new:
        yield 'set', path, new


def apply(state: JsonValue, ops: Iterable[Op]) -> JsonValue:
    """Return `state` after `ops`, leaving `state` itself as it was.

    Raises:
        KeyError, IndexError, TypeError: An operation does not fit the state, so some were missed before it.
    """
    for kind, path, value in ops:
        state = _apply(state, kind, path, value)
    return state


def _apply(state: JsonValue, kind: str, path: Path, value: JsonValue) -> JsonValue:
    if path:
        key, rest = path[0], path[1:]
        if isinstance(state, dict) and isinstance(key, str):
            is_new_key = not rest and kind == 'set'
            return {**state, key: _apply(state.get(key) if is_new_key else state[key], kind, rest, value)}
        if isinstance(state, list) and isinstance(key, int):
            return [*state[:key], _apply(state[key], kind, rest, value), *state[key + 1 :]]
    elif kind == 'set':
        return value
    elif kind == 'append' and isinstance(state, str) and isinstance(value, str):
        return state + value
    elif kind == 'push' and isinstance(state, list) and isinstance(value, list):
        return [*state, *value]
    raise TypeError(f'Cannot {kind} at {path!r} in a {type(state).__name__}')

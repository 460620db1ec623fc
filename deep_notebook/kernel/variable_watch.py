"""Which of the person's variables the agent's Python changed: a rewind names them, since it cannot bring them back."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

__all__ = ['VariableWatch', 'assigned_names']

_MISSING = object()


class VariableWatch:
    """The variables of a kernel while the agent's code runs in it.

    A name counts as changed if the code assigns to it or to a part of it, or if it is bound to another object after
    the code ran. What a method changes within an object, such as `list.append`, is not seen.

    Args:
        namespace: The person's variables.
        hidden: Names that are not theirs, such as `In` and `exit`.
    """

    def __init__(self, namespace: Mapping[str, Any], hidden: Mapping[str, Any] | None = None) -> None:
        self._namespace = namespace
        self._hidden = hidden or {}
        self.changed: list[str] = []
        """The names that the code changed, sorted; while it runs, those that it may change."""

    @contextmanager
    def watching(self, code: str) -> Iterator[None]:
        """Watch while the body runs `code`, which is plain Python."""
        # What is known should the code never come to its end.
        self.changed = sorted(filter(self._is_variable, assigned_names(code)))
        # Addresses, not objects: nothing is kept alive that the code replaces.
        before = {name: id(value) for name, value in list(self._namespace.items())}
        try:
            yield
        finally:
            now = {name: id(value) for name, value in list(self._namespace.items())}
            rebound = {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
            named = {name for name in assigned_names(code) if name in before or name in now}
            self.changed = sorted(filter(self._is_variable, rebound | named))

    def _is_variable(self, name: str) -> bool:
        if name.startswith('_') or name in self._hidden:
            return False
        return not isinstance(self._namespace.get(name, _MISSING), ModuleType)


def assigned_names(code: str) -> set[str]:
    """Return the names that `code` assigns to or deletes in its own namespace, or a part of whose value it does.

    Code that is no Python assigns to nothing.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    return set(_assigned(tree.body))


def _assigned(nodes: list[ast.stmt]) -> Iterator[str]:
    waiting: list[ast.AST] = list(nodes)
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
                # What stands within has names of its own, but for those that it declares global.
                yield from (name for inner in ast.walk(node) if isinstance(inner, ast.Global) for name in inner.names)
                continue
            case ast.Lambda():
                continue
            case ast.Import() | ast.ImportFrom():
                yield from ((alias.asname or alias.name).partition('.')[0] for alias in node.names)
            case ast.ExceptHandler(name=str(name)):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name
            case ast.Name(ctx=ast.Store() | ast.Del()):
                yield node.id
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                base: ast.expr = node
                while isinstance(base, ast.Attribute | ast.Subscript):
                    base = base.value
                if isinstance(base, ast.Name):
                    yield base.id
        waiting.extend(ast.iter_child_nodes(node))

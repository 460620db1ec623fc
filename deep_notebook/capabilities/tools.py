"""Tools that are methods of a capability or toolset, of which every run has a copy of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MethodType
from typing import Any

from pydantic_ai.tools import AgentDepsT, Tool

__all__ = ['MethodTool']

_SCHEMAS: dict[tuple[object, str | None], Any] = {}
"""What is known of each function: it takes milliseconds to work out, and is the same for all objects of a class."""


class MethodTool(Tool[AgentDepsT]):
    """A tool whose function is a method.

    Args:
        method: Its first parameter is the run's context.
        name: What the model calls it by, if not by the name of the method.
        **options: As `Tool` has them.
    """

    def __init__(self, method: Callable[..., Any], *, name: str | None = None, **options: Any) -> None:
        assert isinstance(method, MethodType)
        key = (method.__func__, name)
        if key not in _SCHEMAS:
            _SCHEMAS[key] = Tool(method, takes_ctx=True, name=name).function_schema
        schema = replace(_SCHEMAS[key], function=method)
        super().__init__(method, takes_ctx=True, name=name, function_schema=schema, **options)

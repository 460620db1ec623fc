"""What the answers of the tutorials are made of: texts, tool calls, and what decides between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic_ai.messages import ToolReturnPart

__all__ = ['Answer', 'Answers', 'Call', 'Results', 'Turn', 'anchor', 'call', 'plan', 'replacing', 'worked']


@dataclass(frozen=True)
class Call:
    """A tool call."""

    tool: str
    args: dict[str, Any]


class Results(list[ToolReturnPart]):
    """What the tools of the conversation returned, oldest first."""

    instructions: str = ''
    """What the model is told at this request beside the conversation."""


Answer: TypeAlias = str | Sequence[Call]

Turn: TypeAlias = Answer | Callable[[Results], Answer]
Answers: TypeAlias = dict[str, list[Turn]]
"""The answers of a turn, one a request, by what the prompt begins with."""


def call(tool: str, **args: Any) -> Call:
    """Return a tool call."""
    return Call(tool, args)


def plan(*items: str, done: int) -> Call:
    """Return a call that writes the plan: the first `done` items completed, the next one in progress."""
    status = ['completed'] * done + ['in_progress'] + ['pending'] * len(items)
    todos = [{'content': item, 'status': state} for item, state in zip(items, status, strict=False)]
    return call('write_todos', todos=todos)


def anchor(results: Results, line: str) -> str:
    """Return the anchor (`4:1f`) that the latest result of read_file with `line` in it gave that line."""
    pattern = re.compile(rf'^(\d+:[0-9a-f]{{2}})\|{re.escape(line)}', re.MULTILINE)
    for result in reversed(results):
        if match := pattern.search(str(result.content)):
            return match[1]
    raise LookupError(f'no result shows a line that begins with {line!r}')


def replacing(path: str, line: str, text: str) -> Callable[[Results], Answer]:
    """Return a turn that puts `text` in the place of the line that begins with `line`, in a file that was read."""
    return lambda results: [
        call('edit_file', path=path, operations=[{'op': 'replace', 'anchor': anchor(results, line), 'text': text}])
    ]


def worked(results: Results) -> bool:
    """Return whether the latest call did what it was asked to do."""
    return results[-1].outcome == 'success'

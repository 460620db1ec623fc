"""Run Python where the person's variables live."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import BinaryContent, ToolReturn
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.toolsets import FunctionToolset

from .approvals import PREVIEW, Preview
from .output import MOVED_ABOVE, returned
from .tool_classes import EXECUTE
from .tools import MethodTool

__all__ = ['PythonResult', 'PythonRunner', 'RunPython', 'without_fences']

_FENCED = re.compile(r'\s*(?P<fence>`{3,}|~{3,})[^\n`]*\n(?P<code>.*?)\n?[ \t]*(?P=fence)\s*', re.DOTALL)
_MAX_IMAGES = 8
_INSTRUCTIONS = (
    "You are in the person's notebook: the workspace is its directory, and run_python runs in its live kernel."
)


@dataclass(frozen=True, kw_only=True)
class PythonResult:
    """What a reader would see after the code ran."""

    text: str
    """What was printed, displayed and evaluated to."""
    error: str | None = None
    """The traceback, without escape codes."""
    images: list[BinaryContent] = field(default_factory=list)
    interrupted: bool = False


class PythonRunner(Protocol):
    """Where code runs, such as a live kernel."""

    async def run(self, code: str, *, timeout: float | None) -> PythonResult:
        """Run `code`.

        Args:
            code: Python.
            timeout: Seconds until it is interrupted, or `None`.
        """
        ...


@dataclass
class RunPython(AbstractCapability[AgentDepsT]):
    """Let the agent run Python through `runner`. An error in the code is a result: the model reads it and goes on."""

    runner: PythonRunner
    timeout: float | None = None
    """Seconds that a call may take."""
    max_chars: int = 30_000
    """The largest text and the largest traceback that stay in the history, in characters."""

    id: str | None = field(default='python', kw_only=True)
    description: str | None = field(default="Run Python in the person's live kernel.", kw_only=True)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return `None`: a runner is not something that a spec file can hold."""
        return None

    def get_instructions(self) -> str:
        """Return where the agent is."""
        return _INSTRUCTIONS

    def get_toolset(self) -> FunctionToolset[AgentDepsT]:
        """Return the tool."""
        metadata = {**EXECUTE, PREVIEW: _preview, MOVED_ABOVE: self.max_chars}
        tool = MethodTool[AgentDepsT](self.run_python, sequential=True, metadata=metadata)
        return FunctionToolset([tool], id=self.id)

    async def run_python(self, ctx: RunContext[AgentDepsT], code: str) -> ToolReturn[Any]:
        """Run Python in the person's kernel, with their variables, and see what it prints and shows."""
        code = without_fences(code)
        if not code.strip():
            raise ToolFailed('There is no code.')
        result = await self.runner.run(code, timeout=self.timeout)
        text = self._text(ctx, result)
        images = result.images[:_MAX_IMAGES]
        if len(result.images) > len(images):
            text += f'\n[{len(result.images) - len(images)} more pictures were not shown]'
        metadata = {'summary': _summary(result), 'failed': result.error is not None}
        return ToolReturn([text, *images] if images else text, metadata=metadata)

    def _text(self, ctx: RunContext[Any], result: PythonResult) -> str:
        parts = [returned(ctx, result.text.rstrip('\n'), self.max_chars)]
        if result.interrupted:
            parts.append('[interrupted]')
        if result.error is not None:
            parts.append(returned(ctx, result.error.rstrip('\n'), self.max_chars))
        text = '\n'.join(part for part in parts if part)
        return text or ('[a picture]' if result.images else '[no output]')


def without_fences(code: str) -> str:
    """Return `code` without the Markdown fence that some models put around it."""
    match = _FENCED.fullmatch(code)
    return match['code'] if match is not None else code


async def _preview(ctx: RunContext[Any], args: dict[str, Any]) -> Preview:
    lines = without_fences(args['code']).strip('\n').count('\n') + 1
    return Preview(
        title='Run Python in your kernel?', detail=f'{lines} line{"" if lines == 1 else "s"}', editable='code'
    )


def _summary(result: PythonResult) -> str:
    if result.interrupted:
        return 'interrupted'
    if result.error is not None:
        return result.error.rstrip('\n').rpartition('\n')[2][:120]
    lines = result.text.rstrip('\n').count('\n') + 1 if result.text.strip() else 0
    parts = [(lines, 'line'), (len(result.images), 'picture')]
    return ' · '.join(f'{count} {noun}{"" if count == 1 else "s"}' for count, noun in parts if count) or 'no output'

"""Run the agent's Python on the main thread, in the user's namespace, and bring back what a reader would see.

The cell's execution count, `In`, `Out` and `_` stay as they were: this is the agent looking and trying, not
the person's work. Text, errors and pictures are captured.
"""

from __future__ import annotations

import ast
import asyncio
import base64
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from IPython.core.interactiveshell import ExecutionResult
from IPython.utils.capture import CapturedIO, RichOutput, capture_output
from pydantic_ai.messages import BinaryContent

from ..capabilities.python import PythonResult
from .runner import MainThread
from .variable_watch import VariableWatch

__all__ = ['KernelPython']

_ESCAPE_CODES = re.compile(r'\x1b\[[0-9;]*m')
_PICTURES = ('image/png', 'image/jpeg')


class KernelPython:
    """A `PythonRunner` on a live kernel, good for one `%%deep` run.

    Args:
        shell: The IPython shell.
        main: The main thread.
        on_change: Called with the names of the variables that a piece of code changed, if it changed any.
    """

    def __init__(
        self, shell: Any, main: MainThread, on_change: Callable[[Sequence[str]], Awaitable[None]] | None = None
    ) -> None:
        self._shell = shell
        self._main = main
        self._on_change = on_change

    async def run(self, code: str, *, timeout: float | None = None) -> PythonResult:
        """Run `code` and return what it printed, displayed and evaluated to.

        Args:
            code: Python, IPython syntax included; `await` at the top level works where the cell itself awaits.
            timeout: Seconds until the code is interrupted, or `None`.
        """
        watch = VariableWatch(self._shell.user_ns, self._shell.user_ns_hidden)
        if needs_await(code):
            if not self._main.can_await:
                return PythonResult(text='', error='`await` outside a function does not work here.', images=[])
            work = self._main.call_async(lambda: self._run_awaiting(code, watch))
        else:
            work = self._main.call(lambda: self._run(code, watch))
        try:
            return await asyncio.wait_for(work, timeout)
        except TimeoutError:
            return PythonResult(text='', error=f'Interrupted after {timeout:g} s.', images=[], interrupted=True)
        finally:
            if watch.changed and self._on_change is not None:
                await self._on_change(watch.changed)

    def _run(self, code: str, watch: VariableWatch) -> PythonResult:
        with watch.watching(self._plain(code)), self._captured() as (captured, tracebacks):
            result = self._shell.run_cell(code, store_history=False)
        return _collect(captured, tracebacks, result)

    def _plain(self, code: str) -> str:
        """Return `code` without IPython syntax."""
        try:
            return str(self._shell.transform_cell(code))
        except Exception:  # the run itself says what is wrong with it
            return ''

    async def _run_awaiting(self, code: str, watch: VariableWatch) -> PythonResult:
        cell = self._shell.transform_cell(code)
        with watch.watching(cell), self._captured() as (captured, tracebacks):
            result = await self._shell.run_cell_async(code, transformed_cell=cell, store_history=False)
        return _collect(captured, tracebacks, result)

    @contextmanager
    def _captured(self) -> Iterator[tuple[CapturedIO, list[str]]]:
        """Capture everything that the code shows; tracebacks do not pass through the streams in a kernel."""
        tracebacks: list[str] = []

        def keep(etype: Any, value: Any, lines: list[str]) -> None:
            # The number is that of the %%deep cell, which means nothing to the model and changes from run to run.
            text = _ESCAPE_CODES.sub('', '\n'.join(lines))
            tracebacks.append(text.replace(f'Cell In[{shell.execution_count}]', 'Your code'))

        shell = self._shell
        shell._showtraceback = keep
        try:
            with capture_output() as captured:
                yield captured, tracebacks
        finally:
            del shell._showtraceback


def needs_await(code: str) -> bool:
    """Return whether `code` awaits at the top level."""
    try:
        compile(code, '<deep>', 'exec', flags=ast.PyCF_ONLY_AST)
        compile(code, '<deep>', 'exec')
    except SyntaxError:
        try:
            compile(code, '<deep>', 'exec', flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError:
            return False
        return True
    return False


def _collect(captured: CapturedIO, tracebacks: list[str], result: ExecutionResult) -> PythonResult:
    error = '\n'.join(tracebacks) or None
    if error is None and not result.success:
        raised = result.error_before_exec or result.error_in_exec
        error = f'{type(raised).__name__}: {raised}'
    parts = [captured.stdout, captured.stderr]
    images: list[BinaryContent] = []
    for output in captured.outputs:
        image = _picture(output)
        if image is not None:
            images.append(image)
        else:
            parts.append(output.data.get('text/plain', ''))
    text = '\n'.join(part.rstrip('\n') for part in parts if part)
    return PythonResult(text=_shown(text), error=None if error is None else _shown(error), images=images)


def _shown(text: str) -> str:
    """Return `text` without escape codes, and with a sign in the place of what UTF-8 cannot hold."""
    return _ESCAPE_CODES.sub('', text).encode('utf-8', 'replace').decode()


def _picture(output: RichOutput) -> BinaryContent | None:
    for media_type in _PICTURES:
        data = output.data.get(media_type)
        if data is not None:
            return BinaryContent(data=base64.b64decode(data) if isinstance(data, str) else data, media_type=media_type)
    return None

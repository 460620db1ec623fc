"""Turn a `%%deep` cell into an awaited call, so that the kernel stays reachable while the agent works.

A cell that awaits lets clicks through, keeps cell order under Run All, and can be interrupted at once. Where
nothing can be awaited, the ordinary cell magic of the same name does the same work.

The transformer comes before IPython's own, which take indentation, `>>>` and white space out of every cell: a
prompt reaches the model as it was written.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Sequence
from types import FrameType

from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell

__all__ = ['transform']

_DEEP = re.compile(r'%%deep(?:[ \t]+(?P<line>.*))?$')
_RESUMING = re.compile(r'%deep[ \t]+(?P<line>(?:approve|deny|resume)\b.*)$')
_WRAPPING = re.compile(r'%%(?:capture|prun|time|timeit)\b|#')


def transform(lines: list[str]) -> list[str]:
    """Return the cell's lines with a `%%deep` cell, or a lone `%deep approve|deny|resume`, made awaitable.

    Args:
        lines: The lines of one cell, each with its line end.
    """
    start = next((index for index, line in enumerate(lines) if line.strip()), None)
    if start is None:
        return lines
    first, rest = lines[start].strip(), lines[start + 1 :]
    if (deep := _DEEP.match(first)) is not None:
        indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
        body = ''.join(line.removeprefix(indent) for line in rest)
        return _call('run_deep_cell', 'run_cell_magic', (deep['line'] or '').strip(), body)
    if (resuming := _RESUMING.match(first)) is not None and not any(line.strip() for line in rest):
        return _call('run_deep_line', 'run_line_magic', resuming['line'].strip())
    if (wrapping := _WRAPPING.match(first)) is not None and _is_deep_next(rest):
        above = 'the comment above it' if wrapping[0] == '#' else f'the {wrapping[0]} line'
        return [f'get_ipython().refuse_deep_cell({above!r})\n']
    return lines


# In a terminal a `%%deep` cell ends, like every cell magic, with an empty line: IPython decides that without us.
transform.has_side_effects = True  # type: ignore[attr-defined]


def _is_deep_next(lines: Sequence[str]) -> bool:
    following = (line.strip() for line in lines)
    return _DEEP.match(next((line for line in following if line and not line.startswith('#')), '')) is not None


def _call(awaited: str, magic: str, *arguments: str) -> list[str]:
    if _can_await():
        return [f'await get_ipython().{awaited}({", ".join(map(repr, arguments))})\n']
    return [f'get_ipython().{magic}({", ".join(map(repr, ("deep", *arguments)))})\n']


def _can_await() -> bool:
    """Return whether IPython will await the cell that is being transformed.

    It does not when it was told so by `%autoawait`, nor for cells within cells, such as `%run notes.ipynb`: those
    come through the blocking `run_cell` while a loop is running.
    """
    shell = get_ipython()
    if shell is None:
        return True
    if not shell.autoawait or shell.loop_runner is not shell.loop_runner_map['asyncio'][0]:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return True
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not InteractiveShell.run_cell.__code__:
        frame = frame.f_back
    return frame is None

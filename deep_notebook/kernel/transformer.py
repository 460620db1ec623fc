"""Turn a `%%deep` cell into an awaited call, so that the kernel stays reachable while the agent works.

A cell that awaits lets clicks through, keeps cell order under Run All, and can be interrupted at once. Where
nothing can be awaited, the ordinary cell magic of the same name does the same work.
"""

from __future__ import annotations

import re

__all__ = ['transform']

_DEEP = re.compile(r'%%deep(?:[ \t]+(?P<line>.*))?$')
_RESUMING = re.compile(r'%deep[ \t]+(?P<line>(?:approve|deny|resume)\b.*)$')
_WRAPPING = re.compile(r'%%(?P<magic>capture|prun|time|timeit)\b')


def transform(lines: list[str]) -> list[str]:
    """Return the cell's lines with a `%%deep` cell, or a lone `%deep approve|deny|resume`, made awaitable.

    Args:
        lines: The lines of one cell, each with its line end.
    """
    if not lines:
        return lines
    first = lines[0].rstrip('\n')
    if (deep := _DEEP.match(first)) is not None:
        return _call('run_deep_cell', (deep['line'] or '').strip(), ''.join(lines[1:]))
    if (resuming := _RESUMING.match(first)) is not None and not any(line.strip() for line in lines[1:]):
        return _call('run_deep_line', resuming['line'].strip())
    if (wrapping := _WRAPPING.match(first)) is not None:
        inner = next((line for line in lines[1:] if line.strip()), '')
        if _DEEP.match(inner.rstrip('\n')) is not None:
            return _call('refuse_deep_cell', wrapping['magic'])
    return lines


def _call(function: str, *arguments: str) -> list[str]:
    awaited = '' if function == 'refuse_deep_cell' else 'await '
    return [f'{awaited}get_ipython().{function}({", ".join(map(repr, arguments))})\n']

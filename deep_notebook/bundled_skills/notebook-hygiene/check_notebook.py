"""Check notebooks for what keeps others from reading and running them again. Needs nbformat; changes nothing."""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

LONG_CELL = 60
"""Lines of code."""

MACHINE_PATH = re.compile(r"""['"](/home/|/Users/|/root/|[A-Za-z]:\\{1,2}(?:Users|Documents))""")
KEY = re.compile(
    r'\b(?:sk-[A-Za-z0-9_-]{16,}|gh[opsu]_[A-Za-z0-9]{20,}|A(?:KIA|SIA)[A-Z0-9]{16}|xox[abprs]-[\w-]{10,}|AIza[\w-]{30,})'
    r'|\b(?:api_?key|token|password|secret)\s*=\s*[\'"][^\'"\s]{8,}[\'"]',
    re.IGNORECASE,
)
INSTALL = re.compile(r'^\s*(?:!|%)\s*(?:pip|pip3|conda|mamba|uv)\b.*\binstall\b', re.MULTILINE)

Finding = tuple[int, str]
"""The number of a cell, counted from 1 (0 for the whole notebook), and what is wrong."""


def check(notebook: Any, *, max_output: int) -> Iterator[Finding]:
    """Yield what is wrong with a notebook.

    Args:
        notebook: As nbformat reads it.
        max_output: Bytes above which an output is large.
    """
    cells = list(enumerate(notebook.cells, start=1))
    yield from check_order([(at, cell) for at, cell in cells if cell.cell_type == 'code'])
    if not any(cell.cell_type == 'markdown' and cell.source.lstrip().startswith('#') for _, cell in cells[:3]):
        yield 0, 'there is no heading at the top: say what the notebook is for'
    seen_code = False
    for at, cell in cells:
        if not cell.source.strip():
            yield at, 'is empty'
        elif cell.cell_type == 'code':
            yield from ((at, finding) for finding in check_code(cell.source, first=not seen_code))
            yield from ((at, finding) for finding in check_outputs(cell.outputs, max_output=max_output))
            seen_code = True


def check_order(code: list[tuple[int, Any]]) -> Iterator[Finding]:
    """Yield what the numbers beside the code cells say: run from top to bottom, once each, they are 1, 2, 3, …"""
    run = [(at, cell.execution_count) for at, cell in code if cell.execution_count is not None and cell.source.strip()]
    if run:
        for at, cell in code:
            if cell.execution_count is None and cell.source.strip():
                yield at, 'was not run, though others were'
    highest = 0
    for at, number in run:
        if number < highest:
            yield at, f'was run out of order: [{number}] stands below [{highest}]'
        highest = max(highest, number)
    numbers = [number for _, number in run]
    if run and highest > len(run) and numbers == sorted(numbers):
        yield 0, f'the last of {len(run)} cells ran as [{highest}]: some ran again or are gone; restart and run all'


def check_code(source: str, *, first: bool) -> Iterator[str]:
    """Yield what is wrong with the source of a code cell."""
    lines = source.count('\n') + 1
    if lines > LONG_CELL:
        yield f'has {lines} lines: move functions to a module'
    if MACHINE_PATH.search(source):
        yield 'has a path of one machine: make it relative to the notebook'
    if KEY.search(source):
        yield 'has what looks like a key or password: read it from the environment, and replace it'
    if INSTALL.search(source):
        yield 'installs packages: name them in a file of requirements instead'
    if not first and has_import_below(source):
        yield 'imports below other code: move imports to the first code cell'


def has_import_below(source: str) -> bool:
    """Return whether a module is imported at the top level after other statements of the cell."""
    plain = re.sub(r'^\s*[!%].*$', 'pass', source, flags=re.MULTILINE)
    try:
        statements = ast.parse(plain).body
    except SyntaxError:
        return False
    is_import = [isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in statements]
    return any(is_import) and not is_import[0]


def check_outputs(outputs: Any, *, max_output: int) -> Iterator[str]:
    """Yield what is wrong with what a code cell has saved."""
    for output in outputs:
        if output.output_type == 'error':
            yield f'has an error saved: {output.ename}'
        text = str(output)
        if len(text) > max_output:
            yield f'has an output of {len(text) / 1000:,.0f} kB saved'
        if KEY.search(text):
            yield 'shows what looks like a key or password in its output: clear the output, and replace it'


def main() -> int:
    """Run the script; returns its exit code: 0 without findings, 1 with findings, 2 if a file cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('notebooks', nargs='+', type=Path)
    parser.add_argument('--max-output-kb', type=int, default=200, help='larger outputs are told (default: 200)')
    options = parser.parse_args()
    code = 0
    for path in options.notebooks:
        try:
            notebook = nbformat.read(path, as_version=4)
            nbformat.validate(notebook)
        except (OSError, ValueError, nbformat.ValidationError) as error:
            print(f'{path}: cannot be read as a notebook: {str(error).splitlines()[0]}', file=sys.stderr)
            code = 2
            continue
        findings = sorted(check(notebook, max_output=options.max_output_kb * 1000))
        for at, finding in findings:
            print(f'{path}: cell {at} {finding}' if at else f'{path}: {finding}')
        if findings:
            code = max(code, 1)
        else:
            print(f'{path}: {len(notebook.cells)} cells, nothing found')
    return code


if __name__ == '__main__':
    sys.exit(main())

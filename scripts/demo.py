"""Run a notebook from start to end, and show on the terminal what the agent in it did.

    python scripts/demo.py notebooks/01-quickstart.ipynb

The notebook and the files beside it are copied to `build/demo/` first, so the repository stays as it is.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

PLACE = Path('build/demo')
NOT_SHOWN = ('.deep', '.ipynb_checkpoints', '__pycache__')
NOT_COPIED = (*NOT_SHOWN, 'out')
SHOWN_LINES = 24
"""How much of a written file is shown."""
QUIET_KERNEL = ['--log-level=ERROR']
"""Else ipykernel warns that messages between processes of one machine are not encrypted."""

TERMINAL = sys.stdout.isatty() and 'NO_COLOR' not in os.environ


def main() -> int:
    """Run the notebook named on the command line and return the exit status."""
    parser = argparse.ArgumentParser(description='Run a notebook and show what the agent in it did.')
    parser.add_argument('notebook', type=Path)
    source: Path = parser.parse_args().notebook

    shutil.rmtree(PLACE, ignore_errors=True)
    shutil.copytree(source.parent, PLACE, ignore=shutil.ignore_patterns(*NOT_COPIED))
    target = PLACE / source.name
    notebook = nbformat.read(target, as_version=4)
    before = contents()
    try:
        asyncio.run(run(notebook))
    except CellExecutionError as error:
        failure = f'{error.ename}: {error.evalue}'
    else:
        failure = ''
    nbformat.write(notebook, target)

    for path, text in contents().items():
        if before.get(path) != text:
            show_file(path, text)
    print(f'\n{heading("The executed notebook")}\n  {target} (to open it: make lab NOTEBOOKS={PLACE})')
    if failure:
        print(f'The notebook stopped at an error ({failure}).', file=sys.stderr)
        return 1
    print(f'\n{heading("Now you")}\n  make lab, then open {source.name}')
    return 0


async def run(notebook: nbformat.NotebookNode) -> None:
    """Execute `notebook` in place, showing its headings, each code cell and what came of it."""
    client = NotebookClient(notebook, kernel_name='python3', timeout=None, resources={'metadata': {'path': str(PLACE)}})
    client.extra_arguments = QUIET_KERNEL
    async with client.async_setup_kernel():
        titles: list[str] = []
        for index, cell in enumerate(notebook.cells):
            if cell.cell_type == 'markdown':
                titles += re.findall(r'^#+ (.+)', cell.source, re.MULTILINE)
            if cell.cell_type != 'code' or not cell.source.strip():
                continue
            print(''.join(f'\n{heading(title)}\n' for title in titles))
            print(indented(cell.source, '  > '))
            titles.clear()
            clock = asyncio.create_task(tick()) if TERMINAL else None
            try:
                await client.async_execute_cell(cell, index)
            finally:
                if clock is not None:
                    clock.cancel()
                    print('\r\x1b[K', end='')
                if cell.outputs:
                    print('\n' + '\n'.join(indented(text_of(output)) for output in cell.outputs))


async def tick() -> None:
    """Show, on one line, that the cell is still at work."""
    began = time.monotonic()
    while True:
        await asyncio.sleep(1)
        print(f'\r  … {time.monotonic() - began:.0f} s', end='', flush=True)


def text_of(output: nbformat.NotebookNode) -> str:
    """Return what a terminal can show of a cell's output."""
    if output.output_type == 'stream':
        return str(output.text).rstrip('\n')
    if output.output_type == 'error':
        return f'{output.ename}: {output.evalue}'
    return str(output.data.get('text/plain', f'[{", ".join(output.data)}]'))


def contents() -> dict[Path, bytes]:
    """Return what the files beside the notebook hold, but for notebooks and the agent's own folder."""
    return {
        path: path.read_bytes()
        for path in sorted(PLACE.rglob('*'))
        if path.is_file() and path.suffix != '.ipynb' and not set(NOT_SHOWN) & set(path.parts)
    }


def show_file(path: Path, content: bytes) -> None:
    """Show a file that the agent wrote or changed."""
    lines = content.decode('utf-8', errors='replace').splitlines()
    print(f'\n{heading(f"The agent wrote {path}")}\n{indented(chr(10).join(lines[:SHOWN_LINES]))}')
    if len(lines) > SHOWN_LINES:
        print(f'  … {len(lines) - SHOWN_LINES} more lines')


def heading(text: str) -> str:
    """Return `text` in bold on a terminal, and as it is elsewhere."""
    return f'\x1b[1m{text}\x1b[0m' if TERMINAL else text


def indented(text: str, margin: str = '  ') -> str:
    """Return `text` with `margin` before each line."""
    return '\n'.join(f'{margin}{line}'.rstrip() for line in text.splitlines())


if __name__ == '__main__':
    sys.exit(main())

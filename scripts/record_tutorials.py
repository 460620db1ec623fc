"""Record what the tutorials replay, run them, and keep what they show.

    python scripts/record_tutorials.py                 # the recorded tutorials
    python scripts/record_tutorials.py 02-approvals    # one of them
    python scripts/record_tutorials.py 01-quickstart   # nothing to record: only run, on the embedded model

Each notebook is run in a copy of its directory with `--record` in place of `--replay`, answered by `tutorial_model`:
once as in a headless run and, where a person may answer differently, once for each way. What was recorded on the way
is merged, so that a reader in JupyterLab can try the buttons. Then the notebook is run as it stands.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import nbformat
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

from deep_notebook.models.recording import Recording, recording_path
from deep_notebook.models.recording_format import RecordedCell

SCRIPTS = Path(__file__).parent
NOTEBOOKS = SCRIPTS.parent / 'notebooks'
NOT_COPIED = ('.deep', '.ipynb_checkpoints', '__pycache__', 'out')
SHOWN_PLACE = '/home/you/notebooks'
"""Stands in the outputs for the directory in which the notebook happened to run."""

_REPLAY = re.compile(r'--replay (\S+)')
_MODEL = f"""
import sys
sys.path.insert(0, {str(SCRIPTS)!r})
from tutorials import tutorial_model
tutor = tutorial_model()
"""


@dataclass(frozen=True)
class Person:
    """Somebody who answers the questions of a run through `input()`: by cell id, one after the other."""

    answers: Mapping[str, Sequence[str]] = field(default_factory=dict)


_WHY = 'n keep the table, drop the sentence instead'
_ADD = [('y',), ('n',)]
_SHORTEN = [('y',), ('n',), (_WHY, 'y'), (_WHY, 'n')]
_TWO = [('y', 'y'), ('y', 'n'), ('n', 'y'), ('n', 'n')]

PEOPLE = {
    '02-approvals': [
        Person({'question': _ADD[number % 2], 'waits': add, 'too-short': shorten, 'two': _TWO[number % 4]})
        for number, (add, shorten) in enumerate(product(_ADD, _SHORTEN))
    ],
    '03-files-and-kernel': [],
    '04-subagents-and-plans': [
        Person({'asks': asks, 'unit': unit}) for asks, unit in ((('y',), ('',)), (('n',), ('2',)))
    ],
    '05-skills-memory-context': [Person({'profile': ('y',)}), Person({'profile': ('n',)})],
    '06-specs-and-capabilities-on-demand': [],
    '07-time-travel': [],
    '08-long-conversations': [],
}
"""Who runs each recorded tutorial, beside a headless run."""


def main() -> None:
    """Record and run the notebooks named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('notebook', nargs='*', default=list(PEOPLE), help='such as 02-approvals')
    parser.add_argument('--run', action='store_true', help='record nothing: enough when only the look changed')
    options = parser.parse_args()
    for name in options.notebook:
        path = NOTEBOOKS / f'{name.removesuffix(".ipynb")}.ipynb'
        if path.stem in PEOPLE and not options.run:
            record(path, PEOPLE[path.stem])
        run(path)


def record(path: Path, people: Sequence[Person]) -> None:
    """Record all that the notebook asks, in a headless run and when `people` answer, in place of what was recorded."""
    merged: dict[str, dict[str, RecordedCell]] = {}
    for person in (None, *people):
        with copied() as place, kernel_in(place) as client:
            for cell in nbformat.read(path, as_version=4).cells:
                if cell.cell_type == 'code':
                    execute(client, cell, person)
                    merge(place, merged)
        print(f'{path.stem}: recorded {"headless" if person is None else dict(person.answers)}')
    for name, cells in merged.items():
        recording = Recording.new(recording_path(NOTEBOOKS, name))
        for recorded in cells.values():
            recording.put(recorded, {})


def execute(client: BlockingKernelClient, cell: nbformat.NotebookNode, person: Person | None) -> None:
    """Execute `cell`, recording what it would replay; `person` answers, or nobody is there."""
    source = _REPLAY.sub(r'--record \1 --model tutor', cell.source)
    answers = iter(() if person is None else person.answers.get(cell.id, ()))
    reply = client.execute_interactive(
        source,
        allow_stdin=person is not None,
        stdin_hook=lambda message: client.input(next(answers)),
        output_hook=lambda message: None,
    )
    error = reply['content'].get('evalue')
    if error is not None and 'raises-exception' not in cell.metadata.get('tags', ()):
        raise RuntimeError(f'the cell {cell.id} failed: {error}')


def merge(place: Path, merged: dict[str, dict[str, RecordedCell]]) -> None:
    """Add to `merged` what the recordings in `place` hold by now."""
    for path in (place / 'recordings').glob('*.yaml'):
        recording, cells = Recording.load(path), merged.setdefault(path.stem, {})
        for id in recording.cells:
            recorded = recording.cell(id).recorded
            known = cells.setdefault(id, recorded)
            keys = {entry.key for entry in known.entries}
            new = [entry for entry in recorded.entries if entry.key not in keys]
            cells[id] = replace(known, entries=[*known.entries, *new])


def run(path: Path) -> None:
    """Run the notebook as it stands, without anybody to answer, and keep its outputs."""
    notebook = nbformat.read(path, as_version=4)
    with copied(keep='recordings') as place:
        client = NotebookClient(
            notebook,
            kernel_name='python3',
            timeout=600,
            record_timing=False,
            resources={'metadata': {'path': str(place)}},
        )
        client.extra_arguments = ['--log-level=ERROR']
        client.execute(env=kernel_environment())
    for cell in notebook.cells:
        for output in cell.get('outputs', ()):
            if output.output_type == 'stream':
                output.text = output.text.replace(str(place), SHOWN_PLACE)
    notebook.metadata.language_info = {'name': 'python', 'pygments_lexer': 'ipython3'}
    nbformat.write(notebook, path)
    print(f'{path.stem}: ran')


@contextmanager
def copied(*, keep: str = '') -> Iterator[Path]:
    """Copy the notebooks and what lies beside them, the recordings only if `keep` says so."""
    left_out = {*NOT_COPIED, 'recordings'} - {keep}
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory).resolve() / 'notebooks'
        shutil.copytree(NOTEBOOKS, place, ignore=shutil.ignore_patterns(*left_out))
        yield place


@contextmanager
def kernel_in(place: Path) -> Iterator[BlockingKernelClient]:
    """Start a kernel in `place` that knows the scripted model and does not wait for a page to show buttons."""
    manager, client = start_new_kernel(
        kernel_name='python3', cwd=str(place), env=kernel_environment(), extra_arguments=['--log-level=ERROR']
    )
    try:
        client.execute_interactive(_MODEL, store_history=False)
        client.execute_interactive(
            '%load_ext deep_notebook\n%config DeepMagics.ready_timeout = 0.1', store_history=False
        )
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def kernel_environment() -> dict[str, str]:
    """Return this process's environment without settings of the person's for deep_notebook."""
    ours = {name for name in os.environ if name.startswith('DEEP_NOTEBOOK_')} - {'DEEP_NOTEBOOK_CACHE'}
    return {name: value for name, value in os.environ.items() if name not in ours}


if __name__ == '__main__':
    main()

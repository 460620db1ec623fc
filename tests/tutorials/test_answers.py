"""A reader who uses the buttons of a replayed tutorial stays on the recording, whichever way the answers go."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest

from harness.environment import ROOT
from harness.kernels import start_kernel

NOTEBOOKS = ROOT / 'notebooks'
ANSWERED_BEFORE = 'No run waits for an answer'
REASON = 'n keep the table, drop the sentence instead'

PEOPLE = {
    '02-approvals': {
        'says yes': {'question': ['y'], 'waits': ['y'], 'too-short': ['y'], 'two': ['y', 'y']},
        'says no': {'question': ['n'], 'waits': ['n'], 'too-short': ['n'], 'two': ['n', 'n']},
        'says why': {'question': ['n'], 'waits': ['y'], 'too-short': [REASON, 'y'], 'two': ['y', 'n']},
    },
    '04-subagents-and-plans': {
        'says yes': {'asks': ['y'], 'unit': ['GWh']},
        'says no': {'asks': ['n'], 'unit': ['1']},
    },
    '05-skills-memory-context': {'says yes': {'profile': ['y']}, 'says no': {'profile': ['n']}},
}
CASES = [
    pytest.param(notebook, answers, id=f'{notebook[:2]}-{who}')
    for notebook, people in PEOPLE.items()
    for who, answers in people.items()
]


@pytest.mark.kernel
@pytest.mark.parametrize(('notebook', 'answers'), CASES)
def test_the_recording_answers_a_person_who(notebook: str, answers: dict[str, list[str]], tmp_path: Path) -> None:
    place = tmp_path / 'notebooks'
    shutil.copytree(NOTEBOOKS, place, ignore=shutil.ignore_patterns('.deep', '.ipynb_checkpoints', 'out'))
    kernel = start_kernel('7.4', place)
    try:
        kernel.run('%load_ext deep_notebook\n%config DeepMagics.ready_timeout = 0.1')
        for cell in nbformat.read(NOTEBOOKS / f'{notebook}.ipynb', as_version=4).cells:
            if cell.cell_type == 'code':
                result = kernel.run(cell.source, stdin=answers.get(cell.id, []))
                may_fail = 'raises-exception' in cell.metadata.get('tags', [])
                assert result.status == 'ok' or may_fail, (cell.id, result.error)
                if cell.source.startswith(('%deep approve', '%deep deny')):
                    assert ANSWERED_BEFORE in result.text, cell.id
    finally:
        kernel.close()

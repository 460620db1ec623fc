"""`%deep spec`, `%deep upload` and `%deep memory` in a real kernel."""

from __future__ import annotations

from pathlib import Path

from harness.deep import deep, run_deep
from harness.kernels import RealKernel


def test_a_notebook_runs_on_the_options_of_a_file(kernel: RealKernel, tmp_path: Path) -> None:
    (tmp_path / 'agent.yaml').write_text('instructions: Answer in Latin.\ninclude_todo: false\n')
    deep(kernel, "seen = []\nmodel = script('Salve.', seen=seen)")

    loaded = kernel.run('%deep spec agent.yaml')
    assert loaded.stdout == 'From now on the agent of this notebook is as agent.yaml says.\n'
    run_deep(kernel, '', 'Hi.')
    told = kernel.run('print(seen[0][-1].instructions)').stdout
    assert 'Answer in Latin.' in told
    assert 'write_todos' not in told

    assert kernel.run('%deep spec').stdout == 'instructions: Answer in Latin.\ninclude_todo: false\n'
    assert kernel.run('%deep spec --default').stdout == 'Every option is as it is by default.\n'
    run_deep(kernel, '', 'Hi again.')
    assert 'Answer in Latin.' not in kernel.run('print(seen[1][-1].instructions)').stdout


def test_a_wrong_spec_is_one_line_and_changes_nothing(kernel: RealKernel, tmp_path: Path) -> None:
    (tmp_path / 'good.yaml').write_text('retries: 7\n')
    (tmp_path / 'bad.yaml').write_text('include_todos: false\n')
    (tmp_path / 'style.yaml').write_text('output_style: conzise\n')
    deep(kernel, "model = script('Hi.')")
    kernel.run('%deep spec good.yaml')

    for name, message in [
        ('bad.yaml', "bad.yaml: there is no option 'include_todos'. Did you mean 'include_todo'?"),
        ('style.yaml', "There is no output style 'conzise'. Did you mean 'concise'?"),
        ('none.yaml', 'none.yaml cannot be read (No such file or directory).'),
    ]:
        result = kernel.run(f'%deep spec {name}')
        assert message in result.text
        assert 'Traceback' not in result.text
    assert kernel.run('%deep spec').stdout == 'retries: 7\n'


def test_the_present_options_are_kept_with_the_model_and_the_budget(kernel: RealKernel, tmp_path: Path) -> None:
    (tmp_path / 'agent.yaml').write_text('model: embedded\noutput_style: formal\n')
    deep(kernel, "model = script('Hi.')")
    loaded = kernel.run('%deep spec agent.yaml').stdout
    assert loaded == 'From now on the agent of this notebook is as agent.yaml says, and embedded answers.\n'
    kernel.run('%config DeepMagics.budget = 0.5')
    assert kernel.run('%deep spec --save kept.json').stdout == 'The options are kept in kept.json.\n'
    assert (tmp_path / 'kept.json').read_text() == (
        '{\n  "model": "embedded",\n  "output_style": "formal",\n  "cost_budget_usd": 0.5\n}\n'
    )
    assert 'takes the name of a file' in kernel.run('%deep spec --save').text


def test_the_agent_is_told_of_an_uploaded_file(kernel: RealKernel, tmp_path: Path) -> None:
    outside = tmp_path.parent / f'{tmp_path.name} outside'
    outside.mkdir()
    (outside / 'my data.csv').write_text('a\n1\n')
    deep(kernel, "seen = []\nmodel = script('Thanks.', seen=seen)")

    told = kernel.run(f'%deep upload "{outside / "my data.csv"}"').stdout
    assert told == 'The agent has a copy of my data.csv: .deep/uploads/my data.csv\n'
    assert (tmp_path / '.deep/uploads/my data.csv').read_text() == 'a\n1\n'
    run_deep(kernel, '', 'Look.')
    assert '`.deep/uploads/my data.csv` (4 B, 2 lines)' in kernel.run('print(seen[0][-1].instructions)').stdout
    kernel.run(f'path = {str(outside / "my data.csv")!r}')
    assert '.deep/uploads/my data-2.csv' in kernel.run('%deep upload {path}').stdout
    assert 'nothing.csv cannot be read' in kernel.run('%deep upload nothing.csv').text


def test_notes_are_shown_added_and_edited(kernel: RealKernel, tmp_path: Path) -> None:
    deep(kernel, "seen = []\nmodel = script('Hi.', seen=seen)")
    assert kernel.run('%deep memory').stdout.startswith('The agent has no notes.')
    assert (
        kernel.run('%deep memory add Prefer polars.').stdout == 'Noted. The agent sees it from your next %%deep on.\n'
    )
    kernel.run('%deep memory add Use SI units.')
    assert kernel.run('%deep memory').stdout == 'Prefer polars.\nUse SI units.\n'
    run_deep(kernel, '', 'Hi.')
    assert 'Prefer polars.' in kernel.run('print(seen[0][-1].instructions)').stdout

    edit = kernel.run('%deep memory edit')
    assert edit.stdout == 'The notes are in a new cell: change them there and run it.\n'
    [payload] = edit.payload
    kernel.run(payload['text'].replace('polars', 'duckdb'))
    assert (tmp_path / '.deep/memory/main/MEMORY.md').read_text() == 'Prefer duckdb.\nUse SI units.\n'
    assert 'takes nothing, add TEXT, or edit' in kernel.run('%deep memory ad x').text

"""The bundled skills are correct: their code runs, their scripts run, their files keep the rules."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import nbformat
import pytest

from deep_notebook.capabilities.skills import BUNDLED_SKILLS, Skill, SkillsCapability, SkillsDirectory
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, play
from harness.processes import succeed

NAMES = ['data-cleaning', 'debugging', 'notebook-hygiene', 'plotting']
SCRIPTS = sorted(BUNDLED_SKILLS.rglob('*.py'))

SALES = """\
Order ID,Zip,Region,Customer,Amount,Date
001,01067,North ,Ada,"1,200.50",2024-01-05
002,04109, south,Max,80,2024-01-06
002,04109, south,Max,80,2024-01-06
003,10115,east,Lin,n/a,2024-02-30
004,20095,EAST,Ole,15.5,2024-03-01
"""
CLEAN_ENOUGH = SALES.replace('2024-02-30', '2024-02-28').replace('Order ID', 'order_id').replace('Zip', 'zip')


def blocks(skill: Skill, language: str) -> list[str]:
    return re.findall(rf'^```{language}\n(.*?)^```$', skill.content, re.DOTALL | re.MULTILINE)


def write_notebook(path: Path) -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell('# Sales'),
            nbformat.v4.new_code_cell('import json', execution_count=1),
            nbformat.v4.new_code_cell(
                'print(1)',
                execution_count=2,
                outputs=[nbformat.v4.new_output('stream', text='1' * 120_000)],
            ),
        ]
    )
    nbformat.write(notebook, path)


@pytest.fixture(scope='module')
def skills() -> dict[str, Skill]:
    return {skill.name: skill for skill in SkillsDirectory(BUNDLED_SKILLS).get_skills()}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A person's directory, with what the skills speak of."""
    (tmp_path / 'sales.csv').write_text(CLEAN_ENOUGH.replace('Amount', 'amount'))
    write_notebook(tmp_path / 'analysis.ipynb')
    return tmp_path


def test_they_keep_the_rules(skills: dict[str, Skill]) -> None:
    directory = SkillsDirectory(BUNDLED_SKILLS)
    directory.get_skills()
    assert directory.problems == []
    assert list(skills) == NAMES
    assert all(skill.scripts for skill in skills.values())


@pytest.mark.parametrize('name', NAMES)
def test_each_is_short(skills: dict[str, Skill], name: str) -> None:
    assert len(skills[name].content) < 6_000
    assert max(map(len, skills[name].content.split('\n'))) <= 120
    assert len(skills[name].description) <= 100


@pytest.mark.parametrize('name', NAMES)
def test_every_block_of_code_runs(skills: dict[str, Skill], name: str, place: Path) -> None:
    code = blocks(skills[name], 'python')
    assert code
    script = place / 'all_blocks.py'
    script.write_text('\n\n'.join(code))
    environment = {**os.environ, 'MPLBACKEND': 'Agg'}
    printed = succeed(sys.executable, '-X', 'utf8', '-W', 'error', script, cwd=place, env=environment)
    for line in EXPECTED[name]:
        assert line in printed


EXPECTED = {
    'data-cleaning': [
        'repeated rows: 1 of 5 removed',
        'amount: 0 not readable',
        'date: 0 not readable',
        'amount    25.0%',
        'both          4',
    ],
    'debugging': ['parse_amount, line', "ValueError: could not convert string to float: '1,200'", "(2, '1,200', Value"],
    'notebook-hygiene': [],
    'plotting': [],
}
"""What the blocks print, where they print."""


@pytest.mark.anyio
@pytest.mark.parametrize('name', NAMES)
async def test_every_call_that_is_shown_works(skills: dict[str, Skill], name: str, place: Path) -> None:
    calls = [json.loads(block) for block in blocks(skills[name], 'json')]
    assert calls
    played = await play(
        *([('run_skill_script', call)] for call in calls),
        capabilities=[SkillsCapability()],
        deps=Deps(KernelWorkspace(place)),
    )
    assert [part.outcome for part in played.returns] == ['success'] * len(calls)
    for text in played.texts:
        assert text.endswith('[exit code 0]')
        assert 'Traceback' not in text


@pytest.mark.parametrize('script', SCRIPTS, ids=lambda path: path.name)
def test_scripts_need_no_network_and_nothing_but_nbformat(script: Path) -> None:
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name).split('.')[0]  # type: ignore[union-attr]
        for node in ast.walk(ast.parse(script.read_text(encoding='utf-8')))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert imported - sys.stdlib_module_names <= {'nbformat'}
    assert not imported & {'http', 'socket', 'ssl', 'subprocess', 'urllib'}


@pytest.mark.parametrize('skill', NAMES)
def test_what_a_skill_names_it_has(skills: dict[str, Skill], skill: str) -> None:
    has = {each.name for each in [*skills[skill].resources, *skills[skill].scripts]}
    named = set(re.findall(r'`(\w+\.py|[\w-]+\.md)`', skills[skill].content)) - {'random.py', 'pandas.py'}
    assert named == has


Run: TypeAlias = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a script in `tmp_path` and return what it printed and its exit code."""
    monkeypatch.chdir(tmp_path)

    def run(script: str, *args: str) -> str:
        (path,) = (path for path in SCRIPTS if path.name == script)
        monkeypatch.setattr(sys, 'argv', [script, *args])
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(path), run_name='__main__')
        printed = capsys.readouterr()
        return f'{printed.out}{printed.err}[{end.value.code}]'

    return run


@pytest.mark.parametrize(
    ('text', 'findings'),
    [
        ('a,b\n1,2\n3,4\n', ['Nothing looks wrong.']),
        (
            SALES,
            [
                'Order ID: 5 values with leading zeros: keep the column as text',
                'Region: 3 values with spaces around: strip them',
                "Region: spellings that differ in case only: 'EAST', 'east'",
                "Amount: 1 value of 4 not number but grouped number, such as '1,200.50'",
                '1 row repeated exactly',
            ],
        ),
        ('day;price\n03/04/24;1,5\n04/04/24;2,5\n', ["numbers written as '1,5'", "dates written as '03/04/24'"]),
        ('a,a\n1,2\n1,2,3\n', ['a: 2 columns have this name', '1 row without 2 fields: lines 3']),
        ('a,b\n1,\n2,n/a\n', ['b: is empty']),
        ('a,b\n1,x\n2,x\n', ["b: has one value only: 'x'"]),
        ('', ['0 rows, 0 columns']),
    ],
)
def test_a_profile_tells_what_looks_wrong(tmp_path: Path, run: Run, text: str, findings: list[str]) -> None:
    (tmp_path / 'table.csv').write_text(text)
    printed = run('profile_csv.py', 'table.csv')
    for finding in findings:
        assert finding in printed
    assert printed.endswith('[0]')


def test_a_profile_describes_the_columns(tmp_path: Path, run: Run) -> None:
    rows = [f'{number}\t{number / 4}\t2024-01-{number:02}\tword {number % 2}' for number in range(1, 31)]
    (tmp_path / 'table.tsv').write_text('\n'.join(['id\tratio\tday\tword', *rows]), encoding='utf-16')
    assert run('profile_csv.py', 'table.tsv').split('\n')[:6] == [
        'table.tsv: 30 rows, 4 columns, delimiter tab, utf-16',
        '',
        'column  type     missing  distinct  values',
        'id      integer  0        30        1 to 30',
        'ratio   number   0        30        0.25 to 7.5',
        'day     date     0        30        2024-01-01 to 2024-01-30',
    ]


@pytest.mark.parametrize(
    ('data', 'args', 'said'),
    [
        ('naïve,b\n1,2\n'.encode('cp1252'), [], 'cp1252'),
        ('\ufeffa,b\n1,2\n'.encode(), [], 'a '),
        (b'a|b\n1|2\n', [], "delimiter '|'"),
        (b'a b\n1 2\n', ['--delimiter', ' '], '2 columns'),
        (b'a,b\n' + b'1,2\n' * 9, ['--rows', '3'], '3 rows (the first ones; --rows 0 reads all)'),
        (b'a,b\n1,2\n', ['--encoding', 'nope'], 'unknown encoding: nope\n[2]'),
    ],
)
def test_a_profile_finds_out_how_a_table_is_written(
    tmp_path: Path, run: Run, data: bytes, args: list[str], said: str
) -> None:
    (tmp_path / 'table.csv').write_bytes(data)
    assert said in run('profile_csv.py', 'table.csv', *args)


def test_a_profile_of_nothing_is_one_line(run: Run) -> None:
    assert run('profile_csv.py', 'table.csv') == 'table.csv: No such file or directory\n[2]'


def code_cell(source: str, count: int | None = None, outputs: Any = ()) -> Any:
    return nbformat.v4.new_code_cell(source, execution_count=count, outputs=list(outputs))


TITLE = nbformat.v4.new_markdown_cell('# Sales')
KEY = 'sk-' + 'a1' * 12


@pytest.mark.parametrize(
    ('cells', 'found'),
    [
        ([TITLE, code_cell('import os', 1), code_cell('2', 2)], ['3 cells, nothing found', '[0]']),
        ([TITLE, code_cell('import os'), code_cell('2')], ['nothing found']),
        ([code_cell('1')], ['there is no heading at the top']),
        ([TITLE, code_cell('1', 2), code_cell('2', 1)], ['cell 3 was run out of order: [1] stands below [2]', '[1]']),
        ([TITLE, code_cell('1', 3), code_cell('2', 5)], ['the last of 2 cells ran as [5]']),
        ([TITLE, code_cell('1', 1), code_cell('2')], ['cell 3 was not run, though others were']),
        ([TITLE, code_cell('1', 1), code_cell('  ')], ['cell 3 is empty']),
        ([TITLE, code_cell('x = 1\n' * 61)], ['cell 2 has 62 lines']),
        ([TITLE, code_cell("open('/home/ada/sales.csv')")], ['cell 2 has a path of one machine']),
        ([TITLE, code_cell("p = 'C:\\\\Users\\\\ada'")], ['cell 2 has a path of one machine']),
        ([TITLE, code_cell(f'key = "{KEY}"')], ['cell 2 has what looks like a key']),
        ([TITLE, code_cell('%pip install pandas')], ['cell 2 installs packages']),
        ([TITLE, code_cell('1'), code_cell('x = 1\nimport os')], ['cell 3 imports below other code']),
        ([TITLE, code_cell('1'), code_cell('import os\nx = 1')], ['nothing found']),
        (
            [TITLE, code_cell('1', 1, [nbformat.v4.new_output('error', ename='KeyError', evalue='x', traceback=[])])],
            ['cell 2 has an error saved: KeyError'],
        ),
        (
            [TITLE, code_cell('1', 1, [nbformat.v4.new_output('stream', text='x' * 300_000)])],
            ['cell 2 has an output of 300 kB saved'],
        ),
        ([TITLE, code_cell('1', 1, [nbformat.v4.new_output('stream', text=KEY)])], ['cell 2 shows what looks like']),
    ],
    ids=lambda value: value[0] if isinstance(value[0], str) else '',
)
def test_a_notebook_is_told_what_to_mend(tmp_path: Path, run: Run, cells: list[Any], found: list[str]) -> None:
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / 'n.ipynb')
    printed = run('check_notebook.py', 'n.ipynb')
    for line in found:
        assert line in printed
    assert len(printed.splitlines()) == 2


def test_what_is_no_notebook_is_said_in_a_line(tmp_path: Path, run: Run) -> None:
    (tmp_path / 'n.ipynb').write_text('{')
    printed = run('check_notebook.py', 'n.ipynb', 'gone.ipynb')
    assert printed.count('cannot be read as a notebook') == 2
    assert printed.endswith('[2]')


def test_colours_that_look_alike_are_told(run: Run) -> None:
    printed = run('check_colours.py', '#00ff00', '#ff7700', '#000000')
    assert '#000000  contrast 21.0\n' in printed
    assert '#00ff00  contrast 1.4  too little' in printed
    check = run('check_colours.py', '#2ca02c', '#d62728')
    assert 'look alike without' in check
    assert 'look alike with full' not in check


def test_the_colours_of_the_plotting_skill_pass(skills: dict[str, Skill], run: Run) -> None:
    colours = re.search(r'COLOURS = (\[.*\])', skills['plotting'].content)
    assert colours is not None
    printed = run('check_colours.py', *ast.literal_eval(colours[1]))
    assert 'too little' not in printed
    assert 'All of them can be told apart' in printed


@pytest.mark.parametrize(
    ('prepare', 'said'),
    [
        (lambda place: (place / 'random.py').touch(), 'random.py hides the module random of Python itself'),
        (lambda place: (place / 'nbformat.py').touch(), 'nbformat.py hides the installed package nbformat'),
        (lambda place: (place / 'sales.py').touch(), 'No file here stands in the way'),
    ],
)
def test_a_file_in_the_way_of_a_module_is_found(
    tmp_path: Path, run: Run, prepare: Callable[[Path], None], said: str
) -> None:
    prepare(tmp_path)
    printed = run('check_environment.py', 'nbformat', 'not_a_package', 'json')
    assert said in printed
    assert 'nbformat: nbformat ' in printed
    assert 'not_a_package: not installed' in printed
    assert sys.executable in printed

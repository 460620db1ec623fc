from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from pydantic_ai import Agent, RunContext
from pydantic_ai.agent.spec import AgentSpec
from pydantic_ai.messages import BinaryContent
from pydantic_ai.models.test import TestModel
from pydantic_ai.workspaces import CommandResult, ReadOnlyWorkspace, Workspace

from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.skills import (
    BackendSkillsDirectory,
    LocalSkillScriptExecutor,
    Skill,
    SkillResource,
    SkillsCapability,
    SkillScript,
    SkillsDirectory,
    SkillsToolset,
    SkillWrapper,
    texts,
)
from deep_notebook.capabilities.skills.executors import ScriptArgs, command_line
from deep_notebook.errors import SkillError, UsageError
from deep_notebook.workspaces import KernelWorkspace, StateBackend
from harness.play import Deps, Played, play

pytestmark = pytest.mark.anyio

TOOLS = ['list_skills', 'load_skill', 'read_skill_resource', 'run_skill_script']
PNG = b'\x89PNG\r\n\x1a\n'


def write_skill(root: Path, folder_name: str, content: str = 'Do.', **front: str) -> Path:
    folder = root / '.deep/skills' / folder_name
    folder.mkdir(parents=True)
    front = {'name': folder_name, 'description': f'All about {folder_name}.', **front}
    lines = '\n'.join(f'{key}: {value}' for key, value in front.items())
    (folder / 'SKILL.md').write_text(f'---\n{lines}\n---\n{content}\n')
    return folder


async def used(deps: Any, *calls: tuple[str, dict[str, Any]], **options: Any) -> Played:
    options.setdefault('directories', None if 'skills' not in options else [])
    return await play(*([call] for call in calls), capabilities=[SkillsCapability(**options)], deps=deps)


def load(name: str) -> tuple[str, dict[str, Any]]:
    return 'load_skill', {'skill_name': name}


def read(skill: str, name: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return 'read_skill_resource', {'skill_name': skill, 'resource_name': name, **more}


def run(skill: str, name: str, args: Any = None) -> tuple[str, dict[str, Any]]:
    return 'run_skill_script', {'skill_name': skill, 'script_name': name, 'args': args}


async def first_request(capability: Any, deps: Any, **options: Any) -> tuple[list[str], str, int]:
    """Return the tools and instructions of an agent's first request, and how many characters they take."""
    model = TestModel(call_tools=[])
    await Agent(model, capabilities=[capability] if capability else [], **options).run('x', deps=deps)
    parameters = model.last_model_request_parameters
    assert parameters is not None
    schemas = [
        json.dumps([tool.name, tool.description, tool.parameters_json_schema], separators=(',', ':'))
        for tool in parameters.function_tools
    ]
    instructions = '\n'.join(part.content for part in parameters.instruction_parts or [])
    return [tool.name for tool in parameters.function_tools], instructions, sum(map(len, [*schemas, instructions]))


async def test_at_first_the_model_sees_a_line_for_each_skill(tmp_path: Path) -> None:
    write_skill(tmp_path, 'units')
    tools, instructions, characters = await first_request(SkillsCapability(), Deps(KernelWorkspace(tmp_path)))
    assert tools == TOOLS
    assert instructions == snapshot("""\
Before work that a skill covers, load it with load_skill and follow it:
- data-cleaning: Profile, load and clean tables: types, dates, missing values, duplicates, joins.
- debugging: Find out why code in a notebook fails or gives a wrong result, and prove the fix.
- notebook-hygiene: Make a notebook that others can read and run again, before it is shared or committed.
- plotting: Make right and readable charts with matplotlib: which chart, labels, colours, saving.
- units: All about units.\
""")
    assert characters / 4 < 500


async def test_a_loaded_skill_shows_all_it_has(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, 'units', '# Units\n\nRun convert.py.', license='MIT')
    (folder / 'convert.py').touch()
    (folder / 'table.csv').touch()
    played = await used(Deps(KernelWorkspace(tmp_path)), load('units'))
    assert played.texts == [
        '# Skill units\n\n# Units\n\nRun convert.py.\n\nMetadata: {"license": "MIT"}\n\n'
        'Scripts, for run_skill_script:\n- convert.py\n\nResources, for read_skill_resource:\n- table.csv'
    ]
    assert played.returns[0].metadata == {'summary': 'units · 13 lines'}


async def test_all_skills_are_listed_with_what_is_wrong_with_others(tmp_path: Path) -> None:
    write_skill(tmp_path, 'units')
    write_skill(tmp_path, 'plotting')
    write_skill(tmp_path, 'bad', name='worse')
    played = await used(Deps(KernelWorkspace(tmp_path)), ('list_skills', {}))
    names = ['data-cleaning', 'debugging', 'notebook-hygiene', 'plotting', 'units']
    lines = played.texts[0].split('\n')
    assert [line.removeprefix('- ').split(':')[0] for line in lines[:5]] == names
    assert lines[0].endswith('(bundled/data-cleaning)')
    assert lines[3] == '- plotting: All about plotting. (.deep/skills/plotting)'
    assert lines[5:] == [
        '',
        'Not usable as they are:',
        "- .deep/skills/bad/SKILL.md: its name is 'worse', but its directory 'bad': make them the same.",
        '- bundled/plotting: it is not used, because .deep/skills/plotting is '
        "called 'plotting' too: rename one of them.",
    ]
    assert played.returns[0].metadata == {'summary': '5 skills · 2 not usable'}


async def test_a_script_runs_in_the_workspace_with_its_arguments(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, 'units')
    (folder / 'show.py').write_text('import os, sys\nprint(sys.argv[1:], os.listdir())')
    (tmp_path / 'data.csv').touch()
    played = await used(
        Deps(KernelWorkspace(tmp_path)),
        run('units', 'show.py', ['data.csv', '--rows', 5, '$HOME; ls']),
        run('units', 'show.py', {'rows': 5, 'all': True, 'none': None, 'by': ['a', '--b'], '-n': 2}),
        run('units', 'show.py', '["data.csv"]'),
        run('units', 'show.py'),
    )
    assert [text.split('\n')[0].split('] [')[0] for text in played.texts] == [
        "['data.csv', '--rows', '5', '$HOME; ls'",
        "['--rows=5', '--all', '--by=a', '--by=--b', '-n=2'",
        "['data.csv'",
        '[',
    ]
    assert "'data.csv'" in played.texts[3]
    assert played.returns[0].metadata == {'summary': 'show.py · 2 lines'}


async def test_a_script_runs_with_the_python_of_the_kernel(tmp_path: Path) -> None:
    (write_skill(tmp_path, 'units') / 'which.py').write_text('import sys\nprint(sys.executable)')
    played = await used(Deps(KernelWorkspace(tmp_path)), run('units', 'which.py'))
    assert played.texts[0].startswith(sys.executable)


@pytest.mark.parametrize(
    ('args', 'words'),
    [
        (None, []),
        ([1.5, True, None, {'a': 'é'}, '-x'], ['1.5', 'true', 'null', '{"a": "é"}', '-x']),
        ({'a': {'b': 1}, 'c': '', 'd': []}, ['--a={"b": 1}', '--c=']),
    ],
)
def test_arguments_become_words(args: Any, words: list[str]) -> None:
    assert command_line(args) == words


async def test_a_script_that_fails_is_a_result(tmp_path: Path) -> None:
    (write_skill(tmp_path, 'units') / 'fail.py').write_text('print(1)\nraise SystemExit("no")')
    played = await used(Deps(KernelWorkspace(tmp_path)), run('units', 'fail.py'), run('units', 'fail.py', ['a\0b']))
    assert played.texts[0] == '1\nno\n[exit code 1]'
    assert played.returns[0].outcome == 'success'
    assert played.returns[1].outcome == 'failed'


async def test_a_bundled_skill_works_beside_a_workspace(tmp_path: Path) -> None:
    (tmp_path / 'a.csv').write_text('a,b\n1,2\n')
    played = await used(
        Deps(KernelWorkspace(tmp_path)),
        run('data-cleaning', 'profile_csv.py', ['a.csv']),
        read('data-cleaning', 'profile_csv.py'),
        read('plotting', 'chart-choice.md'),
    )
    assert played.texts[0].startswith('a.csv: 1 row, 2 columns')
    assert '"""Profile a table' in played.texts[1]
    assert '# Which chart' in played.texts[2]


async def test_a_long_resource_is_read_piece_by_piece(tmp_path: Path) -> None:
    text = ''.join(f'line {number} é\n' for number in range(8_000))
    (write_skill(tmp_path, 'units') / 'long.md').write_text(text)
    played = await used(
        Deps(KernelWorkspace(tmp_path)),
        *(read('units', 'long.md', offset=offset) for offset in (0, 30_000, 60_000, 90_000, 500_000)),
    )
    headers, pieces = zip(*(page.split('\n', 1) for page in played.texts[:4]), strict=True)
    assert ''.join(pieces) == text
    assert headers[0] == f'[characters 0 to 30,000 of {len(text):,}; continue with offset=30000]'
    assert headers[3] == f'[characters 90,000 to {len(text):,} of {len(text):,}; the end]'
    assert played.returns[4].outcome == 'failed'


async def test_long_instructions_are_read_piece_by_piece(tmp_path: Path) -> None:
    write_skill(tmp_path, 'units', 'x' * 40_000 + 'END')
    played = await used(Deps(KernelWorkspace(tmp_path)), load('units'), read('units', 'SKILL.md', offset=30_000))
    assert played.texts[0].endswith("continue with read_skill_resource, resource_name='SKILL.md', offset=30000]")
    assert played.texts[1].endswith('xEND')


async def test_what_is_no_text_is_shown_or_said(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, 'units')
    (folder / 'a.png').write_bytes(PNG)
    (folder / 'a.bin').write_bytes(b'\0\1')
    (folder / 'a.txt').write_bytes('é'.encode('utf-16'))
    (folder / 'empty.txt').touch()
    played = await used(
        Deps(KernelWorkspace(tmp_path)),
        *(read('units', name) for name in ('a.png', 'a.bin', 'a.txt', 'empty.txt')),
    )
    content = played.returns[0].content
    assert isinstance(content, BinaryContent)
    assert content.data == PNG
    assert played.returns[1].outcome == 'failed'
    assert 'is not text' in played.texts[1]
    assert played.texts[2:] == ['é', '[empty]']


@pytest.mark.parametrize(
    ('call', 'said'),
    [
        (load('unit'), "There is no skill 'unit'. Did you mean 'units'? The skills are: data-cleaning, "),
        (load('bad'), "The skill 'bad' cannot be used. .deep/skills/bad/SKILL.md: it has no description: add"),
        (read('units', 'no.md'), "The skill units has no resource 'no.md'. Did you mean 'note.md'? It has: note.md."),
        (run('units', 'no.py'), "The skill units has no script 'no.py'. Did you mean 'go.py'? It has: go.py."),
        (run('plain', 'no.py'), "The skill plain has no script 'no.py'. It has none."),
        (run('units', 'note.md'), "The skill units has no script 'note.md'."),
    ],
)
async def test_what_does_not_exist_is_answered_with_what_does(
    tmp_path: Path, call: tuple[str, dict[str, Any]], said: str
) -> None:
    folder = write_skill(tmp_path, 'units')
    (folder / 'note.md').touch()
    (folder / 'go.py').touch()
    write_skill(tmp_path, 'plain')
    write_skill(tmp_path, 'bad', description='')
    played = await used(Deps(KernelWorkspace(tmp_path)), call)
    assert played.returns[0].outcome == 'failed'
    assert played.texts[0].startswith(said)


async def test_a_skill_that_is_written_in_a_run_can_be_used_in_it(tmp_path: Path) -> None:
    def written(returns: object) -> list[tuple[str, dict[str, Any]]]:
        write_skill(tmp_path, 'units')
        return [load('units'), ('list_skills', {})]

    deps = Deps(KernelWorkspace(tmp_path))
    played = await play([load('units')], written, capabilities=[SkillsCapability()], deps=deps)
    assert [part.outcome for part in played.returns] == ['failed', 'success', 'success']


async def test_a_list_of_skills_is_as_new_as_its_call(tmp_path: Path) -> None:
    def written(returns: object) -> list[tuple[str, dict[str, Any]]]:
        write_skill(tmp_path, 'units')
        return [('list_skills', {})]

    deps = Deps(KernelWorkspace(tmp_path))
    played = await play([('list_skills', {})], written, capabilities=[SkillsCapability()], deps=deps)
    assert ['- units: ' in text for text in played.texts] == [False, True]


async def test_without_commands_scripts_are_not_offered_but_all_else_is(tmp_path: Path) -> None:
    backend = StateBackend({'/skills/units/SKILL.md': b'---\nname: units\ndescription: d\n---\nDo.'})
    read_only = ReadOnlyWorkspace(Workspace(KernelWorkspace(tmp_path)))
    assert (await used(Deps(backend), load('units'))).texts == ['# Skill units\n\nDo.']
    assert (await used(Deps(backend))).tools == TOOLS[:3]
    assert (await used(Deps(read_only))).tools == TOOLS[:3]
    assert (await used(Deps(KernelWorkspace(tmp_path)))).tools == TOOLS


class Remote(StateBackend):
    """Runs commands, elsewhere."""

    async def realpath(self, path: str) -> str:
        return path

    async def run(self, command: Any, **options: Any) -> Any:
        raise AssertionError('no script of this machine is run elsewhere, and none of another machine here')


async def test_a_script_of_this_machine_is_not_sent_elsewhere() -> None:
    played = await used(Deps(Remote()), run('data-cleaning', 'profile_csv.py'))
    assert played.tools == TOOLS
    assert played.texts[0].startswith(
        'profile_csv.py cannot be run: it is not on the machine that the workspace is on.'
    )


class Sandbox(Remote):
    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.ran: list[Any] = []

    async def run(self, command: Any, **options: Any) -> CommandResult:
        self.ran.append((command, options))
        return CommandResult(exit_code=0, stdout='ran', stderr='')


UNITS = {'/skills/units/SKILL.md': b'---\nname: units\ndescription: d\n---\nDo.', '/skills/units/go.py': b'1'}


async def test_a_script_of_a_sandbox_runs_there() -> None:
    sandbox = Sandbox(dict(UNITS))
    played = await used(Deps(sandbox), run('units', 'go.py', ['a']))
    assert played.texts == ['ran\n[exit code 0]']
    ((command, options),) = sandbox.ran
    assert command == ['python3', '-B', '-X', 'utf8', '/skills/units/go.py', 'a']
    assert options == {'shell': False, 'env': None, 'timeout': 30}


async def test_skills_of_another_backend_run_there_whatever_the_workspace_is() -> None:
    sandbox = Sandbox(dict(UNITS))
    executor = LocalSkillScriptExecutor()
    directories = [BackendSkillsDirectory(sandbox), BackendSkillsDirectory(StateBackend(), script_executor=executor)]
    played = await used(Deps(StateBackend()), run('units', 'go.py'), directories=directories)
    assert played.texts == ['ran\n[exit code 0]']


async def test_a_directory_can_say_how_its_scripts_run(tmp_path: Path) -> None:
    class Recorder:
        async def run(self, script_path: str, args: ScriptArgs = None) -> str:
            return f'{script_path} {args}'

    directory = BackendSkillsDirectory(StateBackend(dict(UNITS)), script_executor=Recorder())
    played = await used(Deps(StateBackend()), run('units', 'go.py', ['a']), directories=[directory])
    assert played.texts == ["/skills/units/go.py ['a']"]


async def test_where_no_commands_run_a_script_file_says_so() -> None:
    code = Skill('in-code', 'd', 'Do.', scripts=[SkillScript('go', function=lambda: 'gone')])
    deps = Deps(StateBackend(dict(UNITS)))
    calls = [run('units', 'go.py'), run('in-code', 'go'), run('data-cleaning', 'profile_csv.py')]
    played = await used(deps, *calls, skills=[code], directories=None)
    assert [part.outcome for part in played.returns] == ['failed', 'success', 'failed']
    assert played.texts[0].startswith('go.py cannot be run: this workspace runs no commands. Read it with')


async def test_a_file_too_large_to_read_is_said(tmp_path: Path) -> None:
    with (write_skill(tmp_path, 'units') / 'large.bin').open('wb') as file:
        file.truncate(10_000_001)
    played = await used(Deps(KernelWorkspace(tmp_path)), read('units', 'large.bin'))
    assert played.texts == ['.deep/skills/units/large.bin is too large: 10.0 MB.']


async def test_without_a_workspace_there_are_the_bundled_skills() -> None:
    tools, instructions, _ = await first_request(SkillsCapability(), None)
    assert tools == TOOLS[:3]
    assert '- plotting: ' in instructions
    assert 'Not usable' not in (await used(None, ('list_skills', {}))).texts[0]


def converting() -> SkillWrapper:
    def unit_conversion() -> str:
        """Convert units.

        And more.
        """
        return 'Run convert.'

    wrapper = SkillWrapper(unit_conversion, metadata={'by': 'Ada'})

    @wrapper.script
    async def convert(ctx: RunContext[Any], value: float, unit: str = 'm') -> str:
        """Convert a value."""
        return f'{value} {unit} for {type(ctx.deps).__name__}'

    @wrapper.resource
    def about() -> str:
        """Where the numbers are from."""
        return 'SI.'

    @wrapper.resource(name='table.md', description='All units.')
    def table(rows: int = 2) -> str:
        return 'row\n' * rows

    return wrapper


async def test_a_skill_can_be_written_in_code() -> None:
    skill = converting().to_skill()
    assert (skill.name, skill.description, skill.metadata) == ('unit-conversion', 'Convert units.', {'by': 'Ada'})
    played = await used(
        Deps(),
        load('unit-conversion'),
        run('unit-conversion', 'convert', {'value': 2}),
        run('unit-conversion', 'convert', {'value': 'two'}),
        run('unit-conversion', 'convert', [2]),
        read('unit-conversion', 'table.md', args={'rows': 1}),
        read('unit-conversion', 'convert'),
        skills=[converting()],
    )
    assert played.tools == TOOLS
    assert played.texts == snapshot(
        [
            """\
# Skill unit-conversion

Run convert.

Metadata: {"by": "Ada"}

Scripts, for run_skill_script:
- convert: Convert a value. (arguments: value, unit)

Resources, for read_skill_resource:
- about: Where the numbers are from.
- table.md: All units. (arguments: rows)\
""",
            '2.0 m for Deps',
            'The arguments of convert do not fit: value: Input should be a valid number, unable to parse string as a '
            'number.',
            'convert takes its arguments by name: value, unit.',
            'row\n',
            "The skill unit-conversion has no resource 'convert'. It has: about, table.md.",
        ]
    )


def test_a_wrapper_needs_a_description() -> None:
    with pytest.raises(ValueError, match='needs a description: give its function a docstring'):
        SkillWrapper(lambda: 'Do.', name='one')


async def test_a_toolset_takes_skills_as_a_decorator_and_on_its_own() -> None:
    toolset: SkillsToolset[Any] = SkillsToolset(directories=[])

    @toolset.skill
    def greeting() -> str:
        """Greet people."""
        return 'Say hello.'

    @greeting.script
    def hello(name: str) -> str:
        return f'hello {name}'

    @toolset.tool_plain
    def other() -> str:
        """Do something else."""
        return 'else'

    played = await play(
        [load('greeting'), run('greeting', 'hello', {'name': 'Ada'}), ('other', {})],
        capabilities=[],
        toolsets=[toolset],
        deps=Deps(),
    )
    assert played.texts == [
        '# Skill greeting\n\nSay hello.\n\nScripts, for run_skill_script:\n- hello (arguments: name)',
        'hello Ada',
        'else',
    ]
    with pytest.raises(SkillError, match="called 'greeting' too"):
        toolset.skill(greeting.function)
    assert '- greeting: Greet people.' in (await first_request(None, Deps(), toolsets=[toolset]))[1]


async def test_skills_of_code_come_first(tmp_path: Path) -> None:
    write_skill(tmp_path, 'plotting')
    skill = Skill('plotting', 'Ours.', 'Ours.')
    played = await used(Deps(KernelWorkspace(tmp_path)), load('plotting'), skills=[skill], directories=None)
    assert played.texts == ['# Skill plotting\n\nOurs.']


async def test_a_file_can_be_a_resource_and_a_script_by_its_path(tmp_path: Path) -> None:
    (tmp_path / 'note.md').write_text('noted')
    (tmp_path / 'go.py').write_text('print("gone")')
    (tmp_path / 'out.md').symlink_to('/etc/hostname')
    skill = Skill(
        'one',
        'd',
        'Do.',
        resources=[
            SkillResource('text', content='fixed'),
            SkillResource('note', uri=str(tmp_path / 'note.md')),
            SkillResource('out', uri=str(tmp_path / 'out.md')),
        ],
        scripts=[SkillScript('go', uri=str(tmp_path / 'go.py'))],
    )
    calls = [read('one', 'text'), read('one', 'note'), run('one', 'go'), read('one', 'out')]
    played = await used(Deps(KernelWorkspace(tmp_path)), *calls, skills=[skill])
    assert played.texts[:3] == ['fixed', 'noted', 'gone\n[exit code 0]']
    assert played.returns[3].outcome == 'failed'


def test_what_is_nothing_is_no_resource_or_script() -> None:
    with pytest.raises(ValueError, match="'one' needs content, a function or a uri"):
        SkillResource('one')
    with pytest.raises(ValueError, match="'one' needs a function or a uri"):
        SkillScript('one')


@pytest.mark.parametrize(
    ('options', 'said'),
    [
        ({'skills': [Skill('a', 'd', 'x'), Skill('a', 'e', 'y')]}, "is called 'a' too: rename one"),
        ({'skills': [Skill('A b', 'd', 'x')]}, "the skill 'A b': the name 'A b' is not one"),
        ({'skills': [Skill('a', '', 'x')]}, "the skill 'a': it has no description"),
        ({'exclude_tools': ['load_skil']}, r"there is no tool 'load_skil'. Did you mean 'load_skill'\?"),
        ({'exclude_tools': 'load_skill'}, r"exclude_tools is a list: write \['load_skill'\]"),
        ({'instruction_template': 'Use skills.'}, r'instruction_template has no \{skills_list\}: put it where'),
    ],
)
def test_what_a_developer_gets_wrong_is_said_at_once(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        SkillsCapability(**options)


def test_validation_can_be_left_out() -> None:
    SkillsCapability(skills=[Skill('A b', '', 'x')], validate=False)
    with pytest.raises(SkillError):
        SkillsCapability(skills=[Skill('A b', '', 'x')])


async def test_tools_can_be_left_out(tmp_path: Path) -> None:
    deps = Deps(KernelWorkspace(tmp_path))
    tools, instructions, _ = await first_request(SkillsCapability(exclude_tools=['run_skill_script']), deps)
    assert tools == TOOLS[:3]
    assert 'load_skill' in instructions
    tools, instructions, _ = await first_request(SkillsCapability(exclude_tools={'load_skill'}), deps)
    assert 'load_skill' not in tools
    assert instructions == ''


async def test_the_instructions_can_be_ones_own(tmp_path: Path) -> None:
    capability = SkillsCapability(
        skills=[Skill('one', 'First.', 'x')],
        directories=[],
        instruction_template='{You} have:\n{skills_list}\nUse them.',
    )
    assert (await first_request(capability, Deps()))[1] == '{You} have:\n- one: First.\nUse them.'


async def test_ones_own_instructions_are_given_whatever_is_left_out() -> None:
    capability = SkillsCapability(
        skills=[Skill('one', 'First.', 'x')],
        directories=[],
        instruction_template='Ask for:\n{skills_list}',
        exclude_tools=['load_skill'],
    )
    assert (await first_request(capability, Deps()))[1] == 'Ask for:\n- one: First.'


def test_only_scripts_run_alone() -> None:
    tools = SkillsCapability().get_toolset().tools
    assert [name for name in TOOLS if tools[name].sequential] == ['run_skill_script']


@pytest.mark.parametrize('exclude', [[], ['list_skills']])
async def test_of_many_skills_the_first_request_names_some(exclude: list[str]) -> None:
    skills = [Skill(f'skill-{number:03}', 'Very long. ' * 20, 'x') for number in range(300)]
    capability = SkillsCapability(skills=skills, directories=[], exclude_tools=exclude)
    _, instructions, _ = await first_request(capability, Deps())
    assert len(instructions) < 2_200
    assert '- skill-000: Very long.' in instructions
    shown = instructions.count('- skill-')
    rest = '' if exclude else ': list_skills shows all'
    assert instructions.endswith(f'- … and {300 - shown} more{rest}')


async def test_of_very_many_skills_each_is_named_when_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, '_LISTING', 500)
    skills = [Skill(f'skill-{number:03}', 'Very long. ' * 20, 'x') for number in range(100)]
    played = await used(Deps(), ('list_skills', {}), skills=skills)
    assert all(skill.name in played.texts[0] for skill in skills)
    assert 'More, without their descriptions: ' in played.texts[0]


async def test_many_problems_are_counted(tmp_path: Path) -> None:
    for number in range(30):
        write_skill(tmp_path, f'skill-{number:02}', description='')
    played = await used(Deps(KernelWorkspace(tmp_path)), ('list_skills', {}))
    assert played.texts[0].endswith('- … and 20 more')
    assert played.texts[0].count('it has no description') == 10


async def test_a_missing_directory_is_told_and_keeps_no_skill_away(tmp_path: Path) -> None:
    (tmp_path / 'one').mkdir()
    (tmp_path / 'one/SKILL.md').write_text('---\nname: one\ndescription: d\n---\nDo.')
    directories = [str(tmp_path / 'on'), tmp_path / 'one']
    played = await used(Deps(), ('list_skills', {}), directories=directories)
    assert played.texts[0].startswith('- one: d')
    assert "on: there is no such directory of skills. Did you mean 'one'?" in played.texts[0]


async def test_depth_and_validation_hold_for_directories_given_by_path(tmp_path: Path) -> None:
    for path in ('one', 'x/two'):
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / 'SKILL.md').write_text(f'About {path}')
    options: dict[str, Any] = {'directories': [tmp_path], 'validate': False, 'max_depth': 1}
    played = await used(Deps(), ('list_skills', {}), **options)
    assert played.texts[0] == f'- one: About one ({tmp_path}/one)'


async def test_on_demand_only_the_names_are_in_the_first_request(tmp_path: Path) -> None:
    deps = Deps(KernelWorkspace(tmp_path))
    tools, instructions, _ = await first_request(SkillsCapability(defer_loading=True), deps)
    assert tools == ['load_capability', *TOOLS]
    line = '- skills: Tested instructions and scripts for kinds of work. data-cleaning, debugging, notebook-hygiene'
    assert line in instructions
    assert 'load_skill' not in instructions
    played = await play(
        [('load_capability', {'id': 'skills'})],
        [load('plotting')],
        capabilities=[SkillsCapability(defer_loading=True), Filesystem()],
        deps=deps,
    )
    assert not set(TOOLS) & set(played.tools)
    assert played.texts[1].startswith('# Skill plotting')


async def test_a_spec_file_can_hold_it(tmp_path: Path) -> None:
    write_skill(tmp_path, 'one')
    spec = {
        'model': 'test',
        'capabilities': [
            {'SkillsCapability': {'directories': [str(tmp_path / '.deep/skills')], 'exclude_tools': ['list_skills']}}
        ],
    }
    AgentSpec.from_dict(spec).to_file(tmp_path / 'agent.yaml', custom_capability_types=[SkillsCapability])
    agent = Agent.from_file(tmp_path / 'agent.yaml', custom_capability_types=[SkillsCapability])
    model = TestModel(call_tools=['load_skill'], custom_output_text='done')
    with agent.override(model=model):
        await agent.run('x')
    assert model.last_model_request_parameters is not None
    assert [tool.name for tool in model.last_model_request_parameters.function_tools] == TOOLS[1:3]


async def test_a_spec_file_can_have_it_on_demand() -> None:
    agent = Agent.from_spec(
        {'capabilities': [{'SkillsCapability': {'defer_loading': True}}]},
        custom_capability_types=[SkillsCapability],
        model=TestModel(call_tools=[]),
    )
    assert isinstance(agent.model, TestModel)
    await agent.run('x')
    assert agent.model.last_model_request_parameters is not None
    assert agent.model.last_model_request_parameters.function_tools[0].name == 'load_capability'


async def test_runs_share_nothing_and_what_was_given_stays_as_it_was(tmp_path: Path) -> None:
    write_skill(tmp_path, 'one')
    write_skill(tmp_path / 'other', 'two')
    skills = [Skill('three', 'd', 'x')]
    directories: list[Any] = []
    capability: SkillsCapability[Any] = SkillsCapability(skills=skills, directories=directories)
    assert (skills, directories) == ([Skill('three', 'd', 'x')], [])
    default: SkillsCapability[Any] = SkillsCapability()
    toolset: SkillsToolset[Any] = SkillsToolset()
    for options in ({'capabilities': [default]}, {'toolsets': [toolset]}):
        model = TestModel(call_tools=['list_skills'])
        agent: Agent[Any, str] = Agent(model, **options)  # type: ignore[arg-type]
        one = await agent.run('x', deps=Deps(KernelWorkspace(tmp_path)))
        two = await agent.run('x', deps=Deps(KernelWorkspace(tmp_path / 'other')))
        assert 'two' not in one.output
        assert '- two' in two.output
        assert '- one' not in two.output
        looking = TestModel(call_tools=[])
        await agent.run('x', deps=Deps(KernelWorkspace(tmp_path)), model=looking)
        assert looking.last_model_request_parameters is not None
        instructions = str(looking.last_model_request_parameters.instruction_parts)
        assert '- one' in instructions
        assert '- two' not in instructions
    assert capability.get_toolset() is capability.get_toolset()


async def test_a_directory_of_skills_is_searched_once_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searches = 0
    find = SkillsDirectory.find

    async def counted(self: SkillsDirectory, workspace: Workspace | None = None) -> Any:
        nonlocal searches
        searches += 1
        return await find(self, workspace)

    monkeypatch.setattr(SkillsDirectory, 'find', counted)
    await used(
        Deps(KernelWorkspace(tmp_path)), load('plotting'), read('plotting', 'chart-choice.md'), load('debugging')
    )
    assert searches == 1

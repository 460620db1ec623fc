"""No tool reads or writes a file with secrets, by whatever way; what slips through is masked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import BinaryContent, ToolReturn
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import FunctionToolset

from deep_notebook.capabilities.approvals import ApprovalDecision, ApprovalGate, ApprovalRequest
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.hooks import Hook, HookEvent, HookInput, HookResult, HooksCapability
from deep_notebook.capabilities.python import PythonResult, RunPython
from deep_notebook.capabilities.security_hooks import SecurityHooks
from deep_notebook.workspaces import KernelWorkspace, StateBackend
from harness.play import Deps, Played, play

pytestmark = pytest.mark.anyio

VALUE = 'swordfish-1234'
KEY = 'sk-proj-abcdefghijklmnop1234567890'


class Printing:
    """Runs no code, and prints."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.ran: list[str] = []

    async def run(self, code: str, *, timeout: float | None) -> PythonResult:
        self.ran.append(code)
        return PythonResult(text=self.text)


@pytest.fixture
def deps(tmp_path: Path) -> Deps:
    (tmp_path / '.env').write_text(f'PASSWORD={VALUE}\n')
    (tmp_path / 'server.pem').write_text(f'-----BEGIN-----\n{VALUE}\n')
    (tmp_path / 'notes.txt').write_text(f'one\n{VALUE} is mentioned\n')
    (tmp_path / 'link.txt').symlink_to('.env')
    return Deps(KernelWorkspace(tmp_path))


async def tried(deps: Deps, *calls: tuple[str, dict[str, Any]], secure: SecurityHooks[Any] | None = None) -> Played:
    capabilities = [Filesystem(edit_format='str_replace'), RunPython(Printing(KEY)), secure or SecurityHooks()]
    return await play(list(calls), capabilities=capabilities, deps=deps)


@pytest.mark.parametrize(
    ('tool', 'args'),
    [
        ('read_file', {'path': '.env'}),
        ('read_file', {'path': './x/../.env'}),
        ('read_file', {'path': 'link.txt'}),
        ('write_file', {'path': '.env', 'content': 'A=1'}),
        ('write_file', {'path': 'new.pem', 'content': 'A=1'}),
        ('write_file', {'path': 'link.txt', 'content': 'A=1'}),
        ('edit_file', {'path': '.env', 'old_string': 'PASSWORD', 'new_string': 'X'}),
        ('ls', {'path': '.ssh'}),
        ('glob', {'pattern': '**/.env*'}),
        ('glob', {'pattern': '*.pem'}),
        ('glob', {'pattern': '*', 'path': '.ssh'}),
        ('grep', {'pattern': '.', 'path': '.env'}),
        ('grep', {'pattern': '.', 'glob': '.e*'}),
        ('grep', {'pattern': '.', 'glob': '*.pem'}),
        ('grep', {'pattern': '.', 'path': 'link.txt'}),
        ('execute', {'command': 'cat .env'}),
        ('execute', {'command': 'echo A=1 > .env'}),
        ('execute', {'command': 'cat .e*'}),
        ('run_python', {'code': "print(open('.env').read())"}),
        ('run_python', {'code': '!cat server.pem'}),
    ],
    ids=lambda value: value if isinstance(value, str) else str(next(iter(value.values()))),
)
async def test_a_call_that_names_a_secret_is_denied(tmp_path: Path, deps: Deps, tool: str, args: Any) -> None:
    before = (tmp_path / '.env').read_bytes()
    played = await tried(deps, (tool, args))
    [part] = played.returns
    assert part.outcome == 'denied'
    assert VALUE not in played.texts[0]
    assert 'no tool may read or write secrets' in played.texts[0]
    assert (tmp_path / '.env').read_bytes() == before
    assert not (tmp_path / 'new.pem').exists()


async def test_ordinary_work_goes_on(tmp_path: Path, deps: Deps) -> None:
    played = await tried(
        deps,
        ('ls', {}),
        ('glob', {'pattern': '*.txt'}),
        ('read_file', {'path': 'notes.txt'}),
        ('write_file', {'path': '.env.example', 'content': 'PASSWORD=\n'}),
        ('write_file', {'path': '.gitignore', 'content': '.env\n*.pem\n'}),
        ('execute', {'command': 'wc -l notes.txt'}),
        ('run_python', {'code': 'df["key"].sum()'}),
        ('grep', {'pattern': r'\.env', 'path': 'notes.txt'}),
    )
    assert [part.outcome for part in played.returns] == ['success'] * 8


async def test_the_reason_says_what_and_what_to_do(deps: Deps) -> None:
    played = await tried(deps, ('read_file', {'path': '.env'}), ('read_file', {'path': 'link.txt'}))
    what = 'is an environment file, and no tool may read or write secrets. If it is needed, ask the person.'
    assert played.texts == [
        f"A hook said no: '.env' {what}",
        f"A hook said no: 'link.txt (a link to .env)' {what}",
    ]


@pytest.mark.parametrize('edit_format', ['hashline', 'str_replace'])
@pytest.mark.parametrize('context', [0, 2])
async def test_a_search_through_all_files_leaves_out_what_it_finds_in_secret_ones(
    deps: Deps, edit_format: Any, context: int
) -> None:
    played = await play(
        [('grep', {'pattern': VALUE, 'context': context})],
        capabilities=[Filesystem(edit_format=edit_format), SecurityHooks()],
        deps=deps,
    )
    [text] = played.texts
    assert 'notes.txt' in text
    assert text.count(VALUE) == 1
    assert 'server.pem' not in text
    assert '[what was found in files with secrets is left out: 1]' in text
    assert played.returns[0].metadata


async def test_a_search_that_writes_the_path_before_each_line_is_screened_too() -> None:
    tools: FunctionToolset[Any] = FunctionToolset()

    @tools.tool_plain
    async def mcp_grep(regex: str) -> str:
        """Search."""
        return f'src/a.py:1:import os\n.env:1:A={VALUE}\nserver.pem-2-{VALUE}\na.py:3:x'

    played = await play([('mcp_grep', {'regex': 'x'})], capabilities=[SecurityHooks()], toolsets=[tools])
    assert '.env' not in played.texts[0]
    assert played.texts[0].startswith('src/a.py:1:import os\n')
    assert 'a.py:3:x' in played.texts[0]


@pytest.mark.parametrize(
    'args',
    [
        {'file': '/home/me/.ssh/id_rsa'},
        {'uri': 'file:///srv/.env'},
        {'paths': ['a.txt', 'keys/server.key']},
        {'options2': {'source': '.env', 'destination': 'x'}},
        {'cmd': 'cat .env'},
        {'argv': ['bash', '-c', 'cat .env']},
        {'cells': [{'cell_type': 'code', 'source': "open('.env')"}]},
        {'script': 'cat .env'},
    ],
    ids=str,
)
async def test_tools_that_are_not_ours_are_held_to_it_too(args: dict[str, Any]) -> None:
    called: list[Any] = []
    tools: FunctionToolset[Any] = FunctionToolset()

    @tools.tool_plain
    async def anything(args: dict[str, Any]) -> str:
        """Do anything."""
        called.append(args)
        return 'done'

    played = await play([('anything', {'args': args})], capabilities=[SecurityHooks()], toolsets=[tools])
    assert (called, played.returns[0].outcome) == ([], 'denied')


@pytest.mark.parametrize(
    'args',
    [
        {'prompt': 'Look why .env is not found'},
        {'description': '.env'},
        {'content': '.env'},
        {'url': 'https://example.org/.env'},
        {'cells': [{'cell_type': 'markdown', 'source': 'Put the key into `.env`.'}]},
        {'count': 3, 'nothing': None, 'text': '.env'},
    ],
    ids=str,
)
async def test_mentioning_a_secret_is_no_use_of_it(args: dict[str, Any]) -> None:
    tools: FunctionToolset[Any] = FunctionToolset()

    @tools.tool_plain
    async def anything(args: dict[str, Any]) -> str:
        """Do anything."""
        return 'done'

    played = await play([('anything', {'args': args})], capabilities=[SecurityHooks()], toolsets=[tools])
    assert played.texts == ['done']


async def test_what_commands_and_code_print_is_masked(deps: Deps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('SERVICE_TOKEN', 'abcdefgh12345678')
    played = await tried(
        deps,
        ('execute', {'command': 'cat $(echo .e)nv; echo abcdefgh"12345678"'}),
        ('run_python', {'code': "print(open(chr(46) + 'env').read())"}),
    )
    assert [part.outcome for part in played.returns] == ['success', 'success']
    assert 'PASSWORD=…[masked]' in played.texts[0]
    assert 'abcdefgh12345678' not in played.texts[0]
    assert KEY not in played.texts[1]
    assert played.returns[0].metadata['summary']


async def test_pictures_of_masked_code_stay() -> None:
    picture = BinaryContent(b'x', media_type='image/png')
    tools: FunctionToolset[Any] = FunctionToolset()

    @tools.tool_plain
    async def run_cell(code: str) -> ToolReturn[Any]:
        """Run."""
        return ToolReturn([KEY, picture], metadata={'summary': 's'})

    played = await play([('run_cell', {'code': '1'})], capabilities=[SecurityHooks()], toolsets=[tools])
    assert played.returns[0].content == ['sk-…[masked]', picture]
    assert played.returns[0].metadata == {'summary': 's'}


async def test_nobody_is_asked_about_a_secret_and_nobody_can_edit_one_in(tmp_path: Path, deps: Deps) -> None:
    asked: list[ApprovalRequest] = []

    class Person:
        async def decide(self, request: ApprovalRequest) -> ApprovalDecision:
            asked.append(request)
            return ApprovalDecision(verdict='approve', edited='cat .env > copy')

    played = await play(
        [('write_file', {'path': '.env', 'content': 'x'}), ('execute', {'command': 'true'})],
        capabilities=[ApprovalGate(approver=Person()), Filesystem(), SecurityHooks()],
        deps=deps,
    )
    assert [request.tool for request in asked] == ['execute']
    assert [part.outcome for part in played.returns] == ['denied', 'denied']
    assert not (tmp_path / 'copy').exists()


async def test_a_link_that_is_made_while_the_person_thinks_is_seen(tmp_path: Path, deps: Deps) -> None:
    class Person:
        async def decide(self, request: ApprovalRequest) -> ApprovalDecision:
            os.symlink('.env', tmp_path / 'new.txt')
            return ApprovalDecision(verdict='approve')

    before = (tmp_path / '.env').read_bytes()
    played = await play(
        [('write_file', {'path': 'new.txt', 'content': 'x'})],
        capabilities=[Filesystem(), SecurityHooks(), ApprovalGate(approver=Person())],
        deps=deps,
    )
    assert played.returns[0].outcome == 'denied'
    assert (tmp_path / '.env').read_bytes() == before


async def test_arguments_that_another_hook_changes_are_looked_at(deps: Deps) -> None:
    async def redirect(given: HookInput) -> HookResult:
        return HookResult(modified_args={'path': '.env'})

    redirecting = HooksCapability[Any]([Hook(HookEvent.PRE_TOOL_USE, handler=redirect)])
    for order in ([redirecting, SecurityHooks()], [SecurityHooks(), redirecting]):
        played = await play([('read_file', {'path': 'notes.txt'})], capabilities=[Filesystem(), *order], deps=deps)
        assert VALUE not in played.texts[0]


async def test_secrets_in_memory_are_kept_too() -> None:
    backend = StateBackend({'/.env': VALUE.encode(), '/a.txt': b'x'})
    played = await play(
        [('read_file', {'path': '/.env'}), ('read_file', {'path': 'a.txt'})],
        capabilities=[Filesystem(), SecurityHooks()],
        deps=Deps(backend),
    )
    assert [part.outcome for part in played.returns] == ['denied', 'success']


async def test_a_workspace_below_a_secret_name_works(tmp_path: Path) -> None:
    root = tmp_path / '.docker' / 'work'
    root.mkdir(parents=True)
    (root / 'a.txt').write_text('x')
    played = await tried(Deps(KernelWorkspace(root)), ('read_file', {'path': 'a.txt'}))
    assert played.returns[0].outcome == 'success'


async def test_more_can_be_denied_and_some_allowed(deps: Deps) -> None:
    secure = SecurityHooks[Any](deny=['notes.*'], allow=['server.pem'])
    played = await tried(
        deps, ('read_file', {'path': 'notes.txt'}), ('read_file', {'path': 'server.pem'}), secure=secure
    )
    assert [part.outcome for part in played.returns] == ['denied', 'success']


async def test_a_spec_file_can_ask_for_it(deps: Deps) -> None:
    spec = {'model': 'test', 'capabilities': ['SecurityHooks', {'HooksCapability': {'hooks': []}}]}
    agent: Any = Agent.from_spec(
        spec, custom_capability_types=[SecurityHooks, HooksCapability], capabilities=[Filesystem()]
    )
    model = TestModel(call_tools=['read_file'])
    with agent.override(model=model):
        await agent.run('x', deps=deps)
    allowing = SecurityHooks.from_spec(allow=['*.pem'])
    assert allowing.allow == ['*.pem']


async def test_its_hooks_alone_work_in_a_list(deps: Deps) -> None:
    hooks = HooksCapability[Any]([*SecurityHooks[Any]().hooks])
    played = await play([('read_file', {'path': '.env'})], capabilities=[Filesystem(), hooks], deps=deps)
    assert played.returns[0].outcome == 'denied'


def test_it_cannot_be_left_to_the_model_to_load() -> None:
    with pytest.raises(ValueError, match='cannot be loaded on demand'):
        SecurityHooks(defer_loading=True)

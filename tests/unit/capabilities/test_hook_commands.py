"""Command hooks: JSON in, an exit code out, nothing of the person's environment, nothing left running."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic_ai.workspaces import LocalWorkspaceBackend, Workspace

from deep_notebook.capabilities import hooks_commands
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.hook_types import HookFailed
from deep_notebook.capabilities.hooks import Hook, HookEvent, HookInput, HookResult, HooksCapability
from deep_notebook.capabilities.hooks_commands import run_hook_command
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, play

pytestmark = pytest.mark.anyio

ODD = {
    'quotes': """it's "so" `date` $(date) $HOME \\n \\ %s %d %% \t""",
    'lines': 'a\nb\r\nc\n',
    'words': 'naïve 数据 🎉',
    'control': '\x00\x01\x1b[31m',
    'half': '\ud800',
    'empty': '',
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(KernelWorkspace(tmp_path))


async def ask(workspace: Workspace, command: str, given: HookInput | None = None, timeout: float = 30) -> HookResult:
    return await run_hook_command(workspace, command, given or HookInput('pre_tool_use', 'x'), timeout=timeout)


@pytest.mark.parametrize('backend', [KernelWorkspace, LocalWorkspaceBackend])
@pytest.mark.parametrize('size', [0, 99_000, 100_500, 300_000])
async def test_a_command_reads_exactly_what_happened(tmp_path: Path, backend: Any, size: int) -> None:
    given = HookInput('post_tool_use', 'write_file', {**ODD, 'long': 'é' * (size // 6)}, 'result\n', None)
    result = await ask(Workspace(backend(tmp_path)), 'cat > told.json', given)
    assert result == HookResult()
    told = (tmp_path / 'told.json').read_text(encoding='utf-8')
    assert told.endswith('}\n')
    assert json.loads(told) == asdict(given)


async def test_a_megabyte_of_arguments_reaches_the_command_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / 'temporary'
    temporary.mkdir()
    root = tmp_path / 'root'
    root.mkdir()
    backend = KernelWorkspace(root, env={'TMPDIR': str(temporary)})
    text = 'x' * 1_000_000
    hooks = HooksCapability[Any](
        [
            Hook(HookEvent.PRE_TOOL_USE, command='cat > told.json; ls "$TMPDIR" > files'),
            Hook(HookEvent.PRE_TOOL_USE, command='grep -q xxx && echo "too much" >&2 && exit 2'),
        ]
    )
    played = await play(
        [('write_file', {'path': 'a', 'content': text})], capabilities=[Filesystem(), hooks], deps=Deps(backend)
    )
    assert played.texts == ['A hook said no: too much']
    assert json.loads((root / 'told.json').read_text())['tool_input'] == {'path': 'a', 'content': text}
    assert (root / 'files').read_text().strip()
    assert list(temporary.iterdir()) == []


async def test_a_long_input_is_not_left_in_a_file_when_the_command_takes_too_long(tmp_path: Path) -> None:
    temporary = tmp_path / 'temporary'
    temporary.mkdir()
    workspace = Workspace(KernelWorkspace(tmp_path, env={'TMPDIR': str(temporary)}))
    with pytest.raises(HookFailed, match='took longer'):
        await ask(workspace, 'sleep 60', HookInput('pre_tool_use', 'x', {'a': 'x' * 200_000}), timeout=1)
    assert list(temporary.iterdir()) == []


async def test_a_long_input_can_be_read_by_nobody_else(tmp_path: Path) -> None:
    temporary = tmp_path / 'temporary'
    temporary.mkdir()
    workspace = Workspace(KernelWorkspace(tmp_path, env={'TMPDIR': str(temporary)}))
    given = HookInput('pre_tool_use', 'x', {'a': 'x' * 200_000})
    await ask(workspace, 'ls -l "$TMPDIR" | cut -c1-10 > modes', given)
    assert (tmp_path / 'modes').read_text().splitlines()[1:] == ['-rw-------']


@pytest.mark.parametrize('size', [10, 200_000])
async def test_what_a_command_is_told_is_in_no_list_of_processes(tmp_path: Path, size: int) -> None:
    given = HookInput('pre_tool_use', 'x', {'a': 'swordfish' * (size // 9 + 1)})
    await ask(Workspace(KernelWorkspace(tmp_path)), 'cat /proc/[0-9]*/cmdline > seen 2>/dev/null; true', given)
    assert b'swordfish' not in (tmp_path / 'seen').read_bytes()


@dataclass(frozen=True)
class Case:
    command: str
    result: HookResult


@pytest.mark.parametrize(
    'case',
    [
        Case('true', HookResult()),
        Case('exit 0', HookResult()),
        Case('cat', HookResult()),
        Case('echo fine', HookResult()),
        Case('echo "[1]"', HookResult()),
        Case("""printf '{"decision": "x"}'""", HookResult()),
        Case('exit 2', HookResult(allow=False)),
        Case('echo no >&2; exit 2', HookResult(allow=False, reason='no')),
        Case('echo no; exit 2', HookResult(allow=False, reason='no')),
        Case("""echo '{"allow": true}'; exit 2""", HookResult(allow=False, reason='{"allow": true}')),
        Case("""echo '{"allow": false, "reason": "r"}'""", HookResult(allow=False, reason='r')),
        Case("""echo '{"modified_args": {"a": 1}}'""", HookResult(modified_args={'a': 1})),
        Case("""echo '{"modified_result": "r"}'""", HookResult(modified_result='r')),
        Case('read -r line && exit 2', HookResult(allow=False)),
        Case('echo a # and a comment', HookResult()),
        Case('true\nexit 2', HookResult(allow=False)),
    ],
    ids=lambda case: case.command,
)
async def test_the_exit_code_and_what_is_printed_are_the_answer(workspace: Workspace, case: Case) -> None:
    assert await ask(workspace, case.command) == case.result


async def test_a_command_knows_no_keys_of_the_person(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'sk-proj-0123456789abcdef')
    monkeypatch.setenv('SOME_SETTING', 'x')
    await ask(workspace, 'env > seen')
    seen = {line.partition('=')[0] for line in (tmp_path / 'seen').read_text().splitlines()}
    assert not seen & {'OPENAI_API_KEY', 'SOME_SETTING', hooks_commands._VARIABLE}
    assert 'PATH' in seen


async def test_a_command_starts_in_the_workspace(tmp_path: Path, workspace: Workspace) -> None:
    await ask(workspace, 'pwd > where')
    assert (tmp_path / 'where').read_text().strip() == os.path.realpath(tmp_path)


async def test_a_command_that_takes_too_long_dies_with_all_it_started(tmp_path: Path, workspace: Workspace) -> None:
    with pytest.raises(HookFailed, match=r'took longer than 0.5 s'):
        await ask(workspace, 'echo $$ > pids; sleep 600 & echo $! >> pids; sleep 600', timeout=0.5)
    pids = [int(pid) for pid in (tmp_path / 'pids').read_text().split()]
    assert len(pids) == 2
    _, alive = psutil.wait_procs([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], timeout=5)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


async def test_a_command_can_change_what_a_tool_gets_and_returns(tmp_path: Path) -> None:
    hooks = [
        Hook(HookEvent.PRE_TOOL_USE, command="""echo '{"modified_args": {"path": "b.txt"}}'"""),
        Hook(HookEvent.POST_TOOL_USE, command="""grep -q two && echo '{"modified_result": "it was two"}'"""),
    ]
    (tmp_path / 'a.txt').write_text('one')
    (tmp_path / 'b.txt').write_text('two')
    played = await play(
        [('read_file', {'path': 'a.txt'})],
        capabilities=[Filesystem(), HooksCapability(hooks)],
        deps=Deps(KernelWorkspace(tmp_path)),
    )
    assert played.texts == ['it was two']

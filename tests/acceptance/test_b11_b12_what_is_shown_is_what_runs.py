"""B11 and B12 (jupyter-ai#1623, acp-client#46), below the widget: what is asked, and that a yes executes once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsPartialDict
from inline_snapshot import snapshot

from deep_notebook.capabilities.approvals import ApprovalDecision, ApprovalGate, ApprovalRequest
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, anchors, play

pytestmark = pytest.mark.anyio

REPLACE = {'op': 'replace', 'text': 'port = 2'}
KEY = 'sk-proj-abcdefghijklmnop1234567890'


class Recorder:
    def __init__(self) -> None:
        self.asked: list[ApprovalRequest] = []

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision:
        self.asked.append(request)
        return ApprovalDecision(verdict='approve')


async def questions(root: Path, *turns: Any) -> list[ApprovalRequest]:
    person = Recorder()
    await play(*turns, capabilities=[Filesystem(), ApprovalGate(approver=person)], deps=Deps(KernelWorkspace(root)))
    return person.asked


async def test_b12_a_question_shows_tool_arguments_path_and_diff(tmp_path: Path) -> None:
    (tmp_path / 'app.py').write_text('port = 1\nhost = "a"\n')
    [write, edit, command] = await questions(
        tmp_path,
        [('write_file', {'path': 'report.md', 'content': '# Report\n\nFine.\n'})],
        [('grep', {'pattern': 'port'})],
        lambda returns: [
            (
                'edit_file',
                {'path': './app.py', 'operations': [{**REPLACE, 'anchor': anchors(returns[-1].content)[0]}]},
            ),
            ('execute', {'command': 'python app.py', 'timeout': 5}),
        ],
    )
    assert (
        write.tool,
        write.tool_class,
        write.title,
        write.path,
        write.detail,
        write.editable,
    ) == snapshot(
        (
            'write_file',
            'write',
            'Write report.md?',
            'report.md',
            'new file · 3 lines',
            'content',
        )
    )
    assert write.args == {'path': 'report.md', 'content': '# Report\n\nFine.\n'}
    assert (edit.tool, edit.title, edit.path, edit.detail, edit.editable) == snapshot(
        ('edit_file', 'Edit app.py?', 'app.py', '+1 −1', None)
    )
    assert edit.diff == snapshot("""\
--- a/app.py
+++ b/app.py
@@ -1,2 +1,2 @@
-port = 1
+port = 2
 host = "a"\
""")
    assert edit.args == {'path': './app.py', 'operations': [IsPartialDict(REPLACE)]}
    assert (command.tool_class, command.title, command.diff, command.editable, command.args) == snapshot(
        ('execute', 'Run a command?', None, 'command', {'command': 'python app.py', 'timeout': 5})
    )


async def test_b12_secrets_are_masked_and_a_masked_text_cannot_be_edited(tmp_path: Path) -> None:
    [write, command] = await questions(
        tmp_path,
        [
            ('write_file', {'path': '.env', 'content': f'OPENAI_API_KEY={KEY}\n'}),
            ('execute', {'command': f'curl -H "Authorization: Bearer {KEY}" example.org || true'}),
        ],
    )
    for request in (write, command):
        assert KEY not in repr(request)
        assert '[masked]' in repr(request.args)
        assert request.editable is None
    assert (tmp_path / '.env').read_text() == f'OPENAI_API_KEY={KEY}\n'


async def test_b11_one_answer_executes_once_whatever_else_arrives(tmp_path: Path) -> None:
    clicks: list[asyncio.Future[ApprovalDecision]] = []

    class TwoClicks:
        async def decide(self, request: ApprovalRequest) -> ApprovalDecision:
            answer: asyncio.Future[ApprovalDecision] = asyncio.get_running_loop().create_future()
            clicks.append(answer)
            for _ in range(2):
                if not answer.done():
                    answer.set_result(ApprovalDecision(verdict='approve', channel='widget'))
            return await answer

    played = await play(
        [('execute', {'command': 'echo once >> log'})],
        capabilities=[Filesystem(), ApprovalGate(approver=TwoClicks())],
        deps=Deps(KernelWorkspace(tmp_path)),
    )
    assert len(clicks) == 1
    assert (tmp_path / 'log').read_text() == 'once\n'
    assert len(played.returns) == 1

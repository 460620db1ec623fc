"""The person sees the script that would run, and no other runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ToolFailed

from deep_notebook.capabilities.approvals import ApprovalDecision, ApprovalGate, ApprovalRequest
from deep_notebook.capabilities.skills import Skill, SkillsCapability, SkillScript
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, Played, play

pytestmark = pytest.mark.anyio

CALL: tuple[str, dict[str, Any]] = (
    'run_skill_script',
    {'skill_name': 'one', 'script_name': 'run.py', 'args': ['a b', '--n', 1]},
)


class Person:
    """Looks at the question, does something meanwhile, and says yes or no."""

    def __init__(self, verdict: Any = 'approve', meanwhile: Any = None) -> None:
        self.verdict = verdict
        self.meanwhile = meanwhile
        self.asked: list[ApprovalRequest] = []

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision:
        self.asked.append(request)
        if self.meanwhile is not None:
            self.meanwhile()
        return ApprovalDecision(verdict=self.verdict)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / '.deep/skills/one'
    folder.mkdir(parents=True)
    (folder / 'SKILL.md').write_text('---\nname: one\ndescription: d\n---\nDo.\n')
    (folder / 'run.py').write_text('import sys\nprint("ran", sys.argv[1:])\n')
    (folder / 'helper.py').write_text('')
    return folder


async def asked(root: Path, person: Person, call: Any = CALL, **options: Any) -> Played:
    return await play(
        [call],
        capabilities=[SkillsCapability(**options), ApprovalGate(approver=person)],
        deps=Deps(KernelWorkspace(root)),
    )


async def test_the_question_shows_script_and_arguments(tmp_path: Path, folder: Path) -> None:
    person = Person()
    played = await asked(tmp_path, person)
    (question,) = person.asked
    assert question.tool_class == 'execute'
    assert question.title == 'Run run.py of the skill one?'
    assert question.detail == ".deep/skills/one/run.py · 2 lines · 'a b' --n 1"
    assert question.diff == (
        '--- /dev/null\n+++ b/.deep/skills/one/run.py\n@@ -0,0 +1,2 @@\n+import sys\n+print("ran", sys.argv[1:])'
    )
    assert question.args == CALL[1]
    assert question.editable is None
    assert played.texts == ["ran ['a b', '--n', '1']\n[exit code 0]"]


async def test_a_no_runs_nothing(tmp_path: Path, folder: Path) -> None:
    (folder / 'run.py').write_text('open("done", "w")')
    played = await asked(tmp_path, Person('deny'))
    assert played.returns[0].outcome == 'denied'
    assert not (tmp_path / 'done').exists()


@pytest.mark.parametrize('name', ['run.py', 'helper.py', 'new.py'])
async def test_a_script_that_changes_while_the_person_looks_does_not_run(
    tmp_path: Path, folder: Path, name: str
) -> None:
    def change() -> None:
        (folder / name).write_text('open("done", "w")')

    (folder / 'run.py').write_text('open("done", "w")')
    if name == 'new.py':
        change()
        person = Person(meanwhile=lambda: (folder / name).write_text('pass'))
    elif name == 'run.py':
        person = Person(meanwhile=lambda: (folder / name).write_text('open("done", "w") '))
    else:
        person = Person(meanwhile=change)
    played = await asked(tmp_path, person)
    assert played.returns[0].outcome == 'failed'
    assert 'changed while you were waiting' in played.texts[0]
    assert not (tmp_path / 'done').exists()


async def test_of_a_long_script_the_question_says_how_much_it_shows(tmp_path: Path, folder: Path) -> None:
    (folder / 'run.py').write_text('x = 1\n' * 5_000)
    person = Person()
    await asked(tmp_path, person)
    assert '5,000 lines, of which 20,000 characters are shown' in person.asked[0].detail
    assert len(person.asked[0].diff or '') < 25_000


async def test_a_script_in_code_is_named_as_such(tmp_path: Path) -> None:
    person = Person()
    skill = Skill('one', 'd', 'Do.', scripts=[SkillScript('go', function=lambda x: f'went {x}')])
    call = ('run_skill_script', {'skill_name': 'one', 'script_name': 'go', 'args': {'x': 1}})
    played = await asked(tmp_path, person, call, skills=[skill], directories=[])
    assert person.asked[0].detail == 'given in code --x=1'
    assert played.texts == ['went 1']


async def test_what_does_not_exist_is_not_asked_about(tmp_path: Path, folder: Path) -> None:
    person = Person()
    call = ('run_skill_script', {'skill_name': 'one', 'script_name': 'no.py'})
    played = await asked(tmp_path, person, call)
    assert played.returns[0].outcome == 'failed'
    assert person.asked == []
    assert issubclass(ToolFailed, Exception)


async def test_reading_is_not_asked_about(tmp_path: Path, folder: Path) -> None:
    person = Person()
    for call in [('list_skills', {}), ('load_skill', {'skill_name': 'one'})]:
        assert (await asked(tmp_path, person, call)).returns[0].outcome == 'success'
    assert person.asked == []

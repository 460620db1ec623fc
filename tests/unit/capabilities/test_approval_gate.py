"""One question per call, one answer, one execution of exactly what was shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsPartialDict, IsStr
from pydantic import TypeAdapter
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.tools import DeferredToolRequests
from pydantic_ai.toolsets import FunctionToolset

from deep_notebook.capabilities.approvals import (
    PREVIEW,
    ApprovalDecision,
    ApprovalGate,
    ApprovalRequest,
    Preview,
    requests_of,
    results_of,
)
from deep_notebook.capabilities.events import ApprovalAskedEvent, ApprovalDecidedEvent
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.filesystem.files import digest
from deep_notebook.capabilities.tool_classes import EXECUTE
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, Played, names, play

pytestmark = pytest.mark.anyio

YES = ApprovalDecision(verdict='approve', channel='widget')
NO = ApprovalDecision(verdict='deny', reason='keep the port', channel='widget')
Decide = Callable[[ApprovalRequest], ApprovalDecision | None]


@dataclass
class Person:
    """Answers by a table from paths or tool names to decisions, or by a function."""

    answers: Mapping[str, ApprovalDecision | None] | Decide = field(default_factory=dict)
    asked: list[ApprovalRequest] = field(default_factory=list)

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
        self.asked.append(request)
        await asyncio.sleep(0)
        if callable(self.answers):
            return self.answers(request)
        return self.answers[request.path or request.tool]


@pytest.fixture
def deps(tmp_path: Path) -> Deps:
    return Deps(KernelWorkspace(tmp_path))


def write(path: str, content: str = 'x\n') -> tuple[str, dict[str, Any]]:
    return 'write_file', {'path': path, 'content': content}


async def run(deps: Deps, *turns: Any, gate: ApprovalGate[Any], **options: Any) -> Played:
    return await play(*turns, capabilities=[Filesystem(), gate], deps=deps, **options)


async def test_reading_is_never_asked_about(deps: Deps) -> None:
    person = Person()
    await run(
        deps, [('ls', {}), ('glob', {'pattern': '*'}), ('grep', {'pattern': 'x'})], gate=ApprovalGate(approver=person)
    )
    assert person.asked == []


async def test_auto_asks_nobody(tmp_path: Path, deps: Deps) -> None:
    person = Person()
    played = await run(deps, [write('a'), ('execute', {'command': 'true'})], gate=ApprovalGate('auto', person))
    assert person.asked == []
    assert [part.outcome for part in played.returns] == ['success', 'success']


async def test_deny_executes_nothing_and_says_what_allows_it(tmp_path: Path, deps: Deps) -> None:
    played = await run(deps, [write('a'), ('execute', {'command': 'touch b'})], gate=ApprovalGate('deny'))
    assert [part.outcome for part in played.returns] == ['denied', 'denied']
    assert '%%deep --approve auto' in played.texts[0]
    assert names(tmp_path) == []
    assert played.output == 'done'


async def test_parallel_questions_are_asked_together_and_decided_apart(tmp_path: Path, deps: Deps) -> None:
    all_asked = asyncio.Event()

    class Slow(Person):
        async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
            self.asked.append(request)
            if len(self.asked) == 3:
                all_asked.set()
            await all_asked.wait()
            return NO if request.path == 'b' else YES

    played = await run(deps, [write('a'), write('b'), write('c')], gate=ApprovalGate(approver=Slow()))
    assert names(tmp_path) == ['a', 'c']
    assert [part.outcome for part in played.returns] == ['success', 'denied', 'success']
    assert played.texts[1] == 'The person said no: "keep the port". Nothing was done.'
    kinds = [type(event) for event in played.events if isinstance(event, (ApprovalAskedEvent, ApprovalDecidedEvent))]
    assert kinds == [ApprovalAskedEvent] * 3 + [ApprovalDecidedEvent] * 3


async def test_a_question_is_in_the_stream_before_it_is_answered(deps: Deps) -> None:
    seen: list[Any] = []

    def decide(request: ApprovalRequest) -> ApprovalDecision:
        assert [event.request.id for event in seen if isinstance(event, ApprovalAskedEvent)] == [request.id]
        return YES

    played = await run(deps, [write('a')], gate=ApprovalGate(approver=Person(decide)), on_event=seen.append)
    assert played.returns[0].outcome == 'success'


async def test_the_person_may_change_the_text_and_the_model_is_told(tmp_path: Path, deps: Deps) -> None:
    edited = ApprovalDecision(verdict='approve', edited='port = 1\nhost = "b"\n')
    played = await run(
        deps, [write('app.py', 'port = 2\nhost = "b"\n')], gate=ApprovalGate(approver=Person({'app.py': edited}))
    )
    assert (tmp_path / 'app.py').read_text() == 'port = 1\nhost = "b"\n'
    assert played.texts[0] == IsStr(regex=r'(?s)Wrote app.py: .*The person changed `content`.*-port = 2\n\+port = 1.*')
    assert played.returns[0].metadata == IsPartialDict(summary='app.py · new file · 2 lines')


async def test_changed_text_that_cannot_be_used_executes_nothing(tmp_path: Path, deps: Deps) -> None:
    (tmp_path / 'a').write_text('one\n')
    edited = ApprovalDecision(verdict='approve', edited='anything')
    played = await run(
        deps,
        [('read_file', {'path': 'a'})],
        [('edit_file', {'path': 'a', 'operations': [{'op': 'delete', 'anchor': '1:fa'}]})],
        [write('secret.env', 'API_KEY=sk-proj-abcdefghijklmnop1234567890')],
        gate=ApprovalGate(approver=Person(lambda request: edited)),
    )
    assert played.returns[2].outcome == 'denied'
    assert 'cannot be used' in played.texts[2]
    assert names(tmp_path) == ['a']


@pytest.mark.parametrize('scope', ['tool', 'path'])
async def test_the_rest_of_a_tool_or_path_is_approved_for_this_run_only(tmp_path: Path, deps: Deps, scope: Any) -> None:
    person = Person(lambda request: ApprovalDecision(verdict='approve', scope=scope))
    gate = ApprovalGate[Any](approver=person)
    played = await run(deps, [write('a', '1\n')], [write('a', '2\n')], [write('b')], gate=gate)
    assert [request.path for request in person.asked] == (['a'] if scope == 'tool' else ['a', 'b'])
    channels = [event.decision.channel for event in played.events_of(ApprovalDecidedEvent)]
    assert channels == (['policy', 'earlier', 'earlier'] if scope == 'tool' else ['policy', 'earlier', 'policy'])
    person.asked.clear()
    await run(deps, [write('a', '3\n')], gate=gate)
    assert [request.path for request in person.asked] == ['a']


async def test_a_yes_to_a_path_covers_no_command(deps: Deps) -> None:
    person = Person(lambda request: ApprovalDecision(verdict='approve', scope='path'))
    tools: FunctionToolset[Any] = FunctionToolset()

    async def preview(ctx: RunContext[Any], args: dict[str, Any]) -> Preview:
        return Preview(title='Run a?', path=args['path'])

    @tools.tool_plain(metadata={**EXECUTE, PREVIEW: preview})
    async def run_script(path: str) -> str:
        """Run."""
        return 'ran'

    script = ('run_script', {'path': 'a'})
    await run(deps, [write('a')], [script, script], gate=ApprovalGate(approver=person), toolsets=[tools])
    assert [request.tool for request in person.asked] == ['write_file', 'run_script', 'run_script']


async def test_a_yes_to_the_rest_answers_the_questions_that_are_open(tmp_path: Path, deps: Deps) -> None:
    class Clicks(Person):
        async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
            self.asked.append(request)
            if request.path == 'a':
                return ApprovalDecision(verdict='approve', scope='tool')
            await asyncio.Event().wait()
            raise AssertionError

    async with asyncio.timeout(30):
        await run(deps, [write('a'), write('b')], gate=ApprovalGate(approver=Clicks()))
    assert names(tmp_path) == ['a', 'b']


async def test_a_no_stands_beside_a_yes_to_the_rest(tmp_path: Path, deps: Deps) -> None:
    rest = ApprovalDecision(verdict='approve', scope='tool')
    await run(deps, [write('a'), write('b')], gate=ApprovalGate(approver=Person({'a': rest, 'b': NO})))
    assert names(tmp_path) == ['a']


async def test_what_changed_while_the_person_thought_is_not_replaced(tmp_path: Path, deps: Deps) -> None:
    file = tmp_path / 'a'
    file.write_text('old\n')

    def decide(request: ApprovalRequest) -> ApprovalDecision:
        file.write_text('changed by hand\n')
        return YES

    played = await run(
        deps,
        [('read_file', {'path': 'a'})],
        [write('a', 'new\n'), write('a.new')],
        gate=ApprovalGate(approver=Person(decide)),
    )
    assert file.read_text() == 'changed by hand\n'
    assert played.returns[1].outcome == 'failed'
    assert 'read it again' in played.texts[1]
    assert played.returns[2].outcome == 'success'


async def test_a_file_that_appeared_while_the_person_thought_is_not_replaced(tmp_path: Path, deps: Deps) -> None:
    def decide(request: ApprovalRequest) -> ApprovalDecision:
        (tmp_path / 'a').write_text('mine\n')
        deps.read_digests['a'] = digest(b'mine\n')  # another agent of this conversation has read it
        return YES

    played = await run(deps, [write('a')], gate=ApprovalGate(approver=Person(decide)))
    assert (tmp_path / 'a').read_text() == 'mine\n'
    assert played.texts == ['a changed while you were waiting; nothing was written: read it again.']


async def test_a_call_that_cannot_work_is_answered_without_asking(deps: Deps) -> None:
    person = Person()
    played = await run(
        deps,
        [('edit_file', {'path': 'nowhere', 'operations': [{'op': 'delete', 'anchor': '1:aa'}]}), write('../x')],
        gate=ApprovalGate(approver=person),
    )
    assert person.asked == []
    assert [part.outcome for part in played.returns] == ['failed', 'failed']


async def test_arguments_that_change_after_the_yes_are_not_executed(tmp_path: Path, deps: Deps) -> None:
    @dataclass
    class Changing(AbstractCapability[Any]):
        calls: int = 0

        async def before_tool_execute(self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any) -> Any:
            self.calls += 1
            return {**args, 'content': f'{self.calls}\n'}

    played = await play(
        [write('a')],
        capabilities=[Filesystem(), Changing(), ApprovalGate(approver=Person({'a': YES}))],
        deps=deps,
    )
    assert 'not those that were approved' in played.texts[0]
    assert names(tmp_path) == []


async def test_an_approval_is_good_for_one_execution(deps: Deps) -> None:
    executed: list[str] = []
    tools: FunctionToolset[Any] = FunctionToolset()

    @tools.tool_plain
    async def launch(name: str) -> str:
        """Launch."""
        executed.append(name)
        return 'launched'

    @dataclass
    class Twice(AbstractCapability[Any]):
        async def wrap_tool_execute(
            self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any, handler: Any
        ) -> Any:
            await handler(args)
            return await handler(args)

    gate = ApprovalGate[Any](approver=Person({'launch': YES}))
    played = await play([('launch', {'name': 'x'})], capabilities=[gate, Twice()], toolsets=[tools], deps=deps)
    assert executed == ['x']
    assert 'good for one execution' in played.texts[0]


async def test_a_retried_call_is_asked_about_again(deps: Deps) -> None:
    tools: FunctionToolset[Any] = FunctionToolset()
    attempts: list[int] = []

    @tools.tool_plain
    async def flaky() -> str:
        """Fail once."""
        attempts.append(1)
        if len(attempts) == 1:
            raise ModelRetry('once more')
        return 'ok'

    person = Person({'flaky': YES})
    await play(
        [('flaky', {})], [('flaky', {})], capabilities=[ApprovalGate(approver=person)], toolsets=[tools], deps=deps
    )
    assert (len(person.asked), len(attempts)) == (2, 2)


async def test_an_unknown_tool_is_asked_about_with_all_its_arguments(deps: Deps) -> None:
    tools: FunctionToolset[Any] = FunctionToolset()

    @tools.tool_plain
    async def send(to: str, options: dict[str, Any]) -> str:
        """Send."""
        return 'sent'

    person = Person({'send': NO})
    args = {'to': 'all', 'options': {'password': 'swordfish', 'retries': 3}}
    await play([('send', args)], capabilities=[ApprovalGate(approver=person)], toolsets=[tools], deps=deps)
    request = person.asked[0]
    assert (request.title, request.tool_class, request.editable) == ('Run send?', 'write', None)
    assert request.args == {'to': 'all', 'options': {'password': '…[masked]', 'retries': 3}}


async def test_a_tool_that_asks_by_itself_goes_through_the_same_door(deps: Deps) -> None:
    executed: list[str] = []
    tools: FunctionToolset[Any] = FunctionToolset()

    @tools.tool_plain(requires_approval=True)
    async def launch(name: str) -> str:
        """Launch."""
        executed.append(name)
        return 'launched'

    for mode, decision, expected in [('ask', NO, 0), ('ask', YES, 1), ('deny', None, 0), ('auto', None, 1)]:
        executed.clear()
        gate = ApprovalGate[Any](mode, Person({'launch': decision}))  # type: ignore[arg-type]
        await play([('launch', {'name': 'x'})], capabilities=[gate], toolsets=[tools], deps=deps)
        assert len(executed) == expected


def stored(played: Played) -> tuple[list[Any], DeferredToolRequests]:
    """Return the history and the questions as they come back from a database."""
    messages = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(played.messages))
    adapter = TypeAdapter(DeferredToolRequests)
    return messages, adapter.validate_json(adapter.dump_json(played.output))


async def test_nobody_there_suspends_the_run_and_it_resumes_with_the_same_call(tmp_path: Path, deps: Deps) -> None:
    played = await run(deps, [('ls', {}), write('a', 'text\n')], gate=ApprovalGate())
    assert isinstance(played.output, DeferredToolRequests)
    assert names(tmp_path) == []
    assert [event.decision for event in played.events_of(ApprovalDecidedEvent)] == [None]
    history, requests = stored(played)
    [request] = requests_of(requests)
    assert (request.title, request.path, request.detail) == ('Write a?', 'a', 'new file · 1 line')
    resumed = await run(deps, gate=ApprovalGate(), history=history, results=results_of(requests, {request.id: YES}))
    assert (tmp_path / 'a').read_text() == 'text\n'
    assert resumed.output == 'done'


async def test_a_suspended_call_can_be_denied_or_changed(tmp_path: Path, deps: Deps) -> None:
    played = await run(deps, [write('a'), write('b')], gate=ApprovalGate())
    history, requests = stored(played)
    ids = {request.path: request.id for request in requests_of(requests)}
    decisions = {ids['a']: NO, ids['b']: ApprovalDecision(verdict='approve', edited='theirs\n')}
    resumed = await run(deps, gate=ApprovalGate(), history=history, results=results_of(requests, decisions))
    assert not (tmp_path / 'a').exists()
    assert (tmp_path / 'b').read_text() == 'theirs\n'
    assert 'keep the port' in resumed.texts[0]
    assert 'The person changed' in resumed.texts[1]


async def test_what_was_decided_before_a_suspension_executes_once(tmp_path: Path, deps: Deps) -> None:
    undecided = Person({'a': YES, 'b': None, 'execute': YES})
    command = ('execute', {'command': 'echo x >> log'})
    played = await run(deps, [write('a'), write('b'), command], gate=ApprovalGate(approver=undecided))
    assert names(tmp_path) == ['a', 'log']
    history, requests = stored(played)
    [request] = requests_of(requests)
    assert request.path == 'b'
    resumed = await run(deps, gate=ApprovalGate(), history=history, results=results_of(requests, {request.id: YES}))
    assert resumed.output == 'done'
    assert (tmp_path / 'log').read_text() == 'x\n'
    assert (tmp_path / 'b').exists()


async def test_a_call_without_an_answer_is_asked_about_again_on_resume(tmp_path: Path, deps: Deps) -> None:
    played = await run(deps, [write('a'), write('b')], gate=ApprovalGate())
    history, requests = stored(played)
    first, _ = requests_of(requests)
    results = results_of(requests, {first.id: YES})
    again = await run(deps, gate=ApprovalGate(), history=history, results=results)
    assert names(tmp_path) == ['a']
    assert isinstance(again.output, DeferredToolRequests)
    history, requests = stored(again)
    [second] = requests_of(requests)
    person = Person({'b': YES})
    resumed = await run(deps, gate=ApprovalGate(approver=person), history=history, results=results_of(requests, {}))
    assert [request.id for request in person.asked] == [second.id]
    assert resumed.output == 'done'
    assert names(tmp_path) == ['a', 'b']


async def test_a_file_that_changed_while_the_run_was_suspended_is_not_replaced(tmp_path: Path, deps: Deps) -> None:
    (tmp_path / 'a').write_text('old\n')
    played = await run(deps, [('read_file', {'path': 'a'})], [write('a', 'new\n')], gate=ApprovalGate())
    (tmp_path / 'a').write_text('by hand\n')
    history, requests = stored(played)
    [request] = requests_of(requests)
    resumed = await run(deps, gate=ApprovalGate(), history=history, results=results_of(requests, {request.id: YES}))
    assert (tmp_path / 'a').read_text() == 'by hand\n'
    assert 'read it again' in resumed.texts[-1]


async def test_a_decision_for_no_call_is_a_mistake_of_the_developer(deps: Deps) -> None:
    played = await run(deps, [write('a')], gate=ApprovalGate())
    with pytest.raises(ValueError, match="no call waits under 'nonsense'"):
        results_of(played.output, {'nonsense': YES})


async def test_cancelling_the_run_ends_the_questions(deps: Deps) -> None:
    asked = asyncio.Event()
    ended = asyncio.Event()

    class Waiting(Person):
        async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            raise AssertionError

    task = asyncio.create_task(run(deps, [write('a')], gate=ApprovalGate(approver=Waiting())))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_two_runs_of_one_gate_do_not_share_approvals(tmp_path: Path) -> None:
    person = Person(lambda request: ApprovalDecision(verdict='approve', scope='tool'))
    gate = ApprovalGate[Any](approver=person)
    backend = KernelWorkspace(tmp_path)
    await asyncio.gather(*(run(Deps(backend), [write(name)], gate=gate) for name in 'abc'))
    assert sorted(request.path or '' for request in person.asked) == ['a', 'b', 'c']

"""From the events of real runs to what a cell shows."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsPartialDict, IsStr
from pydantic import BaseModel
from pydantic_ai.messages import (
    EnqueuedMessagesEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall

from deep_notebook.capabilities.approvals import ApprovalDecision, ApprovalRequest
from deep_notebook.capabilities.events import (
    ApprovalAskedEvent,
    ApprovalDecidedEvent,
    CompressionFailedEvent,
    ContextCompressedEvent,
    NoticeEvent,
    TodosChangedEvent,
)
from deep_notebook.views import from_json, reduce, to_json
from deep_notebook.views.run_state import (
    ApprovalSuperseded,
    Editable,
    ModelInfo,
    NoticeGiven,
    RunFinished,
    RunStarted,
    RunState,
    ToolsKnown,
    ToolStep,
    UsageUpdated,
)

pytestmark = pytest.mark.anyio

STATES = Path(__file__).parents[2] / 'fixtures' / 'run_states'
Events = Callable[..., Awaitable[list[object]]]


class City(BaseModel):
    name: str


def call(name: str, args: str, id: str, *, index: int = 0) -> dict[int, DeltaToolCall]:
    return {index: DeltaToolCall(name=name, json_args=args, tool_call_id=id)}


def more(args: str, *, index: int = 0) -> dict[int, DeltaToolCall]:
    return {index: DeltaToolCall(json_args=args)}


def thought(text: str, *, index: int = 0) -> dict[int, DeltaThinkingPart]:
    return {index: DeltaThinkingPart(content=text)}


def started(**options: Any) -> RunState:
    event = RunStarted(
        run='3', prompt='\n  Count\nthe rows', model=ModelInfo(label='local', local=True), at=100.0, **options
    )
    return reduce(RunState(), event, now=100.0)


def fold(events: Iterable[object], *, state: RunState | None = None) -> list[RunState]:
    """Return the state after each event; one tenth of a second lies between two."""
    states = [state or started()]
    for number, event in enumerate(events, 1):
        states.append(reduce(states[-1], event, now=100 + number / 10))
    return states


def tool(state: RunState, id: str) -> ToolStep:
    return next(step for step in state.steps if isinstance(step, ToolStep) and step.id == id)


def request(id: str = 'c1', **changes: Any) -> ApprovalRequest:
    asked = ApprovalRequest(
        id=id,
        tool='write_file',
        tool_class='write',
        title='Write a.md?',
        path='a.md',
        args={'path': 'a.md', 'content': 'hello'},
        editable='content',
    )
    return replace(asked, **changes)


def asked(id: str = 'c1', **changes: Any) -> ApprovalAskedEvent:
    return ApprovalAskedEvent(request=request(id, **changes))


def decided(
    verdict: Any = 'approve', *, id: str = 'c1', channel: Any = 'widget', reason: str | None = None
) -> ApprovalDecidedEvent:
    decision = ApprovalDecision(verdict=verdict, channel=channel, reason=reason)
    return ApprovalDecidedEvent(request=request(id), decision=decision)


def text_chunks(*chunks: str) -> list[object]:
    first, *rest = chunks
    return [
        PartStartEvent(index=0, part=TextPart(first)),
        *(PartDeltaEvent(index=0, delta=TextPartDelta(chunk)) for chunk in rest),
    ]


@dataclass(frozen=True)
class Case:
    name: str
    responses: list[list[Any]]
    steps: list[Any]
    answer: str = 'Done.'
    rest: dict[str, Any] = field(default_factory=dict)
    output_type: Any = str
    decisions: dict[str, ApprovalDecision] = field(default_factory=dict)


WRITE = '{"path": "report.md", "content": "# Sales"}'
RUNS = [
    Case('an answer alone', [['All ', 'good.']], steps=[], answer='All good.'),
    Case(
        'what is said before a tool moves to the steps',
        [
            [
                thought('Hm, '),
                thought('a file.'),
                'I look ',
                'first. ',
                call('read_file', '{"pa', 'c1', index=1),
                more('th": "a.csv"}', index=1),
            ],
            ['Done.'],
        ],
        steps=[
            {'kind': 'say', 'text': 'I look first.'},
            IsPartialDict(
                kind='tool',
                id='c1',
                name='read_file',
                status='ok',
                summary='a.csv · 2 lines',
                args='path: a.csv',
                result='a,b\n1,2',
                truncated=False,
                note=None,
                images=[],
            ),
        ],
        rest={'thinking': 'Hm, a file.'},
    ),
    Case(
        'thoughts of two responses are two paragraphs',
        [[thought('One.'), call('read_file', '{"path": "a"}', 'c1', index=1)], [thought('Two.'), 'Done.']],
        steps=[IsPartialDict(id='c1')],
        rest={'thinking': 'One.\n\nTwo.'},
    ),
    Case(
        'a long result is shortened in its middle',
        [[call('shout', '{"length": 9000}', 'c1')], ['Done.']],
        steps=[
            IsPartialDict(
                truncated=True, result=IsStr(regex=r'(?s)x+\n… 5,0\d\d characters left out …\nx+', max_length=4000)
            )
        ],
    ),
    Case(
        'pictures beside the value and inside it',
        [[call('plot', '{}', 'c1'), call('photo', '{}', 'c2', index=1)], ['Done.']],
        steps=[
            IsPartialDict(result='drawn', images=[{'media_type': 'image/png', 'data': 'iVBORw0KGgo='}]),
            IsPartialDict(
                result='taken\n[application/pdf, 4 bytes, not shown]',
                images=[{'media_type': 'image/png', 'data': 'iVBORw0KGgo='}],
            ),
        ],
    ),
    Case(
        'a call that has to be made again says why',
        [
            [
                call('again', '{}', 'c1'),
                call('read_file', '{"pat": 1}', 'c2', index=1),
                call('nope', '{}', 'c3', index=2),
            ],
            ['Done.'],
        ],
        steps=[
            IsPartialDict(status='failed', note='No such file: a.txt.', result='No such file: a.txt.\nLook with `ls`.'),
            IsPartialDict(
                status='failed',
                args='pat: 1',
                note='wrong arguments: path: Field required; pat: Extra inputs are not permitted',
            ),
            IsPartialDict(status='failed', note=IsStr(regex='Unknown tool.*')),
        ],
    ),
    Case(
        'a call that failed for good says why',
        [[call('breaks', '{}', 'c1')], ['Done.']],
        steps=[IsPartialDict(status='failed', note='The disk is full.')],
    ),
    Case(
        'the plan',
        [[call('plan', '{}', 'c1')], ['Done.']],
        steps=[IsPartialDict(status='ok')],
        rest={'todos': [{'id': '1', 'content': 'Read', 'status': 'in_progress'}]},
    ),
    Case(
        'an approved write changes a file',
        [[call('write_file', WRITE, 'c1')], ['Done.']],
        decisions={'c1': ApprovalDecision(verdict='approve', channel='widget')},
        steps=[IsPartialDict(status='ok', summary='report.md · 1 line', args='path: report.md\ncontent: # Sales')],
        rest={
            'approvals': [
                IsPartialDict(id='c1', state='approved', channel='widget', args='path: report.md\ncontent: # Sales')
            ],
            'files': [
                {
                    'path': 'report.md',
                    'added': 1,
                    'removed': 0,
                    'diff': '--- /dev/null\n+++ report.md\n@@ -0,0 +1 @@\n+# Sales\n',
                }
            ],
        },
    ),
    Case(
        'an edited write shows what was executed',
        [[call('write_file', WRITE, 'c1')], ['Done.']],
        decisions={'c1': ApprovalDecision(verdict='approve', edited='# Mine', channel='widget')},
        steps=[IsPartialDict(status='ok', args='path: report.md\ncontent: # Mine')],
        rest={'approvals': [IsPartialDict(state='edited', editable={'name': 'content', 'text': '# Mine'})]},
    ),
    Case(
        'a denied write says who and why, and its sibling goes on',
        [[call('write_file', WRITE, 'c1'), call('read_file', '{"path": "a"}', 'c2', index=1)], ['Done.']],
        decisions={'c1': ApprovalDecision(verdict='deny', reason='keep the port', channel='input')},
        steps=[
            IsPartialDict(status='denied', note='denied: "keep the port"', seconds=None),
            IsPartialDict(status='ok', id='c2'),
        ],
        rest={'approvals': [IsPartialDict(state='denied', reason='keep the port', channel='input')], 'files': []},
    ),
    Case(
        'nobody can decide',
        [[call('write_file', WRITE, 'c1')]],
        steps=[IsPartialDict(status='waiting')],
        answer='',
        rest={'approvals': [IsPartialDict(state='suspended')]},
    ),
    Case(
        'an output tool is the answer, not a step',
        [['Thinking of one. ', call('final_result', '{"name": "Bern"}', 'c1')]],
        output_type=City,
        steps=[{'kind': 'say', 'text': 'Thinking of one.'}],
        answer='```json\n{\n  "name": "Bern"\n}\n```',
    ),
]


@pytest.mark.parametrize('case', RUNS, ids=lambda case: case.name)
async def test_a_run_becomes_a_state(case: Case, events_of: Events) -> None:
    events = await events_of(*case.responses, output_type=case.output_type, decisions=case.decisions)
    state = to_json(fold(events)[-1])
    assert state['steps'] == case.steps
    assert state['answer'] == case.answer
    assert {key: state[key] for key in case.rest} == case.rest
    assert from_json(json.loads(json.dumps(state))) == fold(events)[-1]


async def test_a_step_appears_while_the_model_still_writes_its_arguments(events_of: Events) -> None:
    events = await events_of([call('read_file', '{"pa', 'c1'), more('th": "a.csv"}')], ['Done.'])
    states = fold(events)
    first = next(state for state in states if state.steps)
    assert tool(first, 'c1') == ToolStep(id='c1', name='read_file', tool_class='write')
    assert [tool(state, 'c1').status for state in states if state.steps][-1] == 'ok'


async def test_seconds_count_from_the_decision_and_not_from_the_question(events_of: Events) -> None:
    events = await events_of(
        [call('write_file', WRITE, 'c1')], ['Done.'], decisions={'c1': ApprovalDecision(verdict='approve')}
    )
    state, now = started(), 100.0
    for event in events:
        now += 60 if isinstance(event, ApprovalDecidedEvent) else 0.25
        state = reduce(state, event, now=now)
    assert tool(state, 'c1').seconds == pytest.approx(0.25)


async def test_classes_come_from_the_run_and_unknown_tools_count_as_write(events_of: Events) -> None:
    events = await events_of([call('read_file', '{"path": "a"}', 'c1'), call('plan', '{}', 'c2', index=1)], ['Done.'])
    state = fold([ToolsKnown(classes={'read_file': 'read'}), *events])[-1]
    assert (tool(state, 'c1').tool_class, tool(state, 'c2').tool_class) == ('read', 'write')


async def test_what_was_executed_is_named_beside_its_outcome_and_an_error_in_it_is_a_failure(events_of: Events) -> None:
    code = json.dumps({'code': '# count\nimport re\n\ncount + 1\n'})
    events = await events_of([call('run_python', code, 'c1')], ['Done.'])
    states = fold([ToolsKnown(classes={'run_python': 'execute'}), *events])
    assert 'count + 1' in {tool(state, 'c1').summary for state in states if state.steps}
    assert (tool(states[-1], 'c1').status, tool(states[-1], 'c1').summary) == ('failed', 'count + 1 → NameError: x')


@dataclass(frozen=True)
class Cut:
    name: str
    phase: Any
    events: list[object]
    status: str
    note: str | None
    approval: str | None = None


COMMAND = asked(tool='execute', tool_class='execute')
MOVED = ApprovalSuperseded(id='c1')
CUTS = [
    Cut('a question', 'stopped', [asked()], 'interrupted', 'interrupted, nothing was written', 'cancelled'),
    Cut('about a command', 'failed', [COMMAND], 'interrupted', 'interrupted, nothing was run', 'cancelled'),
    Cut('asked elsewhere', 'stopped', [asked(), MOVED], 'interrupted', 'interrupted, nothing was written', 'cancelled'),
    Cut('an approved write while it runs', 'stopped', [asked(), decided()], 'interrupted', 'interrupted', 'approved'),
    Cut('a denied write', 'stopped', [asked(), decided('deny', reason='no')], 'denied', 'denied: "no"', 'denied'),
    Cut('a question that can be answered later', 'suspended', [asked()], 'waiting', None, 'suspended'),
]  # fmt: skip


@pytest.mark.parametrize('case', CUTS, ids=lambda case: case.name)
def test_the_end_of_a_run_settles_what_is_open(case: Cut) -> None:
    state = fold([*case.events, RunFinished(phase=case.phase, notice='Go on.')])[-1]
    assert (state.phase, state.notice) == (case.phase, 'Go on.')
    assert (tool(state, 'c1').status, tool(state, 'c1').note) == (case.status, case.note)
    assert [approval.state for approval in state.approvals] == [case.approval]


def test_a_running_tool_that_only_reads_wrote_nothing_worth_saying() -> None:
    part = ToolCallPart(tool_name='read_file', args='{"path": "a"}', tool_call_id='c1')
    events = [
        ToolsKnown(classes={'read_file': 'read'}),
        PartStartEvent(index=0, part=part),
        RunFinished(phase='stopped'),
    ]
    assert tool(fold(events)[-1], 'c1').note == 'interrupted'


def test_the_run_waits_as_long_as_one_question_is_open() -> None:
    events = [asked('c1'), asked('c2'), decided(id='c1'), decided('deny', id='c2')]
    assert [state.phase for state in fold(events)] == ['starting', 'waiting', 'waiting', 'waiting', 'running']


def test_a_question_asked_elsewhere_still_waits_until_it_is_answered() -> None:
    events = [asked(), ApprovalSuperseded(id='c1'), decided(channel='input')]
    states = fold(events)
    assert [state.phase for state in states] == ['starting', 'waiting', 'waiting', 'running']
    assert [state.approvals[0].state for state in states[1:]] == ['pending', 'superseded', 'approved']


def test_a_question_asked_again_stands_once_and_is_open() -> None:
    state = fold([asked('c1'), asked('c2'), decided(id='c1'), asked('c1', detail='changed meanwhile')])[-1]
    assert [(it.id, it.state, it.detail) for it in state.approvals] == [
        ('c2', 'pending', ''),
        ('c1', 'pending', 'changed meanwhile'),
    ]
    assert tool(state, 'c1').status == 'waiting'


def test_nothing_changes_a_finished_run_but_its_usage() -> None:
    done = fold([*text_chunks('Hi'), RunFinished(phase='done')])[-1]
    late = reduce(done, PartDeltaEvent(index=0, delta=TextPartDelta(' there')), now=999)
    assert late is done
    counted = reduce(done, UsageUpdated(requests=1, input_tokens=2, output_tokens=3, cost='0.01'), now=999)
    assert counted == replace(done, usage=counted.usage)
    assert counted.usage.cost == '0.01'


@pytest.mark.parametrize(
    'event',
    [object(), None, 'text', EnqueuedMessagesEvent(enqueue_id='1', messages=())],
    ids=['object', 'none', 'text', 'messages'],
)
def test_an_unknown_event_leaves_the_very_same_state(event: object) -> None:
    state = started()
    assert reduce(state, event, now=500) is state


def test_a_run_begins_with_what_is_known() -> None:
    state = started(banner='Replayed', budget='0.50')
    assert (state.prompt, state.phase, state.banner, state.usage.budget) == ('Count', 'starting', 'Replayed', '0.50')
    state = fold([NoticeGiven(text='Memory only.'), *text_chunks('a', 'b')], state=state)[-1]
    assert (state.phase, state.notice, state.elapsed, state.started) == ('running', 'Memory only.', 0.3, 100.0)


def test_each_notice_of_a_capability_is_shown_once_and_none_replaces_another() -> None:
    one, two = (
        NoticeEvent(text='The price is unknown.'),
        NoticeEvent(text='token=abcdef0123456789abcdef01 is not there.'),
    )
    state = fold([one, two, one, RunFinished(phase='done')], state=started())[-1]
    assert state.notice == 'The price is unknown. token=…[masked] is not there.'


def test_a_person_is_told_when_their_conversation_is_summarised_or_cannot_be() -> None:
    compressed = ContextCompressedEvent(messages=12, summary='All was said.', tokens_before=900, tokens_after=90)
    state = fold([compressed, CompressionFailedEvent(reason='no key'), RunFinished(phase='done')], state=started())[-1]
    assert state.notice == (
        'To make room, a summary took the place of 12 older messages; all are kept. '
        'The context is nearly full and could not be summarised: no key'
    )


def test_text_of_a_rejected_response_is_not_glued_to_the_next() -> None:
    state = fold([*text_chunks('First ', 'try.'), *text_chunks('Second ', 'try.')])[-1]
    assert (state.answer, to_json(state)['steps']) == ('Second try.', [{'kind': 'say', 'text': 'First try.'}])


def test_a_search_by_the_provider_is_a_step() -> None:
    search = NativeToolCallPart(tool_name='web_search', args={'query': 'bern'}, tool_call_id='s1')
    found = NativeToolReturnPart(tool_name='web_search', content='2 results', tool_call_id='s1')
    state = fold(
        [
            PartStartEvent(index=0, part=search),
            PartEndEvent(index=0, part=search),
            PartStartEvent(index=1, part=found),
        ]
    )[-1]
    step = tool(state, 's1')
    assert (step.status, step.summary, step.tool_class, step.result) == ('ok', 'bern', 'read', '2 results')


def test_a_call_that_a_rule_denied_says_so_and_took_no_time() -> None:
    events = [
        FunctionToolCallEvent(ToolCallPart('execute', {'command': 'rm -r /'}, tool_call_id='c1')),
        FunctionToolResultEvent(ToolReturnPart('execute', 'Not on this machine.', tool_call_id='c1', outcome='denied')),
    ]
    step = tool(fold(events)[-1], 'c1')
    assert (step.status, step.note, step.seconds) == ('denied', 'denied: "Not on this machine."', None)


def test_two_writes_of_one_file_are_one_changed_file() -> None:
    def written(id: str, diff: str) -> list[object]:

        metadata = {'file': {'path': 'a.md', 'added': 2, 'removed': 1, 'diff': diff}}
        return [FunctionToolResultEvent(ToolReturnPart('edit_file', 'ok', tool_call_id=id, metadata=metadata))]

    (file,) = fold([*written('c1', '+one\n'), *written('c2', '+two\n')])[-1].files
    assert (file.added, file.removed, file.diff) == (4, 2, '+one\n+two\n')


SECRET = 'sk-proj-' + 'a1B2c3D4' * 5


def test_a_secret_split_between_chunks_is_never_shown() -> None:
    chunks = ['The key is ', *SECRET, ' and\nno more', '.']
    for state in fold(text_chunks(*chunks)):
        assert SECRET[:30] not in state.answer
    assert state.answer == 'The key is sk-…[masked] and\nno more.'


def test_a_private_key_over_many_lines_is_never_shown() -> None:
    body = [f'{"Ab1/" * 16}\n' for _ in range(4)]
    state = fold(
        text_chunks('Here:\n', '-----BEGIN RSA PRIVATE KEY-----\n', *body, '-----END RSA PRIVATE KEY-----\nBye')
    )[-1]
    assert 'Ab1/' not in state.answer
    assert state.answer.startswith('Here:\n')
    assert state.answer.endswith('Bye')


def test_secrets_are_masked_in_arguments_results_diffs_and_questions() -> None:

    question = asked(
        title=f'Write {SECRET}?',
        detail=SECRET,
        diff=f'+key = "{SECRET}"\n',
        args={'path': 'a.env', 'content': f'API_KEY={SECRET}', 'api_key': 'hunter22-and-more'},
    )
    returned = ToolReturnPart(
        'write_file', f'wrote {SECRET}', tool_call_id='c1',
        metadata={'summary': SECRET, 'file': {'path': 'a.env', 'added': 1, 'removed': 0, 'diff': f'+{SECRET}'}},
    )  # fmt: skip
    plan = TodosChangedEvent(todos=[{'id': '1', 'content': SECRET, 'status': 'odd'}])
    end = RunFinished(phase='failed', error=SECRET, notice=SECRET)
    state = fold([question, decided(), FunctionToolResultEvent(returned), plan, end])[-1]
    shown = json.dumps(to_json(state))
    assert SECRET[:30] not in shown
    assert 'hunter22' not in shown


@pytest.mark.parametrize(
    ('content', 'editable'),
    [
        ('hello', Editable(name='content', text='hello')),
        (f'key = {SECRET}', None),
        ('x' * 200_000, None),
        (3, None),
    ],
    ids=['short', 'with a secret', 'too long', 'not text'],
)
def test_only_text_that_can_be_shown_as_it_is_can_be_edited(content: Any, editable: Editable | None) -> None:
    state = fold([asked(args={'path': 'a', 'content': content})])[-1]
    assert state.approvals[0].editable == editable


def test_a_long_argument_never_hides_another() -> None:
    args = {'content': 'x' * 100_000, 'path': '../../outside', 'more': 'y' * 100_000, 'mode': 'w'}
    shown = fold([asked(args=args)])[-1]
    assert 'path: ../../outside\n' in shown.approvals[0].args
    assert '\nmode: w' in shown.approvals[0].args
    assert 'characters left out' in shown.approvals[0].args
    assert len(shown.approvals[0].args) < 20_500
    assert len(tool(shown, 'c1').args) < 4_500


def test_thinking_is_bounded() -> None:

    start = PartStartEvent(index=0, part=ThinkingPart('x' * 15_000))
    state = fold([start, *[PartDeltaEvent(index=0, delta=ThinkingPartDelta(content_delta='y' * 15_000))] * 2])[-1]
    assert len(state.thinking) == 20_000


@pytest.mark.parametrize('name', ['waiting', 'done', 'stopped', 'delegated', 'asking'])
def test_a_stored_state_is_read_back_unchanged(name: str) -> None:
    data = json.loads((STATES / f'{name}.json').read_text(encoding='utf-8'))
    assert to_json(from_json(data)) == data
    assert list(to_json(from_json(data))) == list(data), 'the order of keys'
    assert from_json({**data, 'from_a_newer_version': 1}) == from_json(data)

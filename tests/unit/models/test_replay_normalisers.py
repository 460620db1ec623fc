"""What differs from run to run without meaning anything does not matter; everything else does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic_ai import ModelMessage
from pydantic_ai.messages import (
    BinaryContent,
    InstructionPart,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from deep_notebook.models.normalise import NORMALISERS, CanonicalRequest, Normaliser, answer_form

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of the same cell: what may vary, and what must not."""

    time: datetime = NOW
    workspace: str = '/home/ann/work'
    call_id: str = 'call_0123456789abcdef'
    run_id: str = 'run-1'
    address: str = '0x7f1234567890'
    uuid: str = '123e4567-e89b-12d3-a456-426614174000'
    usage: int = 10
    metadata: str = 'a diff'
    prompt: str = 'Look'
    result: str = 'three rows'
    said: str = 'I look.'
    data: bytes = b'\x01\x02'
    settings: float = 0.0
    description: str = 'Read a file.'
    instruction: str = 'Be brief.'

    def canonical(self, names: tuple[str, ...] = tuple(NORMALISERS)) -> CanonicalRequest:
        stamp = self.time.isoformat()
        picture = BinaryContent(self.data, media_type='image/png')
        messages: list[ModelMessage] = [
            ModelRequest(
                parts=[UserPromptPart([self.prompt, picture], timestamp=self.time)],
                run_id=self.run_id,
                timestamp=self.time,
            ),
            ModelResponse(
                parts=[
                    ThinkingPart('hm', id=f'rs_{self.run_id}', signature=self.run_id),
                    TextPart(f'{self.said} {self.workspace}/x'),
                    ToolCallPart('read_file', {'path': f'{self.workspace}/x'}, tool_call_id=self.call_id),
                ],
                usage=RequestUsage(input_tokens=self.usage),
                timestamp=self.time,
                provider_response_id=self.run_id,
                run_id=self.run_id,
            ),
            ModelRequest(
                parts=[
                    ToolReturnPart(
                        'read_file',
                        {
                            'text': self.result,
                            'where': f'{self.workspace}/x as {self.call_id}',
                            'object': f'<X object at {self.address}>',
                            'id': self.uuid,
                            'now': stamp,
                        },
                        tool_call_id=self.call_id,
                        metadata={'diff': self.metadata},
                        timestamp=self.time,
                    )
                ],
                timestamp=self.time,
            ),
        ]  # fmt: skip
        parameters = ModelRequestParameters(
            function_tools=[ToolDefinition(name='read_file', description=self.description)],
            instruction_parts=[InstructionPart(content=f'{self.instruction} Today is {self.time.date()}.')],
        )
        normaliser = Normaliser(workspace=Path(self.workspace), names=names, clock=lambda: self.time)
        return normaliser.request(messages, ModelSettings(temperature=self.settings), parameters, model='m:m')


@dataclass(frozen=True)
class Case:
    name: str
    run: Run


VARIES = [
    Case('timestamps', Run(time=NOW + timedelta(days=40, minutes=7))),
    Case('call-ids', Run(call_id='call_fedcba9876543210')),
    Case('run-ids', Run(run_id='run-2')),
    Case('provider-data', Run(usage=11)),
    Case('metadata', Run(metadata='another diff')),
    Case('workspace', Run(workspace='/srv/bob/elsewhere')),
    Case('addresses', Run(address='0x55aa55aa55aa')),
    Case('uuids', Run(uuid='00000000-e89b-12d3-a456-426614174999')),
]

MATTERS = [
    Case('prompt', Run(prompt='Look again')),
    Case('tool result', Run(result='four rows')),
    Case('what the model said', Run(said='I will look.')),
    Case('picture', Run(data=b'\x01\x03')),
    Case('setting', Run(settings=1.0)),
    Case('tool description', Run(description='Read any file.')),
    Case('instructions', Run(instruction='Be long.')),
]


@pytest.mark.parametrize('case', VARIES, ids=lambda case: case.name)
def test_what_varies_does_not_matter(case: Case) -> None:
    assert case.run.canonical() == Run().canonical()


@pytest.mark.parametrize('case', VARIES, ids=lambda case: case.name)
def test_each_normaliser_can_be_left_out(case: Case) -> None:
    others = tuple(name for name in NORMALISERS if name != case.name)
    assert case.run.canonical(others) != Run().canonical(others)


@pytest.mark.parametrize('case', MATTERS, ids=lambda case: case.name)
def test_what_matters_is_another_request(case: Case) -> None:
    assert case.run.canonical().key != Run().canonical().key


def test_a_time_long_ago_is_data() -> None:
    assert '2026-05-01T10:00:00' in json.dumps(Run(result='at 2026-05-01T10:00:00').canonical().messages)


@pytest.mark.parametrize('written', ['2026-11-30T12:10:00Z', '2026-11-30 12:10:00,123', '2026-11-30T13:10:00.5+01:00'])
def test_a_time_near_now_is_not(written: str) -> None:
    assert Run(result=f'at {written}').canonical() == Run(result='at 2026-11-30T11:50:00Z').canonical()


def test_what_the_model_said_is_replayed_word_for_word_so_its_times_stay() -> None:
    assert '2026-11-30T12:10:00Z' in json.dumps(Run(said='at 2026-11-30T12:10:00Z').canonical().messages)


def test_a_short_call_id_is_not_replaced_inside_words() -> None:
    canonical = Run(call_id='a', result='a banana').canonical()
    assert 'a banana' in json.dumps(canonical.messages)
    assert 'call-1' in json.dumps(canonical.messages)


def test_secrets_are_masked_before_anything_is_compared() -> None:
    assert Run(result='password=hunter22').canonical() == Run(result='password=swordfish1').canonical()


@pytest.mark.parametrize('arguments', ['{"path": "x"}', {'path': 'x'}], ids=['text', 'object'])
def test_an_answer_has_the_same_form_in_the_file_and_in_the_next_request(arguments: str | dict[str, str]) -> None:
    response = ModelResponse(
        parts=[
            ThinkingPart('hm', id='rs_1', signature='abc'),
            TextPart('in /home/ann/work, password=hunter22'),
            ToolCallPart('read_file', arguments, tool_call_id='c1'),
            ToolCallPart('read_file', arguments, tool_call_id='c2'),
        ],
        usage=RequestUsage(input_tokens=3),
        model_name='m',
        run_id='r',
    )
    normaliser = Normaliser(workspace=Path('/home/ann/work'))
    recorded, _ = normaliser.response(response)
    request = normaliser.request([response], None, ModelRequestParameters(), model='m:m')
    assert answer_form(recorded, names=normaliser.names, earlier_calls=0) == request.messages[0]


def test_every_normaliser_says_what_it_takes_out() -> None:
    assert all(NORMALISERS.values())


def test_old_names_keep_their_meaning() -> None:
    """These names stand in recordings: one may be added, none may go."""
    released = ['timestamps', 'call-ids', 'run-ids', 'provider-data', 'metadata', 'workspace', 'addresses', 'uuids']
    assert set(released) <= set(NORMALISERS)


def test_an_object_that_json_cannot_hold_is_compared_by_its_repr() -> None:
    class Odd:
        def __repr__(self) -> str:
            return '<Odd at 0x7f00aa>'

    message = ModelRequest(parts=[ToolReturnPart('t', Odd(), tool_call_id='c')])
    canonical = Normaliser().request([message], None, ModelRequestParameters(), model='m:m')
    assert '<Odd at <address>>' in json.dumps(canonical.messages)

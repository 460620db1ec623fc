"""When the agent goes back to a checkpoint the run ends there, whoever watches, asks or gave the task."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage

from deep_notebook import CheckpointCapability, DeepNotebookError, InMemoryCheckpointStore, RewindRequested
from deep_notebook.capabilities.approvals import ApprovalDecision, ApprovalGate, ApprovalRequest
from deep_notebook.capabilities.hooks import Hook, HookEvent, HookInput, HookResult, HooksCapability
from deep_notebook.capabilities.subagents import SubAgentCapability, SubAgentConfig
from deep_notebook.errors import RunControl
from harness.cast import Cast, perform
from harness.checkpoints import checkpoint, history
from harness.play import Call, play

pytestmark = pytest.mark.anyio

BACK: Call = ('rewind_to', {'checkpoint': 'here'})


@pytest.fixture
def messages() -> list[ModelMessage]:
    return history(1)


@pytest.fixture
async def going_back(messages: list[ModelMessage]) -> CheckpointCapability[Any]:
    store = InMemoryCheckpointStore()
    await store.save(checkpoint('here', messages))
    return CheckpointCapability(store)


def test_it_is_a_way_to_steer_the_run() -> None:
    error = RewindRequested('id', 'here', [])
    assert isinstance(error, RunControl)
    assert isinstance(error, DeepNotebookError)
    assert str(error) == "The agent asked to go back to the checkpoint 'here'."


async def test_hooks_see_it_and_cannot_change_it(
    going_back: CheckpointCapability[Any], messages: list[ModelMessage]
) -> None:
    seen: list[str] = []

    async def watch(given: HookInput) -> HookResult:
        seen.append(given.event)
        return HookResult(modified_result='swallowed')

    hooks = [Hook(event, handler=watch) for event in HookEvent]
    with pytest.raises(RewindRequested) as caught:
        await play([BACK], capabilities=[HooksCapability(hooks), going_back])
    assert caught.value.messages == messages
    assert 'run_error' in seen


class Person:
    def __init__(self, verdict: Any) -> None:
        self.verdict = verdict
        self.asked: list[ApprovalRequest] = []

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
        self.asked.append(request)
        return ApprovalDecision(verdict=self.verdict)


async def test_the_person_is_asked_and_told_what_stays(
    going_back: CheckpointCapability[Any], messages: list[ModelMessage]
) -> None:
    person = Person('approve')
    with pytest.raises(RewindRequested):
        await play([BACK], capabilities=[going_back, ApprovalGate('ask', person)], history=history(4))
    [request] = person.asked
    assert request.title == "Go back to the checkpoint 'here'?"
    assert request.detail == 'turn 1 of 5 · 3 of 11 messages stay'


async def test_a_no_leaves_everything_as_it_is(going_back: CheckpointCapability[Any]) -> None:
    played = await play([BACK], capabilities=[going_back, ApprovalGate('ask', Person('deny'))])
    assert played.output == 'done'
    assert played.returns[0].outcome == 'denied'


async def test_marking_and_listing_ask_nobody() -> None:
    person = Person('deny')
    played = await play(
        [('save_checkpoint', {'label': 'here'})],
        [('list_checkpoints', {})],
        capabilities=[CheckpointCapability(), ApprovalGate('ask', person)],
    )
    assert person.asked == []
    assert [part.outcome for part in played.returns] == ['success', 'success']


async def test_a_question_about_no_checkpoint_is_not_put(going_back: CheckpointCapability[Any]) -> None:
    person = Person('approve')
    unknown: Call = ('rewind_to', {'checkpoint': 'nowhere'})
    played = await play([unknown], capabilities=[going_back, ApprovalGate('ask', person)])
    assert person.asked == []
    assert played.texts[0].startswith("There is no checkpoint 'nowhere'.")


@pytest.mark.parametrize('background', [False, True])
async def test_a_subagent_s_goes_through_and_says_whose_it_is(
    background: bool, going_back: CheckpointCapability[Any]
) -> None:
    config: SubAgentConfig = {
        'name': 'helper',
        'description': 'Helps.',
        'toolsets': [going_back.get_toolset()],
    }
    task: Call = ('task', {'description': 'try', 'subagent_type': 'helper', 'background': background})
    cast = Cast({'go': [[task], 'end'], 'try': [[BACK], 'fine']})
    with pytest.raises(RewindRequested) as caught:
        await perform(cast, SubAgentCapability([config]))
    own = {message.conversation_id for request in cast.requests_of('go') for message in request.messages}
    assert caught.value.conversation_id not in own

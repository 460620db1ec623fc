"""Checkpoints can always be continued, whatever ran side by side, and the agent finds its own ones."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsStr
from pydantic_ai import Agent, ModelRequestContext, ModelRetry, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import RetryModelRequest, ToolFailed
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from deep_notebook import (
    Checkpoint,
    CheckpointCapability,
    CheckpointMiddleware,
    CheckpointToolset,
    InMemoryCheckpointStore,
    RewindRequested,
    fork_from_checkpoint,
)
from deep_notebook.capabilities import CAPABILITIES
from deep_notebook.errors import StoreError
from harness.checkpoints import KINDS, Kind, checkpoint, history, opened
from harness.play import Call, Played, play, tool_returns

pytestmark = pytest.mark.anyio


def tools() -> FunctionToolset[Any]:
    async def look(at: str = '') -> str:
        await asyncio.sleep(0)
        return f'seen {at}'

    async def fail() -> str:
        raise ToolFailed('no such thing')

    async def retry() -> str:
        raise ModelRetry('not like that')

    async def crash() -> str:
        await asyncio.sleep(0)
        raise RuntimeError('broken')

    return FunctionToolset([look, fail, retry, crash], max_retries=5)


async def run(*turns: Any, capabilities: Sequence[AbstractCapability[Any]], **options: Any) -> Played:
    return await play(*turns, capabilities=capabilities, toolsets=[tools()], **options)


def looks(count: int) -> list[Call]:
    return [('look', {'at': str(number)}) for number in range(count)]


def save(label: str) -> Call:
    return 'save_checkpoint', {'label': label}


async def continued(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Give a prompt after `messages`, as a provider would accept it, and return what the model was sent."""
    sent: list[ModelMessage] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        sent.extend(messages)
        open_calls: set[str] = set()
        for message in messages:
            if isinstance(message, ModelResponse):
                assert not open_calls
                open_calls = {part.tool_call_id for part in message.tool_calls}
            else:
                answered = [part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)]
                assert sorted(answered) == sorted(open_calls), 'each call has one result, right after it'
                open_calls = set()
        return ModelResponse(parts=[TextPart('on')])

    await Agent(FunctionModel(answer), toolsets=[tools()]).run('and now?', message_history=list(messages))
    return sent


STEPS = {
    'one call': looks(1),
    'two calls': looks(2),
    'five calls': looks(5),
    'one of two failed': [('look', {}), ('fail', {})],
    'the first of five failed': [('fail', {}), *looks(4)],
    'one is to be tried again': [*looks(2), ('retry', {})],
    'one does not exist': [*looks(2), ('nothing', {})],
    'saved in between': [('look', {}), save('here'), ('fail', {})],
}


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('frequency', ['every_tool', 'every_turn', 'manual_only'])
@pytest.mark.parametrize('step', STEPS.values(), ids=STEPS)
async def test_every_checkpoint_can_be_continued_and_lost_no_result(
    step: list[Call], frequency: Any, kind: Kind, tmp_path: Path
) -> None:
    with opened(kind, tmp_path) as store:
        capabilities = [CheckpointMiddleware(store, frequency), CheckpointCapability(store)]
        played = await run(step, [save('then'), *looks(1)], capabilities=capabilities)
        assert await store.count() >= 1
        for one in await store.list_all():
            messages = await fork_from_checkpoint(store, one.id)
            results = tool_returns(messages)
            assert [part.outcome for part in results if part.outcome == 'interrupted'] == []
            assert [part.content for part in results] == [part.content for part in played.returns[: len(results)]]
            sent = await continued(messages)
            assert [part.tool_call_id for part in tool_returns(sent)] == [part.tool_call_id for part in results]


@pytest.mark.parametrize('count', [1, 2, 5])
@pytest.mark.parametrize('frequency', ['every_tool', 'every_turn'])
async def test_a_crash_among_the_calls_leaves_the_checkpoints_before_it(count: int, frequency: Any) -> None:
    saving = CheckpointMiddleware[Any](frequency=frequency)
    with pytest.raises(RuntimeError, match='broken'):
        await run(looks(count), [*looks(count - 1), ('crash', {})], capabilities=[saving])
    assert saving.store is not None
    *_, latest = await saving.store.list_all()
    assert latest.turn == 1
    assert [part.outcome for part in tool_returns(latest.messages)] == ['success'] * count
    await continued(latest.messages)


async def test_what_was_to_be_saved_is_saved_when_the_step_crashes() -> None:
    store = InMemoryCheckpointStore()
    with pytest.raises(RuntimeError, match='broken'):
        await run([*looks(1), save('before'), ('crash', {})], capabilities=[CheckpointCapability(store)])
    [saved] = await store.list_all()
    outcomes = {part.tool_name: part.outcome for part in tool_returns(saved.messages)}
    assert outcomes == {'look': 'success', 'save_checkpoint': 'success', 'crash': 'interrupted'}
    await continued(saved.messages)


async def test_each_frequency_saves_when_it_says() -> None:
    found: dict[str, list[tuple[str, int, Any]]] = {}
    for frequency in ('every_tool', 'every_turn', 'manual_only'):
        saving = CheckpointMiddleware[Any](frequency=frequency)  # type: ignore[arg-type]
        await run(looks(2), [('fail', {})], [('retry', {})], capabilities=[saving])
        assert saving.store is not None
        found[frequency] = [
            (one.label, one.message_count, one.metadata.get('last_tool')) for one in await saving.store.list_all()
        ]
    assert found == {
        'every_tool': [('auto-1', 3, 'look'), ('auto-2', 5, 'fail')],
        'every_turn': [('auto-0', 1, None), ('auto-1', 3, 'look'), ('auto-2', 5, 'fail'), ('auto-3', 7, None)],
        'manual_only': [],
    }


async def test_turns_count_on_from_run_to_run() -> None:
    saving = CheckpointMiddleware[Any]()
    first = await run(looks(1), looks(1), capabilities=[saving])
    await run(looks(1), capabilities=[saving], history=first.messages)
    assert saving.store is not None
    assert [(one.label, one.turn) for one in await saving.store.list_all()] == [
        ('auto-1', 1),
        ('auto-2', 2),
        ('auto-4', 4),
    ]


async def test_going_on_from_a_checkpoint_does_not_save_it_again() -> None:
    saving = CheckpointMiddleware[Any]()
    await run(looks(1), capabilities=[saving])
    assert saving.store is not None
    [saved] = await saving.store.list_all()
    await run(capabilities=[saving], history=await fork_from_checkpoint(saving.store, saved.id))
    assert await saving.store.count() == 1


async def test_automatic_ones_are_forgotten_and_named_ones_never() -> None:
    saving = CheckpointMiddleware[Any](max_checkpoints=2)
    await run([save('mine'), *looks(1)], *[looks(1)] * 5, capabilities=[saving, CheckpointCapability()])
    assert saving.store is not None
    assert [one.label for one in await saving.store.list_all()] == ['mine', 'auto-5', 'auto-6']


async def test_two_runs_at_once_keep_to_themselves() -> None:
    store = InMemoryCheckpointStore()
    counters = {'a': itertools.count(), 'b': itertools.count()}
    barrier = asyncio.Barrier(2)

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await barrier.wait()
        [prompt] = [part for part in messages[0].parts if isinstance(part, UserPromptPart)]
        name = str(prompt.content)
        number = next(counters[name])
        if number == 3:
            return ModelResponse(parts=[TextPart(name)])
        calls = [ToolCallPart('look', {'at': name}, tool_call_id=f'{name}{number}')]
        if number == 1:
            calls.append(ToolCallPart('save_checkpoint', {'label': 'mine'}, tool_call_id=f'save {name}'))
        return ModelResponse(parts=calls)

    agent = Agent(
        FunctionModel(answer),
        toolsets=[tools()],
        capabilities=[CheckpointMiddleware(store), CheckpointCapability(store)],
    )
    results = await asyncio.gather(agent.run('a'), agent.run('b'))
    assert [result.output for result in results] == ['a', 'b']
    for name in ('a', 'b'):
        own = [
            one
            for one in await store.list_all()
            if [part.content for part in one.messages[0].parts if isinstance(part, UserPromptPart)] == [name]
        ]
        assert sorted((one.label, one.turn, one.message_count) for one in own) == [
            ('auto-1', 1, 3),
            ('auto-2', 2, 5),
            ('auto-3', 3, 7),
            ('mine', 2, 5),
        ]
        seen = [part.content for one in own for part in tool_returns(one.messages) if part.tool_name == 'look']
        assert set(seen) == {f'seen {name}'}


async def test_saving_goes_on_before_the_tools_are_loaded() -> None:
    saving = CheckpointMiddleware[Any]()
    played = await run(
        looks(1),
        [('load_capability', {'id': 'checkpoints'})],
        [save('mine'), *looks(1)],
        [('list_checkpoints', {})],
        capabilities=[saving, CheckpointCapability(defer_loading=True)],
    )
    assert 'save_checkpoint' not in played.tools
    assert saving.store is not None
    assert [(one.label, one.message_count) for one in await saving.store.list_all()] == [
        ('auto-1', 3),
        ('mine', 7),
        ('auto-3', 7),
    ]


async def test_saving_itself_cannot_be_deferred() -> None:
    with pytest.raises(ValueError, match='cannot be loaded on demand'):
        CheckpointMiddleware(defer_loading=True)


@pytest.mark.parametrize('options', [{'frequency': 'sometimes'}, {'max_checkpoints': 0}])
async def test_impossible_settings_are_refused(options: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        CheckpointMiddleware(**options)


async def test_both_can_be_told_apart_in_settings() -> None:
    assert CAPABILITIES['checkpoints'] is CheckpointCapability
    assert CAPABILITIES['checkpoint_saving'] is CheckpointMiddleware
    assert CheckpointCapability().id == 'checkpoints'


async def test_another_attempt_at_a_request_is_no_other_turn() -> None:
    class Impatient(AbstractCapability[Any]):
        async def on_model_request_error(
            self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
        ) -> Any:
            raise RetryModelRequest(request_context.model) from error

    attempts = itertools.count()

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        number = next(attempts)
        if number in (1, 2):
            raise RuntimeError('overloaded')
        return ModelResponse(parts=[TextPart('done') if number else ToolCallPart('look', {}, tool_call_id='1')])

    saving = CheckpointMiddleware[Any]()
    await Agent(FunctionModel(answer), toolsets=[tools()], capabilities=[saving, Impatient()]).run('go')
    assert next(attempts) == 4
    assert saving.store is not None
    assert [one.label for one in await saving.store.list_all()] == ['auto-1']


async def test_a_checkpoint_is_what_will_be_in_the_history() -> None:
    saving = CheckpointMiddleware[Any]()

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        first = len(messages) == 1
        return ModelResponse(parts=[ToolCallPart('look', {}, tool_call_id='1') if first else TextPart('done')])

    agent = Agent(FunctionModel(answer), instructions='Be good.', toolsets=[tools()], capabilities=[saving])
    assert saving.store is not None
    result = await agent.run('go')
    [saved] = await saving.store.list_all()
    assert saved.messages == result.all_messages()[:3]


async def test_a_full_disk_stops_the_run_and_says_so() -> None:
    class Full(InMemoryCheckpointStore):
        async def save(self, checkpoint: Checkpoint) -> None:
            raise StoreError('disk full')

    for capability, step in (
        (CheckpointMiddleware(Full()), looks(1)),
        (CheckpointCapability(Full()), [save('here')]),
    ):
        with pytest.raises(StoreError, match='disk full'):
            await run(step, capabilities=[capability])


async def test_what_else_is_to_be_remembered_is_asked_when_the_step_is_settled() -> None:
    done: list[str] = []

    async def work() -> str:
        await asyncio.sleep(0)
        done.append('work')
        return 'worked'

    def annotate(ctx: RunContext[Any]) -> dict[str, Any]:
        return {'journal': len(done), 'automatic': False}

    store = InMemoryCheckpointStore()
    await play(
        [save('mine'), ('work', {})],
        capabilities=[
            CheckpointMiddleware(store, annotate=annotate),
            CheckpointCapability(store, annotate=annotate),
        ],
        toolsets=[FunctionToolset([work])],
    )
    mine, automatic = await store.list_all()
    assert (mine.metadata['journal'], automatic.metadata['journal']) == (1, 1)
    assert (mine.automatic, automatic.automatic) == (False, True)


# The agent's tools.


async def test_what_the_tools_say() -> None:
    played = await run(
        [save('vor  dem\nUmbau'), *looks(1)],
        [('list_checkpoints', {})],
        capabilities=[CheckpointMiddleware(), CheckpointCapability()],
    )
    said, _, listed = played.texts
    assert said == "The checkpoint 'vor dem Umbau' is saved as soon as all calls of this response are done."
    assert listed.splitlines() == [
        IsStr(regex=r'- vor dem Umbau \([0-9a-f]{8}\) · turn 1 · 3 messages · \d\d:\d\d'),
        IsStr(regex=r'- auto-1 \([0-9a-f]{8}\) · turn 1 · 3 messages · \d\d:\d\d · after look'),
    ]
    assert [part.metadata for part in played.returns][::2] == [
        {'summary': 'vor dem Umbau'},
        {'summary': '2 checkpoints'},
    ]


async def test_a_list_of_none_and_of_many() -> None:
    store = InMemoryCheckpointStore()
    capability = CheckpointCapability[Any](store)
    assert (await run([('list_checkpoints', {})], capabilities=[capability])).texts == ['There are no checkpoints.']
    for number in range(53):
        await store.save(checkpoint(f'nr {number}', history(1)))
    [listed] = (await run([('list_checkpoints', {})], capabilities=[capability])).texts
    left_out, first, *rest = listed.splitlines()
    assert left_out == '… 3 older left out …'
    assert first.startswith('- nr 3 (')
    assert rest[-1].startswith('- nr 52 (')


@pytest.mark.parametrize('label', ['Größe', '数据清洗之前', 'до', '👩‍🚀', '../../evil', 'x' * 100])
async def test_labels_of_any_script_find_their_checkpoint(label: str) -> None:
    capability = CheckpointCapability[Any](InMemoryCheckpointStore())
    first = await run([save(label)], looks(1), capabilities=[capability])
    with pytest.raises(RewindRequested) as caught:
        await run([('rewind_to', {'checkpoint': label})], capabilities=[capability], history=first.messages)
    assert caught.value.label == label


async def test_the_same_letters_written_in_two_ways_are_one_label() -> None:
    played = await run([save('Gro\u0308ße')], [save('Größe')], capabilities=[CheckpointCapability()])
    assert played.texts[1] == IsStr(regex="There is a checkpoint 'Größe' already, from turn 1. Nothing was saved.*")


REFUSED = [
    ('mine', "There is a checkpoint 'mine' already, from turn 1. Nothing was saved: take another label."),
    ('auto-7', "'auto-7' is for automatic checkpoints. Nothing was saved: take another label."),
    (' ', 'A label has 1 to 100 characters. Nothing was saved.'),
    ('x' * 101, 'A label has 1 to 100 characters. Nothing was saved.'),
]


@pytest.mark.parametrize(('label', 'answer'), REFUSED)
@pytest.mark.parametrize('beside', [True, False], ids=['in one response', 'later'])
async def test_a_label_that_cannot_be_is_refused_and_why(label: str, answer: str, beside: bool) -> None:
    store = InMemoryCheckpointStore()
    turns = [[save('mine'), save(label)]] if beside else [[save('mine')], [save(label)]]
    played = await run(*turns, capabilities=[CheckpointCapability(store)])
    assert played.texts[1] == answer
    assert played.returns[1].outcome == 'failed'
    assert [one.label for one in await store.list_all()] == ['mine']


def rewind(checkpoint: str) -> list[Call]:
    return [('rewind_to', {'checkpoint': checkpoint})]


@pytest.mark.parametrize('by', ['label', 'id', 'short id'])
async def test_going_back_ends_the_run_with_what_to_go_on_from(by: str) -> None:
    saving, tools = CheckpointMiddleware[Any](frequency='manual_only'), CheckpointCapability[Any]()
    first = await run([save('here'), *looks(2)], looks(1), capabilities=[saving, tools])
    assert saving.store is not None
    [saved] = await saving.store.list_all()
    wanted = {'label': 'here', 'id': saved.id, 'short id': saved.id[:8]}[by]
    with pytest.raises(RewindRequested) as caught:
        await run(looks(1), rewind(wanted), capabilities=[saving, tools], history=first.messages)
    request = caught.value
    assert (request.checkpoint_id, request.label) == (saved.id, 'here')
    assert request.conversation_id == saved.metadata['conversation']
    assert request.messages == first.messages[:3]
    assert len(await continued(request.messages)) == 3, 'the prompt joins the results'


async def test_what_cannot_be_gone_back_to_is_said() -> None:
    store = InMemoryCheckpointStore()
    capability = CheckpointCapability[Any](store)
    assert (await run(rewind('x'), capabilities=[capability])).texts == ['There are no checkpoints to go back to.']
    for label in ('before the change', 'twice', 'twice'):
        await store.save(checkpoint(label, history(1)))
    unknown, ambiguous = (await run(rewind('before change'), rewind('twice'), capabilities=[capability])).texts
    assert unknown == (
        "There is no checkpoint 'before change'. Did you mean 'before the change'? list_checkpoints shows those there "
        'are.'
    )
    assert ambiguous.startswith("2 checkpoints are called 'twice'. Say which by its id:\n- twice (")


async def test_a_checkpoint_that_is_torn_is_said_to_be(tmp_path: Path) -> None:
    with opened('files', tmp_path) as store:
        await store.save(checkpoint('here', history(1)))
        for path in (tmp_path / 'checkpoints' / 'messages').iterdir():
            path.write_text('{')
        played = await run(rewind('here'), capabilities=[CheckpointCapability(store)])
    assert played.texts == ["The checkpoint 'here' cannot be read any more. Nothing was changed."]


async def test_the_agent_sees_no_other_conversation() -> None:
    store = InMemoryCheckpointStore()
    capabilities = [CheckpointMiddleware[Any](store), CheckpointCapability[Any](store)]
    await run([save('secret'), *looks(1)], capabilities=capabilities)
    await store.save(checkpoint('for all', history(1)))
    listed, refused = (await run([('list_checkpoints', {}), *rewind('secret')], capabilities=capabilities)).texts
    assert listed == IsStr(regex=r'- for all \(.*')
    assert refused.startswith("There is no checkpoint 'secret'.")
    again = await run([save('secret')], capabilities=capabilities)
    assert again.returns[0].outcome == 'success'


async def test_nothing_runs_while_the_agent_goes_back() -> None:
    store = InMemoryCheckpointStore()
    await store.save(checkpoint('here', history(1)))
    done: list[str] = []

    async def write(name: str) -> str:
        done.append(f'{name} began')
        await asyncio.sleep(0)
        done.append(f'{name} done')
        return name

    with pytest.raises(RewindRequested):
        await play(
            [('write', {'name': 'before'}), *rewind('here'), ('write', {'name': 'after'})],
            capabilities=[CheckpointCapability(store)],
            toolsets=[FunctionToolset([write])],
        )
    assert done == ['before began', 'before done']


async def test_the_toolset_works_alone() -> None:
    toolset = CheckpointToolset[Any]()
    played = await play([save('here')], [('list_checkpoints', {})], capabilities=[], toolsets=[toolset])
    assert played.texts[1].startswith('- here (')
    with pytest.raises(RewindRequested) as caught:
        await play(rewind('here'), capabilities=[], toolsets=[toolset], history=played.messages)
    assert caught.value.messages == played.messages[:3]


async def test_what_is_saved_with_the_last_answer_is_whole() -> None:
    store = InMemoryCheckpointStore()

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        calls = [
            ToolCallPart('look', {}, tool_call_id='1'),
            ToolCallPart('save_checkpoint', {'label': 'end'}, tool_call_id='2'),
            ToolCallPart('final_result', {'response': 3}, tool_call_id='3'),
        ]
        return ModelResponse(parts=calls)

    agent = Agent(
        FunctionModel(answer),
        output_type=int,
        end_strategy='exhaustive',
        toolsets=[tools()],
        capabilities=[CheckpointCapability(store)],
    )
    result = await agent.run('go')
    assert result.output == 3
    [saved] = await store.list_all()
    assert saved.messages == result.all_messages()
    await continued(saved.messages)


async def test_a_cancelled_run_saves_what_it_was_to_save() -> None:
    store = InMemoryCheckpointStore()
    waiting = asyncio.Event()

    async def wait() -> str:
        waiting.set()
        await asyncio.Event().wait()
        return 'never'

    task = asyncio.ensure_future(
        play(
            [*looks(1), save('here'), ('wait', {})],
            capabilities=[CheckpointCapability(store)],
            toolsets=[tools(), FunctionToolset([wait])],
        )
    )
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [saved] = await store.list_all()
    assert [part.outcome for part in tool_returns(saved.messages)] == ['success', 'success', 'interrupted']
    await continued(saved.messages)


async def test_what_a_stream_keeps_to_itself_is_left_out_whole() -> None:
    store = InMemoryCheckpointStore()

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if len(messages) == 1:
            yield {0: DeltaToolCall(name='look', json_args='{}', tool_call_id='1')}
            return
        yield 'Done.'
        yield {1: DeltaToolCall(name='save_checkpoint', json_args='{"label": "end"}', tool_call_id='2')}

    agent = Agent(FunctionModel(stream_function=stream), toolsets=[tools()], capabilities=[CheckpointCapability(store)])
    async with agent.run_stream('go') as result:
        await result.get_output()
    [saved] = await store.list_all()
    assert [(part.tool_name, part.outcome) for part in tool_returns(saved.messages)] == [('look', 'success')]
    await continued(saved.messages)

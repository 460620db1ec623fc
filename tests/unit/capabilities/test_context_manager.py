from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from dirty_equals import IsPartialDict
from pydantic_ai import Agent, RunContext, UsageLimits
from pydantic_ai.capabilities import Capability, Hooks
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RequestUsage

from deep_notebook.capabilities.context_manager import ContextManagerCapability
from deep_notebook.capabilities.context_size import FILE_TOKENS, context_size
from deep_notebook.capabilities.events import CompressionFailedEvent, ContextCompressedEvent
from deep_notebook.capabilities.history_search import HistorySearch
from deep_notebook.capabilities.memory import MemoryCapability
from deep_notebook.capabilities.patch_tool_calls import patch_tool_calls_processor
from deep_notebook.capabilities.summaries import compressed, cut_index
from deep_notebook.errors import StoreError
from deep_notebook.models.embedded import EmbeddedModel
from deep_notebook.store import ConversationArchives, MessageArchive, SessionStore, session_path
from harness.play import Deps

pytestmark = pytest.mark.anyio

WINDOW = 10_000


@dataclass
class Talk:
    """An agent whose model has a small window, counts what it is sent, and says what a script says."""

    script: list[Any] = field(default_factory=list)
    """For each request a text, or a list of `(tool, args)`; then `ok`."""
    summary: Callable[[str], str] = lambda transcript: 'THE SUMMARY'
    requests: list[list[ModelMessage]] = field(default_factory=list)
    summarised: list[str] = field(default_factory=list)
    """What the one who summarises was sent."""
    instructions: list[str] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)

    def model(self, **options: Any) -> FunctionModel:
        async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
            response = self._answer(messages, info)
            for index, part in enumerate(response.parts):
                if isinstance(part, TextPart):
                    yield part.content
                else:
                    yield {index: call_delta(part)}

        profile: Any = {'context_window': WINDOW, **options}
        return FunctionModel(self._answer, stream_function=stream, profile=profile)

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        last = messages[-1].parts[-1]
        if isinstance(last, UserPromptPart) and str(last.content).startswith('<transcript>'):
            self.instructions.append(info.instructions or '')
            self.summarised.append(str(last.content))
            return ModelResponse(parts=[TextPart(self.summary(str(last.content)))])
        self.requests.append(messages)
        turn = self.script.pop(0) if self.script else 'ok'
        parts: list[Any] = [TextPart(turn)] if isinstance(turn, str) else []
        if not isinstance(turn, str):
            parts = [
                ToolCallPart(name, args, f'{len(self.requests)}.{number}') for number, (name, args) in enumerate(turn)
            ]
        return ModelResponse(parts=parts, usage=RequestUsage(input_tokens=max(measure(messages), 1), output_tokens=10))

    def agent(self, manager: ContextManagerCapability[Any] | None, *more: Any, **options: Any) -> Agent[Any, str]:
        capabilities = [*([manager] if manager is not None else []), *more]
        return Agent(self.model(), deps_type=Any, capabilities=capabilities, **options)

    async def run(
        self, agent: Agent[Any, str], prompt: str, history: Sequence[ModelMessage] = (), **options: Any
    ) -> list[ModelMessage]:
        return (await agent.run(prompt, message_history=history, **options)).all_messages()

    async def stream(
        self, agent: Agent[Any, str], prompt: str, history: Sequence[ModelMessage] = (), **options: Any
    ) -> list[ModelMessage]:
        """Like `run`, with the events; a scripted model that streams cannot say what it counted."""
        async with agent.run_stream_events(prompt, message_history=history, **options) as stream:
            self.events += [event async for event in stream]
            return stream.all_messages()


def call_delta(part: Any) -> Any:
    return DeltaToolCall(name=part.tool_name, json_args=json.dumps(part.args), tool_call_id=part.tool_call_id)


def measure(messages: Sequence[ModelMessage]) -> int:
    """What a provider would count, with 500 tokens of instructions and tools."""
    parts = [part for message in messages for part in message.parts]
    return 500 + sum(len(str(getattr(part, 'content', ''))) for part in parts) // 4


def ask(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def say(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def long_talk(turns: int = 10, chars: int = 4_000) -> list[ModelMessage]:
    """Turns of `chars` characters each, half of it the answer's."""
    return [
        message
        for number in range(turns)
        for message in (ask(f'prompt {number} ' + 'p' * (chars // 2)), say(f'answer {number} ' + 'a' * (chars // 2)))
    ]


def rows(size: int = 2_000) -> FunctionToolset[Any]:
    def fetch(number: int) -> str:
        return f'result {number} ' + 'r' * size

    return FunctionToolset([fetch])


def summaries(messages: Sequence[ModelMessage]) -> list[str]:
    parts = [part for message in messages for part in message.parts]
    return [part.content or '' for part in parts if isinstance(part, CompactionPart)]


def texts(messages: Sequence[ModelMessage]) -> str:
    return '\n'.join(str(getattr(part, 'content', '')) for message in messages for part in message.parts)


async def test_what_is_old_is_summarised_and_what_is_new_stays() -> None:
    talk = Talk()
    messages = await talk.run(talk.agent(ContextManagerCapability(keep_messages=4)), 'go on', long_talk())
    assert summaries(talk.requests[0]) == ['THE SUMMARY']
    assert 'answer 9' in texts(talk.requests[0])
    assert 'answer 2' not in texts(talk.requests[0])
    assert 'User: prompt 0' in talk.summarised[0]
    assert 'answer 9' not in talk.summarised[0]
    assert measure(talk.requests[0]) < WINDOW / 2
    assert summaries(messages) == ['THE SUMMARY']
    assert isinstance(messages[0].parts[0], CompactionPart)


async def test_nothing_happens_below_the_threshold() -> None:
    talk, history = Talk(), long_talk(3)
    messages = await talk.run(talk.agent(ContextManagerCapability()), 'go on', history)
    assert (talk.summarised, messages[:6]) == ([], history)


async def test_one_compression_an_overflow_and_not_one_a_request() -> None:
    talk = Talk(script=[[('fetch', {'number': number})] for number in range(12)])
    agent = talk.agent(ContextManagerCapability(), toolsets=[rows()])
    messages = await talk.run(agent, 'fetch them', long_talk(9))
    assert len(talk.requests) == 13
    assert len(talk.summarised) == 1
    again = await talk.run(agent, 'and on', messages)
    restored = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(again))
    await talk.run(agent, 'and on', restored)
    assert len(talk.summarised) == 1
    assert all(measure(request) < WINDOW * 0.9 for request in talk.requests)


async def test_what_was_counted_before_a_compression_does_not_count_after_it() -> None:
    shares: list[float] = []
    manager: ContextManagerCapability[Any] = ContextManagerCapability(
        on_context_update=lambda share, current, maximum: shares.append(share)
    )
    talk = Talk(script=[[('fetch', {'number': number})] for number in range(20)])
    await talk.run(talk.agent(manager, toolsets=[rows()]), 'fetch them')
    full = next(index for index, share in enumerate(shares) if share > 0.9)
    assert shares[full + 1] < 0.5


async def test_a_second_overflow_summarises_the_first_summary_too() -> None:
    talk = Talk(script=[[('fetch', {'number': number})] for number in range(40)])
    talk.summary = lambda transcript: f'SUMMARY {len(talk.summarised)}'
    messages = await talk.run(talk.agent(ContextManagerCapability(), toolsets=[rows()]), 'fetch them')
    assert 2 <= len(talk.summarised) <= 4
    assert 'Summary of what was before: SUMMARY 1' in talk.summarised[1]
    assert summaries(messages) == [f'SUMMARY {len(talk.summarised)}']
    assert all(measure(request) < WINDOW for request in talk.requests)


async def test_the_prompt_that_is_worked_on_stays_word_for_word() -> None:
    talk = Talk(script=[[('fetch', {'number': number})] for number in range(25)])
    await talk.run(talk.agent(ContextManagerCapability(), toolsets=[rows()]), 'fetch all, in order!', long_talk(1))
    assert talk.summarised
    assert all('fetch all, in order!' in texts(request) for request in talk.requests)


async def test_calls_stay_with_their_results_and_there_is_always_a_user_turn() -> None:
    for seed in range(300):
        random = Random(seed)
        messages: list[ModelMessage] = []
        for turn in range(random.randint(1, 6)):
            messages.append(ask(f'prompt {turn}'))
            for step in range(random.randint(0, 4)):
                ids = [f'{turn}.{step}.{number}' for number in range(random.randint(1, 3))]
                messages.append(ModelResponse(parts=[ToolCallPart('fetch', {}, id) for id in ids]))
                results = [ToolReturnPart('fetch', 'r' * random.randint(0, 9_000), id) for id in ids]
                picture = [UserPromptPart([BinaryContent(b'x', media_type='image/png')])] * random.randint(0, 1)
                messages.append(ModelRequest(parts=[*results, *picture]))
            if random.random() < 0.8:
                messages.append(say('done'))
        messages.append(ask('last'))
        cut = cut_index(messages, keep_messages=random.randint(1, 12), keep_tokens=random.choice([10, 2_000, 10**6]))
        if cut is None:
            continue
        shorter = compressed(messages, cut, 'SUMMARY', keep_tokens=1_000)
        assert texts(patch_tool_calls_processor(shorter)) == texts(shorter)
        assert isinstance(shorter[0], ModelRequest)
        assert shorter[-(len(messages) - cut) :] == messages[cut:]
        assert any(isinstance(part, UserPromptPart) for message in shorter for part in message.parts)


async def test_what_was_loaded_on_demand_stays_loaded() -> None:
    def hammer() -> str:
        return 'hit'

    tools: FunctionToolset[Any] = FunctionToolset([hammer])
    workshop = Capability[Any](
        id='workshop', description='Tools.', instructions='Mind your fingers.', toolsets=[tools], defer_loading=True
    )
    script = [[('load_capability', {'id': 'workshop'})], *[[('fetch', {'number': n})] for n in range(25)]]
    talk = Talk(script=[*script, [('hammer', {})], 'done'])
    agent = talk.agent(ContextManagerCapability(), workshop, toolsets=[rows()])
    messages = await talk.run(agent, 'hammer at last', long_talk(2))
    assert len(talk.summarised) >= 1
    assert 'hit' in [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


async def test_tools_that_were_found_stay_found() -> None:
    def hammer() -> str:
        return 'hit'

    tools = rows()
    tools.add_function(hammer, defer_loading=True, description='Hit nails.')
    script = [[('search_tools', {'queries': ['nails']})], *[[('fetch', {'number': n})] for n in range(25)]]
    talk = Talk(script=[*script, [('hammer', {})], 'done'])
    messages = await talk.run(talk.agent(ContextManagerCapability(), toolsets=[tools]), 'hammer', long_talk(2))
    assert len(talk.summarised) >= 1
    assert 'hit' in [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


async def test_system_prompts_and_instructions_stay() -> None:
    talk = Talk()
    agent = talk.agent(
        ContextManagerCapability(), MemoryCapability(), system_prompt='Be brief.', instructions='Speak French.'
    )
    deps = Deps()
    deps.backend.files['/.deep/memory/main/MEMORY.md'] = b'- likes teal\n'
    first = await talk.run(agent, 'hello', deps=deps)
    messages = await talk.run(agent, 'go on', [*first, *long_talk()], deps=deps)
    sent = talk.requests[-1]
    assert summaries(sent) == ['THE SUMMARY']
    assert [part.content for part in sent[0].parts if isinstance(part, SystemPromptPart)] == ['Be brief.']
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    assert 'Speak French.' in (requests[-1].instructions or '')
    assert 'likes teal' in (requests[-1].instructions or '') + texts(sent)


def refuse(transcript: str) -> str:
    raise ConnectionError('no route')


async def test_a_summary_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    talk = Talk(script=[[('fetch', {'number': number})] for number in range(3)], summary=refuse)
    history = long_talk()
    with caplog.at_level(logging.WARNING):
        messages = await talk.run(talk.agent(ContextManagerCapability(), toolsets=[rows(4_000)]), 'go on', history)
    assert messages[: len(history)] == history
    assert (len(talk.requests), len(talk.summarised)) == (4, 4)
    assert caplog.text.count('was not compressed') == 1


async def test_the_run_is_told_that_a_summary_failed() -> None:
    talk = Talk(summary=refuse)
    await talk.stream(talk.agent(ContextManagerCapability()), 'go on', long_talk())
    reasons = [event.reason for event in talk.events if isinstance(event, CompressionFailedEvent)]
    assert reasons == ['ConnectionError: no route']


async def test_a_summary_that_failed_is_not_tried_again_at_once() -> None:
    talk = Talk(script=[[('fetch', {'number': number})] for number in range(6)], summary=refuse)
    await talk.run(talk.agent(ContextManagerCapability(), toolsets=[rows(100)]), 'go on', long_talk())
    # Once more when the provider has counted what was only an estimate at first.
    assert (len(talk.requests), len(talk.summarised)) == (7, 2)


async def test_an_empty_summary_is_a_failure() -> None:
    talk, history = Talk(summary=lambda transcript: ' \n'), long_talk()
    messages = await talk.run(talk.agent(ContextManagerCapability()), 'go on', history)
    assert messages[: len(history)] == history


async def test_nothing_is_dropped_that_the_archive_does_not_have() -> None:
    class Broken:
        async def keep(self, history: Sequence[ModelMessage]) -> None:
            raise StoreError('disk full')

    talk, history = Talk(), long_talk()
    messages = await talk.run(talk.agent(ContextManagerCapability(archive=Broken())), 'go on', history)
    assert (talk.summarised, messages[: len(history)]) == ([], history)


async def test_the_archive_is_complete_before_the_summary_is_made(tmp_path: Path) -> None:
    path = tmp_path / 'messages.json'
    kept: list[int] = []
    talk = Talk()

    def summary(transcript: str) -> str:
        kept.append(len(ModelMessagesTypeAdapter.validate_json(path.read_bytes())))
        return 'THE SUMMARY'

    talk.summary = summary
    await talk.run(talk.agent(ContextManagerCapability(archive=str(path))), 'go on', long_talk())
    assert kept == [21]
    at_the_end = ModelMessagesTypeAdapter.validate_json(path.read_bytes())
    assert (len(at_the_end), summaries(at_the_end)) == (23, ['THE SUMMARY'])


@pytest.mark.parametrize('kind', ['file', 'memory', 'store'])
async def test_what_was_summarised_is_found_by_searching(kind: str, tmp_path: Path) -> None:
    store = SessionStore.open(session_path(tmp_path / 'n.ipynb'))
    archive: Any = {'file': tmp_path / 'messages.json', 'memory': ConversationArchives(), 'store': store}[kind]
    script = [*[[('fetch', {'number': n})] for n in range(20)], [('search_conversation_history', {'query': 'teal'})]]
    talk = Talk(script=script)
    history = [ask('my colour is teal'), say('noted'), *long_talk(3)]
    with store:
        agent = talk.agent(ContextManagerCapability(archive=archive), HistorySearch(archive=archive), toolsets=[rows()])
        messages = await talk.run(agent, 'fetch', history)
    assert talk.summarised
    found = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)][-1]
    assert 'User: my colour is teal' in str(found.content)
    assert 'search_conversation_history' in summaries(messages)[0]


async def test_two_conversations_at_once_do_not_mix() -> None:
    archive = ConversationArchives()
    manager: ContextManagerCapability[Any] = ContextManagerCapability(archive=archive)
    talks = [Talk(summary=lambda transcript, name=name: f'SUMMARY {name}') for name in 'ab']  # type: ignore[misc]
    both = await asyncio.gather(
        *(
            talk.run(talk.agent(manager), 'go on', [ask(f'I am {name}'), say('hi'), *long_talk()], conversation_id=name)
            for name, talk in zip('ab', talks, strict=True)
        )
    )
    assert [summaries(messages) for messages in both] == [['SUMMARY a'], ['SUMMARY b']]
    assert [len(await archive.of(name).search('I am a')) for name in 'ab'] == [1, 1]
    assert [hit.snippet for hit in await archive.of('b').search('I am')][:1] == ['I am b']


async def test_the_callbacks_are_told() -> None:
    updates: list[tuple[float, int, int]] = []
    before: list[tuple[int, int]] = []

    async def on_before(messages: list[ModelMessage], cutoff: int) -> None:
        await asyncio.sleep(0)
        before.append((len(messages), cutoff))

    def on_after(messages: list[ModelMessage]) -> str:
        assert summaries(messages) == ['THE SUMMARY']
        return 'Remember the milk.'

    talk = Talk()
    manager: ContextManagerCapability[Any] = ContextManagerCapability(
        on_context_update=lambda *told: updates.append(told), on_before_compress=on_before, on_after_compress=on_after
    )
    messages = await talk.stream(talk.agent(manager), 'go on', long_talk())
    assert summaries(messages) == ['THE SUMMARY\n\nRemember the milk.']
    [(dropped, cutoff)] = before
    assert dropped == cutoff > 10
    assert [(round(share, 3), maximum) for share, _, maximum in updates] == [
        (round(current / WINDOW, 3), WINDOW) for _, current, _ in updates
    ]
    assert (updates[0][0] > 0.9, updates[1][0] < 0.5) == (True, True)
    [event] = [event for event in talk.events if isinstance(event, ContextCompressedEvent)]
    assert vars(event) == IsPartialDict(
        {'messages': cutoff, 'tokens_before': updates[0][1], 'tokens_after': updates[1][1], 'summary': 'THE SUMMARY'}
    )


async def test_what_the_provider_counted_is_what_counts() -> None:
    updates: list[int] = []
    talk = Talk(script=[[('fetch', {'number': 1})]])
    manager: ContextManagerCapability[Any] = ContextManagerCapability(
        on_context_update=lambda share, current, maximum: updates.append(current)
    )
    await talk.run(talk.agent(manager, toolsets=[rows(4_000)]), 'x' * 4_000)
    counted = measure(talk.requests[0]) + 10
    assert updates[1] == counted + (4_000 + len('result 1 ')) // 4


async def test_the_window_is_the_models_own() -> None:
    windows: list[int] = []
    manager: ContextManagerCapability[Any] = ContextManagerCapability(
        on_context_update=lambda share, current, maximum: windows.append(maximum)
    )
    for known in (WINDOW, None):
        model = Talk().model(context_window=known)
        await Agent(model, capabilities=[manager]).run('x')
    larger = ContextManagerCapability[Any](max_tokens=10**6, on_context_update=manager.on_context_update)
    smaller = ContextManagerCapability[Any](max_tokens=5_000, on_context_update=manager.on_context_update)
    for capped in (larger, smaller):
        await Agent(Talk().model(), capabilities=[capped]).run('x')
    assert windows == [WINDOW, 200_000, WINDOW, 5_000]
    assert EmbeddedModel().context_window == 8_192


async def test_room_for_the_answer_is_kept() -> None:
    talk = Talk()
    agent = Agent(talk.model(), capabilities=[ContextManagerCapability()], model_settings={'max_tokens': 4_000})
    await talk.run(agent, 'go on', long_talk(7))
    assert len(talk.summarised) == 1


async def test_the_summary_counts_and_a_limit_stops_it() -> None:
    talk = Talk()
    agent = talk.agent(ContextManagerCapability())
    result = await agent.run('go on', message_history=long_talk())
    assert result.usage.requests == 2
    with pytest.raises(UsageLimitExceeded):
        await agent.run('go on', message_history=long_talk(), usage_limits=UsageLimits(request_limit=1))


async def test_another_model_can_summarise() -> None:
    other, talk = Talk(summary=lambda transcript: 'BY THE OTHER'), Talk()
    messages = await talk.run(
        talk.agent(ContextManagerCapability(summarization_model=other.model())), 'go on', long_talk()
    )
    assert (summaries(messages), len(other.summarised), talk.summarised) == (['BY THE OTHER'], 1, [])


async def test_the_transcript_fits_into_the_window_of_who_reads_it() -> None:
    talk = Talk()
    await talk.run(talk.agent(ContextManagerCapability()), 'go on', long_talk(200))
    assert len(talk.summarised[0]) / 4 < WINDOW * 0.6


async def test_a_compression_can_be_asked_for() -> None:
    talk = Talk()
    manager: ContextManagerCapability[Any] = ContextManagerCapability(keep_messages=2)
    agent = talk.agent(manager)
    manager.request_compact('the colours')
    first = await talk.run(agent, 'go on', long_talk(2, 100))
    assert summaries(first) == ['THE SUMMARY']
    assert talk.summarised[0].endswith('Above all keep what concerns: the colours')
    await talk.run(agent, 'go on', first)
    assert len(talk.summarised) == 1


async def test_a_history_can_be_compressed_outside_of_a_run() -> None:
    talk = Talk()
    manager: ContextManagerCapability[Any] = ContextManagerCapability(keep_messages=2)
    history = long_talk(3, 100)
    shorter = await manager.compact(history, model=talk.model(), focus='colours')
    assert (summaries(shorter), shorter[1:]) == (['THE SUMMARY'], history[-2:])
    assert await manager.compact(history[:1], model=talk.model()) == history[:1]


async def test_what_cannot_be_made_shorter_is_left_alone() -> None:
    talk = Talk()
    huge = [ask('x' * 60_000), say('ok')]
    await talk.run(talk.agent(ContextManagerCapability()), 'y' * 60_000, huge[1:])
    assert (talk.summarised, len(talk.requests)) == ([], 1)


async def test_what_is_hidden_from_one_request_only_stays_hidden() -> None:
    hooks: Hooks[Any] = Hooks()

    @hooks.on.before_model_request
    async def hide(ctx: RunContext[Any], request_context: Any) -> Any:
        request_context.messages = [m for m in request_context.messages if 'answer 9' not in texts([m])]
        return request_context

    talk = Talk()
    agent = Agent(talk.model(), capabilities=[hooks, ContextManagerCapability()])
    messages = await talk.run(agent, 'go on', long_talk())
    assert ('answer 9' in texts(talk.requests[0]), 'answer 9' in texts(messages)) == (False, True)


async def test_the_callers_history_is_not_changed() -> None:
    history = long_talk()
    before = ModelMessagesTypeAdapter.dump_json(history)
    talk = Talk()
    await talk.run(talk.agent(ContextManagerCapability()), 'go on', history)
    assert ModelMessagesTypeAdapter.dump_json(history) == before


@pytest.mark.parametrize(
    ('option', 'value'),
    [('max_tokens', 0), ('compress_threshold', 0.0), ('compress_threshold', 1.1), ('keep_messages', 0)],
)
def test_numbers_out_of_range_are_refused(option: str, value: float) -> None:
    with pytest.raises(ValueError, match=option):
        ContextManagerCapability(**{option: value})  # type: ignore[arg-type]


def test_files_and_other_scripts_count() -> None:
    picture = ModelRequest(parts=[UserPromptPart(['x' * 40, BinaryContent(b'x', media_type='image/png')])])
    assert context_size([picture]) == 10 + FILE_TOKENS
    assert context_size([ask('東' * 40)]) == 30
    assert context_size([ask('x' * 40)], ModelRequestParameters()) == 10


async def test_a_file_that_cannot_be_written_at_the_end_does_not_fail_the_run(tmp_path: Path) -> None:
    (tmp_path / 'messages.json').mkdir()
    talk = Talk()
    messages = await talk.run(talk.agent(ContextManagerCapability(archive=tmp_path / 'messages.json')), 'hi')
    assert texts(messages).endswith('ok')


async def test_archives_are_shared_by_path(tmp_path: Path) -> None:
    path = tmp_path / 'messages.json'
    manager: ContextManagerCapability[Any] = ContextManagerCapability(archive=path)
    assert isinstance(manager.archive, MessageArchive)
    assert manager.archive.path == path

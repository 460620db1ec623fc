"""A recorded cell runs again without network or key, and says what differs when it cannot."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from dirty_equals import IsStr
from inline_snapshot import snapshot
from pydantic_ai import Agent, AgentRunResult
from pydantic_ai.messages import (
    BinaryImage,
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.function import (
    AgentInfo,
    BuiltinToolCallsReturns,
    DeltaThinkingCalls,
    DeltaToolCall,
    DeltaToolCalls,
    FunctionModel,
)
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from deep_notebook.errors import RecordingMissError
from deep_notebook.models import Recording, RecordingModel, ReplayModel
from deep_notebook.models.recording import SCRIPTED, recording_path

pytestmark = pytest.mark.anyio

ANSWER = 'The table has three rows.\nThe best month was June, by far.'


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Look at the file once for each prompt, then answer."""
    last = messages[-1]
    if any(part.part_kind == 'tool-return' for part in last.parts):
        return ModelResponse(parts=[TextPart(ANSWER)])
    return ModelResponse(parts=[TextPart('I look.'), ToolCallPart('read_file', '{"path": "sales.csv"}')])


async def stream_answer(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | DeltaToolCalls | DeltaThinkingCalls | BuiltinToolCallsReturns]:
    for index, part in enumerate(answer(messages, info).parts):
        if isinstance(part, TextPart):
            yield part.content
        elif isinstance(part, ToolCallPart):
            yield {index: DeltaToolCall(name=part.tool_name, json_args=part.args_as_json_str())}


def scripted(function: Callable[[list[ModelMessage], AgentInfo], ModelResponse] = answer) -> FunctionModel:
    return FunctionModel(function, stream_function=stream_answer)


@dataclass
class Notebook:
    """A notebook of one directory: what its tool reads, how its agent is made, its recording."""

    directory: Path
    text: str = 'month,sales\nMay,3\nJune,9\n'
    instructions: str = 'Be brief.'
    extra_tool: bool = False
    streamed: bool = False
    history: list[ModelMessage] = field(default_factory=list)
    events: list[object] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return recording_path(self.directory, 'sales')

    def agent(self, model: Model) -> Agent[None, str]:
        agent = Agent(model, instructions=self.instructions)

        @agent.tool_plain
        def read_file(path: str) -> str:
            """Read a file."""
            return f'{self.directory}/{path}\n{self.text}'

        if self.extra_tool:

            @agent.tool_plain
            def grep(pattern: str) -> str:
                """Find lines."""
                return pattern

        return agent

    async def run(self, model: Model, prompt: str, settings: ModelSettings | None = None) -> AgentRunResult[str]:
        agent = self.agent(model)
        self.events = []
        if self.streamed:
            async with agent.run_stream_events(prompt, message_history=self.history, model_settings=settings) as events:
                self.events = [event async for event in events]
                assert events.result is not None
                result = events.result
        else:
            result = await agent.run(prompt, message_history=self.history, model_settings=settings)
        self.history = result.all_messages()
        return result

    async def record(
        self, cell: str, prompt: str, model: Model | None = None, name: str = 'mine'
    ) -> AgentRunResult[str]:
        recording = Recording.open(self.path, workspace=self.directory)
        model = model or scripted()
        draft = recording.record(cell, model, name=name, tool_class=tool_class)
        result = await self.run(RecordingModel(model, draft), prompt)
        assert draft.verdict == 'live'
        draft.save()
        return result

    def load(self) -> Recording:
        self.history = []
        return Recording.load(self.path, workspace=self.directory)


def tool_class(tool: ToolDefinition) -> str:
    return 'read' if tool.name == 'read_file' else 'write'


@pytest.fixture(params=[False, True], ids=['request', 'stream'])
def notebook(request: pytest.FixtureRequest, tmp_path: Path) -> Notebook:
    return Notebook(tmp_path, streamed=request.param)


def parts(result: AgentRunResult[str]) -> list[object]:
    answers = [message for message in result.all_messages() if isinstance(message, ModelResponse)]
    return [
        replace(part, args=part.args_as_dict()) if isinstance(part, ToolCallPart) else part
        for message in answers
        for part in message.parts
    ]


async def test_a_replay_gives_the_recorded_answers(notebook: Notebook) -> None:
    recorded = await notebook.record('a', 'How many rows?')
    cell = notebook.load().cell('a')
    replayed = await notebook.run(ReplayModel(cell), 'How many rows?')
    assert replayed.output == recorded.output == ANSWER
    assert parts(replayed) == parts(recorded)
    assert (cell.verdict, cell.unused, cell.miss) == ('replayed', 0, None)


async def test_a_conversation_over_cells_replays(notebook: Notebook) -> None:
    await notebook.record('a', 'How many rows?')
    await notebook.record('b', 'And the best month?')
    recording = notebook.load()
    for cell, prompt in (('a', 'How many rows?'), ('b', 'And the best month?')):
        await notebook.run(ReplayModel(recording.cell(cell)), prompt)
    assert recording.unused() == []


async def test_a_streamed_replay_comes_in_small_pieces(tmp_path: Path) -> None:
    notebook = Notebook(tmp_path, streamed=True)
    await notebook.record('a', 'How many rows?')
    await notebook.run(ReplayModel(notebook.load().cell('a')), 'How many rows?')
    text = ''
    deltas = 0
    for event in notebook.events:
        if isinstance(event, PartStartEvent):
            text = event.part.content if isinstance(event.part, TextPart) else ''
        elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
            text += event.delta.content_delta
            deltas += 1
    assert text == ANSWER
    assert deltas >= 2


async def test_an_answer_is_said_when_it_is_replayed(notebook: Notebook) -> None:
    # Else a conversation that was compressed meanwhile would not know that this answer is newer, and how full it is.
    await notebook.record('a', 'How many rows?')
    before = datetime.now(UTC)
    replayed = await notebook.run(ReplayModel(notebook.load().cell('a')), 'How many rows?')
    assert min(message.timestamp for message in replayed.new_messages() if message.kind == 'response') >= before


async def test_a_stream_and_a_request_find_the_same_entry(tmp_path: Path) -> None:
    notebook = Notebook(tmp_path, streamed=True)
    await notebook.record('a', 'How many rows?')
    notebook.streamed = False
    assert (await notebook.run(ReplayModel(notebook.load().cell('a')), 'How many rows?')).output == ANSWER


async def test_the_banner_says_who_answered_and_when(notebook: Notebook) -> None:
    await notebook.record('a', 'How many rows?')
    assert notebook.load().cell('a').banner == IsStr(
        regex=r'Replayed · recorded with a scripted model on \d{4}-\d\d-\d\d'
    )


async def test_a_scripted_model_never_bears_the_name_of_a_provider(notebook: Notebook) -> None:
    model = FunctionModel(answer, stream_function=stream_answer, model_name='gpt-6-luna')
    await notebook.record('a', 'How many rows?', model, name='openai:gpt-6-luna')
    written = notebook.path.read_text()
    assert 'gpt' not in written
    assert 'openai' not in written
    recorded = notebook.load().cell('a').recorded
    assert (recorded.name, recorded.model.model_id, recorded.model.label) == (SCRIPTED, 'scripted:scripted', SCRIPTED)
    replayed = await notebook.run(ReplayModel(notebook.load().cell('a')), 'How many rows?')
    (first, *_) = (message for message in replayed.all_messages() if isinstance(message, ModelResponse))
    assert (first.model_name, first.provider_name) == (SCRIPTED, None)


async def test_a_replay_needs_the_model_neither_for_its_name_nor_for_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('ANTHROPIC_API_KEY', 'sk-ant-not-a-real-key-0123456789')
    real = infer_model('anthropic:claude-opus-4-6')
    model = type(real)(real.model_name, settings=ModelSettings(temperature=0.5))
    recording = Recording.new(recording_path(tmp_path, 'sales'), workspace=tmp_path)
    draft = recording.record('a', model, name='anthropic:claude-opus-4-6', tool_class=tool_class)
    draft.save()
    monkeypatch.delenv('ANTHROPIC_API_KEY')
    cell = Recording.load(recording.path).cell('a')
    replay = ReplayModel(cell)
    assert replay.model_id == 'anthropic:claude-opus-4-6'
    assert replay.settings == {'temperature': 0.5}
    assert replay.profile['supports_tools'] == real.profile.get('supports_tools', replay.profile['supports_tools'])
    assert cell.banner.startswith('Replayed · recorded with anthropic:claude-opus-4-6 on ')


async def miss(notebook: Notebook, prompt: str = 'How many rows?', settings: ModelSettings | None = None) -> str:
    cell = notebook.load().cell('a')
    with pytest.raises(RecordingMissError) as caught:
        await notebook.run(ReplayModel(cell), prompt, settings)
    assert cell.verdict == 'missed'
    assert cell.miss == str(caught.value)
    return str(caught.value)


async def test_another_prompt_is_a_miss(notebook: Notebook) -> None:
    await notebook.record('a', 'How many rows?')
    assert await miss(notebook, 'How many columns?') == snapshot("""\
The recording 'sales' has no answer to request 1 of this cell: the prompt differs.
  the prompt: was 'How many rows?', now 'How many columns?'
Record it again with `%%deep --record sales`.\
""")


async def test_another_tool_result_is_a_miss_that_names_the_tool_and_its_class(notebook: Notebook) -> None:
    await notebook.record('a', 'How many rows?')
    notebook.text = notebook.text.replace('June,9', 'June,8')
    assert await miss(notebook) == snapshot("""\
The recording 'sales' has no answer to request 2 of this cell: the result of read_file (read) differs.
  the result of read_file (read): was '…les\\nMay,3\\nJune,9\\n', now '…les\\nMay,3\\nJune,8\\n'
Record it again with `%%deep --record sales`.\
""")


async def test_other_tools_and_instructions_are_a_miss(notebook: Notebook) -> None:
    await notebook.record('a', 'How many rows?')
    notebook.extra_tool = True
    notebook.instructions = 'Be long.'
    assert await miss(notebook) == snapshot("""\
The recording 'sales' has no answer to request 1 of this cell: the tool grep differs.
  the tool grep: new
  the instruction text: was 'Be brief.', now 'Be long.'
Record it again with `%%deep --record sales`.\
""")


async def test_another_setting_is_a_miss(notebook: Notebook) -> None:
    await notebook.record('a', 'How many rows?')
    assert "the setting temperature: was 'null', now '1.0'" in await miss(
        notebook, settings=ModelSettings(temperature=1.0)
    )


async def test_more_requests_than_were_recorded_are_a_miss(notebook: Notebook) -> None:
    await notebook.record('a', 'How many rows?')
    cell = notebook.load().cell('a')
    await notebook.run(ReplayModel(cell), 'How many rows?')
    with pytest.raises(RecordingMissError, match='request 3 of this cell: only 2 were recorded'):
        await notebook.run(ReplayModel(cell), 'And now?')


async def test_a_cell_that_was_not_recorded_is_a_miss(notebook: Notebook) -> None:
    await notebook.record('a', 'How many rows?')
    with pytest.raises(RecordingMissError, match=re.escape('holds nothing of this cell (z). Record it again with')):
        notebook.load().cell('z')


async def test_a_miss_says_when_another_pydantic_ai_recorded(notebook: Notebook) -> None:
    await notebook.record('a', 'How many rows?')
    notebook.path.write_text(re.sub(r'pydantic_ai: \S+', 'pydantic_ai: 2.0.1', notebook.path.read_text()))
    assert 'it was recorded with pydantic-ai 2.0.1, this is ' in await miss(notebook, 'Other?')


async def test_what_was_recorded_and_not_replayed_is_left_over(notebook: Notebook) -> None:
    await notebook.record('a', 'How many rows?')
    await notebook.record('b', 'And the best month?')
    recording = notebook.load()
    assert recording.cells == ('a', 'b')
    await notebook.run(ReplayModel(recording.cell('a')), 'How many rows?')
    assert recording.unused() == ['cell b, request 1', 'cell b, request 2']


async def test_recording_a_cell_again_replaces_it_and_keeps_the_others(notebook: Notebook) -> None:
    await notebook.record('a', 'How many rows?')
    first = list(notebook.history)
    await notebook.record('b', 'And the best month?')
    notebook.history = []
    await notebook.record('a', 'How many lines?')
    assert 'How many rows?' in notebook.path.read_text(), 'cell b goes on from it'
    recording = notebook.load()
    assert recording.cells == ('a', 'b')
    await notebook.run(ReplayModel(recording.cell('a')), 'How many lines?')
    notebook.history = first
    await notebook.run(ReplayModel(recording.cell('b')), 'And the best month?')
    assert recording.unused() == []


async def test_a_recording_moves_with_its_notebook(tmp_path: Path) -> None:
    def writes_a_path(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart('read_file', {'path': f'{tmp_path}/one/sales.csv'})])
        return ModelResponse(parts=[TextPart(f'It is in {tmp_path}/one.')])

    one, two = Notebook(tmp_path / 'one'), Notebook(tmp_path / 'two')
    await one.record('a', 'Where?', scripted(writes_a_path))
    assert str(tmp_path) not in one.path.read_text()
    two.path.parent.mkdir(parents=True)
    one.path.rename(two.path)
    replayed = await two.run(ReplayModel(two.load().cell('a')), 'Where?')
    assert replayed.output == f'It is in {tmp_path}/two.'


async def test_secrets_are_masked_and_still_match(notebook: Notebook) -> None:
    notebook.text = 'password = "hunter2"'
    prompt = 'Log in with api_key=abcd1234efgh'

    def leaks(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart('read_file', '{"path": "password=hunter2"}')])
        return ModelResponse(parts=[TextPart('Done with password=hunter2')])

    notebook.streamed = False
    recorded = await notebook.record('a', prompt, scripted(leaks))
    assert recorded.output == 'Done with password=hunter2'
    assert 'hunter2' not in notebook.path.read_text()
    assert 'abcd1234' not in notebook.path.read_text()
    replayed = await notebook.run(ReplayModel(notebook.load().cell('a')), prompt)
    assert replayed.output == 'Done with password=…[masked]'


async def test_equal_requests_at_the_same_time_each_get_an_answer(tmp_path: Path) -> None:
    numbers = iter(range(10))

    def counts(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart(f'answer {next(numbers)}')])

    notebook = Notebook(tmp_path)
    recording = Recording.new(notebook.path)
    model = FunctionModel(counts)
    draft = recording.record('a', model, name='mine', tool_class=tool_class)
    await asyncio.gather(*(notebook.agent(RecordingModel(model, draft)).run('Go') for _ in range(3)))
    draft.save()
    replay = ReplayModel(Recording.load(notebook.path).cell('a'))
    results = await asyncio.gather(*(notebook.agent(replay).run('Go') for _ in range(3)))
    assert sorted(result.output for result in results) == ['answer 0', 'answer 1', 'answer 2']


async def test_a_request_that_was_cut_off_is_not_recorded(tmp_path: Path) -> None:
    notebook = Notebook(tmp_path, streamed=True)
    recording = Recording.new(notebook.path)
    model = scripted()
    draft = recording.record('a', model, name='mine', tool_class=tool_class)
    async with notebook.agent(RecordingModel(model, draft)).run_stream_events('How many rows?') as events:
        async for event in events:
            if isinstance(event, PartStartEvent):
                break
    draft.save()
    with pytest.raises(RecordingMissError, match='only 0 were recorded'):
        await notebook.run(ReplayModel(notebook.load().cell('a')), 'How many rows?')


async def test_a_stream_that_was_not_read_to_its_end_is_not_recorded(tmp_path: Path) -> None:
    recording = Recording.new(recording_path(tmp_path, 'sales'))
    draft = recording.record('a', scripted(), name='mine', tool_class=tool_class)
    ask: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart('How many rows?')])]
    async with RecordingModel(scripted(), draft).request_stream(ask, None, ModelRequestParameters()) as stream:
        await anext(aiter(stream))
    draft.save()
    assert Recording.load(recording.path).unused() == []


async def test_pictures_and_thoughts_come_back(tmp_path: Path) -> None:
    picture = BinaryImage(bytes(range(256)), media_type='image/png')
    thought = ThinkingPart('I think it through, one step after the other.', signature='c2lnbmVk', provider_name='x')

    def draws(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[thought, FilePart(picture), TextPart('Here.')])

    notebook = Notebook(tmp_path)
    recorded = await notebook.record('a', 'Draw', FunctionModel(draws))
    (file,) = notebook.path.with_suffix('.files').iterdir()
    assert file.read_bytes() == picture.data
    for notebook.streamed in (False, True):
        assert parts(await notebook.run(ReplayModel(notebook.load().cell('a')), 'Draw')) == parts(recorded)

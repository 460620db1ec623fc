from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from pydantic_ai import Agent, BinaryContent, RunContext, ToolReturn
from pydantic_ai.capabilities import Capability, Hooks, ProcessHistory
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.workspaces import LocalWorkspaceBackend, ReadOnlyWorkspace, Workspace

import deep_notebook
from deep_notebook.capabilities import eviction
from deep_notebook.capabilities.events import ResultEvictedEvent
from deep_notebook.capabilities.eviction import EvictionProcessor, evicted_path
from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.workspaces import KernelWorkspace, StateBackend
from harness.play import Deps, Played, names, play, tool_returns

pytestmark = pytest.mark.anyio

TEXT = '\n'.join(f'row {number}' for number in range(1, 1001))
PICTURE = BinaryContent(data=b'\x89PNG' + b'0' * 5000, media_type='image/png')


def tool(result: Any, name: str = 'fetch') -> FunctionToolset[Any]:
    async def fetch() -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    toolset: FunctionToolset[Any] = FunctionToolset()
    toolset.add_function(fetch, name=name)
    return toolset


async def fetch(result: Any, processor: EvictionProcessor[Any] | None = None, **options: Any) -> Played:
    options = {'deps': Deps(), 'capabilities': [processor or EvictionProcessor(token_limit=100)], **options}
    return await play([('fetch', {})], toolsets=[tool(result)], **options)


def history(content: Any = TEXT, **options: Any) -> list[ModelMessage]:
    return [
        ModelRequest(parts=[UserPromptPart('go')]),
        ModelResponse(parts=[ToolCallPart('fetch', {}, 'call_1')]),
        ModelRequest(parts=[ToolReturnPart('fetch', content, 'call_1', **options)]),
        ModelResponse(parts=[TextPart('done')]),
    ]


async def test_a_large_result_is_in_a_file_and_its_ends_in_the_history() -> None:
    deps = Deps()
    agent = Agent(
        FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart('done')])),
        deps_type=Deps,
        capabilities=[EvictionProcessor(token_limit=100)],
    )
    result = await agent.run('on', deps=deps, message_history=history())
    assert deps.backend.files == {'/large_tool_results/call_1': TEXT.encode()}
    assert tool_returns(result.all_messages())[0].content == snapshot("""\
Tool result too large, saved to: /large_tool_results/call_1

Read the result using read_file with offset and limit parameters.
Example: read_file(path="/large_tool_results/call_1", offset=0, limit=100)

Preview (head/tail):
row 1
row 2
row 3
row 4
row 5
… 990 lines left out …
row 996
row 997
row 998
row 999
row 1000\
""")


async def test_the_defaults_are_those_of_the_design() -> None:
    processor: EvictionProcessor[Any] = EvictionProcessor()
    assert (processor.token_limit, processor.eviction_path) == (20_000, '/large_tool_results')
    assert (processor.head_lines, processor.tail_lines) == (5, 5)
    at_the_limit = await fetch('x' * 80_000, processor)
    above = await fetch('x' * 80_001, processor)
    assert (at_the_limit.texts, evicted_path(above.texts[0]) is None) == (['x' * 80_000], False)


async def test_one_result_is_never_more_than_a_quarter_of_a_small_context() -> None:
    played = []
    for size in (2_000, 2_001):
        model = FunctionModel(
            lambda messages, info: ModelResponse(parts=[TextPart('done')]), profile={'context_window': 2_000}
        )
        agent = Agent(model, deps_type=Deps, capabilities=[EvictionProcessor()])
        result = await agent.run('on', deps=Deps(), message_history=history('x' * size))
        played.append(evicted_path(tool_returns(result.all_messages())[0].content))
    assert played == [None, '/large_tool_results/call_1']


async def test_a_notebooks_results_lie_among_the_agents_own_files(tmp_path: Path) -> None:
    played = await fetch(TEXT, deps=Deps(KernelWorkspace(tmp_path)))
    path = evicted_path(played.texts[0])
    assert path is not None
    assert path.startswith('.deep/large_tool_results/')
    assert (tmp_path / path).read_text() == TEXT


async def test_no_workspace_but_a_backend_of_its_own() -> None:
    backend = StateBackend()
    agent = Agent(
        FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart('done')])),
        capabilities=[EvictionProcessor(token_limit=100, backend=backend)],
    )
    await agent.run('on', message_history=history())
    assert list(backend.files) == ['/large_tool_results/call_1']


async def test_the_backend_of_deps_comes_first() -> None:
    deps, other = Deps(), StateBackend()
    await fetch(TEXT, EvictionProcessor(token_limit=100, backend=other), deps=deps)
    assert (len(deps.backend.files), len(other.files)) == (1, 0)


async def test_what_is_moved_goes_on_being_moved_for_good_and_not_again() -> None:
    deps = Deps()
    seen: list[str] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.extend(str(part.content) for part in tool_returns(messages))
        return ModelResponse(parts=[TextPart('done')])

    evictions: list[tuple[Any, ...]] = []
    processor: EvictionProcessor[Any] = EvictionProcessor(
        token_limit=1, on_eviction=lambda *told: evictions.append(told)
    )
    agent = Agent(FunctionModel(answer), deps_type=Deps, capabilities=[processor])
    first = await agent.run('on', deps=deps, message_history=history())
    second = await agent.run('on', deps=deps, message_history=first.all_messages())
    assert seen == [seen[0]] * 2
    assert evicted_path(seen[0]) == '/large_tool_results/call_1'
    assert tool_returns(second.all_messages())[0].content == seen[0]
    assert evictions == [('fetch', '/large_tool_results/call_1', len(TEXT), len(seen[0]))]


async def test_the_callers_history_stays_as_it_is() -> None:
    messages = history()
    agent = Agent(
        FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart('done')])),
        deps_type=Deps,
        capabilities=[EvictionProcessor(token_limit=100)],
    )
    await agent.run('on', deps=Deps(), message_history=messages)
    assert tool_returns(messages)[0].content == TEXT


async def test_a_failed_write_keeps_the_text(caplog: pytest.LogCaptureFixture) -> None:
    class Full(StateBackend):
        async def write_bytes(self, path: str, data: bytes) -> None:
            raise OSError(28, 'No space left on device')

    with caplog.at_level(logging.WARNING):
        played = await fetch(TEXT, deps=Deps(Full()))
    assert played.texts == [TEXT]
    assert 'No space left on device' in caplog.text
    assert played.events_of(ResultEvictedEvent) == []


async def test_a_workspace_that_is_only_read_keeps_the_text() -> None:
    backend = StateBackend()
    played = await fetch(TEXT, deps=Deps(ReadOnlyWorkspace(Workspace(backend))))
    assert (played.texts, backend.files) == ([TEXT], {})


async def test_no_workspace_keeps_the_text() -> None:
    assert (await fetch(TEXT, deps=None)).texts == [TEXT]


async def test_a_link_out_of_the_agents_spot_keeps_the_text(tmp_path: Path) -> None:
    (tmp_path / '.deep').mkdir()
    (tmp_path / 'mine').mkdir()
    (tmp_path / '.deep' / 'large_tool_results').symlink_to(tmp_path / 'mine')
    played = await fetch(TEXT, deps=Deps(KernelWorkspace(tmp_path)))
    assert (played.texts, names(tmp_path / 'mine')) == ([TEXT], [])


async def test_the_file_is_there_before_the_preview_is() -> None:
    deps = Deps()
    seen: list[bool] = []

    async def look(tool_name: str, file_path: str, original_chars: int, preview_chars: int) -> None:
        await asyncio.sleep(0)
        seen.append(deps.backend.files[file_path] == TEXT.encode())

    await fetch(TEXT, EvictionProcessor(token_limit=100, on_eviction=look), deps=deps)
    assert seen == [True]


async def test_the_run_is_told() -> None:
    [event] = (await fetch(TEXT)).events_of(ResultEvictedEvent)
    assert (event.tool_call_id, event.tool_name, event.original_chars) == ('1.1', 'fetch', len(TEXT))
    assert event.path.startswith('/large_tool_results/1-1.')


async def test_what_else_a_tool_returns_survives() -> None:
    played = await fetch(ToolReturn(TEXT, content='and a word', metadata={'summary': 'rows'}))
    assert evicted_path(played.returns[0].content) is not None
    assert played.returns[0].metadata == {'summary': 'rows'}
    prompts = [
        part.content for message in played.messages for part in message.parts if isinstance(part, UserPromptPart)
    ]
    assert prompts == ['go', 'and a word']


async def test_tools_that_a_result_makes_available_survive() -> None:
    async def fetch() -> ToolReturn[str]:
        return ToolReturn(TEXT, tools=['hammer'])

    def hammer() -> str:
        return 'hit'

    toolset: FunctionToolset[Any] = FunctionToolset([fetch])
    toolset.add_function(hammer, defer_loading=True)
    played = await play(
        [('fetch', {})],
        [('hammer', {})],
        capabilities=[EvictionProcessor(token_limit=100)],
        toolsets=[toolset],
        deps=Deps(),
    )
    assert (evicted_path(played.texts[0]) is not None, played.texts[1]) == (True, 'hit')


async def test_pictures_stay() -> None:
    deps = Deps()
    played = await fetch([TEXT, PICTURE], deps=deps)
    content = played.returns[0].content
    assert isinstance(content, list)
    assert (evicted_path(content) is not None, content[1:]) == (True, [PICTURE])
    assert (await fetch(PICTURE)).returns[0].content == PICTURE


async def test_results_that_are_not_text_are_moved_as_the_model_would_have_seen_them() -> None:
    deps = Deps()
    await fetch({'rows': list(range(1000))}, deps=deps)
    [data] = deps.backend.files.values()
    assert data.startswith(b'{"rows":[0,1,2,')


async def test_one_long_line_is_cut_in_the_preview() -> None:
    played = await fetch('x' * 1_000_000)
    assert len(played.texts[0]) < 1000
    assert '999,500 more characters in this line' in played.texts[0]


async def test_a_failure_that_is_too_large_is_moved_and_stays_a_failure() -> None:
    played = await fetch(ToolFailed(TEXT))
    assert (evicted_path(played.returns[0].content) is not None, played.returns[0].outcome) == (True, 'failed')


@pytest.mark.parametrize('limit', [1, 100])
async def test_a_read_of_a_moved_result_is_not_moved(limit: int) -> None:
    deps = Deps(StateBackend({'/big.txt': TEXT.encode(), '/large_tool_results/call_1': TEXT.encode()}))
    played = await play(
        [
            ('read_file', {'path': '/large_tool_results/call_1', 'limit': 500}),
            ('grep', {'pattern': 'row', 'path': 'large_tool_results'}),
            ('read_file', {'path': '/big.txt'}),
        ],
        [],
        capabilities=[EvictionProcessor(token_limit=limit), Filesystem()],
        deps=deps,
    )
    assert [evicted_path(text) is not None for text in played.texts] == [False, False, True]


async def test_such_a_read_stays_in_a_resumed_history_too() -> None:
    deps = Deps(StateBackend({'/large_tool_results/call_1': TEXT.encode()}))
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart('go')]),
        ModelResponse(parts=[ToolCallPart('read_file', '{"path": "/large_tool_results/call_1"}', 'r')]),
        ModelRequest(parts=[ToolReturnPart('read_file', TEXT, 'r')]),
        ModelResponse(parts=[TextPart('done')]),
    ]
    played = await play(capabilities=[EvictionProcessor(token_limit=100)], deps=deps, history=messages)
    assert played.texts == [TEXT]


async def test_loaded_capabilities_stay_loaded() -> None:
    """pydantic-ai reads the results of its own tools in the history."""
    wordy = Capability(
        id='wordy',
        description='Words. ' * 100,
        instructions=TEXT,
        toolsets=[tool('told', name='tell')],
        defer_loading=True,
    )
    played = await play(
        [('load_capability', {'id': 'wordy'})],
        [('tell', {})],
        capabilities=[EvictionProcessor(token_limit=1), wordy],
        deps=Deps(),
    )
    assert played.texts[1] == 'told'
    assert all(evicted_path(text) is None for text in played.texts)


@dataclass(frozen=True)
class Name:
    id: str
    file: Callable[[str], bool]


@pytest.mark.parametrize(
    'case',
    [
        Name('call_abc-9', lambda name: name == 'call_abc-9'),
        Name('../../etc/passwd', lambda name: name.startswith('etc-passwd.')),
        Name('a\x00b\nc', lambda name: name.startswith('a-b-c.')),
        Name('x' * 300, lambda name: len(name) < 100),
        Name('', lambda name: name.startswith('result.')),
        Name('..', lambda name: name.startswith('result.')),
    ],
    ids=lambda case: case.id[:10],
)
async def test_ids_are_made_safe_names(case: Name) -> None:
    deps = Deps()
    messages = history()
    messages[1] = ModelResponse(parts=[ToolCallPart('fetch', {}, case.id)])
    messages[2] = ModelRequest(parts=[ToolReturnPart('fetch', TEXT, case.id)])
    await play(capabilities=[EvictionProcessor(token_limit=100)], deps=deps, history=messages)
    [path] = deps.backend.files
    directory, name = path.rsplit('/', 1)
    assert (directory, case.file(name)) == ('/large_tool_results', True)


async def test_a_call_id_that_comes_again_does_not_overwrite() -> None:
    """Local model servers count their calls anew in each response."""
    deps = Deps()
    messages = [*history(), *history(TEXT[::-1])]
    played = await play(capabilities=[EvictionProcessor(token_limit=100)], deps=deps, history=messages)
    paths = [evicted_path(text) for text in played.texts]
    assert [deps.backend.files[path or ''] for path in paths] == [TEXT.encode(), TEXT[::-1].encode()]


async def test_old_files_go_and_those_in_the_history_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eviction, 'MAX_KEPT_FILES', 3)
    spot = tmp_path / '.deep' / 'large_tool_results'
    spot.mkdir(parents=True)
    for age, name in enumerate(['named', 'z-oldest', 'b-older', 'a-newer']):
        (spot / name).write_text(name)
        os.utime(spot / name, (age, age))
    text = 'Tool result too large, saved to: .deep/large_tool_results/named\n'
    played = await fetch(TEXT, deps=Deps(KernelWorkspace(tmp_path)), history=history(text))
    written = (evicted_path(played.texts[1]) or '').rpartition('/')[2]
    assert names(spot) == sorted(['named', 'a-newer', written])


async def test_a_preview_whose_file_is_gone_says_so_once() -> None:
    deps = Deps()
    first = await play(capabilities=[EvictionProcessor(token_limit=100)], deps=deps, history=history())
    deps.backend.files.clear()
    second = await play(capabilities=[EvictionProcessor()], deps=deps, history=first.messages)
    third = await play(capabilities=[EvictionProcessor()], deps=deps, history=second.messages)
    assert second.texts[0] == first.texts[0] + '\n\nThis file is gone. If you need the result, run the tool again.'
    assert third.texts == second.texts


async def test_it_works_as_a_history_processor_too() -> None:
    deps = Deps()
    processor: EvictionProcessor[Any] = EvictionProcessor(token_limit=100)
    played = await play(capabilities=[ProcessHistory(processor)], deps=deps, history=history())
    assert evicted_path(played.texts[0]) == '/large_tool_results/call_1'


async def test_alone_on_any_agent(tmp_path: Path) -> None:
    """No deps of ours, a workspace of pydantic-ai's."""
    agent = Agent(
        FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart('done')])),
        capabilities=[deep_notebook.EvictionProcessor(token_limit=100)],
    )
    result = await agent.run('on', message_history=history(), workspace=LocalWorkspaceBackend(tmp_path))
    path = evicted_path(tool_returns(result.all_messages())[0].content)
    assert path == '.deep/large_tool_results/call_1'
    assert (tmp_path / path).read_text() == TEXT


async def test_concurrent_runs_do_not_share_state() -> None:
    processor: EvictionProcessor[Any] = EvictionProcessor(token_limit=100)
    one, other = await asyncio.gather(fetch(TEXT, processor), fetch(TEXT, processor))
    assert (processor._written, evicted_path(one.texts[0])) == (set(), evicted_path(other.texts[0]))


def test_negative_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match='head_lines must be 0 or more, got -1'):
        EvictionProcessor(head_lines=-1)


async def test_no_lines_at_all_is_no_lines_at_all() -> None:
    played = await fetch(TEXT, EvictionProcessor(token_limit=100, head_lines=0, tail_lines=0))
    assert played.texts[0].endswith('Preview (head/tail):\n… 1,000 lines left out …')


async def test_a_text_that_only_begins_like_a_preview_is_moved() -> None:
    text = f'{eviction.EVICTED}nowhere\n' + 'x' * 50_000
    deps = Deps()
    played = await fetch(text, deps=deps)
    path = evicted_path(played.returns[0].content)
    assert path != 'nowhere'
    assert path is not None
    assert await deps.backend.read_bytes(path) == text.encode()
    assert len(played.texts[0]) < 2_000
    played = await play([], history=history(text), capabilities=[EvictionProcessor(token_limit=100)], deps=Deps())
    assert len(played.texts[0]) < 2_000


async def test_other_capabilities_see_the_whole_result() -> None:
    seen: list[int] = []
    hooks: Hooks[Any] = Hooks()

    @hooks.on.after_tool_execute
    async def look(ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
        seen.append(len(result))
        return result

    await fetch(TEXT, capabilities=[EvictionProcessor(token_limit=100), hooks])
    assert seen == [len(TEXT)]

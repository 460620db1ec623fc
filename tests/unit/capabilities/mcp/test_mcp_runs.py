"""Real MCP servers in real runs: asked about, told nothing of the person's, gone with the run, and no end of it."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from deep_notebook.capabilities.approvals import ApprovalDecision, ApprovalGate, ApprovalRequest
from deep_notebook.capabilities.events import NoticeEvent
from deep_notebook.capabilities.mcp import McpCapability, McpServer, mcp_server
from deep_notebook.capabilities.tool_classes import tool_class
from deep_notebook.errors import UsageError
from harness.mcp import SERVER, serve_http
from harness.play import Played, play
from harness.web import Page, serve

pytestmark = pytest.mark.anyio

LOAD = [('load_capability', {'id': 'mcp_demo'})]
ADD = [('demo_add', {'a': 1, 'b': 2})]
WHERE = [('demo_where', {})]


def demo(**settings: Any) -> McpServer:
    return mcp_server('demo', {'command': sys.executable, 'args': [str(SERVER)], **settings})


def notices(played: Played) -> list[str]:
    return [event.text for event in played.events_of(NoticeEvent)]


def is_running(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.fixture
def started() -> Callable[[], set[psutil.Process]]:
    """The processes that the test started and that are still there."""
    before = set(psutil.Process().children(recursive=True))
    return lambda: set(psutil.Process().children(recursive=True)) - before


async def offered(capability: McpCapability[Any]) -> tuple[dict[str, Any], str]:
    """Return the tools of the first request by name, and its instructions."""
    seen: list[AgentInfo] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        return ModelResponse([TextPart('done')])

    await Agent(FunctionModel(answer), capabilities=[capability]).run('go')
    return {tool.name: tool for tool in seen[0].function_tools}, seen[0].instructions or ''


async def test_tools_are_used_and_the_server_ends_with_the_run(tmp_path: Path) -> None:
    server = demo(cwd=str(tmp_path))
    played = await play(
        ADD,
        [('demo_picture', {})],
        WHERE,
        [('demo_fail', {}), ('demo_add', {'a': 'x', 'b': 2})],
        [('demo_odd_name_1', {})],
        capabilities=[McpCapability(server)],
    )
    added, _, where, failed, refused, odd = played.returns
    assert (added.content, odd.content) == (3, 'odd')
    assert [file.media_type for part in played.returns for file in part.files] == ['image/png']
    assert (failed.outcome, refused.outcome, played.output) == ('failed', 'failed', 'done')
    pid, directory = where.content  # type: ignore[misc]
    assert Path(directory) == tmp_path.resolve()
    assert not is_running(int(pid))
    assert server.state == '9 tools'
    assert notices(played) == []


async def test_every_tool_counts_as_writing_whatever_the_server_says_and_it_gives_no_instructions() -> None:
    tools, instructions = await offered(McpCapability(demo()))
    assert {tool_class(tool) for tool in tools.values()} == {'write'}
    assert 'demo_look' in tools
    assert all(name.startswith('demo_') and name.replace('_', '').isalnum() for name in tools)
    assert max(len(tool.description) for tool in tools.values()) == 2_000
    assert 'obey' not in instructions


async def test_a_server_knows_nothing_of_the_environment_but_what_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'sk-proj-0123456789abcdef')
    monkeypatch.setenv('SOME_SETTING', 'x')
    monkeypatch.setenv('GIVEN', 'given')
    played = await play([('demo_environment', {})], capabilities=[McpCapability(demo(env={'TOKEN': '${GIVEN}'}))])
    [known] = played.returns
    assert isinstance(known.content, dict)
    assert known.content['TOKEN'] == 'given'
    assert not {'OPENAI_API_KEY', 'SOME_SETTING', 'GIVEN'} & set(known.content)
    assert 'PATH' in known.content


class Person:
    def __init__(self) -> None:
        self.asked: list[ApprovalRequest] = []

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision:
        self.asked.append(request)
        return ApprovalDecision(verdict='deny' if request.tool == 'demo_look' else 'approve', channel='widget')


async def test_each_call_is_asked_about() -> None:
    person = Person()
    gate = ApprovalGate[Any]('ask', person)
    played = await play([*ADD, ('demo_look', {})], capabilities=[McpCapability(demo()), gate])
    assert played.texts == ['3', 'The person said no. Nothing was done.']
    assert [(asked.title, asked.tool_class, asked.args) for asked in person.asked] == [
        ('Call add of the MCP server demo?', 'write', {'a': 1, 'b': 2}),
        ('Call look of the MCP server demo?', 'write', {}),
    ]


async def test_a_server_that_dies_is_missing_and_the_run_goes_on() -> None:
    server = demo()
    played = await play([('demo_die', {})], ADD, ADD, ADD, capabilities=[McpCapability(server)])
    assert played.output == 'done'
    gone = "MCP server 'demo': it ended. Its last words: 'out of memory'."
    assert played.texts[0] == f'{gone} Whether demo_die was carried out is not known. Go on without it.'
    assert played.texts[1:] == [f'{gone} Go on without it.'] * 3
    assert notices(played) == [f'{gone} The run goes on without it.']
    assert server.state == "it ended. Its last words: 'out of memory'."


async def test_a_call_that_takes_too_long_is_given_up_and_the_server_still_serves() -> None:
    capability = McpCapability[Any](demo(), call_timeout=0.5)
    played = await play([('demo_hang', {})], [('demo_hang', {})], ADD, capabilities=[capability])
    assert [part.outcome for part in played.returns] == ['failed', 'failed', 'success']
    assert 'timed out' in played.texts[0]


def program(code: str) -> dict[str, Any]:
    return {'command': sys.executable, 'args': ['-c', code]}


@dataclass(frozen=True)
class Faulty:
    config: dict[str, Any]
    fault: str
    timeout: float = 20.0


FAULTY = [
    Faulty({'command': 'no-such-program'}, "there is no program 'no-such-program'."),
    Faulty(
        {'command': 'no-such-program -y git'},
        "there is no program 'no-such-program -y git'. Its arguments belong into args.",
    ),
    Faulty({**program(''), 'cwd': '/no/such/place'}, "there is no directory '/no/such/place'."),
    Faulty(
        program('import sys; print("token=abcdefgh0123456789abcdefgh", file=sys.stderr)'),
        "it ended before it was ready. Its last words: 'token=…[masked]'.",
    ),
    Faulty(program('import time; time.sleep(600)'), 'it did not answer within 0.3 s.', timeout=0.3),
    Faulty(
        program('print("hello", flush=True); import time; time.sleep(600)'),
        'it did not answer within 0.3 s.',
        timeout=0.3,
    ),
    Faulty({'url': 'http://127.0.0.1:9/mcp'}, 'it could not be reached: All connection attempts failed.'),
]


@pytest.mark.parametrize('case', FAULTY, ids=lambda case: case.fault)
async def test_a_server_that_does_not_start_is_missing_and_the_run_goes_on(
    case: Faulty,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    started: Callable[[], set[psutil.Process]],
) -> None:
    # As in a program that has not set up logging, where errors of libraries are printed.
    monkeypatch.setattr(logging.getLogger('mcp'), 'propagate', False)
    server = mcp_server('demo', case.config)
    capability = McpCapability[Any](server, connect_timeout=case.timeout)
    played = await play([], capabilities=[capability])
    assert (played.output, played.tools) == ('done', [])
    assert notices(played) == [f"MCP server 'demo': {case.fault} The run goes on without it."]
    [request] = [message for message in played.messages if isinstance(message, ModelRequest)]
    assert 'The MCP server demo is not running' in (request.instructions or '')
    assert server.state == case.fault
    assert started() == set()
    assert capfd.readouterr() == ('', '')


async def test_a_service_that_says_no_is_missing() -> None:
    with serve({'/mcp': Page(status=401)}) as web:
        played = await play([], capabilities=[McpCapability(mcp_server('demo', {'url': f'{web.url}/mcp'}))])
    assert played.output == 'done'
    assert notices(played)[0].startswith("MCP server 'demo': it could not be reached: ")


async def test_a_run_that_is_stopped_leaves_no_process(started: Callable[[], set[psutil.Process]]) -> None:
    calling = asyncio.Event()

    def watch(event: Any) -> None:
        if getattr(event, 'event_kind', '') == 'function_tool_call':
            calling.set()

    running = asyncio.create_task(
        play([('demo_hang', {})], capabilities=[McpCapability(demo())], on_event=watch), name='run'
    )
    await calling.wait()
    assert len(started()) == 1
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert started() == set()


async def test_two_runs_at_once_have_a_server_each() -> None:
    agent_parts = McpCapability[Any](demo())
    one, two = await asyncio.gather(play(WHERE, capabilities=[agent_parts]), play(WHERE, capabilities=[agent_parts]))
    assert one.returns[0].content != two.returns[0].content


async def test_a_server_on_demand_starts_when_the_model_loads_it() -> None:
    server = demo(description='Sums.')
    tools, instructions = await offered(McpCapability(server, defer_loading=True))
    assert list(tools) == ['load_capability']
    assert 'mcp_demo: Sums.' in instructions
    assert server.state == 'not used yet'
    played = await play(LOAD, ADD, capabilities=[McpCapability(server, defer_loading=True)])
    assert played.texts[-1] == '3'


async def test_a_server_on_demand_that_does_not_start_is_told_when_the_model_loads_it() -> None:
    server = mcp_server('demo', {'command': 'no-such-program'})
    played = await play(LOAD, [], capabilities=[McpCapability(server, defer_loading=True)])
    assert played.output == 'done'
    assert len(notices(played)) == 1
    assert 'The MCP server demo is not running' in str(played.messages)


async def test_a_service_over_http_is_used_until_it_is_gone() -> None:
    with serve_http(token='Bearer k1') as service:
        server = mcp_server('demo', {'url': service.url, 'headers': {'Authorization': 'Bearer k1'}})

        def stop(returns: Any) -> Any:
            service.stop()
            return ADD

        played = await play(ADD, stop, capabilities=[McpCapability(server)])
    assert played.texts[0] == '3'
    assert played.texts[1].startswith("MCP server 'demo': it is gone: ")
    assert played.output == 'done'


async def test_without_its_variable_nothing_is_asked_or_started() -> None:
    with pytest.raises(UsageError, match=r"^MCP server 'demo' needs NO_SUCH_VARIABLE: set it in"):
        await play([], capabilities=[McpCapability(demo(env={'A': '${NO_SUCH_VARIABLE}'}), defer_loading=True)])


async def test_without_the_package_the_person_is_told_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'fastmcp', None)
    capability = McpCapability[Any](demo())
    with pytest.raises(UsageError, match=r'`pip install "deep-notebook\[mcp\]"`\.$'):
        await play([], capabilities=[capability])

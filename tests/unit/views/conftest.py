"""Real pydantic-ai runs on scripted models, as the events that a driver would fold into the run state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest
from pydantic_ai import Agent, BinaryContent, ModelRetry, RunContext, ToolFailed, ToolReturn
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaThinkingCalls, DeltaToolCalls, FunctionModel
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.toolsets import FunctionToolset

from deep_notebook.capabilities.approvals import ApprovalDecision, ApprovalRequest
from deep_notebook.capabilities.events import ApprovalAskedEvent, ApprovalDecidedEvent, TodosChangedEvent

PNG = b'\x89PNG\r\n\x1a\n'
DIFF = '--- /dev/null\n+++ report.md\n@@ -0,0 +1 @@\n+# Sales\n'

Chunk: TypeAlias = 'str | DeltaToolCalls | DeltaThinkingCalls'
Response: TypeAlias = 'Sequence[Chunk]'


def _scripted(*responses: Response) -> FunctionModel:
    left = list(responses)

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Chunk]:
        for chunk in left.pop(0):
            yield chunk

    return FunctionModel(stream_function=stream)


@dataclass
class Tools(AbstractCapability[Any]):
    """One tool for each thing that can become of a call."""

    def get_toolset(self) -> FunctionToolset[Any]:
        toolset = FunctionToolset[Any](id='tools')

        @toolset.tool
        async def read_file(ctx: RunContext[Any], path: str) -> ToolReturn:
            """Read."""
            return ToolReturn(return_value='a,b\n1,2', metadata={'summary': f'{path} · 2 lines'})

        @toolset.tool
        async def shout(ctx: RunContext[Any], length: int) -> str:
            """Return much."""
            return 'x' * length

        @toolset.tool
        async def plot(ctx: RunContext[Any]) -> ToolReturn:
            """Return a picture."""
            return ToolReturn(return_value='drawn', content=['A plot:', BinaryContent(PNG, media_type='image/png')])

        @toolset.tool
        async def photo(ctx: RunContext[Any]) -> list[Any]:
            """Return a picture in the value."""
            return [
                'taken',
                BinaryContent(PNG, media_type='image/png'),
                BinaryContent(b'%PDF', media_type='application/pdf'),
            ]

        @toolset.tool
        async def again(ctx: RunContext[Any]) -> str:
            """Ask for another try."""
            raise ModelRetry('No such file: a.txt.\nLook with `ls`.')

        @toolset.tool
        async def breaks(ctx: RunContext[Any]) -> str:
            """Fail for good."""
            raise ToolFailed('The disk is full.')

        @toolset.tool
        async def run_python(ctx: RunContext[Any], code: str) -> ToolReturn:
            """Run."""
            return ToolReturn('Traceback', metadata={'summary': 'NameError: x', 'failed': True})

        @toolset.tool
        async def plan(ctx: RunContext[Any]) -> str:
            """Plan."""
            await ctx.emit(TodosChangedEvent(todos=[{'id': '1', 'content': 'Read', 'status': 'in_progress'}]))
            return 'ok'

        @toolset.tool(sequential=True)
        async def write_file(ctx: RunContext[Any], path: str, content: str) -> ToolReturn:
            """Write."""
            if not ctx.tool_call_approved:
                raise ApprovalRequired
            file = {'path': path, 'added': content.count('\n') + 1, 'removed': 0, 'diff': DIFF}
            return ToolReturn(return_value='Wrote it.', metadata={'summary': f'{path} · 1 line', 'file': file})

        return toolset


@dataclass
class Gate(AbstractCapability[Any]):
    """Asks about every deferred call and answers from `decisions`, `None` to suspend."""

    decisions: dict[str, ApprovalDecision]

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        asked = [
            ApprovalRequest(
                id=part.tool_call_id,
                tool=part.tool_name,
                tool_class='write',
                args=part.args_as_dict(),
                title=f'Write {part.args_as_dict()["path"]}?',
                path=part.args_as_dict()['path'],
                detail='new file · 1 line',
                diff=DIFF,
                editable='content',
            )
            for part in requests.approvals
        ]
        for request in asked:
            await ctx.emit(ApprovalAskedEvent(request=request))
        results: dict[str, bool | ToolApproved | ToolDenied] = {}
        for request in asked:
            decision = self.decisions.get(request.id)
            await ctx.emit(ApprovalDecidedEvent(request=request, decision=decision))
            if decision is None:
                return None
            if decision.verdict == 'deny':
                results[request.id] = ToolDenied(decision.reason or 'no')
            elif decision.edited is not None:
                results[request.id] = ToolApproved(override_args={**request.args, 'content': decision.edited})
            else:
                results[request.id] = True
        return requests.build_results(approvals=results)


async def _events_of(
    *responses: Response, output_type: Any = str, decisions: dict[str, ApprovalDecision] | None = None
) -> list[object]:
    agent = Agent(_scripted(*responses), capabilities=[Tools(), Gate(decisions or {})])
    async with agent.run_stream_events('go', output_type=[output_type, DeferredToolRequests]) as stream:
        return [event async for event in stream]


@pytest.fixture
def events_of() -> Callable[..., Awaitable[list[object]]]:
    """All stream events of one run whose model answers the given responses in order."""
    return _events_of

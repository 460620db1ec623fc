"""Providers are sent the tools and instructions that were loaded, none that wait, and a history that they take."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic_ai import Agent, models
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from deep_notebook.capabilities.on_demand import LoadNamed, deferred
from deep_notebook.capabilities.plan import PlanCapability
from deep_notebook.capabilities.skills import SkillsCapability
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps

pytestmark = pytest.mark.anyio

SKILL_TOOLS = ['list_skills', 'load_skill', 'read_skill_resource', 'run_skill_script']

CHAT = {
    'id': '1',
    'object': 'chat.completion',
    'created': 1,
    'model': 'gpt-4o',
    'choices': [{'index': 0, 'finish_reason': 'stop', 'message': {'role': 'assistant', 'content': 'Done.'}}],
}
RESPONSE = {
    'id': '1',
    'object': 'response',
    'created_at': 1,
    'model': 'gpt-5',
    'status': 'completed',
    'parallel_tool_calls': True,
    'tool_choice': 'auto',
    'tools': [],
    'output': [
        {
            'type': 'message',
            'id': 'm',
            'role': 'assistant',
            'status': 'completed',
            'content': [{'type': 'output_text', 'text': 'Done.', 'annotations': []}],
        }
    ],
}
MESSAGE = {
    'id': '1',
    'type': 'message',
    'role': 'assistant',
    'model': 'claude-sonnet-4-6',
    'content': [],
    'usage': {'input_tokens': 1, 'output_tokens': 1},
}
STREAM = [
    {'type': 'message_start', 'message': MESSAGE},
    {'type': 'content_block_start', 'index': 0, 'content_block': {'type': 'text', 'text': ''}},
    {'type': 'content_block_delta', 'index': 0, 'delta': {'type': 'text_delta', 'text': 'Done.'}},
    {'type': 'content_block_stop', 'index': 0},
    {'type': 'message_delta', 'delta': {'stop_reason': 'end_turn'}, 'usage': {'output_tokens': 1}},
    {'type': 'message_stop'},
]


@dataclass(frozen=True)
class Api:
    name: str
    model: Callable[[httpx2.AsyncClient], Model]
    reply: Callable[[], httpx2.Response]
    tools: Callable[[dict[str, Any]], list[str]]
    """The names of the tools that a request lets the model call."""


def claude_reply() -> httpx2.Response:
    text = ''.join(f'event: {event["type"]}\ndata: {json.dumps(event)}\n\n' for event in STREAM)
    return httpx2.Response(200, text=text, headers={'content-type': 'text/event-stream'})


def chat_tools(body: dict[str, Any]) -> list[str]:
    return [tool['function']['name'] for tool in body['tools']]


def responses_tools(body: dict[str, Any]) -> list[str]:
    added = [tool for item in body['input'] if item.get('type') == 'additional_tools' for tool in item['tools']]
    return [tool['name'] for tool in [*body['tools'], *added]]


def claude_tools(body: dict[str, Any]) -> list[str]:
    """Tools that wait are sent with the wish to keep them hidden, until a message refers to them."""
    messages = json.dumps(body['messages'], separators=(',', ':'))
    hidden = [tool['name'] for tool in body['tools'] if tool.get('defer_loading')]
    revealed = [name for name in hidden if f'{{"tool_name":"{name}","type":"tool_reference"}}' in messages]
    return [tool['name'] for tool in body['tools'] if tool['name'] not in hidden or tool['name'] in revealed]


APIS = [
    Api(
        'openai-chat',
        lambda client: OpenAIChatModel('gpt-4o', provider=OpenAIProvider(api_key='x', http_client=client)),
        lambda: httpx2.Response(200, json=CHAT),
        chat_tools,
    ),
    Api(
        'openai-responses',
        lambda client: OpenAIResponsesModel('gpt-5', provider=OpenAIProvider(api_key='x', http_client=client)),
        lambda: httpx2.Response(200, json=RESPONSE),
        responses_tools,
    ),
    Api(
        'anthropic',
        lambda client: AnthropicModel('claude-opus-4-6', provider=AnthropicProvider(api_key='x', http_client=client)),
        claude_reply,
        claude_tools,
    ),
]


@pytest.mark.parametrize('api', APIS, ids=lambda api: api.name)
async def test_what_is_loaded_is_sent_and_what_waits_is_not(tmp_path: Path, api: Api) -> None:
    bodies: list[dict[str, Any]] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return api.reply()

    history: list[ModelMessage] = []
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(respond)) as client:
        for prompt in ('Hello', 'Use a skill', 'And now?'):
            given = [*deferred([SkillsCapability(), PlanCapability()]), LoadNamed()]
            agent: Agent[Any, str] = Agent(api.model(client), capabilities=given)
            with models.override_allow_model_requests(True):
                result = await agent.run(prompt, deps=Deps(KernelWorkspace(tmp_path)), message_history=history)
            history = result.all_messages()
    assert [sorted(api.tools(body)) for body in bodies] == [
        ['load_capability'],
        sorted(['load_capability', *SKILL_TOOLS]),
        sorted(['load_capability', *SKILL_TOOLS]),
    ]
    sent = [json.dumps(body) for body in bodies]
    assert [text.count('load it with load_skill') for text in sent] == [0, 1, 1]
    assert not any('capability-load-delta' in text for text in sent)

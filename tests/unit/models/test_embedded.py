"""The embedded model above its seam: replies become tool calls and streamed text, and nothing stays running."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from dirty_equals import IsStr
from inline_snapshot import snapshot
from pydantic import BaseModel
from pydantic_ai import Agent, UnexpectedModelBehavior
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.usage import UsageLimits

from deep_notebook.errors import UsageError
from deep_notebook.models.embedded import LABEL, MAX_REQUESTS, EmbeddedModel
from deep_notebook.models.embedded_runtime import Completion, PromptTooLong
from harness.scripted_completion import EndlessCompletion, ScriptedCompletion, written

pytestmark = pytest.mark.anyio

FILES = {'people.csv': 'name,age\nAda,36'}


def agent_on(complete: Any) -> Agent[None, str]:
    agent = Agent(EmbeddedModel(complete=complete))

    @agent.tool_plain
    def read_file(path: str) -> str:
        return FILES[path]

    @agent.tool_plain
    def write_file(path: str, content: str) -> str:
        FILES[path] = content
        return f'Wrote {path}.'

    @agent.tool_plain
    def run_python(code: str) -> str:
        return 'Traceback (most recent call last):\nKeyError: 1' if 'fail' in code else f'ran {code!r}'

    return agent


def calls(messages: Sequence[ModelMessage]) -> list[tuple[str, Any]]:
    return [
        (part.tool_name, part.args)
        for message in messages
        if isinstance(message, ModelResponse)
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]


async def test_a_run_reads_a_file_and_answers() -> None:
    complete = ScriptedCompletion(
        ['{"tool": "read_file", "path": "people.csv"}', '{"tool": "answer"}', '\n Ada is 36.']
    )
    result = await agent_on(complete).run('How old is Ada?')
    assert result.output == 'Ada is 36.'
    assert calls(result.all_messages()) == [('read_file', {'path': 'people.csv'})]
    assert complete.requests[1].prompt.endswith(
        '<|im_start|>user\nHow old is Ada?<|im_end|>\n'
        '<|im_start|>assistant\n{"tool": "read_file", "path": "people.csv"}<|im_end|>\n'
        '<|im_start|>user\nResult of read_file: name,age\nAda,36<|im_end|>\n'
        '<|im_start|>assistant\n'
    )


async def test_code_and_file_contents_are_written_as_blocks_of_their_own() -> None:
    complete = ScriptedCompletion(
        [
            '{"tool": "run_python"}',
            'print("a\\n")\nprint(2)',
            '{"tool": "write_file", "path": "note.md"}',
            '# Title\n\n"quoted"',
            '{"tool": "answer"}',
            'Done.',
        ]
    )
    result = await agent_on(complete).run('Compute and note')
    assert calls(result.all_messages()) == [
        ('run_python', {'code': 'print("a\\n")\nprint(2)'}),
        ('write_file', {'path': 'note.md', 'content': '# Title\n\n"quoted"'}),
    ]
    assert complete.requests[1].prompt.endswith('{"tool": "run_python"}\n```python\n')
    assert complete.requests[1].stop[0] == '\n```'
    assert complete.requests[3].prompt.endswith('{"tool": "write_file", "path": "note.md"}\n<content>\n')
    assert complete.requests[3].schema is None


async def test_what_the_model_read_stays_as_it_was_so_that_it_stays_cached() -> None:
    complete = ScriptedCompletion(
        ['{"tool": "run_python"}', 'print(1)', '{"tool": "answer"}', 'One.', '{"tool": "answer"}', 'Two.']
    )
    agent = agent_on(complete)
    first = await agent.run('Count')
    await agent.run('Go on', message_history=first.all_messages())
    decisions = [request.prompt for request in complete.requests if request.schema]
    for shorter, longer in itertools.pairwise(decisions):
        assert longer.startswith(shorter)


async def test_the_answer_streams_as_it_is_written() -> None:
    complete = ScriptedCompletion(['{"tool": "answer"}', '\nAda is 36 years old.'])
    pieces: list[str] = []
    async with agent_on(complete).run_stream_events('How old is Ada?') as events:
        async for event in events:
            if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                pieces.append(event.part.content)
            elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                pieces.append(event.delta.content_delta)
    assert pieces == snapshot(['Ada ', 'is 36', ' year', 's old', '.'])


async def test_usage_counts_each_token_once_and_costs_nothing() -> None:
    complete = ScriptedCompletion(
        [
            written('{"tool": "answer"}', prompt_tokens=900, cached_tokens=850),
            written('Yes.', prompt_tokens=910, cached_tokens=905),
        ]
    )
    result = await agent_on(complete).run('Well?')
    usage = result.usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (900, 850, 22)
    assert usage.cost == Decimal(0)


async def test_an_agent_without_tools_just_talks() -> None:
    complete = ScriptedCompletion([written('Hello', prompt_tokens=30)])
    result = await Agent(EmbeddedModel(complete=complete), instructions='Speak English.').run('Hi')
    assert result.output == 'Hello'
    assert result.usage.input_tokens == 30
    assert complete.requests[0].prompt == snapshot(
        """\
<|im_start|>system
You answer the user of a notebook, briefly and honestly. Say so if you don't know.

Speak English.<|im_end|>
<|im_start|>user
Hi<|im_end|>
<|im_start|>assistant
"""
    )


@pytest.mark.parametrize(
    'cut_off',
    [
        [written('{"tool": "read_file", "pa', cut_off=True)],
        ['{"tool": "run_python"}', written('for i in range(', cut_off=True)],
        ['{"tool": "run_python"}', '   '],
    ],
    ids=['the call', 'the code', 'no code'],
)
async def test_a_reply_that_was_cut_off_is_asked_for_again(cut_off: list[str | Completion]) -> None:
    complete = ScriptedCompletion([*cut_off, '{"tool": "answer"}', 'Short.'])
    result = await agent_on(complete).run('Go')
    assert result.output == 'Short.'
    assert calls(result.all_messages()) == []
    assert 'Your last reply was cut off. Reply again, much shorter.' in complete.requests[-1].prompt


async def test_a_reply_that_stays_cut_off_ends_the_run() -> None:
    complete = ScriptedCompletion(['{"tool":'] * 3)
    with pytest.raises(UnexpectedModelBehavior, match='found no usable reply'):
        await agent_on(complete).run('Go')


async def test_a_call_that_was_just_made_is_not_made_again() -> None:
    same = '{"tool": "read_file", "path": "people.csv"}'
    complete = ScriptedCompletion([same, same, '{"tool": "answer"}', 'Read.'])
    result = await agent_on(complete).run('Read people.csv')
    assert len(calls(result.all_messages())) == 1
    assert result.output == 'Read.'
    assert 'read_file' not in str(complete.requests[2].schema)


async def test_failed_code_has_to_be_mended_before_anything_is_written_or_claimed() -> None:
    complete = ScriptedCompletion(
        ['{"tool": "run_python"}', 'fail', '{"tool": "run_python"}', 'ok', '{"tool": "answer"}', 'Yes']
    )
    await agent_on(complete).run('Compute and write it to a file')
    after_failure, after_success = str(complete.requests[2].schema), str(complete.requests[4].schema)
    assert 'answer' not in after_failure
    assert 'write_file' not in after_failure
    assert 'answer' in after_success
    assert 'write_file' in after_success


async def test_code_that_cannot_be_mended_ends_in_a_plain_word() -> None:
    failing: list[str | Completion | Exception] = []
    for attempt in ('fail 1', 'fail 2', 'fail 3'):
        failing += ['{"tool": "run_python"}', attempt]
    complete = ScriptedCompletion([*failing, 'It failed with KeyError.'])
    result = await agent_on(complete).run('Compute')
    assert result.output == 'It failed with KeyError.'
    assert 'Tell the user plainly what failed' in complete.requests[-1].prompt


async def test_the_last_request_can_only_answer() -> None:
    replies: list[str | Completion | Exception] = []
    for number in range(MAX_REQUESTS - 1):
        replies += ['{"tool": "run_python"}', f'print({number})']
    complete = ScriptedCompletion([*replies, 'That is all.'])
    result = await agent_on(complete).run('Count', usage_limits=UsageLimits(request_limit=MAX_REQUESTS))
    assert result.output == 'That is all.'
    assert complete.requests[-1].schema is None


async def test_the_answer_obeys_max_tokens_and_says_when_it_was_cut() -> None:
    complete = ScriptedCompletion(['{"tool": "answer"}', written('Once upon', cut_off=True)])
    result = await agent_on(complete).run('Tell', model_settings={'max_tokens': 2})
    assert complete.requests[-1].max_tokens == 2
    assert result.response.finish_reason == 'length'


class Weather(BaseModel):
    degrees: float


async def test_structured_output_is_refused() -> None:
    agent = Agent(EmbeddedModel(complete=ScriptedCompletion([])), output_type=Weather)
    with pytest.raises(UsageError, match='answers in words only: choose another model'):
        await agent.run('Cold?')


async def test_pictures_are_refused() -> None:
    agent = agent_on(ScriptedCompletion([]))
    with pytest.raises(UsageError, match='reads text only, not BinaryContent: choose another model'):
        await agent.run(['What is this?', BinaryContent(b'\x89PNG', media_type='image/png')])


async def test_a_prompt_that_does_not_fit_says_what_to_do() -> None:
    with pytest.raises(UsageError, match=r'too long for the embedded model \(about [\d,]+ tokens, it takes 4,000\)'):
        await agent_on(ScriptedCompletion([])).run('long ' * 4000)
    with pytest.raises(UsageError, match='Shorten the prompt, start anew with --new'):
        await agent_on(ScriptedCompletion([PromptTooLong(9000)])).run('short')


async def test_missing_weights_reach_the_person_as_they_are() -> None:
    missing = UsageError("The embedded model is not here: run 'deep-notebook model pull'")
    with pytest.raises(UsageError, match='model pull'):
        await agent_on(ScriptedCompletion([missing])).run('Hi')


async def test_cancelling_stops_the_model_and_the_next_request_works() -> None:
    endless = EndlessCompletion()
    running = asyncio.create_task(Agent(EmbeddedModel(complete=endless)).run('Tell me everything'))
    await asyncio.to_thread(endless.writing.wait)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await asyncio.to_thread(endless.ended.wait, 1)
    result = await Agent(EmbeddedModel(complete=ScriptedCompletion(['Fine.']))).run('Still there?')
    assert result.output == 'Fine.'


async def test_leaving_a_stream_half_read_stops_the_model() -> None:
    endless = EndlessCompletion()
    async with EmbeddedModel(complete=endless).request_stream([], None, ModelRequestParameters()) as stream:
        async for _ in stream:
            break
    assert await asyncio.to_thread(endless.ended.wait, 1)
    assert stream.get().state != 'complete'


async def test_cancelling_a_stream_marks_its_response_interrupted() -> None:
    endless = EndlessCompletion()
    async with EmbeddedModel(complete=endless).request_stream([], None, ModelRequestParameters()) as stream:
        async for _ in stream:
            await stream.cancel()
            break
    assert await asyncio.to_thread(endless.ended.wait, 1)
    assert stream.get().state == 'interrupted'


def test_the_model_says_who_it_is() -> None:
    model = EmbeddedModel()
    assert (model.model_name, model.system) == ('Qwen2.5-Coder-1.5B-Instruct-Q4_K_M', 'embedded')
    assert IsStr(regex=r'.*local, limited') == LABEL
    assert not model.profile.get('supports_image_input', True)

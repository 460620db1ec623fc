"""The scripted model behind the recorded tutorials: what it answers to each of their prompts.

It is no language model: each answer below was written by hand. The tools that it calls run for real, and it reads
their results where an answer depends on them. `record_tutorials.py` records it; the recordings say "scripted".
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

__all__ = ['tutorial_model']


@dataclass(frozen=True)
class Call:
    """A tool call."""

    tool: str
    args: dict[str, Any]


Answer: TypeAlias = str | Sequence[Call]
Results: TypeAlias = list[ToolReturnPart]
Turn: TypeAlias = Answer | Callable[[Results], Answer]


def call(tool: str, **args: Any) -> Call:
    """Return a tool call."""
    return Call(tool, args)


def plan(*items: str, done: int) -> Call:
    """Return a call that writes the plan: the first `done` items completed, the next one in progress."""
    status = ['completed'] * done + ['in_progress'] + ['pending'] * len(items)
    todos = [{'content': item, 'status': state} for item, state in zip(items, status, strict=False)]
    return call('write_todos', todos=todos)


def anchor(results: Results, line: str) -> str:
    """Return the anchor (`4:1f`) that the latest result of read_file with `line` in it gave that line."""
    pattern = re.compile(rf'^(\d+:[0-9a-f]{{2}})\|{re.escape(line)}', re.MULTILINE)
    for result in reversed(results):
        if match := pattern.search(str(result.content)):
            return match[1]
    raise LookupError(f'no result shows a line that begins with {line!r}')


def worked(results: Results) -> bool:
    """Return whether the latest call did what it was asked to do."""
    return results[-1].outcome == 'success'


# 02-approvals

SHARES = """\
# Renewables in Iowa

| year | share |
|---|---|
| 2001 | 3.5 % |
| 2009 | 16.5 % |
| 2017 | 38.8 % |
"""
RENEWABLES = 'out/approvals/renewables.md'
RENEWABLES_PLAN = ('Read the data', 'Write renewables.md')
NUCLEAR = 'Nuclear energy gave about a tenth all the time: 9.5 % in 2001, 9.2 % in 2017.'


def after_renewables(results: Results) -> Answer:
    """Go on after the question whether the table may be written."""
    if worked(results):
        return [plan(*RENEWABLES_PLAN, done=2)]
    return (
        f'I read the data, but **{RENEWABLES} was not written**: the write was denied. The shares would be 3.5 % in '
        '2001, 16.5 % in 2009 and 38.8 % in 2017.'
    )


def after_other_cut(results: Results) -> Answer:
    """Go on after the question whether the file may be shortened."""
    if worked(results):
        return f'Done: {RENEWABLES} has its title and the row of 2017 left.'
    if 'drop the sentence' not in str(results[-1].content):
        return f'I left {RENEWABLES} as it was, since you denied the change.'
    if NUCLEAR not in str(results[-2].content):
        return f'There is no sentence to drop, so I left {RENEWABLES} as it was.'
    table = '| 2017 | 38.8 % |'
    operation = {'op': 'replace', 'anchor': anchor(results, table), 'end': anchor(results, NUCLEAR), 'text': table}
    return [call('edit_file', path=RENEWABLES, operations=[operation])]


def after_two_files(results: Results) -> Answer:
    """Go on after the questions about the two files."""
    written = [result for result in results[-2:] if result.outcome == 'success']
    return {
        2: 'Both files are written.',
        1: 'One of the two files is written; the other was denied, and I left it at that.',
        0: 'Neither file is written: you denied both.',
    }[len(written)]


APPROVALS: dict[str, list[Turn]] = {
    'Read data/iowa-electricity.csv and write': [
        [plan(*RENEWABLES_PLAN, done=0), call('read_file', path='data/iowa-electricity.csv')],
        [plan(*RENEWABLES_PLAN, done=1), call('write_file', path=RENEWABLES, content=SHARES)],
        after_renewables,
        f'The shares are in **{RENEWABLES}**: from 3.5 % in 2001 over 16.5 % in 2009 to 38.8 % in 2017.',
    ],
    'Add a sentence on nuclear energy': [
        [call('read_file', path=RENEWABLES), call('grep', pattern='Nuclear', path='data/iowa-electricity.csv')],
        lambda results: [
            call(
                'edit_file',
                path=RENEWABLES,
                operations=[
                    {'op': 'insert_after', 'anchor': anchor(results, '| 2017'), 'text': f'\n{NUCLEAR}\n'},
                ],
            )
        ],
        lambda results: (
            f'{RENEWABLES} now says below the table: “{NUCLEAR}”'
            if worked(results)
            else f'I left {RENEWABLES} as it was, since you denied the change.'
        ),
    ],
    'Shorten': [
        [call('read_file', path=RENEWABLES)],
        [
            call(
                'write_file',
                path=RENEWABLES,
                content='# Renewables in Iowa\n\n| year | share |\n|---|---|\n| 2017 | 38.8 % |\n',
            )
        ],
        after_other_cut,
        lambda results: (
            f'As you said: the table in {RENEWABLES} is whole, the sentence is gone.'
            if worked(results)
            else f'I left {RENEWABLES} as it was.'
        ),
    ],
    'Write out/approvals/2009.md and': [
        [
            call('write_file', path='out/approvals/2009.md', content='Renewables in 2009: 16.5 %\n'),
            call('write_file', path='out/approvals/2017.md', content='Renewables in 2017: 38.8 %\n'),
        ],
        after_two_files,
    ],
}


# 03-files-and-kernel

PLAN = 'out/files/plan.toml'

FILES: dict[str, list[Turn]] = {
    'What is in out/files': [
        [
            call('ls', path='out/files'),
            call('glob', pattern='*.csv', path='data'),
            call('grep', pattern='2016', path=PLAN),
        ],
        f'- **out/files** holds `notes.txt` and `plan.toml`; the data are in `data/iowa-electricity.csv`.\n'
        f'- The plan ends with **2016**: `last_year = 2016` in `{PLAN}`, line 4.',
    ],
    'Set last_year': [
        [call('read_file', path=PLAN), call('grep', pattern='^2017', path='data/iowa-electricity.csv')],
        lambda results: [
            call(
                'edit_file',
                path=PLAN,
                operations=[
                    {'op': 'replace', 'anchor': anchor(results, 'last_year'), 'text': 'last_year = 2017'},
                ],
            )
        ],
        f'`last_year` in {PLAN} is now 2017, the last year in the data. Nothing else changed.',
    ],
    'Now set first_year': [
        lambda results: [
            call(
                'edit_file',
                path=PLAN,
                operations=[
                    {'op': 'replace', 'anchor': anchor(results, 'first_year'), 'text': 'first_year = 2005'},
                ],
            )
        ],
        [call('read_file', path=PLAN)],
        lambda results: [
            call(
                'edit_file',
                path=PLAN,
                operations=[
                    {'op': 'replace', 'anchor': anchor(results, 'first_year'), 'text': 'first_year = 2005'},
                ],
            )
        ],
        f'`first_year` is now 2005. Somebody had changed {PLAN} after I read it, so my first edit was refused; I read '
        'the file again and made the change to what is there now.',
    ],
    'In out/files/notes.txt': [
        [call('read_file', path='out/files/notes.txt')],
        lambda results: [
            call(
                'edit_file',
                path='out/files/notes.txt',
                operations=[
                    {'op': 'replace', 'anchor': anchor(results, 'Vérifié'), 'text': 'Vérifié : oui'},
                ],
            )
        ],
        'The note now says `Vérifié : oui`.',
    ],
    'Show me the first line': [
        [call('read_file', path='/etc/passwd'), call('read_file', path='../README.md')],
        'I cannot: both files are outside the directory of this notebook, and I only see what is inside it.',
    ],
    'Which kinds of source': [
        [call('execute', command='tail -n +2 data/iowa-electricity.csv | cut -d, -f2 | sort | uniq')],
        'Three: **Fossil Fuels**, **Nuclear Energy** and **Renewables**.',
    ],
    'The data are in the variable': [
        [
            call(
                'run_python',
                code="last = [row for row in rows if row['year'].startswith('2017')]\n"
                "total = sum(int(row['net_generation']) for row in last)\n"
                "shares = {row['source']: round(100 * int(row['net_generation']) / total, 1) for row in last}\n"
                'shares',
            )
        ],
        '`shares` holds the percentages of 2017: fossil fuels 51.9, nuclear energy 9.2, renewables 38.8.',
    ],
    'Draw': [
        [call('run_python', code='from charts import bar_chart\n\nbar_chart(shares)')],
        'In 2017 fossil fuels still gave half of the electricity (51.9 %), renewables more than a third (38.8 %).',
    ],
    'Explain these shares': [
        'In 2017, every second kilowatt hour in Iowa came from fossil fuels, and nearly four of ten from renewables.',
    ],
    'Read data/iowa-electricity.csv a few lines': [
        [call('read_file', path='data/iowa-electricity.csv', limit=10)],
        [call('read_file', path='data/iowa-electricity.csv', offset=10, limit=10)],
        [call('read_file', path='data/iowa-electricity.csv', offset=20, limit=10)],
    ],
    'Stop reading.': [
        'I came to line 20 of 52: all years of fossil fuels, and the first two of nuclear energy.',
    ],
}


async def _answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    start, prompt = _latest_prompt(messages)
    number = sum(isinstance(message, ModelResponse) for message in messages[start:])
    results = [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    turns = next(turns for begin, turns in (APPROVALS | FILES).items() if prompt.startswith(begin))
    turn = turns[number]
    answer = turn(results) if callable(turn) else turn
    if isinstance(answer, str):
        yield answer
        return
    for index, made in enumerate(answer):
        yield {
            index: DeltaToolCall(
                name=made.tool, json_args=json.dumps(made.args), tool_call_id=f'call-{len(messages)}-{index + 1}'
            )
        }


def _latest_prompt(messages: Sequence[ModelMessage]) -> tuple[int, str]:
    """Return where the turn under way begins, and what the person asked."""
    for position in reversed(range(len(messages))):
        prompts = [part.content for part in messages[position].parts if isinstance(part, UserPromptPart)]
        if prompts:
            return position, prompts[-1] if isinstance(prompts[-1], str) else str(prompts[-1][-1])
    raise LookupError('nobody asked anything')


def tutorial_model() -> FunctionModel:
    """Return the scripted model."""
    return FunctionModel(stream_function=_answer, model_name='scripted')

"""A conversation as Markdown: prompts and answers as they are, calls and their results in code blocks, shortened."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pydantic_ai.messages import RetryPromptPart, ToolReturnPart

from deep_notebook.masking import mask_secrets

from ._tool_text import args_text, call_args, mask_and_clip, result_images, result_text
from .plain import plain, well_formed
from .transcript import Called, Entry, Prompted, Said, Summarised

__all__ = ['CODE_TOOL', 'markdown_of', 'result_of']

CODE_TOOL = 'run_python'
"""The tool whose argument `code` is Python."""
_CODE_LIMIT = 20_000
_BACKTICKS = re.compile('`{3,}')


def markdown_of(entries: Iterable[Entry], *, level: int = 2) -> str:
    """Return a conversation as Markdown, without secrets.

    Args:
        entries: The conversation.
        level: Of its headings.
    """
    return well_formed('\n\n'.join(_blocks(entries, '#' * level)) + '\n')


def _blocks(entries: Iterable[Entry], heading: str) -> Iterator[str]:
    speaker = ''
    for entry in entries:
        now = _speaker(entry)
        if now != speaker or isinstance(entry, Prompted):
            yield f'{heading} {now}'
        speaker = now
        match entry:
            case Called():
                yield from _call(entry)
            case _:
                yield mask_secrets(plain(entry.text)).strip()


def _speaker(entry: Entry) -> str:
    match entry:
        case Prompted(by_person=by_person):
            return 'You' if by_person else 'Note to the agent'
        case Summarised():
            return 'Summary, which the agent sees in place of what stands above'
        case Said() | Called():
            return 'Agent'


def _call(entry: Called) -> Iterator[str]:
    yield f'**{entry.call.tool_name}**'
    args = call_args(entry.call)
    if entry.call.tool_name == CODE_TOOL and args is not None and isinstance(args.get('code'), str):
        yield _fenced(mask_and_clip(args['code'], _CODE_LIMIT)[0], 'python')
    elif args:
        yield _fenced(args_text(args), 'text')
    if (result := result_of(entry.result)).strip():
        yield _fenced(result, 'text')


def result_of(result: ToolReturnPart | RetryPromptPart | None) -> str:
    """Return what came of a call as text, shortened and without secrets."""
    match result:
        case None:
            return ''
        case ToolReturnPart():
            pictures = ['[a picture]'] * len(result_images(result.files))
            return '\n'.join(filter(None, [plain(result_text(result)[0]), *pictures]))
        case RetryPromptPart():
            return plain(mask_and_clip(result.model_response(), _CODE_LIMIT)[0])


def _fenced(text: str, language: str) -> str:
    fence = '`' * (max(map(len, _BACKTICKS.findall(text)), default=2) + 1)
    return f'{fence}{language}\n{text.rstrip()}\n{fence}'

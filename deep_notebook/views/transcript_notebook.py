"""A conversation as a notebook: prompts and answers as Markdown, the Python that the agent ran as code."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any

import nbformat
from nbformat import v4
from pydantic_ai.messages import BinaryContent, RetryPromptPart, ToolReturnPart

from deep_notebook.capabilities.eviction import evicted_path
from deep_notebook.masking import mask_secrets

from ._tool_text import call_args
from .plain import plain, well_formed
from .transcript import Called, Entry, Prompted, Said, Summarised
from .transcript_markdown import CODE_TOOL, result_of

__all__ = ['notebook_of']

_PICTURES = frozenset({'image/png', 'image/jpeg', 'image/gif', 'image/webp'})


def notebook_of(entries: Iterable[Entry], *, title: str) -> str:
    """Return a conversation as the text of an `.ipynb` file, without secrets; other calls than Python are left out.

    Args:
        entries: The conversation.
        title: Its first heading.
    """
    cells = [v4.new_markdown_cell(f'# {title}'), *_cells(entries)]
    for number, cell in enumerate(cells, start=1):
        cell['id'] = f'cell-{number}'
    notebook = v4.new_notebook(
        cells=cells,
        metadata={
            'kernelspec': {'name': 'python3', 'display_name': 'Python 3 (ipykernel)', 'language': 'python'},
            'language_info': {'name': 'python'},
        },
    )
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook)
    return text + '\n'


def _cells(entries: Iterable[Entry]) -> Iterator[Any]:
    for entry in entries:
        match entry:
            case Prompted(by_person=True):
                yield v4.new_markdown_cell(f'**You:**\n\n{_clean(entry.text)}')
            case Said():
                yield v4.new_markdown_cell(_clean(entry.text))
            case Summarised():
                yield v4.new_markdown_cell(f'**Summary of what stands above:**\n\n{_clean(entry.text)}')
            case Called() if entry.call.tool_name == CODE_TOOL:
                code = (call_args(entry.call) or {}).get('code')
                if isinstance(code, str):
                    yield v4.new_code_cell(_clean(code), outputs=list(_outputs(entry)))
            case _:
                pass


def _outputs(entry: Called) -> Iterator[Any]:
    text = _whole(entry.result)
    if text:
        yield v4.new_output('stream', name='stdout', text=text if text.endswith('\n') else f'{text}\n')
    for file in entry.result.files if isinstance(entry.result, ToolReturnPart) else ():
        if isinstance(file, BinaryContent) and file.media_type in _PICTURES:
            yield v4.new_output('display_data', data={file.media_type: base64.b64encode(file.data).decode()})


def _whole(result: ToolReturnPart | RetryPromptPart | None) -> str:
    if not isinstance(result, ToolReturnPart) or evicted_path(result.content) is not None:
        return well_formed(result_of(result))
    return _clean(result.model_response_str(wrap_if_error=False))


def _clean(text: str) -> str:
    return well_formed(mask_secrets(plain(text)))

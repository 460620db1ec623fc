"""`%deep export`: the conversation as Markdown to read, JSON to keep, or a notebook to go on with."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from ..errors import UsageError
from ..masking import mask_secrets, mask_value
from ..models.recording_file import write_atomically
from ..store.runs import RunRecord
from ..store.transcripts import ConversationRecord
from ..views.transcript import Entry, transcript
from ..views.transcript_markdown import markdown_of
from ..views.transcript_notebook import notebook_of
from .completion import FLAGS

if TYPE_CHECKING:
    from .session import NotebookSession

__all__ = ['ExportRequest', 'Exported', 'check_target', 'collect', 'parse_export', 'rendered', 'write']

_FLAG = re.compile(r'(?:^|(?<=\s))--[\w-]+(?=\s|$)')


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """What is to be written where."""

    file: str
    """As the person wrote it."""
    everything: bool = False
    """Whether all conversations of the notebook are wanted, branches too."""
    force: bool = False
    """Whether a file that is there may be replaced."""


@dataclass(frozen=True, kw_only=True)
class Exported:
    """One conversation with its runs."""

    record: ConversationRecord
    current: bool
    messages: Sequence[ModelMessage]
    """From the beginning; a summary stands where it was made."""
    runs: Sequence[RunRecord]


def parse_export(line: str) -> ExportRequest:
    """Read `FILE [--all] [--force]`.

    Raises:
        UsageError: There is no file, a flag is unknown, or the file's extension is.
    """
    flags = set(_FLAG.findall(line))
    if unknown := flags.difference(FLAGS['export']):
        raise UsageError(f'%deep export knows {" and ".join(FLAGS["export"])}, not {min(unknown)}.')
    file = _FLAG.sub('', line).strip()
    if not file:
        raise UsageError(f'%deep export takes the name of a file that ends in {_endings()}.')
    return ExportRequest(file=file, everything='--all' in flags, force='--force' in flags)


def check_target(path: Path, request: ExportRequest, session: NotebookSession) -> None:
    """Raise `UsageError` if `path` is not a file that may be written."""
    if path.suffix.lower() not in _FORMATS:
        raise UsageError(f'%deep export writes {_endings()}, and {path.name} ends in none of them.')
    try:
        path.exists()
    except OSError as error:
        raise UsageError(f'{path.name} cannot be written ({error.strerror}).') from error
    notebook = session.notebook
    if notebook is not None and (path.resolve() == notebook.resolve() or _same(path, notebook)):
        raise UsageError(f'{path.name} is the notebook that is open and running: choose another name.')
    if path.is_dir():
        raise UsageError(f'{path.name} is a directory: add the name of a file.')
    if path.exists() and not request.force:
        raise UsageError(f'{path.name} is there already: choose another name, or add --force to replace it.')


async def collect(session: NotebookSession, *, everything: bool) -> tuple[list[Exported], list[str]]:
    """Return the conversation of the notebook, or all that have something in them, and all that was ever asked."""
    store = await session.store()
    current = await store.conversation()
    found: list[Exported] = []
    prompts: list[str] = []
    for record in await store.conversations():
        runs = await store.runs(record.id)
        prompts += [run.prompt for run in runs]
        if everything or record.id == current:
            messages = await store.transcript(record.id)
            found.append(Exported(record=record, current=record.id == current, messages=messages, runs=runs))
    return [conversation for conversation in found if conversation.messages], prompts


def rendered(path: Path, conversations: Sequence[Exported], *, notebook: str, prompts: Sequence[str]) -> bytes:
    """Return what to write to `path`, in the form that its extension says, without secrets.

    Args:
        path: The file.
        conversations: What to write.
        notebook: The name of the notebook.
        prompts: What the person asked.
    """
    return _FORMATS[path.suffix.lower()](conversations, notebook, frozenset(prompts)).encode('utf-8', 'replace')


def _markdown(conversations: Sequence[Exported], notebook: str, prompts: frozenset[str]) -> str:
    now = datetime.now().astimezone().strftime('%Y-%m-%d %H:%M')
    blocks = [f'# {_title(conversations, notebook)}\n\nExported {now}.\n']
    for conversation in conversations:
        if len(conversations) > 1:
            blocks.append(f'## {_heading(conversation)}\n')
        entries = transcript(conversation.messages, prompts=prompts)
        blocks.append(markdown_of(entries, level=3 if len(conversations) > 1 else 2))
    return '\n'.join(blocks)


def _notebook(conversations: Sequence[Exported], notebook: str, prompts: frozenset[str]) -> str:
    entries: list[Entry] = []
    for conversation in conversations:
        entries += transcript(conversation.messages, prompts=prompts)
    return notebook_of(entries, title=_title(conversations, notebook))


def _json(conversations: Sequence[Exported], notebook: str, prompts: frozenset[str]) -> str:
    data = {
        'format': 'deep_notebook conversation',
        'version': 1,
        'notebook': notebook,
        'exported': datetime.now(UTC).isoformat(timespec='seconds'),
        'conversations': [_conversation(conversation) for conversation in conversations],
    }
    return json.dumps(data, ensure_ascii=False, indent=1) + '\n'


def _conversation(conversation: Exported) -> dict[str, Any]:
    record = conversation.record
    messages = ModelMessagesTypeAdapter.dump_python(list(conversation.messages), mode='json', fallback=repr)
    return {
        'id': record.id,
        'current': conversation.current,
        'created': _moment(record.created),
        'ended': _moment(record.ended),
        'branch_of': record.branch_of,
        'messages': mask_value(messages),
        'runs': [_run(run) for run in conversation.runs],
    }


def _run(run: RunRecord) -> dict[str, Any]:
    state = run.state or {}
    return {
        'id': run.id,
        'prompt': mask_secrets(run.prompt),
        'model': run.model,
        'phase': run.phase,
        'started': _moment(run.started),
        'ended': _moment(run.ended),
        'usage': state.get('usage'),
        'files': [file['path'] for file in state.get('files') or ()],
        'error': state.get('error'),
    }


_FORMATS: dict[str, Callable[[Sequence[Exported], str, frozenset[str]], str]] = {
    '.md': _markdown,
    '.json': _json,
    '.ipynb': _notebook,
}


def _title(conversations: Sequence[Exported], notebook: str) -> str:
    return f'Conversation{"s" if len(conversations) > 1 else ""} of {notebook}'


def _heading(conversation: Exported) -> str:
    record = conversation.record
    words = [f'Conversation {record.id}', _moment(record.created)]
    if record.branch_of is not None:
        words.append(f'branch of {record.branch_of}')
    return ', '.join([*filter(None, words), *(['the present one'] if conversation.current else [])])


def _moment(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec='seconds')


def _endings() -> str:
    return ', '.join(_FORMATS).replace(', .ipynb', ' or .ipynb')


def _same(path: Path, notebook: Path) -> bool:
    try:
        return path.samefile(notebook)
    except OSError:
        return False


def write(path: Path, content: bytes) -> None:
    """Write `content` to `path`, whole or not at all.

    Raises:
        UsageError: It cannot be written.
    """
    try:
        write_atomically(path, content)
    except OSError as error:
        raise UsageError(f'{path} cannot be written ({error.strerror}).') from error

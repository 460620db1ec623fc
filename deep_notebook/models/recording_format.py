"""Version 1 of the format of recordings: between the file, where nothing stands twice, and what is compared.

```yaml
format: deep-notebook-recording
version: 1
normalisers: [timestamps, call-ids, …]
models:
  embedded: {label: …, system: embedded, model_name: …}
cells:
- cell: 3f2a
  model: embedded
  recorded: '2026-11-30'
  pydantic_ai: 2.68.0
  entries:
  - key: 0123456789abcdef
    request: {tools: <digest>, instructions: <digest>, continues: <cell>/<number>, messages: [<what is new>]}
    tool_results: [{call: call-1, tool: read_file, tool_class: read, digest: <digest>}]
    response: {…}
tools: {<digest>: […]}
instructions: {<digest>: […]}
```

A request that `continues` another begins with the messages of that one and its answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from deep_notebook.errors import UsageError

from .normalise import NORMALISERS, CanonicalRequest, answer_form, as_object, digest

__all__ = ['RecordedCell', 'RecordedEntry', 'RecordedModel', 'ToolResult', 'pack', 'unpack']

_FORMAT = 'deep-notebook-recording'
_VERSION = 1


class _Part(BaseModel):
    model_config = ConfigDict(extra='forbid', frozen=True)


class RecordedModel(_Part):
    """Who answered when a cell was recorded."""

    label: str
    system: str
    model_name: str
    scripted: bool = False
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """The model's own settings, secrets masked."""
    profile: dict[str, JsonValue] = Field(default_factory=dict)
    """What pydantic-ai says about the model, as far as it is plain values."""

    @property
    def model_id(self) -> str:
        """Such as `anthropic:claude-opus-4-6`."""
        return f'{self.system}:{self.model_name}'


class ToolResult(_Part):
    """What a request told the model about one tool call."""

    call: str
    tool: str
    tool_class: str
    digest: str


@dataclass(frozen=True, kw_only=True)
class RecordedEntry:
    """One request and its answer."""

    key: str
    request: CanonicalRequest
    tool_results: list[ToolResult]
    """The results that were new in this request."""
    response: dict[str, JsonValue]
    """As `Normaliser.response` returned it."""


@dataclass(frozen=True, kw_only=True)
class RecordedCell:
    """What was recorded of one cell."""

    cell: str
    name: str
    """The name that asks `resolve_model` for the model again; `scripted` for one that a programmer wrote."""
    model: RecordedModel
    recorded: str
    """The date, as `2026-11-30`."""
    pydantic_ai: str
    """The version it was recorded with."""
    entries: list[RecordedEntry] = field(default_factory=list)


class _Request(_Part):
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    output: dict[str, JsonValue] = Field(default_factory=dict)
    tools: str
    instructions: str
    continues: str | None = None
    messages: list[dict[str, JsonValue]]


class _Entry(_Part):
    key: str
    request: _Request
    tool_results: list[ToolResult] = Field(default_factory=list)
    response: dict[str, JsonValue]


class _Cell(_Part):
    cell: str
    model: str
    recorded: str
    pydantic_ai: str
    entries: list[_Entry]


class _File(_Part):
    format: str
    version: int
    normalisers: list[str]
    models: dict[str, RecordedModel]
    cells: list[_Cell]
    tools: dict[str, list[JsonValue]] = Field(default_factory=dict)
    instructions: dict[str, list[JsonValue]] = Field(default_factory=dict)


def pack(cells: Iterable[RecordedCell], names: Sequence[str]) -> JsonValue:
    """Return the content of the file that holds `cells`, recorded with the normalisers `names`."""
    tools: dict[str, list[JsonValue]] = {}
    instructions: dict[str, list[JsonValue]] = {}
    models: dict[str, RecordedModel] = {}
    threads = _Threads(names)
    packed: list[_Cell] = []
    for cell in cells:
        entries: list[_Entry] = []
        for entry in cell.entries:
            request = entry.request
            tools[tools_digest := digest(request.tools)] = request.tools
            instructions[instructions_digest := digest(request.instructions)] = request.instructions
            continues, known = threads.longest(request.messages)
            threads.add(f'{cell.cell}/{len(entries) + 1}', request.messages, entry.response)
            packed_request = _Request(
                settings=request.settings,
                output=request.output,
                tools=tools_digest,
                instructions=instructions_digest,
                continues=continues,
                messages=[as_object(message) for message in request.messages[known:]],
            )
            entries.append(
                _Entry(key=entry.key, request=packed_request, tool_results=entry.tool_results, response=entry.response)
            )
        model_name = _add_model(models, cell)
        packed.append(
            _Cell(
                cell=cell.cell,
                model=model_name,
                recorded=cell.recorded,
                pydantic_ai=cell.pydantic_ai,
                entries=entries,
            )
        )
    file = _File(
        format=_FORMAT,
        version=_VERSION,
        normalisers=list(names),
        models=models,
        cells=packed,
        tools=tools,
        instructions=instructions,
    )
    content: dict[str, JsonValue] = file.model_dump(mode='json', exclude_defaults=True)
    return content


def unpack(content: JsonValue, *, name: str) -> tuple[tuple[str, ...], list[RecordedCell]]:
    """Return the normalisers and the cells of the file with this `content`.

    Args:
        content: What the YAML holds.
        name: The name of the file, for messages.

    Raises:
        UsageError: It is not a recording, is damaged, or was written by a newer version.
    """
    if not isinstance(content, dict) or content.get('format') != _FORMAT:
        raise UsageError(f'{name} is not a recording of deep_notebook.')
    if content.get('version') != _VERSION:
        raise UsageError(f'{name} was written by a newer deep_notebook (format {content.get("version")}): update it.')
    try:
        file = _File.model_validate(content)
        _require_known(file.normalisers)
        return tuple(file.normalisers), list(_cells(file))
    except ValidationError as error:
        first = error.errors()[0]
        place = '.'.join(map(str, first['loc']))
        raise UsageError(f'{name} is damaged: {place}: {first["msg"]}.') from error
    except KeyError as error:
        raise UsageError(f'{name} is damaged: it refers to {error.args[0]!r}, which it does not hold.') from error


def _cells(file: _File) -> Iterable[RecordedCell]:
    threads = _Threads(file.normalisers)
    for cell in file.cells:
        entries: list[RecordedEntry] = []
        for entry in cell.entries:
            begun = [] if entry.request.continues is None else threads.messages[entry.request.continues]
            messages: list[JsonValue] = [*begun, *entry.request.messages]
            threads.add(f'{cell.cell}/{len(entries) + 1}', messages, entry.response)
            request = CanonicalRequest(
                model=file.models[cell.model].model_id,
                settings=entry.request.settings,
                tools=file.tools[entry.request.tools],
                output=entry.request.output,
                instructions=file.instructions[entry.request.instructions],
                messages=messages,
            )
            entries.append(
                RecordedEntry(key=entry.key, request=request, tool_results=entry.tool_results, response=entry.response)
            )
        yield RecordedCell(
            cell=cell.cell,
            name=cell.model,
            model=file.models[cell.model],
            recorded=cell.recorded,
            pydantic_ai=cell.pydantic_ai,
            entries=entries,
        )


class _Threads:
    """The messages up to and with each answer, by the place of the entry."""

    def __init__(self, names: Sequence[str]) -> None:
        self.messages: dict[str, list[JsonValue]] = {}
        self._names = names
        self._places: dict[tuple[str, ...], str] = {}

    def add(self, place: str, messages: list[JsonValue], response: dict[str, JsonValue]) -> None:
        calls = {
            part['tool_call_id']
            for message in messages
            for part in _parts(message)
            if isinstance(part.get('tool_call_id'), str)
        }
        thread = [*messages, answer_form(response, names=self._names, earlier_calls=len(calls))]
        self.messages[place] = thread
        self._places[tuple(map(digest, thread))] = place

    def longest(self, messages: list[JsonValue]) -> tuple[str | None, int]:
        """Return the place of the longest thread that `messages` begin with, and its length."""
        digests = tuple(map(digest, messages))
        for length in range(len(digests) - 1, 0, -1):
            if (place := self._places.get(digests[:length])) is not None:
                return place, length
        return None, 0


def _parts(message: JsonValue) -> list[dict[str, JsonValue]]:
    parts = as_object(message)['parts']
    assert isinstance(parts, list)
    return [as_object(part) for part in parts]


def _add_model(models: dict[str, RecordedModel], cell: RecordedCell) -> str:
    """Add the model of `cell` under its name, or under a numbered one when another is called so."""
    name, number = cell.name, 1
    while models.setdefault(name, cell.model) != cell.model:
        number += 1
        name = f'{cell.name} ({number})'
    return name


def _require_known(names: Iterable[str]) -> None:
    for name in names:
        if name not in NORMALISERS:
            raise UsageError(f'The recording needs the normaliser {name!r}, which this deep_notebook does not have.')

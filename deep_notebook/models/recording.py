"""A recording: what the cells of a notebook asked a model and what it answered, in one file of `recordings/`.

Entries stand under the id of their cell, one entry a request. A request is found again by the digest of its
canonical form (see `normalise`); equal requests of one cell get their answers in the order of the recording, so
children that ask at the same time do not depend on who comes first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Literal, Self, TypeAlias

from pydantic import JsonValue
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_jsonable_python

from deep_notebook.errors import RecordingMissError, UsageError, did_you_mean
from deep_notebook.masking import mask_value

from .normalise import WORKSPACE, CanonicalRequest, Normaliser, as_list, as_object, digest
from .recording_difference import differences
from .recording_file import read_yaml, restore_binary, write_atomically, yaml_text
from .recording_format import RecordedCell, RecordedEntry, RecordedModel, ToolResult, pack, unpack
from .resolve import describe, is_scripted

__all__ = ['SCRIPTED', 'CellDraft', 'Recording', 'ReplayedCell', 'Verdict', 'recording_path']

Verdict: TypeAlias = Literal['replayed', 'live', 'missed']

SCRIPTED = 'scripted'
"""The name, system and model name of every model that a programmer wrote: it never bears a provider's."""

_NAME = re.compile(r'\w[\w.-]{0,99}')
_SHOWN_DIFFERENCES = 6
_OF_A_PROVIDER = frozenset(
    {'model_id', 'provider_name', 'provider_url', 'provider_details', 'provider_response_id', 'canonical_system'}
)


def recording_path(directory: Path, name: str) -> Path:
    """Return where the recording called `name` of a notebook in `directory` is kept.

    Raises:
        UsageError: The name is no plain name.
    """
    if _NAME.fullmatch(name) is None:
        raise UsageError(f'{name!r} cannot name a recording: use letters, digits, dots, hyphens and underscores.')
    return directory / 'recordings' / f'{name}.yaml'


class Recording:
    """The recording in one file.

    Args:
        path: The file; see `recording_path`.
        workspace: The directory whose path must not matter.
    """

    def __init__(self, path: Path, *, workspace: Path | None = None) -> None:
        self.path = path
        self.normaliser = Normaliser(workspace=workspace)
        self._cells: dict[str, RecordedCell] = {}
        self._replayed: dict[str, ReplayedCell] = {}

    @classmethod
    def new(cls, path: Path, *, workspace: Path | None = None) -> Self:
        """Return an empty recording, whatever the file holds."""
        return cls(path, workspace=workspace)

    @classmethod
    def load(cls, path: Path, *, workspace: Path | None = None) -> Self:
        """Return the recording in the file `path`.

        Raises:
            UsageError: It is not there, cannot be read, or was written by a newer version.
        """
        if not path.exists():
            others = [other.stem for other in path.parent.glob('*.yaml')]
            raise UsageError(f'There is no recording {path.stem!r} in {path.parent}.{did_you_mean(path.stem, others)}')
        recording = cls(path, workspace=workspace)
        names, cells = unpack(read_yaml(path), name=path.name)
        recording.normaliser = Normaliser(workspace=workspace, names=names)
        recording._cells = {cell.cell: cell for cell in cells}
        return recording

    @classmethod
    def open(cls, path: Path, *, workspace: Path | None = None) -> Self:
        """Return the recording in the file `path`, an empty one if there is no such file: what `--record` wants."""
        return cls.load(path, workspace=workspace) if path.exists() else cls.new(path, workspace=workspace)

    @property
    def name(self) -> str:
        """What `--record` and `--replay` call it."""
        return self.path.stem

    @property
    def cells(self) -> tuple[str, ...]:
        """The ids of the recorded cells, in order."""
        return tuple(self._cells)

    def cell(self, cell: str) -> ReplayedCell:
        """Return what was recorded of `cell`, to be replayed by one run from its beginning.

        Raises:
            RecordingMissError: Nothing was recorded of it.
        """
        if cell not in self._cells:
            raise RecordingMissError(
                f'The recording {self.name!r} holds nothing of this cell ({cell}). {self.how_to_record}'
            )
        replayed = self._replayed[cell] = ReplayedCell(recording=self, recorded=self._cells[cell])
        return replayed

    def record(
        self,
        cell: str,
        model: Model,
        *,
        name: str,
        tool_class: Callable[[ToolDefinition], str],
        go_on: bool = False,
    ) -> CellDraft:
        """Return a draft of `cell`; once saved, it replaces what was recorded of it.

        Args:
            cell: A stable id of the cell, or of whatever groups requests.
            model: Who answers.
            name: The name that resolves to the model.
            tool_class: Gives the class of a tool, which is recorded with the digest of its result.
            go_on: Whether the draft begins with what was recorded of the cell, as that of a resumed run does.
        """
        kept = self._cells[cell].entries if go_on and cell in self._cells else []
        return CellDraft(
            recording=self,
            cell=cell,
            name=SCRIPTED if is_scripted(model) else name,
            model=_recorded_model(model, name),
            tool_class=tool_class,
            _entries=[*kept],
        )

    def unused(self) -> list[str]:
        """Return what was recorded and not replayed, such as `cell 3f2a, request 2`: after Run All, a mistake."""
        return [
            f'cell {cell}, request {position + 1}'
            for cell, recorded in self._cells.items()
            for position in range(len(recorded.entries))
            if cell not in self._replayed or position not in self._replayed[cell].served
        ]

    @property
    def how_to_record(self) -> str:
        """The sentence that says how to record again."""
        return f'Record it again with `%%deep --record {self.name}`.'

    @property
    def files_directory(self) -> Path:
        """Where binary data is kept."""
        return self.path.with_suffix('.files')

    def put(self, cell: RecordedCell, files: dict[str, bytes]) -> None:
        """Replace what was recorded of a cell, and write the file whole."""
        cells = {**self._cells, cell.cell: cell}
        for name, content in files.items():
            if not (self.files_directory / name).exists():
                write_atomically(self.files_directory / name, content)
        write_atomically(self.path, yaml_text(pack(cells.values(), self.normaliser.names)).encode())
        self._cells = cells


@dataclass
class CellDraft:
    """What one run of a cell asked and was answered, until it is saved."""

    recording: Recording
    cell: str
    name: str
    model: RecordedModel
    tool_class: Callable[[ToolDefinition], str]
    verdict: Verdict = field(default='live', init=False)
    _entries: list[RecordedEntry | None] = field(default_factory=list)
    _files: dict[str, bytes] = field(default_factory=dict, init=False)

    def reserve(self) -> int:
        """Return the place of a request that begins now: entries stand in the order of their requests."""
        self._entries.append(None)
        return len(self._entries) - 1

    def add(
        self, place: int, request: CanonicalRequest, response: ModelResponse, *, tools: Sequence[ToolDefinition]
    ) -> None:
        """Note the answer to the request at `place`; one that never gets an answer is left out."""
        recorded, files = self.recording.normaliser.response(response)
        if self.model.scripted:
            kept = {key: value for key, value in recorded.items() if key not in _OF_A_PROVIDER}
            recorded = {**kept, 'model_name': SCRIPTED}
        self._files |= files
        self._entries[place] = RecordedEntry(
            key=request.key,
            request=request,
            tool_results=_new_results(request, {tool.name: self.tool_class(tool) for tool in tools}),
            response=recorded,
        )

    def save(self) -> None:
        """Write the recording with this cell in place of what it held of it before."""
        recorded = RecordedCell(
            cell=self.cell,
            name=self.name,
            model=self.model,
            recorded=date.today().isoformat(),
            pydantic_ai=version('pydantic-ai-slim'),
            entries=[entry for entry in self._entries if entry is not None],
        )
        self.recording.put(recorded, self._files)


@dataclass
class ReplayedCell:
    """One run that is answered from a recording, and what became of it."""

    recording: Recording
    recorded: RecordedCell
    served: set[int] = field(default_factory=set, init=False)
    """The places of the entries that were replayed, from 0."""
    miss: str | None = field(default=None, init=False)
    """What was asked that the recording does not hold."""

    @property
    def verdict(self) -> Verdict:
        """How the run ended."""
        return 'replayed' if self.miss is None else 'missed'

    @property
    def banner(self) -> str:
        """What is shown on every replayed answer."""
        who = 'a scripted model' if self.recorded.model.scripted else self.recorded.model.label
        return f'Replayed · recorded with {who} on {self.recorded.recorded}'

    @property
    def unused(self) -> int:
        """How many recorded requests of this cell were not made."""
        return len(self.recorded.entries) - len(self.served)

    def answer(self, request: CanonicalRequest) -> ModelResponse:
        """Return the recorded answer to `request`.

        Raises:
            RecordingMissError: It was not recorded; the message says what differs from the request that was.
        """
        key = request.key
        for place, entry in enumerate(self.recorded.entries):
            if place not in self.served and entry.key == key:
                self.served.add(place)
                return self._restore(entry.response)
        self.miss = self._explain(request)
        raise RecordingMissError(self.miss)

    def _restore(self, response: dict[str, JsonValue]) -> ModelResponse:
        restored = as_object(restore_binary(response, self.recording.files_directory))
        workspace = self.recording.normaliser.workspace
        if workspace is not None:
            restored = as_object(_replace(restored, WORKSPACE, str(workspace)))
        for part in as_list(restored['parts']):
            _args_as_text(as_object(part))
        (message,) = ModelMessagesTypeAdapter.validate_json(json.dumps([restored]))
        assert isinstance(message, ModelResponse)
        return message

    def _explain(self, request: CanonicalRequest) -> str:
        recorded, number = self.recorded, len(self.served) + 1
        place = next((place for place in range(len(recorded.entries)) if place not in self.served), None)
        head = f'The recording {self.recording.name!r} has no answer to request {number} of this cell'
        if place is None:
            return f'{head}: only {len(recorded.entries)} were recorded. {self.recording.how_to_record}'
        found = differences(recorded.entries[place], request)
        lines = [f'{head}: {found[0][0]} differs.' if found else f'{head}.']
        lines += [f'  {what}: {how}' for what, how in found[:_SHOWN_DIFFERENCES]]
        if len(found) > _SHOWN_DIFFERENCES:
            lines.append(f'  and {len(found) - _SHOWN_DIFFERENCES} more differences')
        if recorded.pydantic_ai != (installed := version('pydantic-ai-slim')):
            lines.append(f'  it was recorded with pydantic-ai {recorded.pydantic_ai}, this is {installed}')
        return '\n'.join([*lines, self.recording.how_to_record])


def _args_as_text(part: dict[str, JsonValue]) -> None:
    """Give the arguments of a tool call as the JSON that a provider sends; the file holds them spread out."""
    if part['part_kind'] == 'tool-call' and 'tool_kind' not in part and isinstance(part.get('args'), dict):
        part['args'] = json.dumps(part['args'], ensure_ascii=False)


def _recorded_model(model: Model, name: str) -> RecordedModel:
    if is_scripted(model):
        return RecordedModel(label=SCRIPTED, system=SCRIPTED, model_name=SCRIPTED, scripted=True)
    return RecordedModel(
        label=describe(model, name=name),
        system=model.system,
        model_name=model.model_name,
        settings=as_object(mask_value(to_jsonable_python(dict(model.settings or {}), fallback=repr))),
        profile=_plain_profile(model),
    )


def _plain_profile(model: Model) -> dict[str, JsonValue]:
    try:
        profile = model.profile
    except NotImplementedError:  # a model that chooses between others has none of its own
        return {}
    return {key: value for key, value in sorted(profile.items()) if isinstance(value, (str, int, float, bool))}


def _new_results(request: CanonicalRequest, classes: dict[str, str]) -> list[ToolResult]:
    results: list[ToolResult] = []
    for message in reversed(request.messages):
        if as_object(message)['kind'] == 'response':
            break
        parts = [as_object(part) for part in as_list(as_object(message)['parts'])]
        results[:0] = [
            ToolResult(
                call=str(part.get('tool_call_id')),
                tool=str(part['tool_name']),
                tool_class=classes.get(str(part['tool_name']), 'unknown'),
                digest=digest(part),
            )
            for part in parts
            if part['part_kind'] == 'tool-return'
        ]
    return results


def _replace(value: JsonValue, old: str, new: str) -> JsonValue:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, list):
        return [_replace(item, old, new) for item in value]
    if isinstance(value, dict):
        return {key: _replace(item, old, new) for key, item in value.items()}
    return value

"""What two model requests must share to be the same request: a canonical form, and the named normalisers behind it.

A normaliser takes out one kind of thing that differs from run to run without meaning anything. The names of
those that were applied stand in the recording; a request that differs in anything else is another request.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import JsonValue
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_jsonable_python

from deep_notebook.masking import mask_value
from deep_notebook.store.messages import dump_whole

from .recording_file import binary_name, extract_binary

__all__ = ['NORMALISERS', 'WORKSPACE', 'CanonicalRequest', 'Normaliser', 'answer_form', 'call_ids', 'digest']

WORKSPACE = '<workspace>'

NORMALISERS = {
    'timestamps': 'the time fields of messages; date-times within an hour of now in what tools and people say;'
    ' the date of today in instructions',
    'call-ids': 'ids of tool calls, numbered in order of appearance',
    'run-ids': 'ids of runs, conversations and workspaces, digests of the history and of the instructions',
    'provider-data': "a provider's own ids, names, signatures, finish reasons and usage counts",
    'metadata': 'what tools tell the application and not the model',
    'workspace': 'the absolute path of the workspace',
    'addresses': 'memory addresses in reprs, such as `<object at 0x7f…>`',
    'uuids': 'UUIDs, numbered in order of appearance',
    'notes': "the agent's notes in its instructions, which are the person's own",
}
"""Name → what it takes out. A released name never changes its meaning: recordings name the ones they were made with."""

_DROPPED_FIELDS = {
    'timestamps': frozenset({'timestamp'}),
    'run-ids': frozenset(
        {'run_id', 'conversation_id', 'workspace_ref', 'history_digest', 'base_hash', 'content_file_digests'}
    ),
    'provider-data': frozenset(
        {
            'canonical_system',
            'failed_attempts',
            'finish_reason',
            'model_id',
            'model_name',
            'provider_details',
            'provider_name',
            'provider_response_id',
            'provider_url',
            'signature',
            'usage',
            'vendor_metadata',
        }
    ),
    'metadata': frozenset({'metadata'}),
}
# The id of a text, thinking or tool call part is the provider's; that of an instruction part says whose it is.
_PROVIDER_ID_PARTS = frozenset(
    {'text', 'thinking', 'tool-call', 'builtin-tool-call', 'builtin-tool-return', 'compaction'}
)

# What says which class a part is of, also where that class has it as a default.
_ALWAYS_KEPT = frozenset({'kind', 'part_kind', 'tool_kind', 'tool_name'})

_NOTES = 'capability:memory:notes'
"""The id of the instruction in which an agent has its notes."""
_ADDRESS = re.compile(r'(?<= at )0x[0-9a-fA-F]{4,16}\b')
_UUID = re.compile(r'\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b', re.IGNORECASE)
_DATE_TIME = re.compile(r'\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?')
_NEAR = timedelta(hours=1)
_MIN_ID_IN_TEXT = 8


@dataclass(frozen=True)
class CanonicalRequest:
    """One request to a model, as it is compared and recorded: plain JSON, masked and normalised."""

    model: str
    settings: dict[str, JsonValue]
    tools: list[JsonValue]
    output: dict[str, JsonValue]
    instructions: list[JsonValue]
    messages: list[JsonValue]

    @property
    def key(self) -> str:
        """The digest of everything in it."""
        return digest([self.model, self.settings, self.tools, self.output, self.instructions, self.messages])


def digest(value: object) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of `value` as canonical JSON."""
    canonical = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(',', ':'))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Normaliser:
    """Brings requests into canonical form.

    Args:
        workspace: The directory whose path must not matter.
        names: Which of `NORMALISERS` to apply.
        clock: Tells the time, for what is near now.
    """

    workspace: Path | None = None
    names: tuple[str, ...] = tuple(NORMALISERS)
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC), repr=False)

    def request(
        self,
        messages: Sequence[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        *,
        model: str,
    ) -> CanonicalRequest:
        """Return the canonical form of a request, given what `Model.request` is given."""
        text = _Texts(self, call_ids(messages) if 'call-ids' in self.names else {})
        return CanonicalRequest(
            model=model,
            settings=as_object(text.clean(to_jsonable_python(dict(settings or {}), fallback=repr))),
            tools=[text.clean(_tool(tool)) for tool in (*parameters.function_tools, *parameters.output_tools)],
            output=as_object(text.clean(_output(parameters))),
            instructions=[
                text.clean(instruction, today=True)
                for instruction in _instructions(messages, parameters, notes='notes' not in self.names)
            ],
            messages=[text.message(message) for message in messages],
        )

    def response(self, response: ModelResponse) -> tuple[dict[str, JsonValue], dict[str, bytes]]:
        """Return `response` as it is recorded, and its binary data by name.

        Everything of it, but for secrets, which are masked, and the path of the workspace.
        """
        dumped = without_defaults(response)
        for name in _DROPPED_FIELDS['run-ids']:
            dumped.pop(name, None)
        usage: dict[str, JsonValue] = {
            name: count for name, count in as_object(dumped.pop('usage', {})).items() if count
        }
        dumped |= {'usage': usage} if usage else {}
        dumped['parts'] = [_drop(part, frozenset()) for part in as_list(dumped['parts'])]
        files: dict[str, bytes] = {}
        return as_object(_Texts(self, {}).verbatim(extract_binary(dumped, files))), files


def answer_form(response: dict[str, JsonValue], *, names: Iterable[str], earlier_calls: int) -> JsonValue:
    """Return the canonical form that a recorded response has as a message of the requests after it.

    Args:
        response: As `Normaliser.response` returned it.
        names: The normalisers of the recording.
        earlier_calls: How many tool calls the request had seen before.
    """
    message = _canonical(response, frozenset(names))
    if 'call-ids' in names:
        numbers: dict[str, str] = {}
        for part in as_list(message['parts']):
            part = as_object(part)
            if isinstance(call_id := part.get('tool_call_id'), str):
                part['tool_call_id'] = numbers.setdefault(call_id, f'call-{earlier_calls + len(numbers) + 1}')
    return _without_binary(message)


def _canonical(dumped: Mapping[str, JsonValue], names: frozenset[str]) -> dict[str, JsonValue]:
    """Take the fields that the normalisers `names` drop out of a message."""
    dropped = frozenset().union(*(_DROPPED_FIELDS.get(name, ()) for name in names))
    parts = [_drop(part, dropped) for part in as_list(dumped['parts'])]
    if 'run-ids' in names:
        parts = [part for part in parts if part.get('part_kind') != 'instruction-baseline']
    if 'notes' in names:
        parts = [part for part in parts if (part.get('part_kind'), part.get('id')) != ('instruction-delta', _NOTES)]
    # Only the latest instructions count, and they are compared on their own.
    outside = {name: value for name, value in dumped.items() if name not in ('parts', 'instructions')}
    return {**_drop(outside, dropped), 'parts': [*parts]}


def without_defaults(message: ModelMessage) -> dict[str, JsonValue]:
    """Return `message` as JSON without the fields that hold their default, so that new fields change nothing old."""
    dumped = as_object(json.loads(dump_whole(message)))
    parts = as_list(dumped.pop('parts'))
    return {
        'kind': message.kind,
        **_strip(message, dumped),
        'parts': [
            {'part_kind': part.part_kind, **_strip(part, as_object(dumped_part))}
            for part, dumped_part in zip(message.parts, parts, strict=True)
        ],
    }


def _strip(instance: object, dumped: dict[str, JsonValue]) -> dict[str, JsonValue]:
    assert is_dataclass(instance)
    defaults = {spec.name: _default(spec.default, spec.default_factory) for spec in fields(instance)}
    return {
        name: value
        for name, value in dumped.items()
        if value is not None and (name in _ALWAYS_KEPT or name not in defaults or defaults[name] != (value,))
    }


def _default(default: object, factory: object) -> tuple[object] | None:
    if default is not MISSING:
        return (default,)
    made = factory() if callable(factory) else None
    return (made,) if made in ([], {}) else None


def _drop(dumped: JsonValue, dropped: frozenset[str]) -> dict[str, JsonValue]:
    part = dict(as_object(dumped))
    for name in dropped:
        part.pop(name, None)
    kind = part.get('part_kind')
    if 'signature' in dropped and kind in _PROVIDER_ID_PARTS:
        part.pop('id', None)
    if kind in ('tool-call', 'builtin-tool-call') and isinstance(part.get('args'), str):
        part['args'] = _parsed(part['args'])
    return part


def _parsed(args: JsonValue) -> JsonValue:
    assert isinstance(args, str)
    try:
        parsed: JsonValue = json.loads(args)
    except ValueError:
        return args
    return parsed if isinstance(parsed, dict) else args


class _Texts:
    """Cleans every string of one request; what is numbered is numbered through all of it."""

    def __init__(self, normaliser: Normaliser, call_ids: dict[str, str]) -> None:
        self._names = frozenset(normaliser.names)
        self._call_ids = call_ids
        self._now = normaliser.clock()
        self._uuids: dict[str, str] = {}
        spelled = normaliser.workspace if 'workspace' in self._names else None
        workspace = dict.fromkeys(() if spelled is None else _spellings(spelled), WORKSPACE)
        self._workspace = _Replace(workspace)
        self._literal = _Replace({id: call_ids[id] for id in call_ids if len(id) >= _MIN_ID_IN_TEXT} | workspace)

    def message(self, message: ModelMessage) -> JsonValue:
        """Return the canonical form of a message. What a model said comes back word for word in a replay."""
        dumped = _canonical(without_defaults(message), self._names)
        return self.verbatim(_without_binary(dumped)) if isinstance(message, ModelResponse) else self.clean(dumped)

    def clean(self, value: JsonValue, *, today: bool = False) -> JsonValue:
        """Return `value` with binary data replaced by digests and every string masked and normalised."""
        return self._walk(mask_value(_without_binary(value)), lambda text: self._text(text, today=today))

    def verbatim(self, value: JsonValue) -> JsonValue:
        """Return `value` masked, the workspace's path taken out, and the calls numbered."""
        return self._walk(mask_value(value), self._workspace)

    def _walk(self, value: JsonValue, change: Callable[[str], str]) -> JsonValue:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, list):
            return [self._walk(item, change) for item in value]
        if isinstance(value, dict):
            return {
                name: self._call_ids.get(str(item), item) if name == 'tool_call_id' else self._walk(item, change)
                for name, item in value.items()
            }
        return value

    def _text(self, text: str, *, today: bool) -> str:
        text = self._literal(text)
        if 'addresses' in self._names:
            text = _ADDRESS.sub('<address>', text)
        if 'uuids' in self._names:
            text = _UUID.sub(lambda match: self._uuids.setdefault(match[0], f'<uuid-{len(self._uuids) + 1}>'), text)
        if 'timestamps' in self._names:
            text = _DATE_TIME.sub(self._near_now, text)
            if today:
                for date in {self._now.date().isoformat(), self._now.astimezone().date().isoformat()}:
                    text = text.replace(date, '<today>')
        return text

    def _near_now(self, match: re.Match[str]) -> str:
        try:
            seen = datetime.fromisoformat(match[0].replace(',', '.'))
        except ValueError:
            return match[0]
        # Without a zone it may be local time or UTC.
        candidates = [seen] if seen.tzinfo is not None else [seen.replace(tzinfo=UTC), seen.astimezone()]
        return '<now>' if any(abs(candidate - self._now) <= _NEAR for candidate in candidates) else match[0]


class _Replace:
    def __init__(self, replacements: dict[str, str]) -> None:
        self._replacements = replacements
        longest_first = sorted(replacements, key=len, reverse=True)
        self._pattern = re.compile('|'.join(map(re.escape, longest_first))) if longest_first else None

    def __call__(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._replacements[match[0]], text)


def _spellings(workspace: Path) -> tuple[str, ...]:
    return tuple({str(path) for path in (workspace, workspace.absolute(), workspace.resolve()) if len(path.parts) > 1})


def call_ids(messages: Iterable[ModelMessage]) -> dict[str, str]:
    """Return the ids of the tool calls of `messages`, each with its number in order of appearance."""
    ids: dict[str, str] = {}
    for message in messages:
        for part in message.parts:
            call_id = getattr(part, 'tool_call_id', None)
            if isinstance(call_id, str) and call_id:
                ids.setdefault(call_id, f'call-{len(ids) + 1}')
    return ids


def _without_binary(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_without_binary(item) for item in value]
    if not isinstance(value, dict):
        return value
    data = value.get('data')
    if value.get('kind') == 'binary' and data is not None:
        content = data['file'] if isinstance(data, dict) else binary_name(str(data), '')
        return {'kind': 'binary', 'media_type': value.get('media_type'), 'content': str(content).partition('.')[0]}
    return {name: _without_binary(item) for name, item in value.items()}


def _tool(tool: ToolDefinition) -> JsonValue:
    described = {
        'name': tool.name,
        'description': tool.description,
        'parameters': tool.parameters_json_schema,
        'kind': None if tool.kind == 'function' else tool.kind,
        'defer_loading': tool.defer_loading or None,
        'strict': tool.strict,
    }
    return {name: to_jsonable_python(value, fallback=repr) for name, value in described.items() if value is not None}


def _output(parameters: ModelRequestParameters) -> JsonValue:
    described = {
        'object': None if parameters.output_object is None else parameters.output_object.json_schema,
        'text': None if parameters.allow_text_output else False,
        'image': parameters.allow_image_output or None,
        'native_tools': [tool.kind for tool in parameters.native_tools] or None,
        'revealed_tools': sorted(parameters.revealed_tool_names) or None,
    }
    return {name: to_jsonable_python(value, fallback=repr) for name, value in described.items() if value is not None}


def _instructions(messages: Sequence[ModelMessage], parameters: ModelRequestParameters, *, notes: bool) -> list[str]:
    if parameters.instruction_parts is not None:
        return [part.content for part in parameters.instruction_parts if notes or str(part.id) != _NOTES]
    latest = next((message for message in reversed(messages) if isinstance(message, ModelRequest)), None)
    return [] if latest is None or latest.instructions is None else [latest.instructions]


def as_object(value: object) -> dict[str, JsonValue]:
    """Return `value`, which is a JSON object."""
    assert isinstance(value, dict)
    return value


def as_list(value: object) -> list[JsonValue]:
    """Return `value`, which is a JSON array."""
    assert isinstance(value, list)
    return value

"""Why a request is not the one that was recorded, field by field, in words for the person."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from .normalise import CanonicalRequest, as_list, as_object
from .recording_format import RecordedEntry

__all__ = ['differences']

_SHOWN = 60
_BEFORE = 15


def differences(recorded: RecordedEntry, now: CanonicalRequest) -> list[tuple[str, str]]:
    """Return what differs, the likely cause first, as pairs of what (`the prompt`) and how (`was 'a', now 'b'`)."""
    was = recorded.request
    classes = {result.call: result.tool_class for result in recorded.tool_results}
    return [
        *_values('the model', was.model, now.model),
        *_messages(was.messages, now.messages, classes),
        *_tools(was.tools, now.tools),
        *_values('the instruction text', _joined(was.instructions), _joined(now.instructions)),
        *_fields('the setting', was.settings, now.settings),
        *_fields('the output', was.output, now.output),
    ]


def _messages(was: list[JsonValue], now: list[JsonValue], classes: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Compare up to the first message that differs: those after it follow from it."""
    for before, after in zip(was, now, strict=False):
        if before != after:
            yield from _parts(_part_list(before), _part_list(after), classes)
            return
    for message in now[len(was) :]:
        yield from _parts([], _part_list(message), classes)
    for message in was[len(now) :]:
        yield from _parts(_part_list(message), [], classes)


def _parts(
    was: list[dict[str, JsonValue]], now: list[dict[str, JsonValue]], classes: dict[str, str]
) -> Iterator[tuple[str, str]]:
    for before, after in zip(was, now, strict=False):
        if before == after:
            continue
        what, is_now = _title(before, classes), _title(after, classes)
        if what != is_now:
            yield what, f'now {is_now}'
            continue
        for name in dict.fromkeys([*before, *after]):
            if before.get(name) != after.get(name):
                yield from _values(_field_title(what, name), before.get(name), after.get(name))
    for part in now[len(was) :]:
        yield _title(part, classes), f'new: {_short(_text(part.get("content", part.get("args"))))}'
    for part in was[len(now) :]:
        yield _title(part, classes), f'missing: {_short(_text(part.get("content", part.get("args"))))}'


def _title(part: dict[str, JsonValue], classes: dict[str, str]) -> str:
    tool = part.get('tool_name')
    match part.get('part_kind'):
        case 'user-prompt':
            return 'the prompt'
        case 'system-prompt':
            return 'the system prompt'
        case 'tool-return' | 'retry-prompt':
            tool_class = classes.get(str(part.get('tool_call_id')))
            return f'the result of {tool}{f" ({tool_class})" if tool_class else ""}'
        case 'tool-call':
            return f'the call of {tool}'
        case 'text':
            return 'what the model said'
        case kind:
            return f'the {kind} part'


def _field_title(what: str, name: str) -> str:
    return what if name in ('content', 'args') else f'{what}, {name}'


def _tools(was: list[JsonValue], now: list[JsonValue]) -> Iterator[tuple[str, str]]:
    before = {str(as_object(tool)['name']): tool for tool in was}
    after = {str(as_object(tool)['name']): tool for tool in now}
    for name in after.keys() - before.keys():
        yield f'the tool {name}', 'new'
    for name in before.keys() - after.keys():
        yield f'the tool {name}', 'missing'
    for name in before:
        if name in after:
            yield from _fields(f'the tool {name},', as_object(before[name]), as_object(after[name]))
    if before == after and list(before) != list(after):
        yield 'the tools', 'in another order'


def _fields(what: str, was: dict[str, JsonValue], now: dict[str, JsonValue]) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys([*was, *now]):
        yield from _values(f'{what} {name}', was.get(name), now.get(name))


def _values(what: str, was: JsonValue, now: JsonValue) -> Iterator[tuple[str, str]]:
    if was == now:
        return
    before, after = _text(was), _text(now)
    start = max(_common_prefix(before, after) - _BEFORE, 0)
    yield what, f'was {_short(before, start)}, now {_short(after, start)}'


def _common_prefix(one: str, other: str) -> int:
    for position, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return position
    return min(len(one), len(other))


def _short(text: str, start: int = 0) -> str:
    piece = text[start : start + _SHOWN]
    return repr(('…' if start else '') + piece + ('…' if start + _SHOWN < len(text) else ''))


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _joined(instructions: Iterable[JsonValue]) -> str:
    return '\n\n'.join(map(str, instructions))


def _part_list(message: JsonValue) -> list[dict[str, JsonValue]]:
    return [as_object(part) for part in as_list(as_object(message)['parts'])]

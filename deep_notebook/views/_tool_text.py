"""Tool arguments and results as bounded text for a person, secrets masked."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import JsonValue
from pydantic_ai.messages import BaseToolCallPart, BaseToolReturnPart, BinaryContent, LoadCapabilityReturnPart
from pydantic_core import to_json

from deep_notebook.capabilities.eviction import evicted_path, evicted_sample
from deep_notebook.masking import is_secret_name, mask_secrets

from .run_shape import Image

RESULT_LIMIT = 4_000
ARGS_LIMIT = 4_000
DIFF_LIMIT = 20_000
IMAGE_LIMIT = 4_000_000
"""Bytes of the largest picture that is shown."""

_SUMMARY_LIMIT = 120
_LINE_WINDOW = 4_000
_SUMMARY_ARGS = ('path', 'file_path', 'command', 'code', 'pattern', 'query', 'url', 'name', 'title', 'description')
_DOES_SOMETHING = re.compile(r'^(?!\s*(?:#|import\b|from\b|$))', re.MULTILINE)
_IMAGE_TYPES = frozenset({'image/png', 'image/jpeg', 'image/gif', 'image/webp'})


def call_args(part: BaseToolCallPart) -> dict[str, Any] | None:
    """Return the arguments of a call, or `None` while they are still being written."""
    if isinstance(part.args, dict):
        return part.args
    if not part.args:
        return None
    try:
        parsed = json.loads(part.args)
    except json.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else {'arguments': parsed}


def args_text(args: Mapping[str, Any], *, limit: int = ARGS_LIMIT) -> str:
    """Return one `name: value` line per argument, longer values indented below their name.

    When all is longer than `limit` characters, the long values are shortened and say by how much: a long value
    never hides another argument.
    """
    values = {name: _value_text(value) for name, value in args.items()}
    share = _fair_share([len(value) for value in values.values()], limit)
    return '\n'.join(_named(name, _clip_value(name, value, share)) for name, value in values.items())


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value, fallback=repr).decode()


def _clip_value(name: str, value: str, limit: int) -> str:
    if not is_secret_name(name):
        return mask_and_clip(value, limit)[0]
    # Whether the value of a secret name is a secret shows only beside its name.
    return mask_and_clip(f'{name}={value}', limit + len(name) + 1)[0].removeprefix(f'{name}=')


def _fair_share(lengths: list[int], limit: int) -> int:
    """Return the largest length that, when no value exceeds it, makes all fit into `limit`."""
    rest, count = limit, len(lengths)
    for length in sorted(lengths):
        if length * count > rest:
            return max(rest // count, 40)
        rest -= length
        count -= 1
    return limit


def _named(name: str, value: str) -> str:
    lines = value.removesuffix('\n').split('\n')
    if len(lines) == 1:
        return f'{name}: {value}'
    return '\n'.join([f'{name}:', *(f'  {line}' if line else '' for line in lines)])


def call_summary(args: Mapping[str, Any]) -> str:
    """Return the argument that says most about a call, in one line."""
    for name in (*_SUMMARY_ARGS, *args):
        value = args.get(name)
        if isinstance(value, str) and value.strip():
            return one_line(_telling_code(value) if name == 'code' else value)
    return ''


def _telling_code(code: str) -> str:
    """Return `code` from the first line on that does something."""
    match = _DOES_SOMETHING.search(code)
    return code[match.start() :] if match is not None else code


def one_line(text: str, *, limit: int = _SUMMARY_LIMIT) -> str:
    """Return the first line of `text` that is not blank, masked, at most `limit` characters."""
    line = next((line.strip() for line in mask_secrets(text[:_LINE_WINDOW]).splitlines() if line.strip()), '')
    return line if len(line) <= limit else line[: limit - 1] + '…'


def mask_and_clip(text: str, limit: int) -> tuple[str, bool]:
    """Return `text` without secrets, its middle left out if it is longer than `limit`, and whether it was.

    Of a very long text only what may be shown is searched for secrets, with enough around it to recognise them.
    """
    if len(text) <= 4 * limit:
        text = mask_secrets(text)
        if len(text) <= limit:
            return text, False
        head = tail = text
    else:
        head, tail = mask_secrets(text[: 2 * limit]), mask_secrets(text[-2 * limit :])
    marker = '\n… {:,} characters left out …\n'
    room = max(limit - len(marker.format(len(text))), 0)
    tail_room = room // 4
    left_out = marker.format(len(text) - room)
    return head[: room - tail_room] + left_out + tail[len(tail) - tail_room :], True


def result_text(part: BaseToolReturnPart) -> tuple[str, bool]:
    """Return what a tool returned as text, at most `RESULT_LIMIT` characters, and whether it was longer."""
    if isinstance(part, LoadCapabilityReturnPart):
        return mask_and_clip(part.content.get('message', ''), RESULT_LIMIT)
    text = part.model_response_str(wrap_if_error=False)
    path = evicted_path(part.content)
    if path is not None:
        how = f'%deep evicted {path.rpartition("/")[2]}'
        text = f'Too large for the conversation. The whole is in {path}: {how}\n\n{evicted_sample(part.content)}'
    hidden = [file for file in part.files if not _is_shown(file)]
    if hidden:
        text = '\n'.join([*filter(None, [text]), *(f'[{_describe(file)}, not shown]' for file in hidden)])
    text, clipped = mask_and_clip(text, RESULT_LIMIT)
    return text, clipped or path is not None


def result_images(contents: Iterable[object]) -> tuple[Image, ...]:
    """Return the pictures among `contents`, as base64."""
    return tuple(
        Image(media_type=content.media_type, data=base64.b64encode(content.data).decode())
        for content in contents
        if _is_shown(content) and isinstance(content, BinaryContent)
    )


def _is_shown(content: object) -> bool:
    return (
        isinstance(content, BinaryContent) and content.media_type in _IMAGE_TYPES and len(content.data) <= IMAGE_LIMIT
    )


def _describe(content: object) -> str:
    if isinstance(content, BinaryContent):
        return f'{content.media_type}, {len(content.data):,} bytes'
    return str(getattr(content, 'url', type(content).__name__))


def failure_line(part: BaseToolReturnPart) -> str:
    """Return in one line why a call failed; arguments that did not validate are named."""
    if isinstance(part.content, list):
        errors = [_validation_error(error) for error in part.content if isinstance(error, dict)]
        if errors and all(errors):
            return one_line('wrong arguments: ' + '; '.join(filter(None, errors)))
    return one_line(part.model_response_str(wrap_if_error=False))


def _validation_error(error: Mapping[str, JsonValue]) -> str | None:
    where, message = error.get('loc'), error.get('msg')
    if not isinstance(where, (list, tuple)) or not isinstance(message, str):
        return None
    return f'{".".join(map(str, where))}: {message}' if where else message

"""The file of a recording: YAML that reads well in a diff, written whole or not at all, with pictures beside it.

Never a pickle, never a Python object: what is read is plain data.
"""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import os
import re
from pathlib import Path

import yaml
from pydantic import JsonValue

from deep_notebook.errors import UsageError

__all__ = ['binary_name', 'extract_binary', 'read_yaml', 'restore_binary', 'write_atomically', 'yaml_text']

_BINARY_NAME = re.compile(r'[0-9a-f]{64}\.[a-z0-9]{1,8}')
# Line breaks to YAML, but not to the reader of a literal block.
_OTHER_BREAKS = re.compile('[\x85\u2028\u2029]')
_Loader: type[yaml.SafeLoader] = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


# The pure Python emitter: libyaml escapes emoji, which turns a readable block into one quoted line.
class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


def _string(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if _OTHER_BREAKS.search(text) else '|' if '\n' in text else None
    return dumper.represent_scalar('tag:yaml.org,2002:str', text, style=style)


_Dumper.add_representer(str, _string)


def yaml_text(value: JsonValue) -> str:
    """Return `value` as YAML, in the order of its keys, with text of several lines as literal blocks."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


def read_yaml(path: Path) -> JsonValue:
    """Return what the YAML file `path` holds.

    Raises:
        UsageError: It cannot be read, or is not YAML.
    """
    try:
        value: JsonValue = yaml.load(path.read_bytes(), Loader=_Loader)
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[-1].strip()
        raise UsageError(f'{path.name} cannot be read as a recording: {reason}.') from error
    return value


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` to `path` so that whoever reads it sees the old file or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f'.{path.name}.{os.getpid()}.part')
    try:
        with draft.open('wb') as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def binary_name(data: str, extension: str) -> str:
    """Return the name of the file for base64 `data`: its SHA-256 and `extension`."""
    return hashlib.sha256(_decoded(data)).hexdigest() + extension


def _decoded(data: str) -> bytes:
    return base64.b64decode(data.replace('-', '+').replace('_', '/'))


def extract_binary(value: JsonValue, files: dict[str, bytes]) -> JsonValue:
    """Return `value` with the data of pydantic-ai's binary content moved to `files`, named by their SHA-256."""
    if isinstance(value, list):
        return [extract_binary(item, files) for item in value]
    if not isinstance(value, dict):
        return value
    data = value.get('data')
    if value.get('kind') != 'binary' or not isinstance(data, str):
        return {key: extract_binary(item, files) for key, item in value.items()}
    name = binary_name(data, mimetypes.guess_extension(str(value.get('media_type'))) or '.bin')
    files[name] = _decoded(data)
    return {**value, 'data': {'file': name}}


def restore_binary(value: JsonValue, directory: Path) -> JsonValue:
    """Return `value` with the data that `extract_binary` moved out read back from `directory`.

    Raises:
        UsageError: A file is missing, or is not the one that was recorded.
    """
    if isinstance(value, list):
        return [restore_binary(item, directory) for item in value]
    if not isinstance(value, dict):
        return value
    data = value.get('data')
    if value.get('kind') != 'binary' or not isinstance(data, dict):
        return {key: restore_binary(item, directory) for key, item in value.items()}
    name = str(data.get('file'))
    if _BINARY_NAME.fullmatch(name) is None:
        raise UsageError(f'{name!r} in the recording is not the name of a recorded file.')
    try:
        content = (directory / name).read_bytes()
    except OSError as error:
        raise UsageError(f'{directory.name}/{name}, which belongs to the recording, cannot be read.') from error
    if hashlib.sha256(content).hexdigest() != name.partition('.')[0]:
        raise UsageError(f'{directory.name}/{name} is not the file that was recorded.')
    return {**value, 'data': base64.b64encode(content).decode()}

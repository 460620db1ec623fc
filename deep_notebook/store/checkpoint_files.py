"""Checkpoints as files: one for each, and one for each message, which all checkpoints share.

    <directory>/<digest of the id>.json      a line of JSON, then the digests of the messages, one a line
    <directory>/messages/<digest>.json       one message

Names are digests, so no id or label is ever part of a path, and a message that is not what its name says is seen.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic_ai.messages import ModelMessage

from deep_notebook.errors import StoreError

from .checkpoints import Checkpoint, CheckpointSummary, oldest_automatic
from .messages import dump_message, load_message, utf8

__all__ = ['FileCheckpointStore']

T = TypeVar('T')

_LOGGER = logging.getLogger(__name__)

_FORMAT = 'deep_notebook.checkpoint/1'
_DIGEST = 32
"""Hexadecimal digits: 128 bits."""
_OURS = re.compile(rf'[0-9a-f]{{{_DIGEST}}}\.json')
_DRAFT = re.compile(r'\.[0-9a-f]{16}\.tmp')
_WHAT_CANNOT_BE_READ = (OSError, ValueError, TypeError, KeyError, RecursionError)


class _Known(NamedTuple):
    """One message that was stored or loaded: the object, and the digest of what it held."""

    message: ModelMessage
    digest: str


class _File(NamedTuple):
    """A checkpoint's file without its messages."""

    path: Path
    saved: int
    """What the order goes by: nanoseconds, never the same twice in one process."""
    summary: CheckpointSummary


class FileCheckpointStore:
    """Keeps checkpoints in a directory, each message once.

    Files appear whole or not at all, readable by their owner only; several processes may use one directory. A file
    that is torn or is not a checkpoint is logged, listed in `problems` and skipped; it is never changed. Messages of
    removed checkpoints stay until `clear`, as other checkpoints may hold them.

    Messages must not be changed once they are saved, other than the last of a history.

    Every method raises `StoreError` when the directory cannot be used; what was stored before stays as it was.

    Args:
        directory: Created with the first checkpoint.
    """

    def __init__(self, directory: Path | str) -> None:
        self.directory = Path(directory)
        self._messages = self.directory / 'messages'
        self._problems: dict[Path, str] = {}
        self._known: list[_Known] = []
        self._saved = 0
        self._lock = threading.Lock()

    @property
    def problems(self) -> list[str]:
        """What could not be read so far, a line each: the file and why."""
        return [f'{path}: {reason}' for path, reason in self._problems.items()]

    async def save(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint; one with the same id is replaced and keeps its place."""
        messages = list(checkpoint.messages)
        await self._run(lambda: self._put(checkpoint, messages))

    async def save_automatic(self, checkpoint: Checkpoint, keep: int) -> None:
        """Keep an automatic checkpoint, and forget all automatic ones but the latest `keep`."""
        messages = list(checkpoint.messages)

        def work() -> None:
            self._put(checkpoint, messages)
            for old in oldest_automatic([file.summary for file in self._files()], keep):
                self._path(old.id).unlink(missing_ok=True)

        await self._run(work)

    async def get(self, checkpoint_id: str) -> Checkpoint | None:
        """Return the checkpoint with an id, or `None`: there is none, or its file cannot be read."""

        def work() -> Checkpoint | None:
            path = self._path(checkpoint_id)
            file = self._read(path) if path.exists() else None
            return None if file is None else self._load(file)

        return await self._run(work)

    async def get_by_label(self, label: str) -> Checkpoint | None:
        """Return the latest readable checkpoint with exactly this label, or `None`."""
        wanted = utf8(label)

        def work() -> Checkpoint | None:
            found = (self._load(file) for file in reversed(self._files()) if file.summary.label == wanted)
            return next((checkpoint for checkpoint in found if checkpoint is not None), None)

        return await self._run(work)

    async def list_all(self) -> list[Checkpoint]:
        """Return all readable checkpoints with their messages, oldest first; `summaries` is much cheaper."""

        def work() -> list[Checkpoint]:
            loaded: dict[str, ModelMessage] = {}
            found = [self._load(file, loaded) for file in self._files()]
            return [checkpoint for checkpoint in found if checkpoint is not None]

        return await self._run(work)

    async def summaries(self) -> list[CheckpointSummary]:
        """Return all checkpoints without their messages, oldest first."""
        return await self._run(lambda: [file.summary for file in self._files()])

    async def remove(self, checkpoint_id: str) -> None:
        """Forget a checkpoint, if it is there."""
        await self._run(lambda: self._path(checkpoint_id).unlink(missing_ok=True))

    async def remove_oldest(self) -> Checkpoint | None:
        """Forget the oldest readable checkpoint and return it, or `None` if there is none."""

        def work() -> Checkpoint | None:
            for file in self._files():
                checkpoint = self._load(file)
                if checkpoint is not None:
                    file.path.unlink(missing_ok=True)
                    return checkpoint
            return None

        return await self._run(work)

    async def count(self) -> int:
        """Return how many there are."""
        return await self._run(lambda: len(self._files()))

    async def clear(self) -> None:
        """Forget all, and the messages; no other process may be saving. What is not a checkpoint stays."""

        def work() -> None:
            for file in self._files():
                file.path.unlink(missing_ok=True)
            for directory in (self.directory, self._messages):
                for name in _names(directory):
                    if _DRAFT.fullmatch(name) or (directory == self._messages and _OURS.fullmatch(name)):
                        (directory / name).unlink(missing_ok=True)
            self._known = []

        await self._run(work)

    async def _run(self, work: Callable[[], T]) -> T:
        def job() -> T:
            with self._lock:
                try:
                    return work()
                except OSError as error:
                    raise StoreError(f'The checkpoints in {self.directory} could not be used: {error}.') from error

        # What is begun is finished, also when nobody waits for it any more.
        return await asyncio.shield(asyncio.to_thread(job))

    def _path(self, checkpoint_id: str) -> Path:
        return self.directory / f'{_digest(utf8(checkpoint_id))}.json'

    def _put(self, checkpoint: Checkpoint, messages: list[ModelMessage]) -> None:
        known = self._put_messages(messages)
        path = self._path(checkpoint.id)
        present = self._read(path) if path.exists() else None
        self._saved = max(time.time_ns(), self._saved + 1)
        header = {
            'format': _FORMAT,
            'id': utf8(checkpoint.id),
            'label': utf8(checkpoint.label),
            'turn': checkpoint.turn,
            'message_count': len(messages),
            'created_at': checkpoint.created_at.isoformat(),
            'saved': self._saved if present is None else present.saved,
            'metadata': checkpoint.metadata,
        }
        first = utf8(json.dumps(header, ensure_ascii=False, default=repr))
        _write(path, '\n'.join([first, *(place.digest for place in known), '']))
        self._known = known
        self._problems.pop(path, None)

    def _put_messages(self, messages: list[ModelMessage]) -> list[_Known]:
        """Write what is not there yet of `messages`, and return each with its digest."""
        self._messages.mkdir(mode=0o700, parents=True, exist_ok=True)
        there = set(_names(self._messages))
        places: list[_Known] = []
        for position, message in enumerate(messages):
            before = self._known[position] if position < len(self._known) else None
            may_have_grown = position == len(self._known) - 1
            unchanged = before is not None and before.message is message and not may_have_grown
            if before is not None and unchanged and f'{before.digest}.json' in there:
                places.append(before)
                continue
            body = dump_message(message)
            place = _Known(message, _digest(body))
            path = self._messages / f'{place.digest}.json'
            # A power cut can have left one of the right name, but not whole.
            if path.name not in there or path.stat().st_size != len(body.encode()):
                _write(path, body)
                there.add(path.name)
            places.append(place)
        return places

    def _files(self) -> list[_File]:
        """Return the checkpoints that can be read, oldest first."""
        found: list[_File] = []
        for name in _names(self.directory):
            path = self.directory / name
            if path == self._messages or name.startswith('.'):
                continue
            if not _OURS.fullmatch(name):
                self._report(path, 'is not a checkpoint')
            elif (file := self._read(path)) is not None:
                found.append(file)
        return sorted(found, key=lambda file: (file.saved, file.summary.id))

    def _read(self, path: Path) -> _File | None:
        try:
            with path.open('rb') as file:
                first = file.readline()
                size = os.fstat(file.fileno()).st_size
            header: dict[str, Any] = json.loads(first)
            if header['format'] != _FORMAT:
                raise ValueError(f'has the format {header["format"]!r}')
            summary = CheckpointSummary(
                header['id'],
                header['label'],
                header['turn'],
                header['message_count'],
                datetime.fromisoformat(header['created_at']),
                dict(header['metadata']),
            )
            if path != self._path(summary.id) or size != len(first) + summary.message_count * (_DIGEST + 1):
                raise ValueError('is torn, or not where its id belongs')
            return _File(path, int(header['saved']), summary)
        except FileNotFoundError:
            return None  # another process was faster
        except _WHAT_CANNOT_BE_READ as error:
            self._report(path, f'cannot be read ({type(error).__name__}: {error})')
            return None

    def _load(self, file: _File, loaded: dict[str, ModelMessage] | None = None) -> Checkpoint | None:
        """Return a checkpoint with its messages; `loaded` are those that were read before, by digest."""
        loaded = {} if loaded is None else loaded
        try:
            _, *digests = file.path.read_text(encoding='utf-8').splitlines()
            if len(digests) != file.summary.message_count:
                raise ValueError('is torn')
            known = [_Known(loaded.get(digest) or self._message(digest), digest) for digest in digests]
        except _WHAT_CANNOT_BE_READ as error:
            if file.path.exists():
                self._report(file.path, f'cannot be read ({type(error).__name__}: {error})')
            return None
        loaded.update((place.digest, place.message) for place in known)
        if known:
            # What continues from here is known by its objects, as if it had been saved from here.
            self._known = known
        summary = file.summary
        return Checkpoint(
            summary.id,
            summary.label,
            summary.turn,
            [place.message for place in known],
            summary.message_count,
            summary.created_at,
            summary.metadata,
        )

    def _message(self, digest: str) -> ModelMessage:
        if not _OURS.fullmatch(f'{digest}.json'):
            raise ValueError(f'{digest[:_DIGEST]!r} is no digest')
        body = (self._messages / f'{digest}.json').read_bytes().decode()
        if _digest(body) != digest:
            raise ValueError(f'message {digest} is torn')
        return load_message(body)

    def _report(self, path: Path, reason: str) -> None:
        if self._problems.get(path) != reason:
            self._problems[path] = reason
            _LOGGER.warning('Skipped among the checkpoints: %s %s. The others are there.', path, reason)


def _names(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_DIGEST]


def _write(path: Path, text: str) -> None:
    """Write a file in one step: whoever reads it, whenever the process ends, finds all of it or what was before."""
    draft = path.with_name(f'.{secrets.token_hex(8)}.tmp')
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'wb') as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise

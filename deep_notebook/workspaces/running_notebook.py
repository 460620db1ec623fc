"""The running notebook stays as it is on disk: the browser holds it open and would overwrite, or lose, any change."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from deep_notebook.errors import PathRefusedError

from .confinement import ConfinedDirectory, Parts

__all__ = ['check_holds_no_notebook', 'check_not_notebook']


def check_not_notebook(notebook: Path | None, tree: ConfinedDirectory, parts: Parts) -> None:
    """Raise `PathRefusedError` if the real place `parts` is the running notebook, a hard link to it, or its name."""
    if notebook is None:
        return
    path = os.path.join(tree.root, notebook)
    with suppress(FileNotFoundError, NotADirectoryError):
        saved = os.stat(path)
        with suppress(FileNotFoundError, NotADirectoryError):
            if os.path.samestat(tree.look_at(parts), saved):
                raise _refused(parts)
        return
    # It is not on disk, because it was never saved or is being replaced: its name stays free, whatever its case.
    if f'{tree.absolute(parts)}/'.casefold().startswith(f'{os.path.realpath(path)}/'.casefold()):
        raise _refused(parts)


def check_holds_no_notebook(notebook: Path | None, tree: ConfinedDirectory, parts: Parts) -> None:
    """Raise `PathRefusedError` if the directory at the real place `parts` holds the running notebook."""
    if notebook is None:
        return
    directory = tree.look_at(parts)
    for above in Path(os.path.realpath(os.path.join(tree.root, notebook))).parents:
        with suppress(OSError):
            if os.path.samestat(os.stat(above), directory):
                raise _refused(parts, holds=True)


def _refused(parts: Parts, *, holds: bool = False) -> PathRefusedError:
    what = 'holds' if holds else 'is'
    return PathRefusedError(
        f'{"/".join(parts)!r} {what} the notebook that is open and running: use another name, or change the notebook '
        'through its own cells.'
    )

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
    try:
        saved = [os.stat(path), os.lstat(path)]
    except (FileNotFoundError, NotADirectoryError):
        # It was never saved, or is being replaced: its name stays free, whatever its case.
        if f'{tree.absolute(parts)}/'.casefold().startswith(f'{os.path.realpath(path)}/'.casefold()):
            raise _refused(parts) from None
        return
    with suppress(FileNotFoundError, NotADirectoryError):
        present = tree.look_at(parts, accept_link=True)
        if any(os.path.samestat(present, info) for info in saved):
            raise _refused(parts)


def check_holds_no_notebook(notebook: Path | None, tree: ConfinedDirectory, parts: Parts) -> None:
    """Raise `PathRefusedError` if the directory at the real place `parts` holds the running notebook."""
    if notebook is None:
        return
    directory = tree.look_at(parts)
    path = os.path.join(tree.root, notebook)
    above = {*Path(path).parents, *Path(os.path.realpath(path)).parents}
    if any(place.exists() and os.path.samestat(place.stat(), directory) for place in above):
        raise _refused(parts, holds=True)


def _refused(parts: Parts, *, holds: bool = False) -> PathRefusedError:
    what = 'holds' if holds else 'is'
    return PathRefusedError(
        f'{"/".join(parts)!r} {what} the notebook that is open and running: use another name, or change the notebook '
        'through its own cells.'
    )

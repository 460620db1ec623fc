"""How a path of a workspace is written for the model and for the person."""

from __future__ import annotations

import posixpath

__all__ = ['relative_path']


def relative_path(path: str, working_dir: str) -> str:
    """Return `path` as it reads from `working_dir`: `'data/sales.csv'`, or `'.'` for the directory itself.

    Only text: nothing is looked up, and a path that is not under `working_dir` comes back normalised, unshortened.

    Args:
        path: An absolute POSIX path, or one relative to `working_dir`.
        working_dir: The absolute POSIX path that the workspace's `working_dir()` returned.
    """
    normal = posixpath.normpath(posixpath.join(working_dir, path))
    if normal == working_dir:
        return '.'
    return normal.removeprefix(working_dir.rstrip('/') + '/')

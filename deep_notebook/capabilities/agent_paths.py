"""Where the agent's own files are: `/plans` in a workspace of its own, `.deep/plans` in a person's directory."""

from __future__ import annotations

import posixpath

from ..workspaces import AGENT_SPOTS, DEEP_DIRECTORY

__all__ = ['agent_path', 'is_agents_own']


def agent_path(path: str, working_dir: str) -> str:
    """Return where a directory of the agent's is in a workspace.

    A workspace rooted at `/` is the agent's alone, and paths mean there what they say. Elsewhere `/plans` and
    `/.deep/memory` are `.deep/plans` and `.deep/memory` below the working directory.

    Args:
        path: As settings have it: one of the agent's spots (`/plans`, `/.deep/memory`), a path in one, or any other
            path of the workspace, which stays as it is.
        working_dir: What the workspace's `working_dir()` returned.
    """
    names = _names(path)
    if working_dir == '/' or not path.startswith('/') or not names:
        return path
    if names[0] in AGENT_SPOTS:
        return posixpath.join(DEEP_DIRECTORY, *names)
    return posixpath.join(*names) if names[0] == DEEP_DIRECTORY else path


def is_agents_own(path: str) -> bool:
    """Return whether `path`, as settings have it, is one of the agent's spots or lies in one.

    Nothing of the person's is there, so what the agent writes there is not asked about.
    """
    names = _names(path)
    if names[:1] == [DEEP_DIRECTORY]:
        names = names[1:]
    elif not path.startswith('/'):
        return False
    return bool(names) and names[0] in AGENT_SPOTS


def _names(path: str) -> list[str]:
    return [name for name in posixpath.normpath(path).split('/') if name]

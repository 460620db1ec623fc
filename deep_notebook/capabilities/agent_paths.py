"""Where the agent's own files are, and what they can be called.

`/plans` is `/plans` in a workspace of the agent's own, and `.deep/plans` in a person's directory.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata

from ..workspaces import AGENT_SPOTS, DEEP_DIRECTORY

__all__ = ['agent_path', 'is_agents_own', 'safe_name']

_MAX_NAME_CHARS = 60
_MAX_NAME_BYTES = 180
"""Of the 255 that file systems allow; the rest is for what callers add."""
_VARIATION_SELECTORS = re.compile('[\ufe00-\ufe0f\U000e0100-\U000e01ef]')


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


def safe_name(text: str, *, fallback: str) -> str:
    """Return `text` as a name that a file or directory can have: one part of a path, in lower case.

    Letters and digits of every script stay, with their marks; whatever else stands between them becomes a hyphen.
    Different texts may get the same name.

    Args:
        text: Anything, such as a title that a model made up.
        fallback: The name of a text without letters and digits.
    """
    lower = unicodedata.normalize('NFC', _VARIATION_SELECTORS.sub('', text).lower())
    words = ''.join(char if _is_word(char) else ' ' for char in lower)
    name = '-'.join(words.split())[:_MAX_NAME_CHARS]
    name = name.encode()[:_MAX_NAME_BYTES].decode(errors='ignore').strip('-_')
    return name if any(map(str.isalnum, name)) else fallback


def _is_word(char: str) -> bool:
    return char == '_' or unicodedata.category(char)[0] in 'LMN'


def _names(path: str) -> list[str]:
    return [name for name in posixpath.normpath(path).split('/') if name]

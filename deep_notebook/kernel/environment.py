"""Where a cell runs: in which notebook, for which front end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

__all__ = ['FrontEnd', 'find_notebook', 'front_end', 'kernel_of']

FrontEnd: TypeAlias = Literal['terminal', 'interactive', 'headless']

_SERVER_VARIABLE = 'JPY_SESSION_NAME'
"""Set by jupyter_server for each kernel: the path of the notebook that it was started for."""
_OWN_VARIABLE = 'DEEP_NOTEBOOK_PATH'
_VSCODE_VARIABLE = '__vsc_ipynb_file__'
"""A name that VS Code puts into the user's namespace."""


def kernel_of(shell: Any) -> Any | None:
    """Return the ipykernel that `shell` belongs to, or `None` in a terminal."""
    return getattr(shell, 'kernel', None)


def front_end(shell: Any) -> FrontEnd:
    """Return who looks at the output of the running cell.

    nbclient, papermill, nbconvert and nbval all say that they cannot answer `input()`; notebooks and consoles
    say that they can. Nothing else tells them apart.
    """
    kernel = kernel_of(shell)
    if kernel is None:
        return 'terminal'
    return 'interactive' if getattr(kernel, '_allow_stdin', False) else 'headless'


def find_notebook(shell: Any, configured: str = '', environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the path of the running notebook, or `None` if nobody says.

    Args:
        shell: The IPython shell.
        configured: `DeepMagics.notebook`, which comes first; relative to the kernel's directory.
        environ: The environment, by default the process's.
    """
    environ = os.environ if environ is None else environ
    candidates = [
        configured,
        environ.get(_OWN_VARIABLE, ''),
        shell.user_ns.get(_VSCODE_VARIABLE, ''),
        environ.get(_SERVER_VARIABLE, ''),
    ]
    for candidate in candidates:
        if isinstance(candidate, str) and candidate.endswith('.ipynb'):
            # A name is UTF-8 on disk, whatever the encoding of this process's locale.
            return Path(os.fsdecode(candidate.encode('utf-8', 'surrogateescape'))).expanduser().absolute()
    return None

"""What commands may know of the environment that the kernel runs in."""

from __future__ import annotations

import os

__all__ = ['command_environment']

_HANDED_ON = ('PATH', 'HOME', 'LANG', 'VIRTUAL_ENV')


def command_environment() -> dict[str, str]:
    """Return the variables that commands inherit: `PATH`, `HOME`, `VIRTUAL_ENV`, `LANG` and `LC_*`, as they are now.

    Everything else stays here, API keys above all: a command's output goes to the model.
    """
    return {name: value for name, value in os.environ.items() if name in _HANDED_ON or name.startswith('LC_')}

"""Files: list, read, search, write, edit, and run commands where they live."""

from __future__ import annotations

from .capability import EditFormat, Filesystem
from .files import HasBackend, HasReadDigests
from .toolset import ConsoleFilesystemToolset, create_console_toolset

__all__ = [
    'ConsoleFilesystemToolset',
    'EditFormat',
    'Filesystem',
    'HasBackend',
    'HasReadDigests',
    'create_console_toolset',
]

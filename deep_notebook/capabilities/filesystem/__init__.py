"""Files: list, read, search, write, edit, and run commands where they live."""

from __future__ import annotations

from .capability import EditFormat, Filesystem
from .files import HasBackend, HasReadDigests

__all__ = ['EditFormat', 'Filesystem', 'HasBackend', 'HasReadDigests']

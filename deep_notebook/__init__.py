"""A deep agent that works inside your notebook."""

from ._version import __version__

__all__ = ['__version__']

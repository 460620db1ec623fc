"""Every exception that deep_notebook raises on purpose.

Three readers, three kinds: a `UsageError` is for the person at the notebook (one line: what is wrong and
how to mend it, shown without a traceback); tools answer the model with pydantic-ai's own `ModelRetry` and
`ToolFailed`; everything else here is for developers who call the library.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ['DeepNotebookError', 'UsageError', 'did_you_mean']


class DeepNotebookError(Exception):
    """The base of all deep_notebook exceptions."""


class UsageError(DeepNotebookError):
    """Something that the person can mend: the message is one line that says what is wrong and the fix."""


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return `" Did you mean 'x'?"` for the candidate closest to `name`, or an empty string if none is close."""
    close = difflib.get_close_matches(name, list(candidates), n=1, cutoff=0.5)
    return f' Did you mean {close[0]!r}?' if close else ''

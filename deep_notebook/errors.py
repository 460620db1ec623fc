"""Every exception that deep_notebook raises on purpose.

Three readers, three kinds: a `UsageError` is for the person at the notebook (one line: what is wrong and
how to mend it, shown without a traceback); tools answer the model with pydantic-ai's own `ModelRetry` and
`ToolFailed`; everything else here is for developers who call the library.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

__all__ = [
    'DeepNotebookError',
    'McpServerError',
    'NotKeptError',
    'PathRefusedError',
    'RecordingMissError',
    'RewindRequested',
    'RunControl',
    'SkillError',
    'StoreError',
    'UsageError',
    'did_you_mean',
]


class DeepNotebookError(Exception):
    """The base of all deep_notebook exceptions."""


class UsageError(DeepNotebookError):
    """Something that the person can mend: the message is one line that says what is wrong and the fix."""

    def _render_traceback_(self) -> list[str]:
        """Return the line that IPython shows in place of a traceback."""
        return [f'UsageError: {self}']


class RunControl(DeepNotebookError):
    """The base of what is raised to steer the whole run, such as a rewind; whoever catches failures lets it pass."""


class RewindRequested(RunControl):
    """The agent asked to go back to a checkpoint: the run is over, and whoever started it goes on from `messages`.

    Args:
        checkpoint_id: The checkpoint.
        label: Its label.
        messages: The history to go on from, valid for any model.
        conversation_id: The conversation of the agent that asked: one of a subagent is not its parent's.
    """

    def __init__(
        self, checkpoint_id: str, label: str, messages: Sequence[ModelMessage], *, conversation_id: str | None = None
    ) -> None:
        super().__init__(f'The agent asked to go back to the checkpoint {label!r}.')
        self.checkpoint_id = checkpoint_id
        self.label = label
        self.messages = list(messages)
        self.conversation_id = conversation_id


class PathRefusedError(DeepNotebookError, PermissionError):
    """A path leads out of the workspace, or to something in it that the agent may not touch.

    The message is one line for the model: what is refused and what may be used instead. Nothing at the path was
    read, listed or looked at.
    """


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return `" Did you mean 'x'?"` for the candidate closest to `name`, or an empty string if none is close."""
    close = difflib.get_close_matches(name, list(candidates), n=1, cutoff=0.5)
    return f' Did you mean {close[0]!r}?' if close else ''


class RecordingMissError(UsageError):
    """A replayed cell asked the model something that the recording does not hold: the message says what differs."""


class SkillError(UsageError):
    """A skill cannot be used: the message names the file and the fix."""


class McpServerError(UsageError):
    """An MCP server does not start, or does not answer as it should: the message names it and what is wrong."""


class StoreError(DeepNotebookError):
    """The session file could not be read or written; what it held before is untouched."""

    def _render_traceback_(self) -> list[str]:
        """Return the line that IPython shows in place of a traceback."""
        return [str(self)]


class NotKeptError(StoreError):
    """What a file holds could not be kept, so it was not changed."""

"""What a hook is, what it is told and what it can answer."""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from ..errors import did_you_mean

__all__ = ['Hook', 'HookEvent', 'HookFailed', 'HookHandler', 'HookInput', 'HookResult']


class HookEvent(StrEnum):
    """When a hook runs."""

    PRE_TOOL_USE = 'pre_tool_use'
    """Before a tool executes and before its approval is asked for: it can deny the call or change its arguments."""
    POST_TOOL_USE = 'post_tool_use'
    """After a tool succeeded: it can change the result."""
    POST_TOOL_USE_FAILURE = 'post_tool_use_failure'
    """After a tool failed."""
    BEFORE_RUN = 'before_run'
    AFTER_RUN = 'after_run'
    RUN_ERROR = 'run_error'
    """After a run failed; being cancelled is no failure."""
    BEFORE_MODEL_REQUEST = 'before_model_request'
    AFTER_MODEL_REQUEST = 'after_model_request'


@dataclass
class HookInput:
    """What a hook is told; a command reads it as one JSON object from standard input."""

    event: str
    """The value of the `HookEvent`."""
    tool_name: str = ''
    """Empty for events of runs and model requests."""
    tool_input: dict[str, Any] = field(default_factory=dict)
    """The tool's arguments as JSON values, a copy; for `BEFORE_RUN` the prompt, as `{'prompt': text}`."""
    tool_result: str | None = None
    """The text of what the tool returned; the output for `AFTER_RUN`, the response's text for `AFTER_MODEL_REQUEST`."""
    tool_error: str | None = None
    """What went wrong."""


@dataclass
class HookResult:
    """What a hook answers; a command may print it as one JSON object."""

    allow: bool = True
    """Whether the tool may run, for `PRE_TOOL_USE`."""
    reason: str | None = None
    """Why not, for the model and the person."""
    modified_args: dict[str, Any] | None = None
    """All arguments to run the tool with instead, for `PRE_TOOL_USE`; they must fit the tool."""
    modified_result: str | None = None
    """The text to return instead, for `POST_TOOL_USE`; pictures and metadata of the result stay."""


HookHandler: TypeAlias = Callable[[HookInput], Awaitable[HookResult | None] | HookResult | None]


@dataclass
class Hook:
    """A command or a function that runs at an event.

    A `PRE_TOOL_USE` hook is a policy: when it cannot run, crashes, answers nonsense or takes too long, the call is
    denied. With `background`, and at every other event, a hook observes: whatever happens to it is logged, and the
    run goes on.

    A command runs in the shell of the run's workspace. Exit code 0 allows, 2 denies with its standard error as the
    reason, any other is a failure. What it prints counts only if it is a JSON object with fields of `HookResult`.

    A handler that is no coroutine function is called in a thread of its own; one that is must not block.

    Raises:
        ValueError: There is not exactly one of `command` and `handler`, or a value is none that works.
    """

    event: HookEvent
    command: str | None = None
    handler: HookHandler | None = None
    matcher: str | None = None
    """A regular expression, searched for in the tool's name: `execute`, `write_file|edit_file`, `^mcp_`."""
    timeout: float = 30
    """Seconds."""
    background: bool = False
    """Whether nothing waits for it; the end of the run does, for a while."""

    def __post_init__(self) -> None:
        events = {event.value: event for event in HookEvent}
        if self.event not in events:
            raise ValueError(f'there is no hook event {self.event!r}.{did_you_mean(str(self.event), events)}')
        self.event = events[self.event]
        if (self.command is None) == (self.handler is None):
            raise ValueError('a hook has either a command or a handler')
        if self.command is not None and not self.command.strip():
            raise ValueError("a hook's command is empty")
        if not 0 < self.timeout < math.inf:
            raise ValueError(f"a hook's timeout is a number of seconds above 0, not {self.timeout!r}")
        if self.matcher is not None:
            if '_tool_' not in self.event.value:
                raise ValueError(f'{self.event.value} is no event of a tool, so its hook can have no matcher')
            try:
                re.compile(self.matcher)
            except re.error as error:
                raise ValueError(f'{self.matcher!r} is not a regular expression: {error}') from error

    @property
    def is_policy(self) -> bool:
        """Whether it decides about a call, so that nothing may run without its answer."""
        return self.event is HookEvent.PRE_TOOL_USE and not self.background

    @property
    def label(self) -> str:
        """A few words to know it by."""
        if self.command is not None:
            return self.command.strip().splitlines()[0][:80]
        return str(getattr(self.handler, '__qualname__', None) or type(self.handler).__qualname__)

    def matches(self, event: HookEvent, tool_name: str = '') -> bool:
        """Return whether it runs at `event` of the tool `tool_name`."""
        return self.event is event and (self.matcher is None or re.search(self.matcher, tool_name) is not None)


class HookFailed(Exception):
    """A hook gave no answer that can be used; the message says why, as the end of a sentence about the hook."""

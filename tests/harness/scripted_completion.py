"""A stand-in for the weights below the embedded model: it writes what the test says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from deep_notebook.models.embedded_runtime import Completion, CompletionRequest


@dataclass
class ScriptedCompletion:
    """Completes with `replies`, in order, in pieces of five characters; an exception among them is raised."""

    replies: list[str | Completion | Exception]
    requests: list[CompletionRequest] = field(default_factory=list)

    def __call__(self, request: CompletionRequest, on_text: Callable[[str], bool]) -> Completion:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        completion = reply if isinstance(reply, Completion) else written(reply)
        for start in range(0, len(completion.text), 5):
            if on_text(completion.text[start : start + 5]):
                break
        return completion


@dataclass
class EndlessCompletion:
    """Writes until it is told to stop; `writing` and `ended` say where it stands."""

    writing: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def __call__(self, request: CompletionRequest, on_text: Callable[[str], bool]) -> Completion:
        while not on_text('word '):
            self.writing.set()
        self.ended.set()
        return Completion(text='', prompt_tokens=1, output_tokens=1, finish='interrupted')


def written(text: str, *, prompt_tokens: int = 100, cached_tokens: int = 60, cut_off: bool = False) -> Completion:
    """A completion that took a token for every character of `text`."""
    return Completion(
        text=text,
        prompt_tokens=prompt_tokens,
        cached_tokens=cached_tokens,
        output_tokens=len(text),
        finish='length' if cut_off else 'stop',
    )

"""llama.cpp in this process: one loaded model, one completion at a time, stoppable while it reads and writes.

This is the seam of the embedded model: everything above it works with any `Complete` function.
"""

from __future__ import annotations

import atexit
import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from deep_notebook.errors import DeepNotebookError, UsageError

from . import weights

__all__ = ['Complete', 'Completion', 'CompletionRequest', 'PromptTooLong', 'complete']

CONTEXT_TOKENS = 8192
"""Prompt and answer together; takes about 230 MB beside the weights."""
BATCH_TOKENS = 64
"""How many prompt tokens are read between two chances to stop: 0.9 s on two cores (74 tokens/s measured)."""


@dataclass(frozen=True, kw_only=True)
class CompletionRequest:
    """A text to go on from. `schema` is the JSON schema that the continuation must satisfy, if any."""

    prompt: str
    max_tokens: int
    schema: dict[str, Any] | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Completion:
    """What was written and what it took, in tokens. `cached_tokens` of the prompt did not have to be read again."""

    text: str
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    finish: Literal['stop', 'length', 'interrupted'] = 'stop'


class PromptTooLong(DeepNotebookError):
    """The prompt does not fit into the context of the model; `tokens` is its length."""

    def __init__(self, tokens: int) -> None:
        super().__init__(f'The prompt has {tokens} tokens, the embedded model takes {CONTEXT_TOKENS}.')
        self.tokens = tokens


Complete = Callable[[CompletionRequest, Callable[[str], bool]], Completion]
"""`(request, on_text) -> completion`, blocking. `on_text` gets every piece as it is written, an empty one while the
prompt is being read, and returns True to stop."""


def complete(request: CompletionRequest, on_text: Callable[[str], bool]) -> Completion:
    """Complete with the model of this process, loading it first if need be. Calls wait for each other.

    Raises:
        UsageError: the runtime is not installed, the weights are not here, or they cannot be loaded.
        PromptTooLong: the prompt does not fit.
    """
    with _lock:
        if _closing.is_set() or on_text(''):
            return Completion(text='', prompt_tokens=0, output_tokens=0, finish='interrupted')
        return _run(_load(), request, on_text)


_lock = threading.Lock()
_closing = threading.Event()
_server: Any = None


def _load() -> Any:
    global _server
    if _server is None:
        path = weights.installed()
        if path is None:
            raise UsageError(
                "The embedded model is not here: run 'deep-notebook model pull' (1.1 GB), or choose another model."
            )
        _server = _start_server(path)
        atexit.register(_close)
    return _server


def _start_server(path: Path) -> Any:
    # The idle threads of OpenMP would spin beside the kernel's own work. It reads this when it is first loaded.
    os.environ.setdefault('OMP_WAIT_POLICY', 'passive')
    try:
        import xllamacpp
    except ImportError as error:
        raise UsageError("The embedded model needs xllamacpp: run 'pip install deep-notebook[local]'.") from error
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.n_batch = BATCH_TOKENS
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = _cores()
    parameters.cache_ram_mib = 0  # keep no old prompts beside the present one: they may take 8 GB
    parameters.verbosity = 0
    # The server also listens on a loopback port; nobody else shall use it.
    parameters.api_keys = [secrets.token_urlsafe(32)]
    parameters.ui = False
    try:
        return xllamacpp.Server(parameters)
    except RuntimeError as error:
        raise UsageError(
            f"{str(path)!r} could not be loaded: run 'deep-notebook model remove', then 'deep-notebook model pull'."
        ) from error


def _cores() -> int:
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _run(server: Any, request: CompletionRequest, on_text: Callable[[str], bool]) -> Completion:
    body: dict[str, Any] = {
        'prompt': request.prompt,
        'max_tokens': request.max_tokens,
        'temperature': 0,
        'stop': list(request.stop),
        'stream': True,
        'stream_options': {'include_usage': True},
        'return_progress': True,
    }
    if request.schema is not None:
        body['json_schema'] = request.schema
    answer = _Answer(on_text)
    server.handle_completions(body, answer.take)
    return answer.completion()


class _Answer:
    """Gathers the chunks of one streamed completion."""

    def __init__(self, on_text: Callable[[str], bool]) -> None:
        self._on_text = on_text
        self._pieces: list[str] = []
        self._finish: Literal['stop', 'length', 'interrupted'] = 'interrupted'
        self._usage: dict[str, Any] = {}
        self._prompt_tokens = 0
        self._error: Exception | None = None

    def take(self, chunk: dict[str, Any]) -> bool:
        """Take one chunk; True ends the completion. The caller swallows exceptions, so they are kept for later."""
        try:
            return self._take(chunk) or _closing.is_set()
        except Exception as error:
            self._error = error
            return True

    def _take(self, chunk: dict[str, Any]) -> bool:
        if error := chunk.get('error'):
            if error.get('type') == 'exceed_context_size_error':
                raise PromptTooLong(error.get('n_prompt_tokens', 0))
            raise DeepNotebookError(f'The embedded model failed: {error.get("message", error)}')
        if progress := chunk.get('prompt_progress'):
            self._prompt_tokens = progress['processed']
        self._usage = chunk.get('usage') or self._usage
        stop = False
        for choice in chunk.get('choices', ()):
            if choice.get('finish_reason') in ('stop', 'length'):
                self._finish = choice['finish_reason']
            if text := choice.get('text', ''):
                self._pieces.append(text)
            stop = self._on_text(text) or stop
        return stop

    def completion(self) -> Completion:
        if self._error is not None:
            raise self._error
        return Completion(
            text=''.join(self._pieces),
            prompt_tokens=self._usage.get('prompt_tokens', self._prompt_tokens),
            output_tokens=self._usage.get('completion_tokens', len(self._pieces)),
            cached_tokens=self._usage.get('prompt_tokens_details', {}).get('cached_tokens', 0),
            finish=self._finish,
        )


def _close() -> None:
    """Stop a completion that is still under way and let go of the model before the interpreter does."""
    global _server
    _closing.set()
    if _lock.acquire(timeout=5):
        _server = None
        _lock.release()

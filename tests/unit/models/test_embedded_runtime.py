"""The seam down to llama.cpp: how it is set up, stopped and shared. The library is a stand-in here."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from deep_notebook.errors import DeepNotebookError, UsageError
from deep_notebook.models import embedded_runtime, weights
from deep_notebook.models.embedded_completion import RunningCompletion
from deep_notebook.models.embedded_runtime import Completion, CompletionRequest, PromptTooLong, complete
from harness.scripted_completion import EndlessCompletion, ScriptedCompletion

REQUEST = CompletionRequest(prompt='Hi', max_tokens=5, stop=('.',), schema={'type': 'object'})


def chunk(text: str = '', *, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {'choices': [{'text': text, 'finish_reason': finish}], **more}


USAGE = {'prompt_tokens': 9, 'completion_tokens': 2, 'prompt_tokens_details': {'cached_tokens': 7}}
ANSWER = [chunk('Hel'), chunk('lo'), chunk(finish='stop', usage=USAGE)]


class FakeServer:
    """Streams `chunks`, as the library does: a true value from the callback ends it, its exceptions are swallowed."""

    chunks: ClassVar[list[dict[str, Any]]] = ANSWER
    started: ClassVar[list[Any]] = []
    bodies: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, parameters: Any) -> None:
        self.started.append(parameters)

    def handle_completions(self, body: dict[str, Any], callback: Callable[[dict[str, Any]], bool]) -> None:
        self.bodies.append(body)
        for chunk in self.chunks:
            try:
                if callback(chunk):
                    return
            except Exception:
                return


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[type[FakeServer]]:
    FakeServer.chunks, FakeServer.started, FakeServer.bodies = ANSWER, [], []

    def parameters() -> Any:
        return types.SimpleNamespace(
            model=types.SimpleNamespace(), cpuparams=types.SimpleNamespace(), cpuparams_batch=types.SimpleNamespace()
        )

    module = types.ModuleType('xllamacpp')
    module.Server, module.CommonParams = FakeServer, parameters  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, 'xllamacpp', module)
    monkeypatch.setattr(weights, 'installed', lambda: tmp_path / 'model.gguf')
    monkeypatch.setattr(embedded_runtime, '_server', None)
    monkeypatch.setattr(embedded_runtime, '_closing', threading.Event())
    monkeypatch.setattr('atexit.register', lambda function: function)
    monkeypatch.delenv('OMP_WAIT_POLICY', raising=False)
    yield FakeServer
    os.environ.pop('OMP_WAIT_POLICY', None)


def keep_going(text: str) -> bool:
    return False


def test_a_completion_has_its_text_and_its_tokens() -> None:
    assert complete(REQUEST, keep_going) == Completion(
        text='Hello', prompt_tokens=9, cached_tokens=7, output_tokens=2, finish='stop'
    )


def test_decoding_is_greedy_streamed_and_held_to_the_schema(library: type[FakeServer]) -> None:
    complete(REQUEST, keep_going)
    [body] = library.bodies
    assert body['temperature'] == 0
    assert body['stream']
    assert body['json_schema'] == {'type': 'object'}
    assert body['stop'] == ['.']


def test_the_model_is_loaded_once_with_a_random_key_and_bounded_memory(
    library: type[FakeServer], tmp_path: Path
) -> None:
    complete(REQUEST, keep_going)
    complete(REQUEST, keep_going)
    [parameters] = library.started
    assert parameters.model.path == str(tmp_path / 'model.gguf')
    assert len(parameters.api_keys[0]) > 30
    assert parameters.cache_ram_mib == 0
    assert parameters.n_parallel == 1
    assert os.environ['OMP_WAIT_POLICY'] == 'passive'


def test_true_from_the_listener_stops_it() -> None:
    heard: list[str] = []

    def stop_at_the_first_word(text: str) -> bool:
        heard.append(text)
        return bool(text)

    completion = complete(REQUEST, stop_at_the_first_word)
    assert completion.finish == 'interrupted'
    assert (completion.text, completion.output_tokens) == ('Hel', 1)


def test_it_can_be_stopped_while_the_prompt_is_read(library: type[FakeServer]) -> None:
    library.chunks = [chunk(prompt_progress={'processed': 64}), *ANSWER]
    times: list[str] = []

    def stop_at_the_second_chance(text: str) -> bool:
        times.append(text)
        return len(times) == 2

    completion = complete(REQUEST, stop_at_the_second_chance)
    assert completion.text == ''
    assert completion.prompt_tokens == 64


def test_what_was_stopped_while_it_waited_is_never_begun(library: type[FakeServer]) -> None:
    assert complete(REQUEST, lambda text: True).finish == 'interrupted'
    assert library.bodies == []


def test_a_prompt_that_does_not_fit_has_its_own_error(library: type[FakeServer]) -> None:
    library.chunks = [{'error': {'type': 'exceed_context_size_error', 'n_prompt_tokens': 9001, 'message': 'too long'}}]
    with pytest.raises(PromptTooLong) as caught:
        complete(REQUEST, keep_going)
    assert caught.value.tokens == 9001


def test_other_errors_of_the_library_are_told(library: type[FakeServer]) -> None:
    library.chunks = [{'error': {'code': 400, 'message': 'bad grammar'}}]
    with pytest.raises(DeepNotebookError, match='The embedded model failed: bad grammar'):
        complete(REQUEST, keep_going)


def test_an_error_of_the_listener_is_not_swallowed() -> None:
    def failing(text: str) -> bool:
        if text:
            raise ZeroDivisionError
        return False

    with pytest.raises(ZeroDivisionError):
        complete(REQUEST, failing)


def test_missing_weights_say_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, 'installed', lambda: None)
    with pytest.raises(UsageError, match="run 'deep-notebook model pull'"):
        complete(REQUEST, keep_going)


def test_a_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'xllamacpp', None)
    with pytest.raises(UsageError, match=r'pip install deep-notebook\[local\]'):
        complete(REQUEST, keep_going)


def test_a_broken_file_says_how_to_replace_it(monkeypatch: pytest.MonkeyPatch, library: type[FakeServer]) -> None:
    def refuse(self: FakeServer, parameters: Any) -> None:
        raise RuntimeError('Failed to init server')

    monkeypatch.setattr(library, '__init__', refuse)
    with pytest.raises(UsageError, match="could not be loaded: run 'deep-notebook model remove'"):
        complete(REQUEST, keep_going)


def test_after_the_interpreter_began_to_close_nothing_is_begun(library: type[FakeServer]) -> None:
    complete(REQUEST, keep_going)
    embedded_runtime._close()
    assert complete(REQUEST, keep_going).finish == 'interrupted'
    assert len(library.bodies) == 1


@pytest.mark.anyio
async def test_a_completion_in_its_thread_is_read_piece_by_piece() -> None:
    pieces: list[str] = []
    async with RunningCompletion(ScriptedCompletion(['Hello, world']), REQUEST) as running:
        with pytest.raises(RuntimeError, match='still running'):
            _ = running.completion
        async for piece in running:
            pieces.append(piece)
    assert pieces == ['Hello', ', wor', 'ld']
    assert running.completion.text == 'Hello, world'


@pytest.mark.anyio
async def test_leaving_a_completion_stops_its_thread() -> None:
    endless = EndlessCompletion()
    async with RunningCompletion(endless, REQUEST) as running:
        async for _ in running:
            break
    assert await asyncio.to_thread(endless.ended.wait, 2)


def test_a_loop_that_is_gone_stops_the_thread() -> None:
    stopped, go = threading.Event(), threading.Event()

    def deaf(request: CompletionRequest, on_text: Callable[[str], bool]) -> Completion:
        go.wait()
        while not on_text('word'):
            pass
        stopped.set()
        return Completion(text='', prompt_tokens=0, output_tokens=0)

    async def leave_it_behind() -> None:
        await RunningCompletion(deaf, REQUEST).__aenter__()

    asyncio.run(leave_it_behind())
    go.set()
    assert stopped.wait(2)

"""Servers on loopback are listed by what they serve; whatever else listens there does no harm."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from deep_notebook.models.local_servers import LocalServer, local_model_names


@contextmanager
def serving(body: bytes, *, status: int = 200) -> Iterator[LocalServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == '/v1/models' else 404)
            if status == 302:
                self.send_header('Location', 'http://127.0.0.1:9/v1/models')
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(('127.0.0.1', 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.01})
        thread.start()
        try:
            yield LocalServer('ollama', 'Ollama', server.server_address[1])
        finally:
            server.shutdown()
            thread.join()


def test_a_server_lists_its_models() -> None:
    with serving(json.dumps({'data': [{'id': 'qwen3'}, {'id': 'llama3:8b'}]}).encode()) as server:
        assert local_model_names((server,)) == ['ollama:qwen3', 'ollama:llama3:8b']


@pytest.mark.parametrize(
    'body', [b'<html>', b'[]', b'{"data": 3}', b'{"data": [3, {}, {"id": 5}, {"id": ""}, {"id": "a\\nb"}]}', b'\xff']
)
def test_something_else_that_listens_there_lists_nothing(body: bytes) -> None:
    with serving(body) as server:
        assert local_model_names((server,)) == []


@pytest.mark.parametrize('status', [302, 404, 500])
def test_an_answer_that_is_no_list_lists_nothing(status: int) -> None:
    with serving(b'{"data": [{"id": "x"}]}', status=status) as server:
        assert local_model_names((server,)) == []


def test_nobody_there_lists_nothing() -> None:
    assert local_model_names((LocalServer('ollama', 'Ollama', 9),)) == []


def test_a_proxy_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('http_proxy', 'http://127.0.0.1:9')
    with serving(b'{"data": [{"id": "x"}]}') as server:
        assert local_model_names((server,)) == ['ollama:x']

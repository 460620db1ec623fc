"""The MCP server of the fixtures: as a program, and as a service on loopback."""

from __future__ import annotations

import importlib.util
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

__all__ = ['SERVER', 'Service', 'serve_http']

SERVER = Path(__file__).parents[1] / 'fixtures' / 'mcp_server.py'
"""A program that speaks MCP over its standard streams."""


@dataclass
class Service:
    """The server over streamable HTTP, in a thread."""

    url: str
    _server: Any
    _thread: Thread

    def stop(self) -> None:
        """End it, connections included."""
        self._server.should_exit = self._server.force_exit = True
        self._thread.join()


@contextmanager
def serve_http(*, token: str) -> Iterator[Service]:
    """Serve on 127.0.0.1, to whoever sends `token` as `Authorization`."""
    import uvicorn

    spec = importlib.util.spec_from_file_location('mcp_server_fixture', SERVER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    app = module.server.streamable_http_app()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get('headers', ()))
        if scope['type'] == 'http' and headers.get(b'authorization') != token.encode():
            await send({'type': 'http.response.start', 'status': 401, 'headers': []})
            await send({'type': 'http.response.body', 'body': b''})
            return
        await app(scope, receive, send)

    listening = socket.socket()
    listening.bind(('127.0.0.1', 0))
    server = uvicorn.Server(uvicorn.Config(guarded, log_level='critical', ws='none'))
    thread = Thread(target=server.run, kwargs={'sockets': [listening]})
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    service = Service(f'http://127.0.0.1:{listening.getsockname()[1]}/mcp', server, thread)
    try:
        yield service
    finally:
        service.stop()
        listening.close()

"""A web server on loopback for one test: pages by path, and what was asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

__all__ = ['Asked', 'Page', 'Web', 'serve']


@dataclass(frozen=True)
class Page:
    """What is answered under one path."""

    body: bytes | str = ''
    type: str = 'text/html; charset=utf-8'
    status: int = 200
    location: str | None = None


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    form: Mapping[str, list[str]]


@dataclass
class Web:
    """A server that runs."""

    url: str
    pages: dict[str, Page]
    asked: list[Asked] = field(default_factory=list)


@contextmanager
def serve(pages: Mapping[str, Page]) -> Iterator[Web]:
    """Serve `pages` on 127.0.0.1."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            length = int(self.headers.get('Content-Length', 0))
            self._answer(parse_qs(self.rfile.read(length).decode()))

        def _answer(self, form: Mapping[str, list[str]]) -> None:
            address = urlsplit(self.path)
            web.asked.append(Asked(self.command, address.path, form or parse_qs(address.query)))
            page = web.pages.get(address.path, Page('not here', status=404))
            body = page.body.encode() if isinstance(page.body, str) else page.body
            self.send_response(page.status)
            self.send_header('Content-Type', page.type)
            self.send_header('Content-Length', str(len(body)))
            if page.location is not None:
                self.send_header('Location', page.location)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    web = Web(f'http://127.0.0.1:{server.server_port}', dict(pages))
    thread = Thread(target=server.serve_forever, kwargs={'poll_interval': 0.05})
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

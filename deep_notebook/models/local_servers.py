"""Model servers on this computer: offered by name, never used silently.

All three speak the OpenAI dialect, so what they serve is listed by `GET /v1/models`. Only loopback is asked.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

__all__ = ['LOCAL_SERVERS', 'LocalServer', 'local_model_names']

_TIMEOUT = 0.5
_MAX_BYTES = 1_000_000
_MAX_NAME = 200


@dataclass(frozen=True)
class LocalServer:
    """A kind of server and the port where it listens unless told otherwise."""

    prefix: str
    title: str
    port: int

    @property
    def base_url(self) -> str:
        """Where its OpenAI-compatible API begins."""
        return f'http://127.0.0.1:{self.port}/v1'


LOCAL_SERVERS = (
    LocalServer('ollama', 'Ollama', 11434),
    LocalServer('lmstudio', 'LM Studio', 1234),
    LocalServer('llama-server', 'llama-server', 8080),
)


def local_model_names(servers: tuple[LocalServer, ...] = LOCAL_SERVERS) -> list[str]:
    """Return the models that answer on loopback now, such as `ollama:qwen3`; asks for at most half a second."""
    with ThreadPoolExecutor(max_workers=len(servers)) as pool:
        return [name for names in pool.map(_served, servers) for name in names]


def _served(server: LocalServer) -> list[str]:
    # No proxy, no redirect: the question stays on this computer.
    opener = urllib.request.OpenerDirector()
    opener.add_handler(urllib.request.HTTPHandler())
    try:
        with opener.open(f'{server.base_url}/models', timeout=_TIMEOUT) as response:
            if response.status != 200:
                return []
            answer = json.loads(response.read(_MAX_BYTES))
    except (OSError, ValueError, urllib.error.URLError):
        return []
    listed = answer.get('data') if isinstance(answer, dict) else None
    names = [item.get('id') for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return [
        f'{server.prefix}:{name}'
        for name in names
        if isinstance(name, str) and 0 < len(name) <= _MAX_NAME and name.isprintable()
    ]

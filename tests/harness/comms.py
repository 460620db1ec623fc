"""The front-end half of a widget: what a browser would hold, and what a person would do with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .kernels import Message, RealKernel


class Comm:
    """A comm that the kernel opened: a widget's state, its custom messages, and a way to send some back."""

    def __init__(self, kernel: RealKernel, opened: Message) -> None:
        self.kernel = kernel
        self.id: str = opened.content['comm_id']
        self.target: str = opened.content['target_name']
        self.opened_by = opened.parent
        self.state: dict[str, Any] = {}
        self.updates = 0
        """How many state updates arrived after the opening."""
        self.received: list[dict[str, Any]] = []
        """The contents of the custom messages, in order."""
        self.received_at: list[float] = []
        """When each of them was read, by `time.monotonic`."""
        self.closed = False
        self._merge(opened)

    def take(self, message: Message) -> None:
        """Take in a message that the kernel sent on this comm."""
        data = message.content.get('data', {})
        if message.kind == 'comm_close':
            self.closed = True
        elif data.get('method') == 'update':
            self.updates += 1
            self._merge(message)
        elif data.get('method') == 'custom':
            self.received.append(data['content'])
            self.received_at.append(message.at)

    def _merge(self, message: Message) -> None:
        data = message.content['data']
        state = data.get('state', {})
        for path, buffer in zip(data.get('buffer_paths', []), message.buffers, strict=True):
            target = state
            for key in path[:-1]:
                target = target[key]
            target[path[-1]] = buffer
        self.state |= state

    def has(self, state: Mapping[str, Any]) -> bool:
        """Whether the widget's state has all these values."""
        return all(self.state.get(name) == value for name, value in state.items())

    def send(self, content: Any) -> str:
        """Send a custom message, as `model.send(content)` does in the browser; returns the message's id."""
        return self._send({'method': 'custom', 'content': content})

    def set(self, **state: Any) -> str:
        """Change traits, as `model.set` and `model.save_changes` do in the browser; returns the message's id."""
        return self._send({'method': 'update', 'state': state, 'buffer_paths': []})

    def click(self) -> str:
        """Press the widget, if it is an ipywidgets button."""
        return self.send({'event': 'click'})

    def wait_for(self, wanted: Callable[[dict[str, Any]], bool], timeout: float = 30.0) -> dict[str, Any]:
        """Return the first custom message that is `wanted`, among those received and those to come."""
        self.kernel.wait_for(lambda _: any(map(wanted, self.received)), timeout, since=self._last)
        return next(content for content in self.received if wanted(content))

    def wait_for_state(self, timeout: float = 30.0, **state: Any) -> None:
        """Wait until the kernel has set these traits."""
        self.kernel.wait_for(lambda _: self.has(state), timeout, since=self._last)

    def wait_until_closed(self, timeout: float = 30.0) -> None:
        """Wait until the kernel has closed the widget."""
        self.kernel.wait_for(lambda _: self.closed, timeout, since=self._last)

    @property
    def _last(self) -> int:
        # A condition on the comm can hold already: look at it once before reading on.
        return max(0, len(self.kernel.messages) - 1)

    def _send(self, data: dict[str, Any]) -> str:
        return self.kernel.send(
            'comm_msg', {'comm_id': self.id, 'data': data}, subshell=self.kernel.subshell_for(self.target)
        )

"""A blocking completion in a thread of its own, read from the event loop as it grows."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from .embedded_runtime import Complete, Completion, CompletionRequest

__all__ = ['RunningCompletion']


class RunningCompletion:
    """`async with RunningCompletion(...) as running: async for piece in running`, then `running.completion`.

    Leaving the context in any way tells the thread to stop and does not wait for it: it ends at its next piece, and
    a completion that follows waits for that in the runtime.
    """

    def __init__(self, complete: Complete, request: CompletionRequest) -> None:
        self._complete = complete
        self._request = request
        self._stop = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._arrived: asyncio.Queue[str | Completion | BaseException] = asyncio.Queue()
        self._result: Completion | None = None

    @property
    def completion(self) -> Completion:
        """The whole completion, once all pieces were read."""
        if self._result is None:
            raise RuntimeError('The completion is still running.')
        return self._result

    def stop(self) -> None:
        """Tell the thread to stop; callable from any thread."""
        self._stop.set()

    async def __aenter__(self) -> Self:
        threading.Thread(target=self._work, name='embedded-model', daemon=True).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            item = await self._arrived.get()
            if isinstance(item, str):
                yield item
            elif isinstance(item, Completion):
                self._result = item
                return
            else:
                raise item

    def _work(self) -> None:
        try:
            outcome: Completion | BaseException = self._complete(self._request, self._on_text)
        except BaseException as error:
            outcome = error
        self._tell(outcome)

    def _on_text(self, piece: str) -> bool:
        if piece:
            self._tell(piece)
        return self._stop.is_set()

    def _tell(self, item: str | Completion | BaseException) -> None:
        try:
            self._loop.call_soon_threadsafe(self._arrived.put_nowait, item)
        except RuntimeError:  # the loop was closed: nobody listens any more
            self.stop()

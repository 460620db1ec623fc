"""A real IPython kernel in a process of its own, and a front end for it that a test can steer.

    kernel = start_kernel('7.4', tmp_path)
    cell = kernel.start('print("on"); import time; time.sleep(60)')
    cell.wait_for_text('on')
    kernel.interrupt()
    assert cell.result().error.name == 'KeyboardInterrupt'

The front end answers nothing by itself. Nothing arrives between two calls: messages are read while a method waits,
so a test meets them in the order in which the kernel sent them.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zmq
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from .comms import Comm
from .environment import clean_env, kernel_name, write_kernelspecs
from .outputs import Output, apply_outputs

TIMEOUT = 30.0
"""Seconds that any wait lasts unless the test says otherwise."""


@dataclass(frozen=True)
class Message:
    """One message from the kernel."""

    channel: str
    kind: str
    content: dict[str, Any]
    parent: str
    """The id of the request that it belongs to, or an empty string."""
    buffers: list[bytes]
    at: float
    """When it was read, by `time.monotonic`."""


@dataclass(frozen=True)
class KernelError:
    """What a cell raised."""

    name: str
    value: str
    traceback: list[str]


@dataclass(frozen=True)
class CellResult:
    """What a cell left behind when it had ended."""

    status: str
    """`'ok'`, `'error'` or `'aborted'`."""
    execution_count: int | None
    outputs: list[Output]
    """As the notebook would save them: display updates are applied."""
    error: KernelError | None
    payload: list[dict[str, Any]]
    started: float
    ended: float
    """By `time.monotonic`."""

    @property
    def seconds(self) -> float:
        """How long the kernel took, from the request to its reply."""
        return self.ended - self.started

    @property
    def stdout(self) -> str:
        """Everything printed."""
        return _stream(self.outputs, 'stdout')

    @property
    def stderr(self) -> str:
        """Everything printed to standard error."""
        return _stream(self.outputs, 'stderr')

    @property
    def displays(self) -> list[dict[str, Any]]:
        """The MIME bundles shown, the cell's result among them."""
        return [output['data'] for output in self.outputs if 'data' in output]

    @property
    def text(self) -> str:
        """What a terminal would show: printed text and text/plain, in order."""
        return ''.join(output.get('text') or output.get('data', {}).get('text/plain', '') for output in self.outputs)


class Cell:
    """An execution under way."""

    def __init__(self, kernel: RealKernel, msg_id: str, answers: Iterable[str]) -> None:
        self.kernel = kernel
        self.msg_id = msg_id
        self.started = time.monotonic()
        self._answers = list(answers)
        self._seen = len(kernel.messages)

    def wait_for(self, wanted: Callable[[Message], bool], timeout: float = TIMEOUT) -> Message:
        """Return the first message since the cell was sent that is `wanted`, whatever request it belongs to."""
        return self.kernel.wait_for(wanted, timeout, since=self._seen)

    def wait_for_text(self, text: str, timeout: float = TIMEOUT) -> None:
        """Wait until the cell has printed or shown `text`."""
        self.wait_for(lambda _: text in _visible(self.outputs), timeout)

    def wait_for_comm(self, timeout: float = TIMEOUT, **state: Any) -> Comm:
        """Wait until a widget is opened whose state has these values, and return it."""
        return self.kernel.wait_for_comm(timeout, since=self._seen, **state)

    def wait_for_input(self, timeout: float = TIMEOUT) -> str:
        """Wait until the cell asks for input, and return its prompt; `RealKernel.answer` answers."""
        asked = self.wait_for(lambda m: m.kind == 'input_request' and m.parent == self.msg_id, timeout)
        return str(asked.content['prompt'])

    @property
    def messages(self) -> list[Message]:
        """What the kernel has sent for this cell so far."""
        return [message for message in self.kernel.messages if message.parent == self.msg_id]

    @property
    def outputs(self) -> list[Output]:
        """The outputs so far, display updates applied."""
        return apply_outputs(((m.parent, m.kind, m.content) for m in self.kernel.messages), self.msg_id)

    @property
    def done(self) -> bool:
        """Whether the reply and all outputs have been read."""
        return self._reply() is not None and any(
            m.kind == 'status' and m.content['execution_state'] == 'idle' for m in self.messages
        )

    def _reply(self) -> Message | None:
        return next((m for m in self.messages if m.kind == 'execute_reply'), None)

    def result(self, timeout: float = TIMEOUT) -> CellResult:
        """Wait for the end of the cell.

        Raises:
            TimeoutError: The cell is still running; the message shows its outputs so far.
            AssertionError: The cell asked for input and `stdin` held no further answer.
        """
        deadline = time.monotonic() + timeout
        answered = 0
        while not self.done:
            asked = [m for m in self.messages if m.kind == 'input_request']
            for request in asked[answered:]:
                assert self._answers, f'the cell asked {request.content["prompt"]!r} and the test has no answer'
                self.kernel.answer(self._answers.pop(0))
                answered += 1
            self.kernel.read(deadline, f'the end of the cell; outputs so far: {self.outputs}')
        reply = self._reply()
        assert reply is not None
        content = reply.content
        failed = content['status'] == 'error'
        return CellResult(
            status=content['status'],
            execution_count=content.get('execution_count'),
            outputs=self.outputs,
            error=KernelError(content['ename'], content['evalue'], content['traceback']) if failed else None,
            payload=content.get('payload', []),
            started=self.started,
            ended=reply.at,
        )


@dataclass
class RealKernel:
    """A running kernel and the messages read from it so far. Made by `start_kernel`."""

    manager: KernelManager
    client: BlockingKernelClient
    cwd: Path
    subshells: bool
    """Send comm messages over a subshell of their own, as JupyterLab does."""
    messages: list[Message] = field(default_factory=list)
    comms: dict[str, Comm] = field(default_factory=dict)
    _subshell_ids: dict[str, str] = field(default_factory=dict)

    def run(
        self,
        code: str,
        timeout: float = TIMEOUT,
        *,
        allow_stdin: bool = True,
        stdin: Iterable[str] = (),
        silent: bool = False,
        store_history: bool = True,
    ) -> CellResult:
        """Execute a cell and wait for its end; `stdin` holds the answers to its `input()` calls, in order."""
        cell = self.start(
            code,
            allow_stdin=allow_stdin,
            stdin=stdin,
            silent=silent,
            store_history=store_history,
            stop_on_error=False,  # nothing is queued: what the test sends next must not be aborted
        )
        return cell.result(timeout)

    def start(
        self,
        code: str,
        *,
        allow_stdin: bool = True,
        stdin: Iterable[str] = (),
        silent: bool = False,
        store_history: bool = True,
        stop_on_error: bool = True,
        cell_id: str | None = None,
    ) -> Cell:
        """Send a cell without waiting; further cells queue up behind it as in Run All."""
        content = {
            'code': code,
            'silent': silent,
            'store_history': store_history and not silent,
            'user_expressions': {},
            'allow_stdin': allow_stdin,
            'stop_on_error': stop_on_error,
        }
        return Cell(self, self.send('execute_request', content, metadata={'cellId': cell_id} if cell_id else {}), stdin)

    def request(self, kind: str, content: Mapping[str, Any], timeout: float = TIMEOUT) -> dict[str, Any]:
        """Send any shell request (`'complete_request'`, `'comm_info_request'`, …) and return its reply's content."""
        since = len(self.messages)
        msg_id = self.send(kind, content)
        reply = self.wait_for(lambda m: m.parent == msg_id and m.kind.endswith('_reply'), timeout, since=since)
        return reply.content

    def complete(self, code: str) -> list[str]:
        """What Tab offers at the end of `code`."""
        return list(self.request('complete_request', {'code': code, 'cursor_pos': len(code)})['matches'])

    def answer(self, text: str) -> None:
        """Answer an `input()` call."""
        self.client.input(text)

    def interrupt(self) -> float:
        """Send SIGINT to the kernel's process group, and return when (by `time.monotonic`)."""
        at = time.monotonic()
        self.manager.interrupt_kernel()
        return at

    def restart(self) -> None:
        """Kill the kernel (as a crash would) and start it again in the same place."""
        self.client.stop_channels()
        self.manager.restart_kernel(now=True)
        self.comms.clear()
        self._subshell_ids.clear()
        self.client = self.manager.client()
        self.connect()

    def connect(self) -> None:
        """Open the channels and wait until the kernel answers."""
        self.client.session.session = uuid.uuid4().hex  # message ids stay unique over restarts
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def close(self) -> None:
        """End the kernel's whole process group."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()

    # Reading

    def wait_for(self, wanted: Callable[[Message], bool], timeout: float = TIMEOUT, *, since: int = 0) -> Message:
        """Return the first message from number `since` on that is `wanted`, reading until it has arrived.

        Raises:
            TimeoutError: It did not arrive; the message names the kinds of the last messages that did.
        """
        deadline = time.monotonic() + timeout
        position = since
        while True:
            for message in self.messages[position:]:
                position += 1
                if wanted(message):
                    return message
            self.read(deadline, 'a message')

    def wait_for_comm(self, timeout: float = TIMEOUT, *, since: int = 0, **state: Any) -> Comm:
        """Return the first widget opened from message number `since` on whose state has these values."""

        def opened(message: Message) -> bool:
            comm = self.comms.get(str(message.content.get('comm_id')))
            return message.kind == 'comm_open' and comm is not None and comm.has(state)

        return self.comms[self.wait_for(opened, timeout, since=since).content['comm_id']]

    def read(self, deadline: float, what: str = 'a message') -> None:
        """Read at least one message before `deadline`, in the order stdin, control, iopub, shell."""
        channels = {
            'stdin': self.client.stdin_channel,
            'control': self.client.control_channel,
            'iopub': self.client.iopub_channel,
            'shell': self.client.shell_channel,
        }
        poller = zmq.Poller()
        for channel in channels.values():
            poller.register(channel.socket, zmq.POLLIN)
        if not poller.poll(round(max(0.0, deadline - time.monotonic()) * 1000)):
            alive = self.manager.is_alive()
            last = [f'{m.channel}:{m.kind}' for m in self.messages[-8:]]
            raise TimeoutError(f'waited in vain for {what}; kernel alive: {alive}; last messages: {last}')
        for name, channel in channels.items():
            while channel.socket.poll(0):
                self._take(name, channel.get_msg(timeout=1))

    def _take(self, channel: str, raw: Mapping[str, Any]) -> None:
        message = Message(
            channel=channel,
            kind=raw['msg_type'],
            content=raw['content'],
            parent=raw['parent_header'].get('msg_id', ''),
            buffers=[bytes(buffer) for buffer in raw['buffers']],
            at=time.monotonic(),
        )
        self.messages.append(message)
        if message.kind == 'comm_open':
            self.comms[message.content['comm_id']] = Comm(self, message)
        elif message.kind in ('comm_msg', 'comm_close') and message.content['comm_id'] in self.comms:
            self.comms[message.content['comm_id']].take(message)

    # Sending

    def send(
        self,
        kind: str,
        content: Mapping[str, Any],
        *,
        metadata: Mapping[str, Any] | None = None,
        subshell: str | None = None,
        buffers: list[bytes] | None = None,
    ) -> str:
        """Send a message on the shell channel and return its id."""
        message = self.client.session.msg(kind, content=dict(content), metadata=dict(metadata or {}))
        if subshell is not None:
            message['header']['subshell_id'] = subshell
        self.client.session.send(self.client.shell_channel.socket, message, buffers=buffers)
        return str(message['header']['msg_id'])

    def subshell_for(self, target: str) -> str | None:
        """The subshell that carries a comm target's messages, made on first use; None if comms go to the main shell."""
        if not self.subshells:
            return None
        if target not in self._subshell_ids:
            request = self.client.session.msg('create_subshell_request', content={})
            self.client.session.send(self.client.control_channel.socket, request)
            reply = self.wait_for(lambda m: m.parent == request['header']['msg_id'] and m.channel == 'control')
            self._subshell_ids[target] = reply.content['subshell_id']
        return self._subshell_ids[target]


def start_kernel(
    version: str, cwd: Path, *, env: Mapping[str, str] | None = None, subshells: bool = True
) -> RealKernel:
    """Start a kernel with this ipykernel (`'7.3'` or `'7.4'`), working in `cwd`.

    Its home directory is a new one beside `cwd`: no key, configuration or cache of the person who runs the tests
    is seen. `env` adds variables. The `start_kernel` fixture calls this and closes the kernel after the test.
    """
    home = cwd.with_name(f'{cwd.name}-home')
    write_kernelspecs(home / 'jupyter')
    manager = KernelManager(
        kernel_name=kernel_name(version),
        kernel_spec_manager=KernelSpecManager(kernel_dirs=[str(home / 'jupyter' / 'kernels')]),
        connection_file=str(home / f'kernel-{time.monotonic_ns()}.json'),
    )
    manager.start_kernel(cwd=str(cwd), env=clean_env(home, env), extra_arguments=['--log-level=ERROR'])
    kernel = RealKernel(manager=manager, client=manager.client(), cwd=cwd, subshells=subshells)
    try:
        kernel.connect()
    except RuntimeError:
        kernel.close()
        raise
    return kernel


def _stream(outputs: Iterable[Output], name: str) -> str:
    return ''.join(output['text'] for output in outputs if output['output_type'] == 'stream' and output['name'] == name)


def _visible(outputs: Iterable[Output]) -> str:
    parts = ([output.get('text', ''), output.get('evalue', ''), *output.get('data', {}).values()] for output in outputs)
    return '\n'.join(str(part) for group in parts for part in group)

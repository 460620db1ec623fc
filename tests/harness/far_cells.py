"""The cells of another kernel on the same notebook, in a process of its own that is told what to do.

A process can stand for one kernel after another; at any time it is one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import FunctionModel

from harness.scripted import Call, Turn, call, prompts, script
from harness.sessions import opened_cells

__all__ = ['FarCells', 'FarProcess', 'model']

TESTS = Path(__file__).parents[1]


class FarProcess:
    """The process; `close` it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, 'PYTHONPATH': str(TESTS)},
        )

    def tell(self, name: str, *args: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([name, *args]) + '\n')
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.kill()
        with self.process:
            pass

    @contextmanager
    def cells(self, directory: Path, kernel: str) -> Iterator[FarCells]:
        """The cells of a kernel that the process is for now."""
        self.tell('open', str(directory), kernel)
        yield FarCells(self)
        self.tell('close')
        assert self.hear() == 'closed'


class FarCells:
    """`ask` waits for the answers; `begin` and `end` are its two halves."""

    def __init__(self, process: FarProcess) -> None:
        self._process = process

    def ask(self, *wanted: str) -> dict[str, Any]:
        """Ask one after the other; return the `prompts` of the conversation and the `notice` of the last run."""
        self.begin(*wanted)
        return self.end()

    def begin(self, *wanted: str) -> None:
        """Ask, and do not wait."""
        self._process.tell('ask', *wanted)

    def end(self) -> dict[str, Any]:
        """Return what `begin` led to."""
        found: dict[str, Any] = self._process.hear()
        return found

    def close(self) -> None:
        """Shut the kernel down as a person does, before the end."""
        self._process.tell('close')
        assert self._process.hear() == 'closed'


def model() -> FunctionModel:
    """A model that writes a file if the prompt is `write FILE`, or looks around, then answers with the last prompt."""

    def work(messages: list[ModelMessage]) -> Call:
        word, _, path = prompts(messages)[-1].partition(' ')
        return call('write_file', path=path, content='x') if word == 'write' else call('ls', path='.')

    turns: list[Turn] = [work, lambda messages: f'You said: {prompts(messages)[-1]}']
    return script(*turns * 500)


def main() -> None:
    """Do what each line says."""
    stack = ExitStack()
    for line in sys.stdin:
        match json.loads(line):
            case ['open', directory, kernel]:
                options = {'include_checkpoints': True}
                cells = stack.enter_context(opened_cells(Path(directory), model(), options, kernel=kernel))
            case ['ask', *wanted]:
                for prompt in wanted:
                    assert cells.ask(prompt).phase == 'done'
                asked = prompts(cells.call(cells.call(cells.session.store()).history()))
                print(json.dumps({'prompts': asked, 'notice': cells.shown.state.notice}), flush=True)
            case _:
                stack.close()
                print(json.dumps('closed'), flush=True)


if __name__ == '__main__':
    main()

"""The command line speaks in single lines."""

from __future__ import annotations

import functools
import io
import subprocess
import sys
import types
from pathlib import Path

import pytest

from deep_notebook import __version__, cli
from deep_notebook.models import weights
from harness.weights_transport import CONTENT, SMALL


@pytest.fixture(autouse=True)
def small_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model of the command line is small here; returns a file that holds it."""
    monkeypatch.setenv('DEEP_NOTEBOOK_CACHE', str(tmp_path / 'cache'))
    functions = {
        name: functools.partial(getattr(weights, name), weights=SMALL) for name in ('pull', 'installed', 'remove')
    }
    monkeypatch.setattr(cli, 'weights', types.SimpleNamespace(EMBEDDED=SMALL, **functions))
    file = tmp_path / 'small.gguf'
    file.write_bytes(CONTENT)
    return file


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.main(arguments)
    out, err = capsys.readouterr()
    return status, out, err


def test_pull_list_remove(capsys: pytest.CaptureFixture[str], small_model: Path, tmp_path: Path) -> None:
    place = tmp_path / 'cache' / 'models' / 'small.gguf'
    absent = "Small-Model  0.0 GB  Apache-2.0  not here: 'deep-notebook model pull'\n"
    assert run(capsys, 'model', 'list') == (0, absent, '')
    status, out, _ = run(capsys, 'model', 'pull', '--from', str(small_model))
    assert (status, out) == (0, f'{place}\n')
    assert run(capsys, 'model', 'list') == (0, f'Small-Model  0.0 GB  Apache-2.0  {place}\n', '')
    assert run(capsys, 'model', 'remove') == (0, 'Freed 0.0 GB.\n', '')
    assert run(capsys, 'model', 'remove') == (0, 'No model was here.\n', '')


def test_an_error_is_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, 'model', 'pull', '--from', 'nowhere.gguf') == (
        1,
        '',
        "deep-notebook: 'nowhere.gguf' is not a file: name a copy of small.gguf, or pull from index or hub.\n",
    )


def test_an_interrupt_says_how_to_go_on(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.weights, 'pull', interrupted)
    status, out, err = run(capsys, 'model', 'pull')
    assert (status, out) == (130, '')
    assert err.strip() == 'deep-notebook: interrupted; run the same command again to go on from here.'


def test_the_module_runs_as_the_command() -> None:
    done = subprocess.run(
        [sys.executable, '-W', 'error', '-m', 'deep_notebook', '--version'], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == __version__


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_one_bar_that_is_redrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('COLUMNS', '100')
    stream = Terminal()
    progress = cli.TerminalProgress(stream)
    progress.advance('downloading', 500_000_000, 1_000_000_000)
    progress.advance('downloading', 1_000_000_000, 1_000_000_000)
    progress.note('Done.')
    first, second = stream.getvalue().split('\r')[1:]
    assert '███████████████░░░░░░░░░░░░░░░  50%  500 MB' in first
    assert '██████████████████████████████ 100%  1,000 MB' in second
    assert second.endswith('\nDone.\n')


def test_a_log_gets_a_line_every_ten_per_cent() -> None:
    stream = io.StringIO()
    progress = cli.TerminalProgress(stream)
    for done in range(0, 1001, 10):
        progress.advance('downloading', done * 1_000_000, 1_000_000_000)
    lines = stream.getvalue().splitlines()
    assert lines[0] == 'downloading 0% of 1,000 MB'
    assert lines[-1] == 'downloading 100% of 1,000 MB'
    assert len(lines) == 11

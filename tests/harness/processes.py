"""Run a tool and say what it printed when it failed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from .environment import ROOT


def succeed(*command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None, timeout: float = 600) -> str:
    """Run a command and return what it printed; fail the test with that if its exit status is not 0.

    After `timeout` seconds, or when the test is interrupted, the whole process group is ended.
    """
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors='replace',
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=timeout)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    if process.returncode != 0:
        pytest.fail(f'{command[0]} ended with status {process.returncode}:\n{printed}', pytrace=False)
    return printed

"""How long `import deep_notebook` and `%load_ext deep_notebook` take, each in a fresh interpreter."""

from __future__ import annotations

import statistics
import subprocess
import sys

ROUNDS = 7
CASES = {
    'import deep_notebook': 'import deep_notebook',
    'import IPython': 'import IPython.core.interactiveshell',
    '%load_ext deep_notebook': (
        'from IPython.core.interactiveshell import InteractiveShell\n'
        'InteractiveShell.instance().run_line_magic("load_ext", "deep_notebook")'
    ),
}
CLOCK = 'import time; began = time.perf_counter()\n{code}\nprint(time.perf_counter() - began)'


def seconds(code: str) -> float:
    printed = subprocess.run(
        [sys.executable, '-c', CLOCK.format(code=code)], capture_output=True, text=True, check=True
    ).stdout
    return float(printed.splitlines()[-1])


def measure() -> None:
    for name, code in CASES.items():
        print(f'{name:<36}{statistics.median(seconds(code) for _ in range(ROUNDS)) * 1000:>8.1f} ms')


if __name__ == '__main__':
    measure()

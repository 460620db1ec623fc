"""A11 (jupyter-ai#372): flag beats `%config`, which beats the environment; a bad variable is one line that names it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.deep import deep, front_end
from harness.kernels import RealKernel

pytestmark = pytest.mark.kernel

SETUP = """
def scripted(): return script('ok')
by_environment, by_config, by_command, by_flag = scripted(), scripted(), scripted(), scripted()
writer = script(lambda m: 'Done.' if returns(m) else call('write_file', path='a.txt', content='a'))
looping = script(call('ls'))
slow = script(lambda m: 'word ' * 5000, pause=0.01)
quick = scripted()
"""


@dataclass(frozen=True)
class Case:
    setting: str
    line: str
    """Who answers, so that the setting shows."""
    environment: str
    config: str
    flag: str
    expected: tuple[Any, Any, Any]
    """What shows for each of them."""


def label(kernel: RealKernel, text: str, state: dict[str, Any]) -> Any:
    return state['model']['name']


def is_written(kernel: RealKernel, text: str, state: dict[str, Any]) -> Any:
    file: Path = kernel.cwd / 'a.txt'
    written = file.exists()
    file.unlink(missing_ok=True)
    return written


def reason(kernel: RealKernel, text: str, state: dict[str, Any]) -> Any:
    found = re.search(r'Stopped after ([\d.]+ \w)', text)
    return found and found[1]


def budget(kernel: RealKernel, text: str, state: dict[str, Any]) -> Any:
    return state['usage']['budget']


CASES = [
    Case('model', '', 'by_environment', "'by_config'", 'by_flag', ('by_environment', 'by_config', 'by_flag')),
    Case('approve', '-m writer --new', 'Auto', "'deny'", 'auto', (True, False, True)),
    Case('max_requests', '-m looping', '2', '3', '4', ('2 r', '3 r', '4 r')),
    Case('timeout', '-m slow', '0.31', '0.32', '0.33', ('0.31 s', '0.32 s', '0.33 s')),
    Case('budget', '-m quick', '$0.01', '0.02', '0.03', ('0.01', '0.02', '0.03')),
]
SHOWN = {'model': label, 'approve': is_written, 'max_requests': reason, 'timeout': reason, 'budget': budget}


def reload(kernel: RealKernel, setting: str, value: str | None) -> None:
    """Load the extension as a kernel would that was started with this variable."""
    variable = f'os.environ["DEEP_NOTEBOOK_{setting.upper()}"]'
    change = f'del {variable}' if value is None else f'{variable} = {value!r}'
    result = kernel.run(f'%unload_ext deep_notebook\nimport os\n{change}\n%load_ext deep_notebook')
    assert result.error is None, result.error


def test_flag_beats_config_beats_environment(start_kernel: Callable[..., RealKernel]) -> None:
    kernel = start_kernel('7.4')
    deep(kernel, SETUP)

    def run(case: Case, flag: str = '') -> Any:
        cell = kernel.start(f'%%deep {case.line} {flag}\nGo.', stop_on_error=False)
        state = front_end(cell).state['snapshot']['state']
        return SHOWN[case.setting](kernel, cell.result().displays[-1]['text/plain'], state)

    for case in CASES:
        reload(kernel, case.setting, case.environment)
        assert run(case) == case.expected[0], case.setting
        assert kernel.run(f'%config DeepMagics.{case.setting} = {case.config}').stderr == ''
        assert run(case) == case.expected[1], case.setting
        assert run(case, f'--{case.setting.replace("_", "-")} {case.flag}') == case.expected[2], case.setting
        assert run(case) == case.expected[1], 'a flag is for one cell'
        reload(kernel, case.setting, None)

    reload(kernel, 'model', 'by_environment')
    kernel.run('%deep model by_command')
    assert run(CASES[0]) == 'by_command', 'a choice for the notebook beats the environment too'


BAD = {
    'MODEL': ('nonsense', 'DEEP_NOTEBOOK_MODEL: There is no model or variable called'),
    'APPROVE': ('maybe', "DEEP_NOTEBOOK_APPROVE is 'maybe'; it takes ask, review, auto or deny."),
    'MAX_REQUESTS': ('1.5', "DEEP_NOTEBOOK_MAX_REQUESTS is '1.5'; it takes a whole number."),
    'TIMEOUT': ('-1', "DEEP_NOTEBOOK_TIMEOUT is '-1'; it takes a number of seconds."),
    'BUDGET': ('nan', "DEEP_NOTEBOOK_BUDGET is 'nan'; it takes an amount of US dollars."),
}


def test_a_bad_variable_is_one_line_that_names_it(start_kernel: Callable[..., RealKernel]) -> None:
    kernel = start_kernel('7.4')
    for setting, (value, words) in BAD.items():
        reload(kernel, setting, value)

        asked = kernel.run('%%deep\nhi')
        assert words in asked.stderr
        assert len(asked.stderr.splitlines()) == 1
        assert asked.displays == []
        shown = kernel.run('%config DeepMagics')
        if setting != 'MODEL':
            assert shown.error is not None
            assert shown.error.traceback == [f'UsageError: {words}']
        reload(kernel, setting, None)

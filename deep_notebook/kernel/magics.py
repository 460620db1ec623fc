"""The `%%deep` and `%deep` magics, their settings, and how they are loaded and unloaded."""

from __future__ import annotations

import contextlib
import importlib
import math
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from IPython.core.error import UsageError as IPythonUsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from traitlets import Bool, CaselessStrEnum, Float, Integer, TraitError, Unicode, default, validate

from ..errors import UsageError
from . import completion
from .environment import front_end
from .options import APPROVE_MODES, parse_options
from .transformer import transform
from .warm_up import warm_up

if TYPE_CHECKING:
    from .cells import DeepCells

__all__ = ['DeepMagics', 'load', 'unload']

T = TypeVar('T', int, float)

_ENVIRONMENT = {
    'model': 'DEEP_NOTEBOOK_MODEL',
    'approve': 'DEEP_NOTEBOOK_APPROVE',
    'max_requests': 'DEEP_NOTEBOOK_MAX_REQUESTS',
    'timeout': 'DEEP_NOTEBOOK_TIMEOUT',
    'budget': 'DEEP_NOTEBOOK_BUDGET',
}
"""The variable that a setting takes its default from."""


@magics_class
class DeepMagics(Magics):
    """Settings of `%%deep`: `%config DeepMagics.NAME = value`. A flag on the cell beats them."""

    model = Unicode(help='The model that answers when the cell names none. Empty: the first that is there.').tag(
        config=True
    )
    approve = CaselessStrEnum(
        ['', *APPROVE_MODES],
        help='What happens before a write or a command: ask, review, auto or deny. Empty: ask where a person is, else '
        'deny.',
    ).tag(config=True)
    max_requests = Integer(0, min=0, help="Requests to the model in one run. 0: the model's own limit.").tag(
        config=True
    )
    timeout = Float(0.0, min=0.0, help='Seconds of work in one run, waiting for you excluded. 0: no limit.').tag(
        config=True
    )
    budget = Float(0.0, min=0.0, help='US dollars that one run may spend. 0: no limit.').tag(config=True)
    quiet = Bool(False, help='Show the answer only, without the plan and the work.').tag(config=True)
    notebook = Unicode(help='Path of this notebook, where the front end does not tell it.').tag(config=True)
    ready_timeout = Float(
        10.0, min=0.1, help="Seconds to wait for the page's approval buttons before asking through input()."
    ).tag(config=True)
    shell_gate = Bool(True, help='Answer page reloads and widget messages while a %%deep cell runs (ipykernel 7).').tag(
        config=True
    )

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._cells: DeepCells | None = None

    @default('model')
    def _model_default(self) -> str:
        return _variable('model')

    @default('approve')
    def _approve_default(self) -> str:
        value = _variable('approve').lower()
        if value not in ('', *APPROVE_MODES):
            raise _bad_variable('approve', 'ask, review, auto or deny')
        return value

    @default('max_requests')
    def _max_requests_default(self) -> int:
        return _number('max_requests', int, 'a whole number')

    @default('timeout')
    def _timeout_default(self) -> float:
        return _number('timeout', float, 'a number of seconds')

    @default('budget')
    def _budget_default(self) -> float:
        return _number('budget', float, 'an amount of US dollars')

    @validate('timeout', 'budget')
    def _number_is_finite(self, proposal: Any) -> float:
        value: float = proposal['value']
        if not math.isfinite(value):
            raise TraitError(f'DeepMagics.{proposal["trait"].name} takes a finite number, not {value}.')
        return value

    @property
    def model_source(self) -> str | None:
        """The environment variable that names the model, if one does."""
        variable = _ENVIRONMENT['model']
        return variable if self.model and self.model == _variable('model') else None

    @validate('notebook')
    def _notebook_is_a_notebook(self, proposal: Any) -> str:
        path: str = proposal['value']
        if path and not path.endswith('.ipynb'):
            raise TraitError(f'DeepMagics.notebook takes the path of a .ipynb file, not {path!r}.')
        return path

    @property
    def cells(self) -> DeepCells:
        """What the magics do; imported when first needed, since it brings the whole agent."""
        if self._cells is None:
            module = importlib.import_module('.cells', __package__)
            self._cells = module.DeepCells(self)
        return self._cells

    @no_var_expand
    @line_cell_magic
    def deep(self, line: str, cell: str | None = None) -> None:
        """Give the cell's text to the deep agent; as a line, look after the agent. `%deep help` lists both."""
        with _usage_errors(self.shell):
            if cell is None:
                self.cells.command(line)
            else:
                self.cells.run_blocking(parse_options(line), cell)

    async def run_deep_cell(self, line: str, body: str) -> None:
        """Run a `%%deep` cell that the input transformer made awaitable."""
        with _usage_errors(self.shell):
            await self.cells.run_awaited(parse_options(line), body)

    async def run_deep_line(self, line: str) -> None:
        """Run a `%deep approve|deny|resume` line that the input transformer made awaitable."""
        with _usage_errors(self.shell):
            await self.cells.resume_awaited(line)

    def refuse_deep_cell(self, above: str) -> None:
        """Say that `%%deep` cannot stand under a comment or another cell magic."""
        with _usage_errors(self.shell):
            raise UsageError(f'%%deep has to be the first line of its cell: take {above} away.')


def _variable(setting: str) -> str:
    return os.environ.get(_ENVIRONMENT[setting], '').strip()


def _number(setting: str, convert: Callable[[str], T], what: str) -> T:
    try:
        value = convert(_variable(setting).removeprefix('$') or '0')
    except ValueError:
        raise _bad_variable(setting, what) from None
    if not 0 <= value < math.inf:
        raise _bad_variable(setting, what)
    return value


def _bad_variable(setting: str, what: str) -> UsageError:
    return UsageError(f'{_ENVIRONMENT[setting]} is {_variable(setting)!r}; it takes {what}.')


@contextlib.contextmanager
def _usage_errors(shell: Any) -> Iterator[None]:
    """Show what the person can mend in one line, in IPython's own way: it leaves no error output in the notebook.

    Where nobody is there, whoever reads the log of papermill or nbconvert needs just that output.
    """
    try:
        yield
    except UsageError as error:
        if front_end(shell) == 'headless':
            raise
        raise IPythonUsageError(str(error)) from None


def load(shell: Any) -> None:
    """Register the magics, the transformer and the completion in `shell`; warm the agent up when the kernel is idle."""
    if isinstance(_loaded(shell), DeepMagics):
        return
    magics = DeepMagics(shell)
    shell.register_magics(magics)
    shell.input_transformers_cleanup.insert(0, transform)
    for name in _SHELL_CALLS:
        setattr(shell, name, getattr(magics, name))
    completion.install(shell)
    warm_up()


_SHELL_CALLS = ('run_deep_cell', 'run_deep_line', 'refuse_deep_cell')
"""What the input transformer's lines call on the shell."""


def unload(shell: Any) -> None:
    """Take everything away that `load` brought."""
    magics = _loaded(shell)
    if magics is None:
        return
    if magics._cells is not None:
        magics._cells.close()
    completion.uninstall(shell)
    for name in _SHELL_CALLS:
        delattr(shell, name)
    shell.input_transformers_cleanup.remove(transform)
    shell.configurables.remove(magics)
    del shell.magics_manager.registry[DeepMagics.__name__]
    for kind in ('line', 'cell'):
        shell.magics_manager.magics[kind].pop('deep', None)


def _loaded(shell: Any) -> DeepMagics | None:
    found = shell.magics_manager.registry.get(DeepMagics.__name__)
    return found if isinstance(found, DeepMagics) else None

"""What the person reads at the end of a run: why it stopped, what was denied, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior, UsageLimitExceeded, UserError

from ..capabilities.approvals import ApprovalGate
from ..errors import DeepNotebookError
from ..masking import mask_secrets
from ..views.run_state import RunState

if TYPE_CHECKING:
    from .run import RunInput

__all__ = ['INTACT', 'NOT_KEPT', 'NOT_REWOUND', 'REWOUND', 'SUSPENDED', 'explain', 'with_denials']

SUSPENDED = (
    'Nobody could answer here, so the run waits: `%deep approve`, `%deep deny` or `%deep resume` goes on '
    'from this call, also after a restart.'
)
REWOUND = 'Went back to the checkpoint “{label}”: the conversation goes on from there. Files stay as they are now.'
NOT_REWOUND = (
    'A subagent asked to go back to its own checkpoint “{label}”, which ended the run here: nothing went back.'
)
INTACT = 'The conversation is intact. Your next `%%deep` continues from here.'
NOT_KEPT = (
    'The end of this run could not be kept. All before it is intact: once that is mended, your next `%%deep` '
    'continues from there.'
)


def with_denials(notice: str | None, denied: Sequence[str]) -> str | None:
    """Return the notice of a run, with the tools whose calls were denied without a question and how to allow them."""
    if not denied:
        return None
    names = ', '.join(f'`{name}`' for name in dict.fromkeys(denied))
    told = f'Denied without a question: {names}. `{ApprovalGate.remedy}` allows it.'
    return ' '.join(filter(None, [notice, told]))


def explain(error: Exception, given: RunInput, state: RunState) -> str:
    """Return one line for the person: what went wrong and what to do."""
    if isinstance(error, DeepNotebookError):
        line = str(error)
    elif isinstance(error, UsageLimitExceeded):
        if given.budget is not None and 'cost' in str(error):
            line = f'Stopped: ${state.usage.cost} spent of ${given.budget}. A larger --budget goes on.'
        else:
            line = f'Stopped after {given.request_limit} requests to the model. A larger --max-requests goes on.'
    elif isinstance(error, ModelHTTPError):
        line = f'The provider of {error.model_name} answered {error.status_code}: {_first_line(error.body or error)}'
    elif isinstance(error, UnexpectedModelBehavior):
        line = f'The model did not keep to the rules: {_sentence(error)} Ask again, or try another model.'
    elif isinstance(error, UserError):
        line = _first_line(error)
    else:
        line = f'{type(error).__name__}: {_first_line(error)}'
    return mask_secrets(line)


def _sentence(error: object) -> str:
    line = _first_line(error)
    return line if line.endswith(('.', '!', '?')) else f'{line}.'


def _first_line(error: object) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else 'no further word.'

"""The words that all views use for times, amounts and states.

The live widget says the same in TypeScript; one table of cases checks both.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from .run_shape import Approval, Phase, Question, RunState, Subagent, Todo, ToolStep, Usage

__all__ = [
    'approval_words',
    'asked_words',
    'cost_words',
    'elapsed_words',
    'files_words',
    'meta_words',
    'own_plan_words',
    'phase_words',
    'plan_words',
    'question_words',
    'seconds_words',
    'subagent_words',
    'tokens_words',
    'work_words',
]

_PHASES: dict[Phase, str] = {
    'starting': 'Starting',
    'running': 'Working',
    'waiting': 'Waiting for you',
    'done': 'Done',
    'stopped': 'Stopped by you',
    'failed': 'Failed',
    'suspended': 'Suspended, waiting for an answer',
}
_CENT = Decimal('0.01')


def elapsed_words(seconds: float) -> str:
    """Return a running time in whole units: `14 s`, `2 min 5 s`, `1 h 2 min`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f'{hours} h {minutes} min' if minutes else f'{hours} h'
    if minutes:
        return f'{minutes} min {rest} s' if rest else f'{minutes} min'
    return f'{rest} s'


def seconds_words(seconds: float | None) -> str:
    """Return how long one tool took: `0.1 s`, `8.2 s`, `2 min 5 s`; nothing for `None`."""
    if seconds is None:
        return ''
    tenths = int(seconds * 10 + 0.5)
    if tenths == 0:
        return '< 0.1 s'
    return f'{tenths // 10}.{tenths % 10} s' if tenths < 100 else elapsed_words(max(seconds, 10))


def tokens_words(tokens: int) -> str:
    """Return a number of tokens to about three digits: `940 tokens`, `1.2k tokens`, `2.3M tokens`."""
    if tokens < 1_000:
        return '1 token' if tokens == 1 else f'{tokens} tokens'
    tenths = (tokens + 50) // 100
    if tenths < 1_000:
        return f'{tenths // 10}.{tenths % 10}k tokens'
    thousands = (tokens + 500) // 1_000
    if thousands < 1_000:
        return f'{thousands}k tokens'
    tenths = (tokens + 50_000) // 100_000
    return f'{tenths // 10}.{tenths % 10}M tokens'


def cost_words(usage: Usage, *, local: bool) -> str:
    """Return what a run has cost, `''` as long as there is nothing to say. An unknown price is never zero."""
    if local:
        return 'no cost'
    if not usage.priced:
        limit = f', limit of {_exact(usage.budget)} not enforced' if usage.budget else ''
        return f'price unknown{limit}'
    if usage.cost is None and usage.budget is None:
        return ''
    spent = _rounded(usage.cost or '0')
    return f'{spent} of {_exact(usage.budget)}' if usage.budget else spent


def _rounded(amount: str) -> str:
    dollars = Decimal(amount)
    if 0 < dollars < _CENT:
        return '< $0.01'
    return f'${dollars.quantize(_CENT, ROUND_HALF_UP)}'


def _exact(amount: str) -> str:
    dollars = Decimal(amount)
    in_cents = dollars.quantize(_CENT, ROUND_HALF_UP)
    return f'${in_cents if in_cents == dollars else dollars.normalize():f}'


def phase_words(phase: Phase, *, error: str | None = None) -> str:
    """Return the state of a run; one that was stopped with an error was not stopped by the person."""
    return 'Stopped' if phase == 'stopped' and error else _PHASES[phase]


def plan_words(completed: int, total: int) -> str:
    """Return the heading of the plan, such as `Plan · 1 of 3`."""
    return f'Plan · {completed} of {total}'


def work_words(tools: int, seconds: float | None) -> str:
    """Return the heading of the work, such as `Work · 4 tools, 0.9 s`."""
    counted = '1 tool' if tools == 1 else f'{tools} tools'
    return f'Work · {counted}, {seconds_words(seconds)}' if seconds is not None else f'Work · {counted}'


def files_words(files: int) -> str:
    """Return how many files changed, such as `1 file changed`."""
    return '1 file changed' if files == 1 else f'{files} files changed'


def approval_words(approval: Approval) -> str:
    """Return what became of a question, such as `denied by you: "keep the port"`."""
    who = {'policy': 'by policy', 'earlier': 'with an earlier answer'}.get(approval.channel or '', 'by you')
    match approval.state:
        case 'pending':
            return 'waiting for you'
        case 'approved':
            return f'approved {who}'
        case 'edited':
            return f'approved {who} with edits'
        case 'denied':
            return f'denied {who}: "{approval.reason}"' if approval.reason else f'denied {who}'
        case 'superseded':
            return 'asked again elsewhere'
        case 'cancelled':
            return 'cancelled, the run ended first'
        case 'suspended':
            return 'waiting for %deep approve or %deep deny'


def asked_words(approval: Approval) -> str:
    """Return a question and what became of it, such as `Write report.md? · approved by you`."""
    args = '' if approval.path else approval.args.split('\n', 1)[0]
    what = ' '.join(filter(None, [approval.title, args]))
    return f'{what} · {approval_words(approval)}'


def question_words(question: Question) -> str:
    """Return what became of a question, such as `you chose: 9090`."""
    match question.state:
        case 'pending':
            return 'waiting for you'
        case 'superseded':
            return 'asked again elsewhere'
        case 'answered':
            chosen = any(choice.label == question.answer for choice in question.choices)
            return f'you {"chose" if chosen else "answered"}: {question.answer}'
        case 'unanswered':
            return 'not answered'


def subagent_words(child: Subagent, step: ToolStep) -> str:
    """Return what is beside the name of a subagent: its task where `step` does not say it, and what it does."""
    label = f'{child.id} in the background' if child.background else ''
    told = '' if child.prompt == step.summary else child.prompt
    return ' · '.join(filter(None, [label, told, child.line]))


def own_plan_words(todos: Sequence[Todo]) -> str:
    """Return the heading of a subagent's plan with what it is at, such as `Plan · 1 of 3 · Count the rows`."""
    words = plan_words(sum(todo.status == 'completed' for todo in todos), len(todos))
    now = next((todo.content for todo in todos if todo.status == 'in_progress'), None)
    return f'{words} · {now}' if now else words


def meta_words(state: RunState, *, times: bool = True) -> str:
    """Return the line beside the state: model, time, tokens and cost."""
    usage = state.usage
    tokens = usage.input_tokens + usage.output_tokens
    parts = [
        state.model.label or state.model.name,
        elapsed_words(state.elapsed) if times else '',
        tokens_words(tokens) if tokens else '',
        cost_words(usage, local=state.model.local),
    ]
    return ' · '.join(filter(None, parts))


def tool_totals(state: RunState) -> tuple[int, float | None]:
    """Return the number of tool calls and the seconds they took together, `None` if none has run."""
    steps = [step for step in state.steps if isinstance(step, ToolStep)]
    times = [step.seconds for step in steps if step.seconds is not None]
    return len(steps), sum(times) if times else None

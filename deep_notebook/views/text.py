"""A run as text: the `text/plain` of a saved cell, and lines in a terminal while things happen."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from .plain import plain, revealed, well_formed
from .run_shape import Approval, FileChange, Question, RunState, SayStep, Step, Subagent, Todo, ToolStep
from .run_view import RunView
from .wording import (
    approval_words,
    asked_words,
    files_words,
    meta_words,
    own_plan_words,
    phase_words,
    plan_words,
    question_words,
    seconds_words,
    subagent_words,
    tool_totals,
    work_words,
)

__all__ = ['TextView', 'choice_lines', 'printable', 'question_lines', 'render']

_MARKS = {'running': '◐', 'waiting': '?', 'ok': '✓', 'failed': '✗', 'denied': '✗', 'interrupted': '■'}
_TODO_MARKS = {'pending': '○', 'in_progress': '◐', 'completed': '✓', 'blocked': '✗'}
_CHILD_MARKS = {'running': '◐', 'done': '✓', 'failed': '✗', 'cancelled': '■'}
_ASKED_MARKS = {'approved': '✓', 'edited': '✓', 'denied': '✗', 'cancelled': '■', 'answered': '✓', 'unanswered': '■'}
_ASCII = str.maketrans(
    {
        '✓': '[ok]',
        '✗': '[x]',
        '■': '[!]',
        '◐': '[~]',
        '○': '[ ]',
        '●': '[*]',
        '·': '-',
        '−': '-',
        '…': '...',
        '→': '->',
        '–': '-',
    }
)


def render(state: RunState) -> str:
    """Return `state` as text without colours.

    It says nothing of times, so that a run that is repeated with the same result has the same text.
    """
    blocks = [
        [_state_line(state, times=False), *filter(None, [state.banner and plain(state.banner)])],
        list(_plan(state.todos)),
        list(_work(state)),
        [
            line
            for approval in state.approvals
            if approval.state in ('pending', 'suspended')
            for line in question_lines(approval)
        ],
        [line for question in state.questions if question.state == 'pending' for line in choice_lines(question)],
        [f'Error: {plain(state.error)}'] if state.error else [],
        [plain(state.answer).strip()] if state.answer.strip() else [],
        list(_files(state.files)),
        [plain(state.notice)] if state.notice else [],
    ]
    return well_formed('\n\n'.join('\n'.join(block) for block in blocks if block))


def _state_line(state: RunState, *, times: bool) -> str:
    words = [phase_words(state.phase, error=state.error), meta_words(state, times=times)]
    return plain(' · '.join(filter(None, words)))


def _plan(todos: Sequence[Todo], *, known: Sequence[Todo] = ()) -> Iterator[str]:
    if not todos:
        return
    yield plan_words(sum(todo.status == 'completed' for todo in todos), len(todos))
    for todo in todos:
        if todo in known:
            continue
        blocked = ' (blocked)' if todo.status == 'blocked' else ''
        yield plain(f'  {_TODO_MARKS[todo.status]} {todo.content}{blocked}')


def _work(state: RunState) -> Iterator[str]:
    if not state.steps:
        return
    count, _ = tool_totals(state)
    yield work_words(count, None)
    for step in state.steps:
        yield from (f'  {line}' for line in _step_lines(step, state))


def _step_lines(step: Step, state: RunState, *, times: bool = False) -> list[str]:
    if isinstance(step, SayStep):
        return plain(step.text).splitlines()
    words = [step.summary, step.note or '']
    approval = next((approval for approval in state.approvals if approval.id == step.id), None)
    if approval is not None and approval.state in ('approved', 'edited'):
        words.append(approval_words(approval))
    line = _line(_MARKS[step.status], step.name, words, step.seconds if times else None)
    return [line, *_below(step, state, times=times)]


def _line(mark: str, name: str, words: Iterable[str], seconds: float | None = None) -> str:
    line = f'{mark} {name}  {" · ".join(filter(None, words))}'.rstrip()
    if seconds is not None:
        line += f'  {seconds_words(seconds)}'
    return ' '.join(plain(line).splitlines())


def _below(step: ToolStep, state: RunState, *, times: bool) -> Iterator[str]:
    """Yield what the subagents of a step do, and what they asked."""
    for child in step.subagents:
        yield from _child_lines(child, step, times=times)
    for approval in state.approvals:
        if approval.step == step.id:
            yield '    ' + _asked_line(approval, asked_words(approval))
    for question in state.questions:
        if question.step == step.id and step.subagents:
            yield '    ' + _asked_line(question, f'{question.text} · {question_words(question)}')


def _asked_line(asked: Approval | Question, words: str) -> str:
    verb = 'asks' if asked.state == 'pending' else 'asked'
    return _line(_ASKED_MARKS.get(asked.state, '?'), f'{asked.asked_by} {verb}', [words])


def _child_lines(child: Subagent, step: ToolStep, *, times: bool) -> Iterator[str]:
    changed = f'{files_words(len(child.files))} {_counts(child.files)}' if child.files else ''
    seconds = child.seconds if times and child.background else None
    words = [subagent_words(child, step), changed]
    yield '    ' + _line(_CHILD_MARKS[child.status], child.name, words, seconds)
    if child.todos:
        yield f'      {plain(own_plan_words(child.todos))}'


def question_lines(approval: Approval) -> Iterator[str]:
    """Yield all that has to be known to answer: what is to be done, all arguments, the diff."""
    beside = ' · '.join(filter(None, [approval.detail, f'asked by {approval.asked_by}']))
    yield revealed(f'? {approval.title} [{approval.tool_class}] {beside}')
    for line in _one_line_args(approval.args) if approval.diff else revealed(approval.args).split('\n'):
        yield f'    {line}'
    for line in revealed(approval.diff or '').splitlines():
        yield f'    {line}'


def choice_lines(question: Question) -> Iterator[str]:
    """Yield a decision that the person is asked for, its choices numbered from 1."""
    first, *further = revealed(f'{question.text} · asked by {question.asked_by}').split('\n')
    yield f'? {first}'
    yield from (f'  {line}' for line in further)
    for number, choice in enumerate(question.choices, 1):
        words = [f'{choice.label} (recommended)' if choice.recommended else choice.label, choice.description]
        yield revealed(f'    {number}. {" · ".join(filter(None, words))}').replace('\n', ' ')


def _one_line_args(args: str) -> Iterator[str]:
    """Yield the arguments, of those over several lines only how many: the diff below them has the lines."""
    lines = revealed(args).splitlines()
    for index, line in enumerate(lines):
        if line.startswith('  ') or not line:
            continue
        below = next((n for n, it in enumerate(lines[index + 1 :]) if it and not it.startswith('  ')), None)
        count = len(lines) - index - 1 if below is None else below
        yield f'{line} {count} lines' if line.endswith(':') and count else line


def _files(files: Sequence[FileChange]) -> Iterator[str]:
    if not files:
        return
    yield files_words(len(files))
    for file in files:
        yield plain(f'  {file.path}  {_counts([file])}')


def _counts(files: Sequence[FileChange]) -> str:
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    return ' '.join([*([f'+{added}'] if added or not removed else []), *([f'−{removed}'] if removed else [])])


class TextView(RunView):
    """Prints what happens, line by line, to a terminal or any other stream of text.

    Args:
        stream: Where to print, by default what `sys.stdout` is at the time of printing.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._todos: tuple[Todo, ...] = ()
        self._tools: set[str] = set()
        self._children: dict[tuple[str, str], str] = {}
        self._says = 0
        self._asked: set[str] = set()
        self._lines = 0

    def open(self, state: RunState) -> None:
        """Say who answers."""
        label = state.model.label or state.model.name
        self._print(filter(None, [label, state.banner]))

    def update(self, state: RunState) -> None:
        """Print what is new: finished steps, changes of the plan, questions, and in a terminal the answer so far."""
        self._print(self._news(state))
        if not state.answer:
            self._lines = 0
        elif self._out.isatty():
            self._print(self._spoken(state.answer, complete=False))

    def close(self, state: RunState) -> None:
        """Print the rest of the answer, what changed, and how the run ended."""
        self._print(self._news(state))
        self._print(self._spoken(state.answer, complete=True))
        self._print(_files(state.files))
        error = f'Error: {state.error}' if state.error else None
        self._print(filter(None, [error, state.notice, _state_line(state, times=True)]))

    @property
    def _out(self) -> TextIO:
        return self._stream if self._stream is not None else sys.stdout

    def _news(self, state: RunState) -> Iterator[str]:
        yield from self._new_steps(state)
        if state.todos != self._todos:
            yield from _plan(state.todos, known=self._todos)
            self._todos = state.todos
        for approval in state.approvals:
            if approval.state != 'pending':
                self._asked.discard(approval.id)
            elif approval.id not in self._asked:
                self._asked.add(approval.id)
                yield from question_lines(approval)
        for question in state.questions:
            if question.state == 'pending' and question.id not in self._asked:
                self._asked.add(question.id)
                yield from choice_lines(question)

    def _new_steps(self, state: RunState) -> Iterator[str]:
        says = 0
        for step in state.steps:
            if isinstance(step, SayStep):
                says += 1
                if says > self._says:
                    self._says = says
                    yield from self._spoken(step.text, complete=True)
                    self._lines = 0
                continue
            if step.id not in self._tools and step.status not in ('running', 'waiting'):
                self._tools.add(step.id)
                self._children |= {(step.id, child.id): child.status for child in step.subagents}
                yield from _step_lines(step, state, times=True)
            yield from self._new_of_children(step)

    def _new_of_children(self, step: ToolStep) -> Iterator[str]:
        """Yield which subagents began, and which came to their end after their step."""
        for child in step.subagents:
            before = self._children.get((step.id, child.id))
            if before is None:
                yield _line(_CHILD_MARKS['running'], child.name, [child.prompt])
            elif before == 'running' != child.status and step.id in self._tools:
                yield from _child_lines(child, step, times=True)
            else:
                continue
            self._children[step.id, child.id] = child.status

    def _spoken(self, text: str, *, complete: bool) -> Iterator[str]:
        """Yield the lines of `text` that were not printed yet; its last line only when it is `complete`."""
        lines = plain(text).strip().split('\n') if complete else plain(text).lstrip().split('\n')[:-1]
        new, self._lines = lines[self._lines :], max(self._lines, len(lines))
        if lines != ['']:
            yield from new

    def _print(self, lines: Iterable[str]) -> None:
        for line in lines:
            print(printable(plain(line), self._out.encoding), file=self._out, flush=True)


def printable(line: str, encoding: str | None) -> str:
    """Return `line` in characters that `encoding` has, the others as escapes.

    Args:
        line: What is to be printed.
        encoding: A stream's; UTF-8 if it names none.
    """
    encoding = encoding or 'utf-8'
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        return line.translate(_ASCII).encode(encoding, 'backslashreplace').decode(encoding)
    return line

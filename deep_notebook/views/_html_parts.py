"""Pieces of the final picture of a run: text, folds, plans, counts and diffs as HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from .diff_lines import DiffKind, diff_lines
from .plain import plain, revealed
from .run_shape import Choice, Question, Todo

__all__ = ['choice_list', 'counted', 'diff_block', 'escaped', 'fold', 'plan_list', 'sentence']

_TODO_MARKS = {'pending': '○', 'in_progress': '◐', 'completed': '✓', 'blocked': '⊘'}
_TODO_TONES = {'completed': 'deep-ok-text', 'blocked': 'deep-bad-text'}
# Translucent, so that one colour suits light and dark pages; inline, so that a sanitiser keeps it.
_DIFF_STYLES: dict[DiffKind, str] = {
    'add': 'background-color: rgba(46, 160, 67, 0.18)',
    'remove': 'background-color: rgba(248, 81, 73, 0.18)',
    'hunk': 'opacity: 0.7',
    'file': 'opacity: 0.7',
    'note': 'opacity: 0.7',
}
_CODE = re.compile(r'`([^`\n]+)`')


def escaped(text: str) -> str:
    """Return `text` as HTML that shows it, without control characters."""
    return escape(plain(text))


def sentence(text: str) -> str:
    """Return a sentence of ours as HTML, in which backticks mark code."""
    return _CODE.sub(r'<code>\1</code>', escaped(text))


def fold(summary: str, body: str, *, open: bool, kind: str = 'deep-part') -> str:
    """Return `body` below a summary that opens and closes it."""
    return f'<details class="{kind}"{" open" if open else ""}><summary>{summary}</summary>{body}</details>'


def plan_list(todos: Sequence[Todo]) -> str:
    """Return a plan as a list."""
    items = ''.join(f'<li>{_todo_mark(todo)} {_todo(todo)}</li>' for todo in todos)
    return f'<ul class="deep-list deep-todos">{items}</ul>'


def _todo_mark(todo: Todo) -> str:
    return f'<span class="{_TODO_TONES.get(todo.status, "")}">{_TODO_MARKS[todo.status]}</span>'


def _todo(todo: Todo) -> str:
    content = escaped(todo.content)
    match todo.status:
        case 'completed':
            return f'<del>{content}</del>'
        case 'in_progress':
            return f'<strong>{content}</strong>'
        case 'blocked':
            return f'<span>{content} <span class="deep-muted">(blocked)</span></span>'
        case 'pending':
            return f'<span>{content}</span>'


def choice_list(question: Question) -> str:
    """Return what there is to choose, the chosen one marked."""
    return (
        f'<ul class="deep-list deep-choices">{"".join(_choice(choice, question) for choice in question.choices)}</ul>'
    )


def _choice(choice: Choice, question: Question) -> str:
    chosen = choice.label == question.answer
    mark = '<span class="deep-ok-text">✓</span>' if chosen else '<span>○</span>'
    label = f'<strong>{_revealed(choice.label)}</strong>' if chosen else f'<span>{_revealed(choice.label)}</span>'
    tag = ' <span class="deep-tag">recommended</span>' if choice.recommended else ''
    description = f' <span class="deep-muted">{_revealed(choice.description)}</span>' if choice.description else ''
    return f'<li>{mark} <span>{label}{tag}{description}</span></li>'


def _revealed(text: str) -> str:
    return escape(revealed(text))


def counted(added: int, removed: int) -> str:
    """Return how many lines were added and removed."""
    plus = f'<code class="deep-ok-text">+{added}</code>' if added or not removed else ''
    minus = f'<code class="deep-bad-text">−{removed}</code>' if removed else ''
    return ' '.join(filter(None, [plus, minus]))


def diff_block(diff: str) -> str:
    """Return a unified diff in colours, nothing for an empty one."""
    if not diff.strip():
        return ''
    lines = (_diff_line(kind, line) for kind, line in diff_lines(revealed(diff)))
    return f'<pre class="deep-diff">{"".join(lines)}</pre>'


def _diff_line(kind: DiffKind, line: str) -> str:
    style = _DIFF_STYLES.get(kind)
    attribute = f' style="{style}"' if style else ''
    return f'<span{attribute}>{escape(line)}\n</span>'

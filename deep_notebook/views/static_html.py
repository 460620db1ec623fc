"""The final picture of a run: one piece of HTML that reads well wherever a notebook is opened.

It has no script, no id and no address that is fetched. Three kinds of readers were thought of: pages that keep
the style sheet; JupyterLab's sanitiser for notebooks that are not trusted, which takes the style sheet away but
leaves classes and inline colours that have no variables; and viewers that keep nothing but tags. What the model
or a tool said is always text, or Markdown without HTML.

MathJax is told to ignore the whole but the formulas of the answer: `$0.07 of $0.50` is not a formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from importlib import resources

from .diff_lines import DiffKind, diff_lines
from .markdown import render_markdown
from .plain import plain, revealed
from .run_shape import Approval, FileChange, Image, Phase, RunState, SayStep, Step, Todo, ToolStep
from .wording import (
    approval_words,
    files_words,
    meta_words,
    phase_words,
    plan_words,
    seconds_words,
    tool_totals,
    work_words,
)

__all__ = ['render']

_MARKS = {'running': '◐', 'waiting': '?', 'ok': '✓', 'failed': '✗', 'denied': '✗', 'interrupted': '■'}
_TODO_MARKS = {'pending': '○', 'in_progress': '◐', 'completed': '✓', 'blocked': '⊘'}
_TODO_TONES = {'completed': 'deep-ok-text', 'blocked': 'deep-bad-text'}
_LIGHTS: dict[Phase, str] = {
    'done': 'deep-ok',
    'waiting': 'deep-warn',
    'suspended': 'deep-warn',
    'stopped': 'deep-bad',
    'failed': 'deep-bad',
}
# Translucent, so that one colour suits light and dark pages; inline, so that a sanitiser keeps it.
_DIFF_STYLES: dict[DiffKind, str] = {
    'add': 'background-color: rgba(46, 160, 67, 0.18)',
    'remove': 'background-color: rgba(248, 81, 73, 0.18)',
    'hunk': 'opacity: 0.7',
    'file': 'opacity: 0.7',
    'note': 'opacity: 0.7',
}
_PICTURES = frozenset({'image/png', 'image/jpeg', 'image/gif', 'image/webp'})
_BASE64 = re.compile(r'[A-Za-z0-9+/]+={0,2}')
_CODE = re.compile(r'`([^`\n]+)`')


def render(state: RunState, *, times: bool | None = None) -> str:
    """Return `state` as self-contained HTML, without anything to click but folds and links.

    Args:
        state: The run.
        times: Whether to say how long things took. By default a replayed run does not, so that what a notebook
            shows is the same each time it is replayed.
    """
    if times is None:
        times = state.banner is None
    if not times:
        state = replace(state, steps=tuple(map(_timeless, state.steps)))
    body = ''.join(_done(state) if state.phase == 'done' else _not_done(state))
    light = _LIGHTS.get(state.phase, '')
    return (
        '<div class="deep-run mathjax_ignore tex2jax_ignore">'
        f'<style>{_style_sheet()}</style>'
        f'<div class="deep-bar {light}"><strong>{escape(phase_words(state.phase, error=state.error))}</strong> '
        f'<span class="deep-muted">{_text(meta_words(state, times=times))}</span></div>'
        f'{_line("deep-banner", state.banner)}{body}{_line("deep-muted", state.notice)}</div>'
    )


def _timeless(step: Step) -> Step:
    return replace(step, seconds=None) if isinstance(step, ToolStep) else step


@cache
def _style_sheet() -> str:
    sheet = resources.files(__package__).joinpath('static_html.css').read_text(encoding='utf-8')
    return re.sub(r'\s*\n\s*', '', sheet)


def _done(state: RunState) -> Iterator[str]:
    yield _error(state)
    yield _answer(state)
    yield _pictures(state.steps)
    folds = _plan(state.todos, open=False) + _work(state, open=False) + _files(state.files)
    yield f'<div class="deep-folds">{folds}</div>' if folds else ''


def _not_done(state: RunState) -> Iterator[str]:
    yield _error(state)
    yield _plan(state.todos, open=True)
    yield _work(state, open=True)
    yield from (_question(approval) for approval in state.approvals if approval.state in ('pending', 'suspended'))
    yield _answer(state)
    yield _pictures(state.steps)
    yield _files(state.files)


def _text(text: str) -> str:
    return escape(plain(text))


def _words(text: str) -> str:
    """Escape a sentence of ours, in which backticks mark code."""
    return _CODE.sub(r'<code>\1</code>', _text(text))


def _line(kind: str, text: str | None) -> str:
    return f'<p class="deep-part {kind}">{_words(text)}</p>' if text else ''


def _error(state: RunState) -> str:
    if not state.error:
        return ''
    return f'<p class="deep-part deep-error"><strong class="deep-bad-text">Error:</strong> {_words(state.error)}</p>'


def _answer(state: RunState) -> str:
    if not state.answer.strip():
        return ''
    return f'<div class="deep-part deep-answer deep-md">{render_markdown(plain(state.answer))}</div>'


def _fold(summary: str, body: str, *, open: bool, kind: str = 'deep-part') -> str:
    return f'<details class="{kind}"{" open" if open else ""}><summary>{summary}</summary>{body}</details>'


def _plan(todos: Sequence[Todo], *, open: bool) -> str:
    if not todos:
        return ''
    completed = sum(todo.status == 'completed' for todo in todos)
    items = ''.join(f'<li>{_todo_mark(todo)} {_todo(todo)}</li>' for todo in todos)
    return _fold(plan_words(completed, len(todos)), f'<ul class="deep-list deep-todos">{items}</ul>', open=open)


def _todo_mark(todo: Todo) -> str:
    return f'<span class="{_TODO_TONES.get(todo.status, "")}">{_TODO_MARKS[todo.status]}</span>'


def _todo(todo: Todo) -> str:
    content = _text(todo.content)
    match todo.status:
        case 'completed':
            return f'<del>{content}</del>'
        case 'in_progress':
            return f'<strong>{content}</strong>'
        case 'blocked':
            return f'<span>{content} <span class="deep-muted">(blocked)</span></span>'
        case 'pending':
            return f'<span>{content}</span>'


def _work(state: RunState, *, open: bool) -> str:
    approvals = {approval.id: approval for approval in state.approvals}
    steps = [_say(step) if isinstance(step, SayStep) else _tool(step, approvals.get(step.id)) for step in state.steps]
    thinking = state.thinking.strip()
    if thinking:
        body = f'<div class="deep-body"><pre class="deep-wrap">{_text(thinking)}</pre></div>'
        summary = '<span></span><span class="deep-muted">Thinking</span>'
        steps.insert(0, f'<li>{_fold(summary, body, open=False, kind="deep-tool")}</li>')
    if not steps:
        return ''
    count, seconds = tool_totals(state)
    heading = work_words(count, seconds) if count else 'Work'
    return _fold(heading, f'<ul class="deep-list">{"".join(steps)}</ul>', open=open)


def _say(step: SayStep) -> str:
    return f'<li><div class="deep-say deep-md">{render_markdown(plain(step.text))}</div></li>'


def _tool(step: ToolStep, approval: Approval | None) -> str:
    tone = {'ok': 'deep-ok-text', 'running': '', 'waiting': ''}.get(step.status, 'deep-bad-text')
    details = [f'<code>{_text(step.summary)}</code>'] if step.summary else []
    if step.note:
        details.append(f'<span class="{tone}">{_text(step.note)}</span>')
    answered = approval is not None and approval.state in ('approved', 'edited', 'denied')
    if approval is not None and answered and not (step.note and approval.state == 'denied'):
        details.append(f'<span class="deep-muted">{_text(approval_words(approval))}</span>')
    summary = (
        f'<span class="{tone}">{_MARKS[step.status]}</span> <b>{_text(step.name)}</b> '
        f'<span class="deep-what">{" · ".join(details)}</span> <time>{seconds_words(step.seconds)}</time>'
    )
    body = ''.join(_tool_body(step, approval))
    # A failure explains itself, and a preview says where the whole is: neither wants a click.
    return f'<li>{_fold(summary, body, open=step.status == "failed" or step.truncated, kind="deep-tool")}</li>'


def _tool_body(step: ToolStep, approval: Approval | None) -> Iterator[str]:
    yield '<div class="deep-body">'
    if approval is not None and approval.state not in ('pending', 'suspended'):
        words = [approval.title, approval.detail, f'asked by {approval.asked_by}', approval_words(approval)]
        yield f'<p class="deep-label">{_text(" · ".join(filter(None, words)))}</p>'
        if approval.diff and approval.state != 'approved':
            yield _diff(approval.diff)
    if step.args and not _says_all(step.summary, step.args):
        yield f'<p class="deep-label">Arguments</p><pre class="deep-wrap">{_text(step.args)}</pre>'
    if step.result:
        label = 'Result, shortened' if step.truncated else 'Result'
        yield f'<p class="deep-label">{label}</p><pre class="deep-wrap">{_text(step.result)}</pre>'
    yield '</div>'


def _says_all(summary: str, args: str) -> bool:
    """Say whether there is one argument, and the summary shows it."""
    return '\n' not in args and args.partition(': ')[2] in summary


def _pictures(steps: Sequence[Step]) -> str:
    figures = [
        _picture(image, step)
        for step in steps
        if isinstance(step, ToolStep)
        for image in step.images
        if _is_picture(image)
    ]
    return f'<div class="deep-part deep-pictures">{"".join(figures)}</div>' if figures else ''


def _is_picture(image: Image) -> bool:
    return image.media_type in _PICTURES and _BASE64.fullmatch(image.data) is not None


def _picture(image: Image, step: ToolStep) -> str:
    source = f'data:{image.media_type};base64,{image.data}'
    name = _text(' · '.join(filter(None, [step.name, step.summary])))
    return f'<figure><img src="{source}" alt="{name}"><figcaption class="deep-label">{name}</figcaption></figure>'


def _question(approval: Approval) -> str:
    title = escape(revealed(approval.title))
    if approval.path:
        path = escape(revealed(approval.path))
        title = title.replace(path, f'<code>{path}</code>', 1)
    beside = _text(' · '.join(filter(None, [approval.detail, f'asked by {approval.asked_by}'])))
    shown = f'<pre class="deep-wrap">{escape(revealed(approval.args))}</pre>'
    if approval.diff:
        shown = _diff(approval.diff) + _fold('All arguments', shown, open=False, kind='deep-more')
    how = '<p>Answer with <code>%deep approve</code> or <code>%deep deny</code>.</p>'
    if approval.state == 'pending':
        how = ''
    tag = f'<span class="deep-tag">{_text(approval.tool_class)}</span>'
    beside = f'<span class="deep-muted">{beside}</span>'
    return f'<div class="deep-part deep-ask"><strong>{title}</strong> {tag} {beside}{shown}{how}</div>'


def _files(files: Sequence[FileChange]) -> str:
    if not files:
        return ''
    counts = _counts(sum(file.added for file in files), sum(file.removed for file in files))
    items = [
        f'<li><code>{_text(file.path)}</code> {_counts(file.added, file.removed)}{_diff(file.diff)}</li>'
        for file in files
    ]
    listed = f'<ul class="deep-list">{"".join(items)}</ul>'
    return _fold(f'{files_words(len(files))} {counts}', listed, open=False, kind='deep-part deep-files')


def _counts(added: int, removed: int) -> str:
    plus = f'<code class="deep-ok-text">+{added}</code>' if added or not removed else ''
    minus = f'<code class="deep-bad-text">−{removed}</code>' if removed else ''
    return ' '.join(filter(None, [plus, minus]))


def _diff(diff: str) -> str:
    if not diff.strip():
        return ''
    lines = (_diff_line(kind, line) for kind, line in diff_lines(revealed(diff)))
    return f'<pre class="deep-diff">{"".join(lines)}</pre>'


def _diff_line(kind: DiffKind, line: str) -> str:
    style = _DIFF_STYLES.get(kind)
    attribute = f' style="{style}"' if style else ''
    return f'<span{attribute}>{escape(line)}\n</span>'

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

from ._html_parts import choice_list, counted, diff_block, escaped, fold, plan_list, sentence
from ._html_work import work_fold
from .markdown import render_markdown
from .plain import plain, revealed
from .run_shape import Approval, FileChange, Image, Phase, Question, RunState, Step, Todo, ToolStep
from .wording import files_words, meta_words, phase_words, plan_words

__all__ = ['render']

_LIGHTS: dict[Phase, str] = {
    'done': 'deep-ok',
    'waiting': 'deep-warn',
    'suspended': 'deep-warn',
    'stopped': 'deep-bad',
    'failed': 'deep-bad',
}
_PICTURES = frozenset({'image/png', 'image/jpeg', 'image/gif', 'image/webp'})
_BASE64 = re.compile(r'[A-Za-z0-9+/]+={0,2}')


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
    # By which the search finds a run on the page; a sanitiser keeps classes and little else.
    name = f' deep-run-{state.run}' if state.run.isdecimal() else ''
    return (
        f'<div class="deep-run mathjax_ignore tex2jax_ignore{name}">'
        f'<style>{_style_sheet()}</style>'
        f'<div class="deep-bar {light}"><strong>{escape(phase_words(state.phase, error=state.error))}</strong> '
        f'<span class="deep-muted">{escaped(meta_words(state, times=times))}</span></div>'
        f'{_line("deep-banner", state.banner)}{body}{_line("deep-muted", state.notice)}</div>'
    )


def _timeless(step: Step) -> Step:
    if not isinstance(step, ToolStep):
        return step
    return replace(step, seconds=None, subagents=tuple(replace(child, seconds=None) for child in step.subagents))


@cache
def _style_sheet() -> str:
    sheet = resources.files(__package__).joinpath('static_html.css').read_text(encoding='utf-8')
    return re.sub(r'\s*\n\s*', '', sheet)


def _done(state: RunState) -> Iterator[str]:
    yield _error(state)
    yield _answer(state)
    yield _pictures(state.steps)
    folds = _plan(state.todos, open=False) + work_fold(state, open=False) + _files(state.files)
    yield f'<div class="deep-folds">{folds}</div>' if folds else ''


def _not_done(state: RunState) -> Iterator[str]:
    yield _error(state)
    yield _plan(state.todos, open=True)
    yield work_fold(state, open=True)
    yield from (_approval(approval) for approval in state.approvals if approval.state in ('pending', 'suspended'))
    yield from (_question(question) for question in state.questions if question.state == 'pending')
    yield _answer(state)
    yield _pictures(state.steps)
    yield _files(state.files)


def _line(kind: str, text: str | None) -> str:
    return f'<p class="deep-part {kind}">{sentence(text)}</p>' if text else ''


def _error(state: RunState) -> str:
    if not state.error:
        return ''
    return f'<p class="deep-part deep-error"><strong class="deep-bad-text">Error:</strong> {sentence(state.error)}</p>'


def _answer(state: RunState) -> str:
    if not state.answer.strip():
        return ''
    return f'<div class="deep-part deep-answer deep-md">{render_markdown(plain(state.answer))}</div>'


def _plan(todos: Sequence[Todo], *, open: bool) -> str:
    if not todos:
        return ''
    completed = sum(todo.status == 'completed' for todo in todos)
    return fold(plan_words(completed, len(todos)), plan_list(todos), open=open)


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
    name = escaped(' · '.join(filter(None, [step.name, step.summary])))
    return f'<figure><img src="{source}" alt="{name}"><figcaption class="deep-label">{name}</figcaption></figure>'


def _approval(approval: Approval) -> str:
    title = escape(revealed(approval.title))
    if approval.path:
        path = escape(revealed(approval.path))
        title = title.replace(path, f'<code>{path}</code>', 1)
    beside = escaped(' · '.join(filter(None, [approval.detail, f'asked by {approval.asked_by}'])))
    shown = f'<pre class="deep-wrap">{escape(revealed(approval.args))}</pre>'
    if approval.diff:
        shown = diff_block(approval.diff) + fold('All arguments', shown, open=False, kind='deep-more')
    how = '<p>Answer with <code>%deep approve</code> or <code>%deep deny</code>.</p>'
    if approval.state == 'pending':
        how = ''
    tag = f'<span class="deep-tag">{escaped(approval.tool_class)}</span>'
    beside = f'<span class="deep-muted">{beside}</span>'
    return f'<div class="deep-part deep-ask"><strong>{title}</strong> {tag} {beside}{shown}{how}</div>'


def _question(question: Question) -> str:
    asked = f'<strong class="deep-wrap">{escape(revealed(question.text))}</strong>'
    beside = f'<span class="deep-muted">{escaped(f"asked by {question.asked_by}")}</span>'
    return f'<div class="deep-part deep-ask">{asked} {beside}{choice_list(question)}</div>'


def _files(files: Sequence[FileChange]) -> str:
    if not files:
        return ''
    counts = counted(sum(file.added for file in files), sum(file.removed for file in files))
    items = [
        f'<li><code>{escaped(file.path)}</code> {counted(file.added, file.removed)}{diff_block(file.diff)}</li>'
        for file in files
    ]
    listed = f'<ul class="deep-list">{"".join(items)}</ul>'
    return fold(f'{files_words(len(files))} {counts}', listed, open=False, kind='deep-part deep-files')

"""The work in the final picture of a run: what was said, each tool call, and what its subagents did."""

from __future__ import annotations

from collections.abc import Iterator

from ._html_parts import choice_list, counted, diff_block, escaped, fold, plan_list
from .markdown import render_markdown
from .plain import plain
from .run_shape import Approval, Question, RunState, SayStep, Subagent, ToolStep
from .wording import (
    approval_words,
    asked_words,
    files_words,
    own_plan_words,
    question_words,
    seconds_words,
    subagent_words,
    tool_totals,
    work_words,
)

__all__ = ['work_fold']

_MARKS = {'running': '◐', 'waiting': '?', 'ok': '✓', 'failed': '✗', 'denied': '✗', 'interrupted': '■'}
_CHILD_MARKS = {'running': '◐', 'done': '✓', 'failed': '✗', 'cancelled': '■'}
_ASKED_MARKS = {'approved': '✓', 'edited': '✓', 'denied': '✗', 'cancelled': '■', 'answered': '✓', 'unanswered': '■'}
_TONES = {
    **dict.fromkeys(('done', 'approved', 'edited', 'answered'), 'deep-ok-text'),
    **dict.fromkeys(('failed', 'cancelled', 'denied', 'unanswered'), 'deep-bad-text'),
}


def work_fold(state: RunState, *, open: bool) -> str:
    """Return all that was done, nothing if that is nothing."""
    steps = [_say(step) if isinstance(step, SayStep) else _tool(step, state) for step in state.steps]
    thinking = state.thinking.strip()
    if thinking:
        body = f'<div class="deep-body"><pre class="deep-wrap">{escaped(thinking)}</pre></div>'
        summary = '<span></span><span class="deep-muted">Thinking</span>'
        steps.insert(0, f'<li>{fold(summary, body, open=False, kind="deep-tool")}</li>')
    if not steps:
        return ''
    count, seconds = tool_totals(state)
    heading = work_words(count, seconds) if count else 'Work'
    return fold(heading, f'<ul class="deep-list">{"".join(steps)}</ul>', open=open)


def _say(step: SayStep) -> str:
    return f'<li><div class="deep-say deep-md">{render_markdown(plain(step.text))}</div></li>'


def _tool(step: ToolStep, state: RunState) -> str:
    approval = next((approval for approval in state.approvals if approval.id == step.id), None)
    tone = {'ok': 'deep-ok-text', 'running': '', 'waiting': ''}.get(step.status, 'deep-bad-text')
    details = [f'<code>{escaped(step.summary)}</code>'] if step.summary else []
    if step.note:
        details.append(f'<span class="{tone}">{escaped(step.note)}</span>')
    answered = approval is not None and approval.state in ('approved', 'edited', 'denied')
    if approval is not None and answered and not (step.note and approval.state == 'denied'):
        details.append(f'<span class="deep-muted">{escaped(approval_words(approval))}</span>')
    summary = _row(tone, _MARKS[step.status], step.name, ' · '.join(details), seconds_words(step.seconds))
    question = next((question for question in state.questions if question.step == step.id), None)
    body = ''.join(_tool_body(step, approval, None if step.subagents else question))
    # A failure explains itself, and a preview says where the whole is: neither wants a click.
    explains = step.truncated or (step.status == 'failed' and not step.subagents)
    folded = fold(summary, body, open=explains, kind='deep-tool')
    return f'<li>{folded}{_below(step, state)}</li>'


def _row(tone: str, mark: str, name: str, what: str, time: str = '') -> str:
    return (
        f'<span class="{tone}">{mark}</span> <b>{escaped(name)}</b> '
        f'<span class="deep-what">{what}</span> <time>{time}</time>'
    )


def _below(step: ToolStep, state: RunState) -> str:
    """Return what the subagents of a step did, and what they asked."""
    rows = [_child(child, step) for child in step.subagents]
    rows += [_asked(approval) for approval in state.approvals if approval.step == step.id]
    if step.subagents:
        rows += [_questioned(question) for question in state.questions if question.step == step.id]
    return f'<ul class="deep-list deep-below">{"".join(rows)}</ul>' if rows else ''


def _child(child: Subagent, step: ToolStep) -> str:
    details = [escaped(subagent_words(child, step))]
    if child.files:
        added, removed = sum(file.added for file in child.files), sum(file.removed for file in child.files)
        details.append(f'<span class="deep-muted">{files_words(len(child.files))}</span> {counted(added, removed)}')
    what = ' · '.join(filter(None, details))
    time = seconds_words(child.seconds) if child.background else ''
    row = _row(_TONES.get(child.status, ''), _CHILD_MARKS[child.status], child.name, what, time)
    own_plan = ''
    if child.todos:
        own_plan = fold(escaped(own_plan_words(child.todos)), plan_list(child.todos), open=False, kind='deep-more')
    return f'<li><div class="deep-child">{row}</div>{own_plan}</li>'


def _asked(approval: Approval) -> str:
    about = escaped(' · '.join(filter(None, [approval.tool, approval.detail])))
    shown = diff_block(approval.diff or '') or f'<pre class="deep-wrap">{escaped(approval.args)}</pre>'
    return _asked_row(approval, asked_words(approval), f'<p class="deep-label">{about}</p>{shown}')


def _questioned(question: Question) -> str:
    words = f'{question.text} · {question_words(question)}'
    return _asked_row(question, words, ''.join(_question_body(question)))


def _asked_row(asked: Approval | Question, words: str, body: str) -> str:
    verb = 'asks' if asked.state == 'pending' else 'asked'
    tone, mark = _TONES.get(asked.state, ''), _ASKED_MARKS.get(asked.state, '?')
    summary = _row(tone, mark, f'{asked.asked_by} {verb}', escaped(words))
    body = f'<div class="deep-body">{body}</div>'
    return f'<li>{fold(summary, body, open=False, kind="deep-tool")}</li>'


def _question_body(question: Question) -> Iterator[str]:
    yield f'<p class="deep-wrap">{escaped(question.text)}</p>'
    yield choice_list(question)
    yield f'<p class="deep-label">{escaped(question_words(question))}</p>'


def _tool_body(step: ToolStep, approval: Approval | None, question: Question | None) -> Iterator[str]:
    yield '<div class="deep-body">'
    if approval is not None and approval.state not in ('pending', 'suspended'):
        words = [approval.title, approval.detail, f'asked by {approval.asked_by}', approval_words(approval)]
        yield f'<p class="deep-label">{escaped(" · ".join(filter(None, words)))}</p>'
        if approval.diff and approval.state != 'approved':
            yield diff_block(approval.diff)
    if question is not None:
        yield from _question_body(question)
    elif step.args and not _says_all(step.summary, step.args):
        yield f'<p class="deep-label">Arguments</p><pre class="deep-wrap">{escaped(step.args)}</pre>'
    if step.result and question is None:
        label = 'Result, shortened' if step.truncated else 'Result'
        yield f'<p class="deep-label">{label}</p><pre class="deep-wrap">{escaped(step.result)}</pre>'
    yield '</div>'


def _says_all(summary: str, args: str) -> bool:
    """Say whether there is one argument, and the summary shows it."""
    return '\n' not in args and args.partition(': ')[2] in summary

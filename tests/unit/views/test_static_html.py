"""What stays in a saved notebook: readable anywhere, and nothing in it can act or fetch."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from deep_notebook.views import from_json, static_html
from deep_notebook.views.run_state import (
    Approval,
    Choice,
    FileChange,
    Image,
    ModelInfo,
    Question,
    RunState,
    SayStep,
    Subagent,
    Todo,
    ToolStep,
)
from deep_notebook.views.static_html import render

STATES = Path(__file__).parents[2] / 'fixtures' / 'run_states'
NAMES = ['waiting', 'done', 'stopped', 'delegated', 'asking']
VOID = {'img', 'br', 'hr'}


def load(name: str) -> RunState:
    return from_json(json.loads((STATES / f'{name}.json').read_text(encoding='utf-8')))


@dataclass
class Page(HTMLParser):
    """Tags, attributes and text of a piece of HTML; a tag that is not closed in its place is an error."""

    source: str
    tags: set[str] = field(default_factory=set)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    hidden: list[bool] = field(default_factory=list)
    """For each text whether a closed fold hides it."""

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[tuple[str, bool]] = []
        self.feed(self.source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or '') for name, value in attrs]
        if tag not in VOID:
            self._open.append((tag, tag == 'details' and 'open' not in dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        names = [name for name, _ in self._open]
        if 'style' not in names and data.strip():
            folds = [number for number, (_, closed) in enumerate(self._open) if closed]
            self.texts.append(data.strip())
            self.hidden.append((bool(folds) and names[folds[-1] + 1 : folds[-1] + 2] != ['summary']) or len(folds) > 1)

    @property
    def text(self) -> str:
        return ' '.join(' '.join(self.texts).split())

    @property
    def visible(self) -> str:
        shown = (text for text, hidden in zip(self.texts, self.hidden, strict=True) if not hidden)
        return ' '.join(' '.join(shown).split())


def test_done_shows_the_answer_first_and_folds_the_work() -> None:
    page = Page(render(load('done')))
    assert page.visible == (
        'Done Qwen2.5-Coder-1.5B · local, limited · 31 s · 2.0k tokens · no cost '
        'I wrote report.md with the totals per region. North leads with 12,480; '
        'the largest gap to last month is in the south. '
        'Plan · 3 of 3 Work · 4 tools, 0.9 s 1 file changed +5'
    )
    for folded in ('Read sales.csv', 'read_file', 'approved by you', 'north 12480', '+| north | 12,480 |'):
        assert folded in page.text


def test_stopped_says_plainly_what_happened_and_how_to_go_on() -> None:
    page = Page(render(load('stopped')))
    assert page.visible.startswith('Stopped by you claude-sonnet · 52 s · 18.4k tokens · $0.07 of $0.50')
    for said in (
        'execute pytest -q → 41,220 lines, moved to a file',
        '1 failed, 311 passed in 7.9s',
        '✗ write_file config.yaml · denied: "keep the port"',
        '■ edit_file app.py · interrupted, nothing was written',
        'Your next %%deep continues from here.',
    ):
        assert said in page.visible
    assert 'Edit app.py? · 1 line changed · asked by main · cancelled, the run ended first' in page.text


def test_a_question_shows_its_diff_and_how_to_answer_later() -> None:
    waiting = load('waiting')
    page = Page(render(waiting))
    assert 'Write report.md ? write new file · 5 lines · asked by main --- (new)' in page.visible
    assert '%deep approve' not in page.text
    (question,) = waiting.approvals
    suspended = replace(waiting, phase='suspended', approvals=(replace(question, state='suspended', diff=None),))
    page = Page(render(suspended))
    assert 'path: report.md content: # Sales by region' in page.visible
    assert 'Answer with %deep approve or %deep deny .' in page.visible


def test_subagents_stand_below_the_call_that_gave_them_their_task() -> None:
    page = Page(render(load('delegated')))
    for said in (
        '✓ task Check every number in report.md against sales.csv 0.1 s '
        '◐ research t1 in the background · read_file · sales.csv · 240 lines Plan · 1 of 3 · Add the amounts up',
        '✓ general The south has no entry for October. · 1 file changed +3',
        '✓ general asked Write gaps.md? · approved by you',
        '✗ general asked Run a command? command: git commit -am gaps · denied by you: "I commit myself"',
        '✗ plotter ModelHTTPError: status_code: 503',
        '? general asks Edit report.md? · waiting for you',
    ):
        assert said in page.visible
    for folded in ('✓ Read report.md', 'write_file · new file · 3 lines', '+# Gaps'):
        assert folded in page.text
        assert folded not in page.visible


def test_a_decision_is_kept_with_what_there_was_to_choose() -> None:
    page = Page(render(load('asking')))
    for said in (
        '✓ ask_user Which format should the export have? → Parquet',
        '✓ planner asked When may it stop? · you answered: on Sunday',
        'Which port should the server use? It is named in config.yaml and in three tests. asked by planner '
        '○ 9090 recommended Nothing else listens there. ○ 8081',
    ):
        assert said in page.visible
    folded = '✓ Parquet recommended Smaller, keeps the types. ○ CSV Opens anywhere. you chose: Parquet'
    assert folded in page.text
    assert folded not in page.visible
    done = Page(render(replace(load('asking'), phase='done', answer='Moved.')))
    assert 'asked by planner ○' not in done.text, 'what is no longer asked'
    assert 'Which format should the export have? → Parquet' in done.text


def test_a_background_task_says_how_long_it_took() -> None:
    [step, *_] = load('delegated').steps
    assert isinstance(step, ToolStep)
    ended = replace(step.subagents[0], status='done', line='All right.', seconds=75.0)
    page = Page(render(RunState(steps=(replace(step, subagents=(ended,)),))))
    assert '✓ research t1 in the background · All right. 1 min 15 s' in page.visible


@pytest.mark.parametrize('name', ['waiting', 'done', 'stopped', 'delegated'])
def test_each_line_of_a_diff_has_a_colour_that_a_sanitiser_keeps(name: str) -> None:
    html = render(load(name))
    assert re.findall(r'<span style="background-color: rgba\(46, 160, 67, 0.18\)">(\+.*)\n', html)
    assert not re.findall(r'<span style="[^"]*var\(', html)


def test_a_failed_run_says_why_and_a_replay_says_so() -> None:
    state = replace(
        load('stopped'), phase='failed', error='No key. Set `OPENAI_API_KEY`.', banner='Replayed · scripted'
    )
    page = Page(render(state))
    assert page.visible.startswith(
        'Failed claude-sonnet · 18.4k tokens · $0.07 of $0.50 Replayed · scripted Error: No key.'
    )
    assert '<code>OPENAI_API_KEY</code>' in render(state)


def test_a_replayed_run_says_nothing_of_times_so_that_it_is_the_same_each_time() -> None:
    state = load('done')
    ended = Subagent(id='t1', name='research', background=True, status='done', seconds=5.0)
    state = replace(state, steps=(*state.steps, ToolStep(id='x', name='task', tool_class='read', subagents=(ended,))))
    again = replace(state, elapsed=99.0, steps=tuple(_slower(step) for step in state.steps))
    assert render(replace(state, banner='Replayed')) == render(replace(again, banner='Replayed'))
    assert render(state, times=False) == render(again, times=False)
    assert render(state) != render(again)


def _slower(step: Any) -> Any:
    if not isinstance(step, ToolStep):
        return step
    return replace(step, seconds=77.0, subagents=tuple(replace(child, seconds=77.0) for child in step.subagents))


def test_pictures_are_seen_without_unfolding_anything() -> None:
    step = ToolStep(
        id='1',
        name='run_python',
        tool_class='execute',
        status='ok',
        images=(Image(media_type='image/png', data='iVBORw0='),),
    )
    html = render(RunState(phase='done', steps=(step,), answer='Here.'))
    assert '<img src="data:image/png;base64,iVBORw0=" alt="run_python">' in html
    assert 'run_python' in Page(html).visible


def test_terminal_colours_and_overdrawn_lines_do_not_reach_the_page() -> None:
    step = ToolStep(
        id='1', name='execute', tool_class='execute', status='ok', result='\x1b[31mred\x1b[0m\n10%\r50%\r100%\x00'
    )
    assert '<pre class="deep-wrap">red\n100%</pre>' in render(RunState(steps=(step,)))


# JupyterLab's sanitiser keeps these (and no style element, for which every look has a fallback in plain tags).
KEPT_TAGS = {
    *('div', 'p', 'span', 'strong', 'b', 'em', 's', 'del', 'code', 'pre', 'ul', 'ol', 'li', 'time'),
    *('details', 'summary'),
    *('table', 'thead', 'tbody', 'tr', 'th', 'td', 'a', 'img', 'figure', 'figcaption', 'blockquote', 'h4', 'h5', 'h6'),
    *('br', 'hr'),
}  # fmt: skip
KEPT_ATTRIBUTES = {
    *(('*', 'class'), ('*', 'style'), ('details', 'open'), ('ol', 'start')),
    *(('a', 'href'), ('a', 'rel'), ('a', 'target'), ('img', 'src'), ('img', 'alt')),
}  # fmt: skip

HOSTILE = [
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '"><svg onload=alert(1)>',
    "' onclick='alert(1)",
    '</pre></details></style><iframe src="https://example.org">',
    '![x](https://example.org/x.png) [y](javascript:alert(1)) [z](data:text/html,x)',
    '<a href="javascript:alert(1)" id="x">x</a>',
    '\\(\\href{javascript:alert(1)}{x}\\) $\\style{position:fixed}{x}$',
    '\x1b]8;;https://example.org\x07link\x1b]8;;\x07 \u202egnp.exe',
    '[x]: javascript:alert(1)\n[x] <javascript:alert(1)> <https://ok.example>',
]


def hostile(text: str) -> RunState:
    return RunState(
        run=text, prompt=text, phase='failed', model=ModelInfo(name=text, label=text), banner=text,
        todos=(Todo(id=text, content=text, status='blocked'),),
        steps=(
            SayStep(text=text),
            ToolStep(
                id='1', name=text, tool_class='write', summary=text, args=f'{text}\n{text}', result=text, note=text,
                status='failed', images=(Image(media_type=text, data=text),),
                subagents=(
                    Subagent(
                        id=text, name=text, prompt=f'do {text}', line=text, background=True, seconds=1,
                        todos=(Todo(id=text, content=text, status='in_progress'),), files=(FileChange(path=text),),
                    ),
                ),
            ),
        ),
        approvals=(
            Approval(
                id='1', tool=text, tool_class='write', title=text, path=text, detail=text, diff=f'--- {text}\n+{text}',
                args=text, asked_by=text, state='denied', reason=text, channel='widget',
            ),
            Approval(
                id='3', tool=text, tool_class='write', title=text, detail=text, args=text, asked_by=text, step='1',
                state='denied', reason=text,
            ),
            Approval(id='2', tool=text, tool_class='write', title=text, path=text, args=text, state='suspended'),
        ),
        questions=tuple(
            Question(
                id=text, text=text, choices=(Choice(label=text, description=text, recommended=True),), asked_by=text,
                step=step, state=state, answer=text,
            )
            for step, state in (('1', 'answered'), (text, 'pending'))
        ),
        thinking=text, answer=text, files=(FileChange(path=text, added=1, removed=1, diff=f'@@ {text}\n-{text}'),),
        notice=text, error=text,
    )  # fmt: skip


@pytest.mark.parametrize('text', HOSTILE)
@pytest.mark.parametrize('phase', ['done', 'failed', 'waiting'])
def test_nothing_that_a_model_or_a_tool_says_can_act_or_fetch(text: str, phase: Any) -> None:
    page = Page(render(replace(hostile(text), phase=phase)))
    assert page.tags <= KEPT_TAGS | {'style'}
    for tag, name, value in page.attributes:
        assert {(tag, name), ('*', name)} & KEPT_ATTRIBUTES, (tag, name, value)
        if name == 'href':
            assert re.match(r'https?:|mailto:', value)
        if name == 'src':
            assert value.startswith('data:')
        if name == 'style':
            assert re.fullmatch(r'background-color: rgba\([\d., ]+\)|opacity: 0.7|text-align:\w+', value)
    assert not re.search('[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]', render(hostile(text)))


@pytest.mark.parametrize('name', NAMES)
def test_the_style_sheet_is_ours_alone_and_fetches_nothing(name: str) -> None:
    (style,) = re.findall('<style>(.*?)</style>', render(load(name)), flags=re.DOTALL)
    assert 'url(' not in style
    assert '@import' not in style
    selectors = re.findall(r'([^{}]+)\{[^{}]*\}', re.sub(r'@media[^{]*\{', '', style))
    assert selectors
    assert all(part.strip().startswith('.deep-run') for part in _parts(selectors))


def _parts(selectors: list[str]) -> list[str]:
    return [part for selector in selectors for part in re.split(r',(?![^(]*\))', selector.lstrip('}'))]


@pytest.mark.parametrize('name', NAMES)
def test_colours_follow_the_theme_and_have_something_to_fall_back_on(name: str) -> None:
    html = render(load(name))
    assert all(re.findall(r'var\(--jp-[\w-]+(,?)', html)), 'a variable of JupyterLab without a fallback'
    assert '(prefers-color-scheme: dark)' in html


def test_a_run_that_has_only_begun_is_more_than_an_empty_box() -> None:
    assert Page(render(RunState(model=ModelInfo(label='claude-sonnet')))).text == 'Starting claude-sonnet · 0 s'


def test_the_live_views_style_sheet_has_no_say_in_it() -> None:
    sheet = (Path(static_html.__file__).parent / 'static' / 'widget.css').read_text(encoding='utf-8')
    live = set(re.findall(r'\.([a-z][\w-]+)', sheet))
    for name in NAMES:
        html = render(load(name))
        assert not live & set(' '.join(re.findall(r'class="([^"]*)"', html)).split())
        (style,) = re.findall('<style>(.*?)</style>', html, flags=re.DOTALL)
        assert not live & set(re.findall(r'\.([a-z][\w-]+)', style))

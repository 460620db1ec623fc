"""A run as text: in the saved cell, and line by line in a terminal."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from deep_notebook.views import from_json
from deep_notebook.views.plain import plain, revealed
from deep_notebook.views.run_state import Approval, ModelInfo, RunState, SayStep, Subagent, Todo, ToolStep
from deep_notebook.views.text import TextView, render

STATES = Path(__file__).parents[2] / 'fixtures' / 'run_states'


def load(name: str) -> RunState:
    return from_json(json.loads((STATES / f'{name}.json').read_text(encoding='utf-8')))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(states: Iterable[RunState], *, stream: io.StringIO | None = None) -> list[str]:
    """Return what was printed after the opening, after each further state, and at the close."""
    stream = io.StringIO() if stream is None else stream
    view = TextView(stream)
    first, *rest = states
    view.open(first)
    printed, pieces = 0, []
    for state in rest:
        pieces.append(stream.getvalue()[printed:])
        printed = len(stream.getvalue())
        view.update(state)
    pieces.append(stream.getvalue()[printed:])
    printed = len(stream.getvalue())
    view.close(rest[-1] if rest else first)
    return [*pieces, stream.getvalue()[printed:]]


def test_done() -> None:
    assert render(load('done')) == snapshot("""\
Done · Qwen2.5-Coder-1.5B · local, limited · 2.0k tokens · no cost

Plan · 3 of 3
  ✓ Read sales.csv
  ✓ Write report.md with totals per region
  ✓ Check the file

Work · 4 tools
  ✓ read_file  sales.csv · 240 lines, 4 columns
  ✓ run_python  df.groupby("region").amount.sum()
  ✓ write_file  report.md · 5 lines · approved by you
  The file is there. I check it once more.
  ✓ read_file  report.md · 5 lines

I wrote `report.md` with the totals per region. North leads with 12,480; the largest gap to last month is in the south.

1 file changed
  report.md  +5\
""")


def test_delegated() -> None:
    assert render(load('delegated')) == snapshot("""\
Waiting for you · claude-sonnet · 25.5k tokens · $0.09 of $0.50

Plan · 1 of 2
  ✓ Look for gaps
  ◐ Check the report

Work · 4 tools
  ✓ task  Check every number in report.md against sales.csv
      ◐ research  t1 in the background · read_file · sales.csv · 240 lines
        Plan · 1 of 3 · Add the amounts up
  ✓ task  Find the months in which a region has no sales
      ✓ general  The south has no entry for October. · 1 file changed +3
        Plan · 2 of 2
      ✓ general asked  Write gaps.md? · approved by you
      ✗ general asked  Run a command? command: git commit -am gaps · denied by you: "I commit myself"
  ✗ task  Draw the sales per month
      ✗ plotter  ModelHTTPError: status_code: 503
  ◐ task  Bring report.md up to date
      ◐ general  read_file · report.md · 9 lines
      ? general asks  Edit report.md? · waiting for you

? Edit report.md? [write] 1 line changed · asked by general
    path: report.md
    edits: [{"anchor":"4:1f","text":"| south | 9,310 |"}]
    --- report.md
    +++ report.md
    @@ -3,3 +3,3 @@
     | region | amount |
    -| south | 9,130 |
    +| south | 9,310 |

1 file changed
  gaps.md  +3\
""")


def test_asking() -> None:
    assert render(load('asking')) == snapshot("""\
Waiting for you · claude-sonnet · 10.5k tokens · $0.04

Work · 2 tools
  ✓ ask_user  Which format should the export have? → Parquet
  ◐ task  Plan the move of the server
      ◐ planner  ask_user · Which port should the server use?
      ✓ planner asked  When may it stop? · you answered: on Sunday
      ? planner asks  Which port should the server use? It is named in config.yaml and in three tests. · waiting for you

? Which port should the server use?
  It is named in config.yaml and in three tests. · asked by planner
    1. 9090 (recommended) · Nothing else listens there.
    2. 8081 · Next to the old one, which the tests still use: they would have to be changed in the same step.
    3. Let the system pick one\
""")


def test_a_terminal_shows_a_question_once() -> None:
    state = load('asking')
    pieces = shown([RunState(), state, state, replace(state, elapsed=30.0)])
    assert pieces[1].count('? Which port should the server use?') == 1
    assert '    1. 9090 (recommended) · Nothing else listens there.' in pieces[1]
    assert pieces[2:4] == ['', '']


def test_a_terminal_hears_when_subagents_begin_and_end() -> None:
    child = Subagent(id='t1', name='research', prompt='Find gaps')
    step = ToolStep(id='c1', name='task', tool_class='read', summary='Find gaps', subagents=(child,))
    busy = replace(step, subagents=(replace(child, line='read_file · a.csv'),))
    ended = replace(step, subagents=(replace(child, status='done', line='None.', seconds=2.5),))
    state = RunState(steps=(step,))
    assert shown(
        [
            RunState(),
            state,
            replace(state, steps=(busy,)),
            replace(state, steps=(ended,)),
            replace(state, steps=(replace(ended, status='ok', seconds=2.5),)),
        ]
    )[1:5] == ['◐ research  Find gaps\n', '', '', '✓ task  Find gaps  2.5 s\n    ✓ research  None.\n']


def test_a_terminal_hears_of_a_task_that_ends_after_its_step() -> None:
    child = Subagent(id='t1', name='research', prompt='Find gaps', background=True)
    step = ToolStep(id='c1', name='task', tool_class='read', summary='Find gaps', status='ok', subagents=(child,))
    ended = replace(step, subagents=(replace(child, status='done', line='None.', seconds=2.5),))
    pieces = shown([RunState(), RunState(steps=(step,)), RunState(steps=(ended,)), RunState(steps=(ended,))])
    assert pieces[1:4] == [
        '✓ task  Find gaps\n    ◐ research  t1 in the background\n',
        '    ✓ research  t1 in the background · None.  2.5 s\n',
        '',
    ]


def test_stopped() -> None:
    assert render(load('stopped')) == snapshot("""\
Stopped by you · claude-sonnet · 18.4k tokens · $0.07 of $0.50

Work · 3 tools
  ✓ execute  pytest -q → 41,220 lines, moved to a file
  ✗ write_file  config.yaml · denied: "keep the port"
  ■ edit_file  app.py · interrupted, nothing was written

The conversation is intact. Your next `%%deep` continues from here.\
""")


def test_suspended() -> None:
    waiting = load('waiting')
    (question,) = waiting.approvals
    state = replace(waiting, phase='suspended', approvals=(replace(question, state='suspended'),), error='No way.')
    assert render(replace(state, banner='Replayed', steps=(), todos=())) == snapshot("""\
Suspended, waiting for an answer · Qwen2.5-Coder-1.5B · local, limited · 1.2k tokens · no cost
Replayed

? Write report.md? [write] new file · 5 lines · asked by main
    path: report.md
    content: 5 lines
    --- /dev/null
    +++ report.md
    @@ -0,0 +1,5 @@
    +# Sales by region
    +
    +| region | amount |
    +|---|---|
    +| north | 12,480 |

Error: No way.\
""")


def test_the_saved_text_has_no_times_and_no_colours() -> None:
    state = load('done')
    slower = replace(
        state,
        elapsed=99.0,
        steps=tuple(replace(it, seconds=7.0) if isinstance(it, ToolStep) else it for it in state.steps),
    )
    assert render(slower) == render(state)
    assert '\x1b' not in render(replace(state, answer='\x1b[31mred\x1b[0m'))


def test_a_terminal_sees_each_thing_when_it_happens() -> None:
    waiting, done = load('waiting'), load('done')
    start = RunState(model=waiting.model)
    reading = replace(start, steps=(replace(waiting.steps[0], status='running'),))
    read = replace(waiting, steps=waiting.steps[:1], approvals=(), todos=())
    assert shown([start, reading, read, waiting, waiting, done]) == snapshot(
        [
            'Qwen2.5-Coder-1.5B · local, limited\n',
            '',
            '✓ read_file  sales.csv · 240 lines, 4 columns  0.1 s\n',
            """\
✓ run_python  df.groupby("region").amount.sum()  0.3 s
Plan · 1 of 3
  ✓ Read sales.csv
  ◐ Write report.md with totals per region
  ○ Check the file
? Write report.md? [write] new file · 5 lines · asked by main
    path: report.md
    content: 5 lines
    --- /dev/null
    +++ report.md
    @@ -0,0 +1,5 @@
    +# Sales by region
    +
    +| region | amount |
    +|---|---|
    +| north | 12,480 |
""",
            '',
            """\
✓ write_file  report.md · 5 lines · approved by you  0.2 s
The file is there. I check it once more.
✓ read_file  report.md · 5 lines  0.3 s
Plan · 3 of 3
  ✓ Write report.md with totals per region
  ✓ Check the file
""",
            """\
I wrote `report.md` with the totals per region. North leads with 12,480; the largest gap to last month is in the south.
1 file changed
  report.md  +5
Done · Qwen2.5-Coder-1.5B · local, limited · 31 s · 2.0k tokens · no cost
""",
        ]
    )


def test_parallel_tools_are_printed_as_they_finish() -> None:
    slow = ToolStep(id='1', name='slow', tool_class='read')
    fast = ToolStep(id='2', name='fast', tool_class='read', status='ok')
    both = RunState(steps=(slow, fast))
    later = replace(both, steps=(replace(slow, status='ok'), fast))
    assert shown([RunState(), both, later])[1:3] == ['✓ fast\n', '✓ slow\n']


def answering(*answers: str) -> list[RunState]:
    return [RunState(answer=answer, phase='running') for answer in ('', *answers)]


def test_a_terminal_gets_whole_lines_and_a_file_gets_the_answer_at_the_end() -> None:
    states = answering('One', 'One\nTw', 'One\nTwo\n\nTh', 'One\nTwo\n\nThree')
    assert shown(states, stream=Terminal())[1:] == ['', 'One\n', 'Two\n\n', '', 'Three\nWorking · 0 s\n']
    assert shown(states)[1:] == ['', '', '', '', 'One\nTwo\n\nThree\nWorking · 0 s\n']


def test_what_was_said_before_a_tool_is_printed_once() -> None:
    said = RunState(phase='running', steps=(SayStep(text='One\nTwo'),))
    states = [*answering('One\nTw', 'One\nTwo'), said, replace(said, answer='Three\nFour')]
    for stream in (Terminal(), io.StringIO()):
        assert ''.join(shown(states, stream=stream)) == 'One\nTwo\nThree\nFour\nWorking · 0 s\n'


def test_a_question_that_is_asked_again_is_printed_again() -> None:
    def waiting(state: str) -> RunState:
        approval = Approval(id='1', tool='execute', tool_class='execute', title='Run `ls`?', args='command: ls')
        return RunState(approvals=(replace(approval, state=state),))

    pieces = shown([RunState(), waiting('pending'), waiting('pending'), waiting('approved'), waiting('pending')])
    question = '? Run `ls`? [execute] asked by main\n    command: ls\n'
    assert pieces[1:5] == [question, '', '', question]


def test_a_terminal_without_the_signs_gets_ascii() -> None:
    raw = io.BytesIO()
    view = TextView(io.TextIOWrapper(raw, encoding='ascii', write_through=True))
    view.open(RunState(model=ModelInfo(label='Qwen · local')))
    view.close(replace(load('stopped'), todos=(Todo(id='1', content='Grüße 漢', status='completed'),)))
    text = raw.getvalue().decode('ascii')
    for line in (
        'Qwen - local',
        '[ok] execute  pytest -q -> 41,220 lines',
        '[!] edit_file  app.py - interrupted',
        r'[ok] Gr\xfc\xdfe \u6f22',
    ):
        assert line in text


def test_a_model_cannot_steer_the_terminal() -> None:
    state = RunState(answer='\x1b]0;title\x07\x1b[2Ja\rb\x08\x9b31mc', error='\x1b[1A', notice='\x1b[2K')
    text = ''.join(shown([RunState(), state], stream=Terminal()))
    assert '\x1b' not in text
    assert '\x9b' not in text
    assert 'bc\n' in text


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('a\tb\nc', 'a\tb\nc'),
        ('\x1b[1;31mred\x1b[0m', 'red'),
        ('\x1b]8;;https://x.y\x1b\\link\x1b]8;;\x1b\\', 'link'),
        ('10%\r50%\r100%\ndone', '100%\ndone'),
        ('dos\r\nlines\r\n', 'dos\nlines\n'),
        ('a\x00b\x7f', 'ab'),
        ('evil\u202egnp.exe', 'evilgnp.exe'),
        ('\x1b', ''),
    ],
)
def test_plain_text_has_no_commands(text: str, expected: str) -> None:
    assert plain(text) == expected


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('+a\tb\r\n', '+a\tb\n'),
        ('+x = 1  # \u202e hidden', '+x = 1  # [U+202E] hidden'),
        ('+\x1b[2K\x00\x7f', '+\u241b[2K\u2400[U+007F]'),
        ('+a\rb', '+a\u240db'),
    ],
)
def test_what_is_approved_hides_nothing(text: str, expected: str) -> None:
    assert revealed(text) == expected
    approval = Approval(id='1', tool='write_file', tool_class='write', title='Write?', diff=text, state='suspended')
    assert expected.strip() in render(RunState(approvals=(approval,)))

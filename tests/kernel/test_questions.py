"""Decisions that the agent leaves to the person, in a real kernel, each channel."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from harness.deep import answer, asked, decide, deep, front_end, question, run_deep, start_deep
from harness.kernels import RealKernel

TEXT = 'Which port?'
SETUP = """
from harness.cast import Cast
seen = []
ports = [dict(label='9090', description='free', recommended=True), dict(label='8081')]
def ask(question='Which port?', options=ports):
    return call('ask_user', question=question, options=options)
def told(messages):
    return ' | '.join(str(part.content) for part in returns(messages))
model = script(ask(), told, seen=seen)
"""


def text_of(result: object) -> str:
    return str(result.displays[-1]['text/plain'])  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ('chosen', 'told'), [(1, 'The person chose: 8081'), ('80 as before', 'answered: 80 as before')]
)
def test_a_click_answers_and_the_saved_cell_shows_both(kernel: RealKernel, chosen: int | str, told: str) -> None:
    deep(kernel, SETUP)
    cell = start_deep(kernel, '', 'Ask me, then move it.')
    widget = front_end(cell)
    shown = question(widget, TEXT)
    assert (shown['asked_by'], [choice['label'] for choice in shown['choices']]) == ('main', ['9090', '8081'])
    answer(widget, shown['id'], chosen)
    result = cell.result()

    assert told in text_of(result)
    said = chosen if isinstance(chosen, str) else '8081'
    assert f'✓ ask_user  Which port? → {said}' in text_of(result)
    assert 'Which port? → ' in result.displays[-1]['text/html']


def test_the_first_of_two_answers_counts_and_the_second_answers_nothing_else(kernel: RealKernel) -> None:
    deep(kernel, f'{SETUP}\nmodel = script(ask(), ask("When?", [dict(label="now"), dict(label="later")]), told)')
    cell = start_deep(kernel, '', 'Ask me, then move it.')
    widget = front_end(cell)
    first = question(widget, TEXT)['id']
    answer(widget, first, 0)
    answer(widget, first, 1)
    second = question(widget, 'When?')['id']
    answer(widget, first, 1)
    answer(widget, second, 0)
    assert 'The person chose: 9090 | The person chose: now' in text_of(cell.result())


@pytest.mark.parametrize(
    ('typed', 'told'),
    [('', 'The person chose: 9090'), ('2', 'The person chose: 8081'), ('none of these', 'answered: none of these')],
)
def test_a_front_end_without_widgets_is_asked_by_input(kernel: RealKernel, typed: str, told: str) -> None:
    deep(kernel, SETUP)
    kernel.run('%config DeepMagics.ready_timeout = 0.1')
    result = kernel.run('%%deep -m model\nAsk me, then move it.', stdin=[typed])
    assert told in text_of(result)
    assert '? Which port? · asked by main\n    1. 9090 (recommended) · free\n    2. 8081\n' in result.stdout


def test_without_a_person_the_recommended_option_is_taken(kernel: RealKernel) -> None:
    deep(kernel, SETUP)
    result = run_deep(kernel, '', 'Ask me, then move it.', allow_stdin=False)
    assert result.status == 'ok'
    assert "go on with '9090', which you recommend" in text_of(result)
    assert 'Which port? → 9090, as nobody was here' in text_of(result)


def test_whether_somebody_is_there_is_found_out_for_each_run(kernel: RealKernel) -> None:
    deep(kernel, SETUP)
    run_deep(kernel, '', 'Ask me, then move it.', allow_stdin=False)
    kernel.run('model = script(ask(), told)')
    cell = start_deep(kernel, '--new', 'Ask me, then move it.')
    widget = front_end(cell)
    answer(widget, question(widget, TEXT)['id'], 1)
    assert 'The person chose: 8081' in text_of(cell.result())


@pytest.mark.parametrize('way', ['interrupt', 'stop', 'input'])
def test_a_run_that_waits_can_be_stopped(kernel: RealKernel, way: str) -> None:
    deep(kernel, SETUP)
    if way == 'input':
        kernel.run('%config DeepMagics.ready_timeout = 0.1')
        cell = kernel.start('%%deep -m model\nAsk me, then move it.', stop_on_error=False)
        cell.wait_for_input()
        at = kernel.interrupt()
        cell.wait_for(lambda _: cell.done)
    else:
        cell = start_deep(kernel, '', 'Ask me, then move it.', stop_on_error=False)
        widget = front_end(cell)
        question(widget, TEXT)
        at = time.monotonic()
        if way == 'stop':
            widget.send({'kind': 'stop'})
        else:
            at = kernel.interrupt()
    result = cell.result()
    assert result.ended - at < 1
    assert result.error is not None
    assert result.error.name == 'RunInterrupted'
    assert 'Stopped by you' in text_of(result)
    assert '■ ask_user  Which port? · interrupted' in text_of(result)
    kernel.run('model = script(lambda m: "ok")')
    assert run_deep(kernel, '', 'hi').status == 'ok'


def test_the_time_that_a_question_waits_is_not_the_runs(kernel: RealKernel) -> None:
    deep(kernel, SETUP)
    cell = start_deep(kernel, '--timeout 1', 'Ask me, then move it.')
    widget = front_end(cell)
    shown = question(widget, TEXT)
    waited_until = time.monotonic() + 1.5
    # The clock of the run is what this is about, so it has to pass.
    while time.monotonic() < waited_until:
        time.sleep(0.1)
    answer(widget, shown['id'], 0)
    assert 'The person chose: 9090' in text_of(cell.result())


FAMILY = f"""{SETUP}
def task(description, **more):
    return ('task', dict(description=description, **more))
question = ('ask_user', dict(question='Which port?', options=ports))
plan = ('write_todos', dict(todos=[dict(content='Look', status='in_progress')]))
write = ('write_file', dict(path='gaps.md', content='# Gaps\\n'))
model = Cast({{
    "['Go.']": [
        [task('decide', subagent_type='planner'), task('look')], [task('later', background=True)], 'hm', 'All done.'
    ],
    'decide': [[question], 'On 9090.'],
    'look': [[plan], [write], 'No gap.'],
    'later': ['Later is done.'],
}}).model
"""


def test_subagents_ask_and_are_shown_below_their_step(kernel: RealKernel, tmp_path: Path) -> None:
    deep(kernel, FAMILY)
    cell = start_deep(kernel, '', 'Go.')
    widget = front_end(cell)
    shown = question(widget, TEXT)
    asked(widget, 't2:2.1')
    assert (shown['asked_by'], shown['step']) == ('planner', '1.1')
    decide(widget, 't2:2.1', 'approve')
    answer(widget, shown['id'], 0)
    result = cell.result()
    assert (tmp_path / 'gaps.md').read_text() == '# Gaps\n'
    work = text_of(result)
    assert work[work.index('Work') : work.index('All done.')].strip().split('\n') == [
        'Work · 3 tools',
        '  ✓ task  decide',
        '      ✓ planner  On 9090.',
        '      ✓ planner asked  Which port? · you chose: 9090',
        '  ✓ task  look',
        '      ✓ general  No gap. · 1 file changed +1',
        '        Plan · 0 of 1 · Look',
        '      ✓ general asked  Write gaps.md? · approved by you',
        '  ✓ task  later',
        '      ✓ general  t3 in the background · Later is done.',
        '  hm',
    ]
    assert work.endswith('1 file changed\n  gaps.md  +1')

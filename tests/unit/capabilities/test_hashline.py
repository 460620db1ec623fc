"""An anchor means one line. What is stale is refused with what is there now, and nothing is guessed."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pydantic_ai.exceptions import ToolFailed

from deep_notebook.capabilities.filesystem.hashline import (
    EditOperation,
    PastEdit,
    find_tags,
    line_tag,
    plan_splices,
    tagged,
)
from deep_notebook.capabilities.filesystem.text_files import Splice, TextFile

LINES = ('import os', '', 'def f():', '    return 1', '', 'def g():', '    return 2')


def anchor(number: int, lines: tuple[str, ...] = LINES) -> str:
    return f'{number}:{line_tag(lines[number - 1])}'


def edit(*operations: EditOperation, lines: tuple[str, ...] = LINES, **options: object) -> str:
    file = TextFile().with_text('\n'.join(lines))
    return file.spliced(plan_splices(operations, lines, shown='a.py', **options)).text  # type: ignore[arg-type]


@dataclass(frozen=True)
class Case:
    name: str
    operations: tuple[EditOperation, ...]
    expected: str


CASES = [
    Case(
        'replace one line',
        ({'op': 'replace', 'anchor': anchor(4), 'text': '    return 3'},),
        'import os\n\ndef f():\n    return 3\n\ndef g():\n    return 2',
    ),
    Case(
        'replace a range',
        ({'op': 'replace', 'anchor': anchor(3), 'end': anchor(7), 'text': 'x = 1\n'},),
        'import os\n\nx = 1',
    ),
    Case(
        'replace by more lines',
        ({'op': 'replace', 'anchor': anchor(1), 'text': 'import os\nimport re'},),
        'import os\nimport re\n\ndef f():\n    return 1\n\ndef g():\n    return 2',
    ),
    Case(
        'insert after',
        ({'op': 'insert_after', 'anchor': anchor(7), 'text': '# end'},),
        'import os\n\ndef f():\n    return 1\n\ndef g():\n    return 2\n# end',
    ),
    Case(
        'insert before',
        ({'op': 'insert_before', 'anchor': anchor(1), 'text': '# top'},),
        '# top\nimport os\n\ndef f():\n    return 1\n\ndef g():\n    return 2',
    ),
    Case(
        'delete',
        ({'op': 'delete', 'anchor': anchor(1), 'end': anchor(2)},),
        'def f():\n    return 1\n\ndef g():\n    return 2',
    ),
    Case(
        'an empty line',
        ({'op': 'replace', 'anchor': anchor(1), 'text': '\n'},),
        '\n\ndef f():\n    return 1\n\ndef g():\n    return 2',
    ),
    Case(
        'a copied line as anchor',
        ({'op': 'replace', 'anchor': tagged(0, LINES[0]) + LINES[0], 'text': 'x'},),
        'x\n\ndef f():\n    return 1\n\ndef g():\n    return 2',
    ),
    Case(
        'several operations mean the file before any of them',
        (
            {'op': 'delete', 'anchor': anchor(1), 'end': anchor(2)},
            {'op': 'insert_after', 'anchor': anchor(4), 'text': '    # one'},
            {'op': 'insert_after', 'anchor': anchor(4), 'text': '    # two'},
            {'op': 'replace', 'anchor': anchor(7), 'text': '    return 20'},
        ),
        'def f():\n    return 1\n    # one\n    # two\n\ndef g():\n    return 20',
    ),
]


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.name)
def test_operations_do_what_they_say(case: Case) -> None:
    assert edit(*case.operations) == case.expected


@pytest.mark.parametrize(
    ('operations', 'message'),
    [
        ([], 'no operations'),
        ([{'op': 'delete', 'anchor': 'line 3'}], 'not an anchor'),
        ([{'op': 'insert_after', 'anchor': anchor(1)}], 'has no text'),
        ([{'op': 'delete', 'anchor': anchor(1), 'text': 'x'}], 'use replace'),
        ([{'op': 'delete', 'anchor': anchor(4), 'end': anchor(3)}], 'is before'),
        (
            [
                {'op': 'delete', 'anchor': anchor(3), 'end': anchor(4)},
                {'op': 'replace', 'anchor': anchor(4), 'text': 'x'},
            ],
            'Two operations change line 4',
        ),
        (
            [
                {'op': 'replace', 'anchor': anchor(3), 'end': anchor(5), 'text': 'x'},
                {'op': 'insert_after', 'anchor': anchor(4), 'text': 'y'},
            ],
            'Two operations change line 5',
        ),
    ],
)
def test_operations_that_make_no_sense_are_refused(operations: list[EditOperation], message: str) -> None:
    with pytest.raises(ToolFailed, match=message):
        edit(*operations)


def test_a_stale_anchor_is_refused_with_the_lines_that_are_there() -> None:
    with pytest.raises(ToolFailed) as refused:
        edit({'op': 'delete', 'anchor': '4:00'}, {'op': 'delete', 'anchor': '900:ff'})
    message = str(refused.value)
    assert message.startswith('Stale anchor 4:00, 900:ff: nothing was written.')
    assert tagged(3, LINES[3]) + LINES[3] in message
    assert tagged(6, LINES[6]) + LINES[6] in message


def test_the_number_alone_is_not_enough_and_the_hash_alone_only_where_allowed() -> None:
    moved = ('# new', *LINES)
    operation: EditOperation = {'op': 'replace', 'anchor': anchor(4), 'text': '    return 9'}
    with pytest.raises(ToolFailed, match='Stale'):
        edit(operation, lines=moved)
    assert '    return 9' in edit(operation, lines=moved, search=True)


def test_a_hash_that_several_lines_have_is_not_guessed() -> None:
    moved = ('# new', *LINES)
    with pytest.raises(ToolFailed, match='Stale'):
        edit({'op': 'delete', 'anchor': anchor(5)}, lines=('x', 'y', '', 'z', 'w', ''), search=True)
    assert edit({'op': 'delete', 'anchor': anchor(1)}, lines=moved, search=True) == '\n'.join(['# new', *LINES[1:]])


def test_edits_of_the_same_response_move_anchors_that_many_lines_share() -> None:
    lines = tuple(['', 'x'] * 5)
    inserted = ('top', 'second', *lines)
    history = [PastEdit(step=3, splices=(Splice(0, 0, ['top', 'second']),))]
    changed = edit(
        {'op': 'replace', 'anchor': anchor(4, lines), 'text': 'HERE'},
        lines=inserted,
        history=history,
        step=3,
        search=True,
    )
    assert changed.split('\n').index('HERE') == 5


def test_an_anchor_from_before_an_edit_is_found_where_that_edit_moved_it() -> None:
    lines = tuple(['', 'x'] * 5)
    inserted = ('top', *lines)
    history = [PastEdit(step=2, splices=(Splice(0, 0, ['top']),))]
    old: EditOperation = {'op': 'replace', 'anchor': anchor(4, lines), 'text': 'HERE'}
    assert edit(old, lines=inserted, history=history, step=3).split('\n').index('HERE') == 4
    fresh: EditOperation = {'op': 'replace', 'anchor': anchor(5, inserted), 'text': 'HERE'}
    assert edit(fresh, lines=inserted, history=history, step=3).split('\n').index('HERE') == 4


def test_a_line_that_a_parallel_edit_replaced_is_stale() -> None:
    history = [PastEdit(step=3, splices=(Splice(3, 4, ['    return 1']),))]
    with pytest.raises(ToolFailed, match='Stale'):
        edit({'op': 'delete', 'anchor': anchor(4)}, history=history, step=3)


@pytest.mark.parametrize(
    ('text', 'slips'),
    [
        (tagged(3, '    return 1') + '    return 1', True),
        ('x = 1\n' + tagged(11, 'y = 2') + 'y = 2', True),
        (f'{anchor(4)}|    return 5', True),
        ('+' + tagged(3, 'z') + 'z', True),
        ('12:30|lunch at noon' if line_tag('lunch at noon') != '30' else 'skip', False),
        ('plain text\nratio 3:1', False),
    ],
)
def test_tags_that_slip_into_new_text_are_noticed(text: str, slips: bool) -> None:
    assert bool(find_tags(text, LINES)) is slips
    operation: EditOperation = {'op': 'replace', 'anchor': anchor(1), 'text': text}
    if slips:
        with pytest.raises(ToolFailed, match='line tag'):
            edit(operation)
    else:
        assert text in edit(operation)

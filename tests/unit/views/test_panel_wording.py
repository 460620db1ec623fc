"""All views of a panel say the same words: this table is also checked against the live widget."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deep_notebook.views import panel_wording as words
from deep_notebook.views.panel_shapes import (
    ChangeSet,
    Hit,
    Pages,
    PlannedFile,
    ReviewFile,
    RewindQuestion,
    Search,
    TimelinePoint,
)

TABLE: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / 'fixtures' / 'panel_wording.json').read_text(encoding='utf-8')
)


def reviewed(case: dict[str, Any]) -> str:
    files = tuple(ReviewFile(path='x', action='edit', state=state) for state in case['files'])
    return words.reviewed_words(ChangeSet(run=case['run'], files=files))


def searched(case: dict[str, Any]) -> str:
    return words.searched_words(Search(**{**case, 'hits': (Hit(),) * case['hits']}))


WORDS: dict[str, Callable[[Any], str]] = {
    'timeline': words.timeline_words,
    'point': lambda case: words.point_words(TimelinePoint(id='1', label='', turn=0, at=0, **case)),
    'going_back': lambda case: words.going_back_words(RewindQuestion(id='1', label='', messages=case)),
    'planned': lambda case: words.planned_words(PlannedFile(path='x', **case)),
    'variables': lambda case: words.variables_words(RewindQuestion(id='1', label='', variables=tuple(case))),
    'reviewed': reviewed,
    'review': lambda case: words.review_words(ReviewFile(path='x', **case)),
    'searched': searched,
    'hit': lambda case: words.hit_words(Hit(**case)),
    'page': lambda case: words.pages_words(Pages(**case)),
}


def test_every_part_of_the_table_is_checked() -> None:
    assert TABLE.keys() == WORDS.keys()


@pytest.mark.parametrize(('kind', 'case'), [(kind, case) for kind, cases in TABLE.items() for case in cases])
def test_words(kind: str, case: dict[str, Any]) -> None:
    assert WORDS[kind](case['input']) == case['text']

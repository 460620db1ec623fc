"""A live view gets only what changed, and ends with exactly the state that the kernel has."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_notebook.views.delta import apply, diff

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / 'fixtures' / 'deltas.json').read_text(encoding='utf-8')
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text('ab', max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from('xyz'), inner, max_size=3),
    max_leaves=12,
)


def same(one: object, other: object) -> bool:
    """Compare as JSON, where `true` is not `1`."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@pytest.mark.parametrize('case', CASES)
def test_the_operations_are_the_ones_that_the_front_end_is_tested_with(case: dict[str, Any]) -> None:
    ops = diff(case['before'], case['after'])
    assert json.loads(json.dumps(ops)) == case['ops']
    assert same(apply(case['before'], ops), case['after'])


@given(json_values, json_values)
@settings(max_examples=200, deadline=None)
def test_any_state_becomes_any_other(before: Any, after: Any) -> None:
    kept = copy.deepcopy(before)
    assert same(apply(before, diff(before, after)), after)
    assert same(before, kept), 'apply changed its argument'


@given(json_values)
@settings(max_examples=50, deadline=None)
def test_nothing_changed_needs_no_operation(state: Any) -> None:
    assert diff(state, copy.deepcopy(state)) == []


def test_a_growing_answer_costs_only_what_was_added() -> None:
    before = {'answer': 'x' * 10_000, 'steps': [{'result': 'y' * 10_000}]}
    after = {'answer': 'x' * 10_000 + 'z', 'steps': [{'result': 'y' * 10_000}, {'result': ''}]}
    assert diff(before, after) == [('append', ['answer'], 'z'), ('push', ['steps'], [{'result': ''}])]


@pytest.mark.parametrize(
    'op',
    [
        ('append', ['missing'], 'x'),
        ('append', ['n'], 'x'),
        ('push', ['text'], ['x']),
        ('set', ['steps', 3], 'x'),
        ('set', ['steps', 'kind'], 'x'),
        ('set', ['text', 0], 'x'),
    ],
    ids=str,
)
def test_an_operation_that_does_not_fit_is_refused(op: Any) -> None:
    with pytest.raises((KeyError, IndexError, TypeError)):
        apply({'n': 1, 'text': 'a', 'steps': [1]}, [op])

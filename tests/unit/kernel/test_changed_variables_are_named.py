"""A rewind cannot bring variables back, so it has to say which the agent's code changed."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

import pytest

from deep_notebook.kernel.variable_watch import VariableWatch, assigned_names


@pytest.mark.parametrize(
    ('code', 'names'),
    [
        ('a = 1; b: int = 2; c += 1', {'a', 'b', 'c'}),
        ('(a, *b), [c] = f()', {'a', 'b', 'c'}),
        ("df['x'] = 1; model.layers[0].bias = 2; del cache[1]; del gone", {'df', 'model', 'cache', 'gone'}),
        ('for i in x: pass\nwith open(p) as file: pass', {'i', 'file'}),
        ('import os.path\nfrom a import b as c', {'os', 'c'}),
        ('print(n := 3)', {'n'}),
        ('try: pass\nexcept E as e: pass', {'e'}),
        ('match x:\n case [a, *b]: pass\n case {"k": c, **d}: pass', {'a', 'b', 'c', 'd'}),
        ('def f():\n  global total\n  local = 1\n  total = 2', {'f', 'total'}),
        ('class K:\n  field = 1', {'K'}),
        ('print(a); lambda b: b', set()),
        ('this is no Python', set()),
        ('a\0', set()),
    ],
)
def test_names_that_code_assigns_to(code: str, names: set[str]) -> None:
    assert assigned_names(code) == names


def changed(namespace: dict[str, Any], code: str) -> list[str]:
    watch = VariableWatch(namespace, {'In': None})
    with watch.watching(code):
        exec(code, namespace)
    return watch.changed


def test_a_changed_part_of_a_value_counts_as_well_as_another_value() -> None:
    assert changed({'table': {}, 'same': 1}, "table['x'] = 1; new = 2; same") == ['new', 'table']


def test_what_a_function_of_the_persons_rebinds_is_seen() -> None:
    namespace: dict[str, Any] = {}
    exec('total = []\ndef f():\n  global total\n  total = object()', namespace)
    assert changed(namespace, 'f()') == ['total']


def test_modules_and_names_that_are_not_the_persons_are_left_out() -> None:
    assert changed({'In': []}, 'import sys as s; _hidden = 1; In = 2; a = 1') == ['a']
    assert 's' not in changed({'s': sys}, 'import sys as s')


def test_code_that_fails_or_never_ends_has_its_names_told_too() -> None:
    namespace: dict[str, Any] = {}
    watch = VariableWatch(namespace)
    with suppress(ZeroDivisionError), watch.watching('a = 1; 1 / 0'):
        assert watch.changed == ['a']
        exec('a = 1; 1 / 0', namespace)
    assert watch.changed == ['a']

from __future__ import annotations

from typing import Any

import pytest

from deep_notebook.errors import UsageError
from deep_notebook.kernel.prompt import EXPANSION_LIMIT, expand, prompt_of

CASES: list[tuple[str, dict[str, Any], str]] = [
    ('{v:k for k,v in d.items()}', {'v': 1, 'k': 2, 'd': {}}, '{v:k for k,v in d.items()}'),
    ('{t}', {'t': '{x}', 'x': 1}, '{x}'),
    ('{t} and {t}', {'t': 3}, '3 and 3'),
    ('{unknown}', {}, '{unknown}'),
    ('{t!r} {t:>3} { t } {t.x}', {'t': 1}, '{t!r} {t:>3} { t } {t.x}'),
    ('{größe}', {'größe': 5}, '5'),
    ('f"{{t}}"', {'t': 1}, 'f"{{t}}"'),
    ('{t}}', {'t': 1}, '{t}}'),
    ('{{t} {{{t}}} {t}{t}', {'t': 1}, '{{t} {{{t}}} 11'),
]


@pytest.mark.parametrize(('text', 'namespace', 'expected'), CASES)
def test_only_a_bare_name_that_exists_is_expanded_and_only_once(
    text: str, namespace: dict[str, Any], expected: str
) -> None:
    assert expand(text, namespace) == expected


def test_a_large_value_is_cut_and_the_prompt_says_so() -> None:
    expanded = expand('{big}', {'big': 'x' * (EXPANSION_LIMIT + 1)})
    assert expanded == 'x' * EXPANSION_LIMIT + '… (20,001 characters in all, in the variable `big`)'


def test_a_value_that_cannot_be_printed_does_not_stop_the_cell() -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError('no')

    assert expand('{b}', {'b': Broken()}) == '<Broken whose text cannot be made: RuntimeError>'


@pytest.mark.parametrize('body', ['', '\n', '  \n\t\n', '\u200b\u2060\n', '\ufeff', '\0\x0c\u3000'])
def test_no_words_are_a_mistake_that_says_what_to_write(body: str) -> None:
    with pytest.raises(UsageError, match='Write what you want below %%deep'):
        prompt_of('', body, {})


def test_words_on_the_line_come_before_the_body() -> None:
    assert prompt_of('Summarise', 'this text\n', {}) == 'Summarise\nthis text'
    assert prompt_of('hi', '', {}) == 'hi'


def test_the_body_reaches_the_model_byte_for_byte() -> None:
    body = '  indented\r\n\ttab {not_there}  \n\n'
    assert prompt_of('', body + '\n', {}) == body


def test_a_prompt_of_empty_variables_is_a_mistake_that_says_so() -> None:
    with pytest.raises(UsageError, match=r"the variables in your prompt '\{a\}\{b\}' are empty"):
        prompt_of('', ' {a}{b}\n', {'a': '', 'b': ' '})


def test_half_a_character_is_replaced() -> None:
    assert prompt_of('', 'a \ud83d {b}\n', {'b': '\udc00'}) == 'a ? ?'

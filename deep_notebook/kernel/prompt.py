"""From the text of a cell to the prompt that the model gets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from ..errors import UsageError

__all__ = ['EXPANSION_LIMIT', 'as_typed', 'expand', 'prompt_of']

EXPANSION_LIMIT = 20_000
"""Characters of a variable that go into a prompt; a model reads larger things better with a tool."""

_BARE_NAME = re.compile(r'(?<!\{)\{([^\W\d]\w*)\}(?!\})')

_UNSEEN = frozenset({'Cc', 'Cf'})
"""Unicode categories of what has no looks of its own: controls, zero-width characters, byte order marks."""


def expand(text: str, namespace: Mapping[str, object]) -> str:
    """Replace `{name}` by the text of the variable `name`, once, and only where such a variable exists.

    Everything else in braces, such as code, stays as it is, and so does a name in double braces.
    """

    def replacement(match: re.Match[str]) -> str:
        name = match[1]
        if name not in namespace:
            return match[0]
        value = _text_of(namespace[name])
        if len(value) <= EXPANSION_LIMIT:
            return value
        return f'{value[:EXPANSION_LIMIT]}… ({len(value):,} characters in all, in the variable `{name}`)'

    return _BARE_NAME.sub(replacement, text)


def _text_of(value: object) -> str:
    try:
        return str(value)
    except Exception as error:
        # The person's own __str__ failed: the prompt says so instead of the cell failing.
        return f'<{type(value).__name__} whose text cannot be made: {type(error).__name__}>'


def prompt_of(line: str, body: str, namespace: Mapping[str, object]) -> str:
    """Return the prompt of a `%%deep` cell: the words on its line, then its body.

    Raises:
        UsageError: There are no words at all, or none once the variables are filled in.
    """
    # IPython ends every cell with a line end of its own.
    body = body.removesuffix('\n')
    text = body if not line else f'{line}\n{body}' if body.strip() else line
    if not _says_something(text):
        raise UsageError(
            'Write what you want below %%deep, for example: %%deep, then on the next line '
            '"Summarise data.csv in report.md".'
        )
    prompt = expand(text, namespace)
    if not _says_something(prompt):
        raise UsageError(f'Nothing is left to ask: the variables in your prompt {text.strip()!r} are empty.')
    return as_typed(prompt)


def as_typed(text: str) -> str:
    """Return `text` as the person typed it, also where the terminal's locale lacks its characters.

    What is left of a character that was cut in two, which cannot be sent to anyone, becomes a question mark.
    """
    try:
        return text.encode('utf-8', 'surrogateescape').decode()
    except UnicodeError:
        return text.encode('utf-8', 'replace').decode()


def _says_something(text: str) -> bool:
    """Return whether there is anything to see in `text`."""
    return any(not character.isspace() and unicodedata.category(character) not in _UNSEEN for character in text)

"""What a prompt names, in the person's own words: not in code, not in what they quote, not as part of a file name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

__all__ = ['Wording', 'phrases']

_LOOKED_AT = 2_000
"""Characters at the start and at the end of a prompt that are looked at; a wish stands there, pasted data between."""

_LETTER = r'[^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]'
"""What goes on with a word. Thai, Japanese, Chinese and Korean words touch their neighbours without a space."""
_BEFORE = rf'(?<!{_LETTER})(?<![-./\\@#$])'
_AFTER = rf'(?!{_LETTER}|[-.:]\w|[([/\\=@])'

_FENCE = re.compile(r'\s*(`{3,}|~{3,})(.*)')
_QUOTED_LINE = re.compile(r'\s{0,3}>')
_INDENTED = re.compile(r' {4}|\t')
_ELEMENT = re.compile(r'<([A-Za-z][\w-]*)\b[^<>]*>.*?</\1>', re.DOTALL)
_URL = re.compile(r'https?://[^\s<>"\'`“”«»]+', re.IGNORECASE)
_CODE_SPAN = re.compile(r'(?<!`)(`+)(?!`)(?P<inside>(?:(?!\n\s*\n).)+?)(?<!`)\1(?!`)', re.DOTALL)
_QUOTATION = re.compile(
    '|'.join(
        rf'{opening}([^{closing}\n]{{1,200}}){closing}'
        for opening, closing in ('""', '“”', '„“', '„”', '«»', '»«', '‹›', '「」', '『』', '《》')
    )
    + r"|(?<!\w)'([^'\n]{1,200})'(?!\w)|(?<!\w)‘([^’\n]{1,200})’(?!\w)"
)
_GAP = '\0'
"""Stands where something was taken out; no phrase goes across it."""


def phrases(*alternatives: str) -> re.Pattern[str]:
    """Return a pattern of phrases as whole words, whatever their case.

    Args:
        alternatives: Regular expressions; a space is any white space.
    """
    either = '|'.join(alternatives).replace(' ', r'\s+')
    return re.compile(f'{_BEFORE}(?:{either}){_AFTER}', re.IGNORECASE)


@dataclass(frozen=True)
class Wording:
    """A prompt, taken apart into the person's words and what they put in quotes or code spans."""

    text: str

    @classmethod
    def of(cls, prompt: str | Sequence[object] | None) -> Wording:
        """Return the wording of all texts of a prompt."""
        texts = [prompt] if isinstance(prompt, str) else [part for part in prompt or () if isinstance(part, str)]
        return cls('\n\n'.join(map(_bounded, texts)))

    def says(self, pattern: re.Pattern[str]) -> bool:
        """Return whether the person's words hold one of `phrases`."""
        return pattern.search(self._parts[0]) is not None

    def names(self, name: str) -> bool:
        """Return whether `name` stands among the words, or alone in quotes or a code span; `-`, `_`, ` ` are alike."""
        words = [re.escape(word) for word in re.split(r'[-_\s]+', name) if word]
        if not words:
            return False
        pattern = phrases(r'[-_\s]+'.join(words))
        return self.says(pattern) or any(pattern.fullmatch(span.strip()) for span in self._parts[1])

    @property
    def has_url(self) -> bool:
        """Whether there is the address of a web page, as it is or alone in quotes or a code span."""
        return self._parts[2] or any(_URL.match(span.strip()) for span in self._parts[1])

    @cached_property
    def _parts(self) -> tuple[str, list[str], bool]:
        """The words, what stands in quotes and code spans, and whether there is a URL outside of those."""
        text = _ELEMENT.sub(_GAP, _without_blocks(self.text))
        spans: list[str] = []

        def take_out(match: re.Match[str]) -> str:
            spans.append(match.groupdict().get('inside') or next(filter(None, match.groups()), ''))
            return _GAP

        text = _QUOTATION.sub(take_out, _CODE_SPAN.sub(take_out, text))
        words, urls = _URL.subn(_GAP, text)
        return words, spans, bool(urls)


def _bounded(text: str) -> str:
    return text if len(text) <= 2 * _LOOKED_AT else f'{text[:_LOOKED_AT]}{_GAP}\n\n{text[-_LOOKED_AT:]}'


def _without_blocks(text: str) -> str:
    """Return `text` without fenced and indented code and without quoted lines, as Markdown has them."""
    kept: list[str] = []
    fence = ''
    code_may_follow = False
    for line in text.split('\n'):
        mark = _FENCE.match(line)
        if fence:
            if mark is not None and mark[1].startswith(fence) and not mark[2].strip():
                fence = ''
        elif mark is not None and not (mark[1][0] == '`' and '`' in mark[2]):
            fence = mark[1]
            kept.append(_GAP)
        elif _QUOTED_LINE.match(line) or (code_may_follow and _INDENTED.match(line)):
            kept.append(_GAP)
            continue
        else:
            kept.append(line)
        code_may_follow = not fence and not line.strip()
    return '\n'.join(kept)

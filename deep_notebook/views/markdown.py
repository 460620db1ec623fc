"""Markdown of a model as HTML that is safe to show anywhere.

Raw HTML comes out as text, links lead to the web or to mail only, and no picture is fetched. Formulas
(`\\(x\\)`, `\\[x\\]`, `$x$`, `$$x$$`, `\\begin{align}`) are left for MathJax, in elements that it processes even
inside one that it is told to ignore; so prices such as $5 stay prices.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

__all__ = ['render_markdown']

MATH_CLASSES = 'mathjax_process tex2jax_process'
"""Classes by which MathJax 3 and 2 process an element."""

_ALLOWED_LINK = re.compile(r'(?:https?|mailto):', re.IGNORECASE)
_PICTURE_LINK = re.compile(r'https?:', re.IGNORECASE)
_ENVIRONMENT = re.compile(r'\\begin\{([a-z]+\*?)\}')
_DOLLAR_MATH = re.compile(r'\$(?![\s$])((?:\\.|[^$\\\n]|\n(?!\s*\n))+?)(?<!\s)\$(?![\d$])')
_LOWEST_HEADING = 6
# What lets a formula make links, styles or new commands that do.
_UNSAFE_MATH = re.compile(
    r'\\(?:href|url|require|style|class|cssId|data|mmlToken|includegraphics|csname|unicode|html[a-zA-Z]*'
    r'|x?def|gdef|edef|let|futurelet|(?:re)?new[a-zA-Z]+|Declare[a-zA-Z]+)(?![a-zA-Z])'
)


def render_markdown(text: str) -> str:
    """Return `text`, Markdown with tables, as HTML without scripts, styles, ids, remote pictures or raw HTML."""
    html: str = _renderer().render(text)
    return html


@cache
def _renderer() -> MarkdownIt:
    markdown = MarkdownIt('commonmark', {'html': False}).enable(['table', 'strikethrough'])
    markdown.disable(['html_block', 'html_inline'])
    markdown.inline.ruler.before('escape', 'math', _inline_math)
    markdown.block.ruler.before(
        'fence', 'math_block', _block_math, {'alt': ['paragraph', 'reference', 'blockquote', 'list']}
    )
    markdown.core.ruler.push('safe_links', _safe_links)
    markdown.core.ruler.push('smaller_headings', _smaller_headings)
    # Links are checked in `_safe_links`, which says where a refused one leads instead of showing its source.
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    markdown.add_render_rule('math', _render_inline_math)
    markdown.add_render_rule('math_block', _render_block_math)
    markdown.add_render_rule('fence', _render_code)
    markdown.add_render_rule('code_block', _render_code)
    markdown.add_render_rule('table_open', lambda self, *_: '<div class="deep-scroll"><table>\n')
    markdown.add_render_rule('table_close', lambda self, *_: '</table></div>\n')
    return markdown


def _inline_math(state: StateInline, silent: bool) -> bool:
    found = _math_at(state.src, state.pos)
    if found is None:
        return False
    content, end = found
    if not silent:
        state.push('math', '', 0).content = content
    state.pos = end
    return True


def _math_at(source: str, start: int) -> tuple[str, int] | None:
    """Return the formula that begins at `start`, with delimiters, and where it ends."""
    for opening, closing in (('\\(', '\\)'), ('\\[', '\\]'), ('$$', '$$')):
        if source.startswith(opening, start):
            end = source.find(closing, start + len(opening))
            inside = source[start + len(opening) : end]
            if end < 0 or not inside.strip():
                return None
            left, right = ('\\[', '\\]') if opening == '$$' else (opening, closing)
            return f'{left}{inside}{right}', end + len(closing)
    match = _DOLLAR_MATH.match(source, start)
    return (f'\\({match[1]}\\)', match.end()) if match else None


def _block_math(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    first = _line(state, start)
    closing = _closing(first)
    if closing is None:
        return False
    lines: list[str] = []
    for number in range(start, end):
        line = _line(state, number)
        if number > start and state.sCount[number] < state.blkIndent and line.strip():
            return False
        lines.append(line)
        searched = line[2:] if number == start else line
        if closing in searched:
            if searched.rstrip().endswith(closing):
                break
            return False
    else:
        return False
    if silent:
        return True
    token = state.push('math_block', '', 0)
    token.block = True
    token.map = [start, number + 1]
    text = '\n'.join(lines).strip()
    token.content = f'\\[{text[2:-2]}\\]' if closing == '$$' else text
    state.line = number + 1
    return True


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _closing(line: str) -> str | None:
    if line.startswith('\\['):
        return '\\]'
    if line.startswith('$$'):
        return '$$'
    environment = _ENVIRONMENT.match(line)
    return f'\\end{{{environment[1]}}}' if environment else None


def _safe_links(state: StateCore) -> None:
    for token in state.tokens:
        if token.children:
            token.children = _with_safe_links(token.children)


def _with_safe_links(tokens: Sequence[Token]) -> list[Token]:
    safe: list[Token] = []
    refused: str | None = None
    for token in tokens:
        if token.type == 'image':
            safe += _picture_as_link(token)
        elif token.type == 'link_open' and not _ALLOWED_LINK.match(str(token.attrGet('href'))):
            refused = str(token.attrGet('href'))
        elif token.type == 'link_close' and refused is not None:
            if not (safe and safe[-1].content == refused):
                safe += [_text(' ('), Token('code_inline', 'code', 0, content=refused), _text(')')]
            refused = None
        else:
            if token.type == 'link_open':
                _mark_outside(token)
            safe.append(token)
    return safe


def _picture_as_link(token: Token) -> list[Token]:
    source = str(token.attrGet('src'))
    label = token.content or 'picture'
    if not _PICTURE_LINK.match(source):
        return [_text(label)]
    link = Token('link_open', 'a', 1, attrs={'href': source})
    _mark_outside(link)
    return [link, _text(label), Token('link_close', 'a', -1)]


def _mark_outside(link: Token) -> None:
    link.attrSet('rel', 'noopener noreferrer')
    link.attrSet('target', '_blank')


def _text(content: str) -> Token:
    return Token('text', '', 0, content=content)


def _smaller_headings(state: StateCore) -> None:
    """Keep headings of an answer below those of the notebook."""
    for token in state.tokens:
        if token.type in ('heading_open', 'heading_close'):
            token.tag = f'h{min(int(token.tag[1]) + 3, _LOWEST_HEADING)}'


def _render_inline_math(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return _math('span', tokens[index].content)


def _render_block_math(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return _math('div', tokens[index].content) + '\n'


def _math(tag: str, formula: str) -> str:
    if _UNSAFE_MATH.search(formula):
        return f'<{tag}><code>{escape(formula, quote=False)}</code></{tag}>'
    return f'<{tag} class="{MATH_CLASSES}">{escape(formula, quote=False)}</{tag}>'


def _render_code(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return f'<pre><code>{escape(tokens[index].content, quote=False)}</code></pre>\n'

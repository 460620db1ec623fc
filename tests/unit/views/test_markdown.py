"""A model's Markdown: what it means is shown, what it could do is not."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from deep_notebook.views.markdown import MATH_CLASSES, render_markdown


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    html: str


def marked(html: str) -> str:
    """Write out ‹formulas in a line› and «formulas that stand alone»."""
    for sign, tag in {
        '‹': f'<span class="{MATH_CLASSES}">',
        '›': '</span>',
        '«': f'<div class="{MATH_CLASSES}">',
        '»': '</div>',
    }.items():
        html = html.replace(sign, tag)
    return html


WEB = ' rel="noopener noreferrer" target="_blank"'
CASES = [
    Case('HTML is text', 'a <b>c</b>', '<p>a &lt;b&gt;c&lt;/b&gt;</p>'),
    Case('a block of HTML is text', '<div>\nx\n</div>', '<p>&lt;div&gt;\nx\n&lt;/div&gt;</p>'),
    Case('web', '[a](https://x.y)', f'<p><a href="https://x.y"{WEB}>a</a></p>'),
    Case('mail', '<me@x.y>', f'<p><a href="mailto:me@x.y"{WEB}>me@x.y</a></p>'),
    Case('script', '[a](javascript:x)', '<p>a (<code>javascript:x</code>)</p>'),
    Case('disguised script', '[a](&#x6a;avascript:x)', '<p>a (<code>javascript:x</code>)</p>'),
    Case('a file', '[the report](out/a.md)', '<p>the report (<code>out/a.md</code>)</p>'),
    Case('a file by its name', '[a.md](a.md)', '<p>a.md</p>'),
    Case('remote picture', '![a](https://x.y/a.png)', f'<p><a href="https://x.y/a.png"{WEB}>a</a></p>'),
    Case('picture without words', '![](https://x.y/a.png)', f'<p><a href="https://x.y/a.png"{WEB}>picture</a></p>'),
    Case('picture in a link', '[![a](data:x)](https://x.y)', f'<p><a href="https://x.y"{WEB}>a</a></p>'),
    Case('headings stay below those of the notebook', '# A\n\n#### B', '<h4>A</h4>\n<h6>B</h6>'),
    Case('struck through', '~~a~~', '<p><s>a</s></p>'),
    Case('inline formula', r'so \(x=2\).', r'<p>so ‹\(x=2\)›.</p>'),
    Case('display formula', r'\[E=mc^2\]', r'«\[E=mc^2\]»'),
    Case('display formula in a sentence', r'so \[E=mc^2\] it is', r'<p>so ‹\[E=mc^2\]› it is</p>'),
    Case('over several lines', '\\[\na\n= b\n\\]', '«\\[\na\n= b\n\\]»'),
    Case('after a paragraph', 'so\n\\[\n- a\n\\]\nit is', '<p>so</p>\n«\\[\n- a\n\\]»\n<p>it is</p>'),
    Case('with blank lines', '$$\na\n\nb\n$$', '«\\[\na\n\nb\n\\]»'),
    Case('in a list', '- \\[\n  a\n  \\]\n- b', '<ul>\n<li>\n«\\[\na\n\\]»\n</li>\n<li>b</li>\n</ul>'),
    Case('in a quote', '> \\[\n> a\n> \\]', '<blockquote>\n«\\[\na\n\\]»\n</blockquote>'),
    Case('dollars', '$x^2$ and $$y$$', r'<p>‹\(x^2\)› and ‹\[y\]›</p>'),
    Case('environment', '\\begin{align}\na &< b\n\\end{align}', '«\\begin{align}\na &amp;&lt; b\n\\end{align}»'),
    Case('underscores in a formula', r'\(a_1 * b_1 * c\)', r'<p>‹\(a_1 * b_1 * c\)›</p>'),
    Case('prices', '$5 and $10, US$5-US$6', '<p>$5 and $10, US$5-US$6</p>'),
    Case('bold prices', '**$12,480** and **$9,310**', '<p><strong>$12,480</strong> and <strong>$9,310</strong></p>'),
    Case('shell variables', '$HOME and $PATH', '<p>$HOME and $PATH</p>'),
    Case('a fence is untouched', '```tex\n\\(x\\) $y$ <b>\n```', '<pre><code>\\(x\\) $y$ &lt;b&gt;\n</code></pre>'),
    Case('indented code is untouched', '    \\[x\\]', '<pre><code>\\[x\\]\n</code></pre>'),
    Case('a code span is untouched', r'`\(x\)`', r'<p><code>\(x\)</code></p>'),
    Case('never closed', r'open \( only', '<p>open ( only</p>'),
    Case('escaped backslash', r'a \\(b\\) c', r'<p>a \(b\) c</p>'),
    Case('a formula with a link', r'\(\href{j:x}{y}\)', r'<p><span><code>\(\href{j:x}{y}\)</code></span></p>'),
    Case('a formula that makes a command', '$$\n\\def\\a{b}\n$$', '<div><code>\\[\n\\def\\a{b}\n\\]</code></div>'),
]  # fmt: skip


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.name)
def test_markdown_becomes_html(case: Case) -> None:
    assert render_markdown(case.text).strip() == marked(case.html)


def test_a_table_scrolls_in_itself() -> None:
    html = render_markdown('| a | b |\n|---|--:|\n| 1 | 2 |')
    assert html.startswith('<div class="deep-scroll"><table>')
    assert '<td style="text-align:right">2</td>' in html


def test_a_formula_in_a_table() -> None:
    assert marked(r'<td>‹\(x\)›</td>') in render_markdown('| a |\n|---|\n| \\(x\\) |')


@pytest.mark.parametrize('text', ['>' * 5_000, '[' * 5_000, '*a ' * 5_000, '\\(' * 5_000, '$a' * 5_000, '- ' * 5_000])
def test_pathological_text_is_rendered_in_time(text: str) -> None:
    assert render_markdown(text)

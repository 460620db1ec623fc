"""A1 and A2 (jupyter-ai#967): braces and everything else reach the model byte for byte; `{name}` is filled in once."""

from __future__ import annotations

import json

import pytest

from harness.deep import deep, run_deep
from harness.kernels import RealKernel

pytestmark = pytest.mark.kernel

AS_WRITTEN = [
    '{v:k for k,v in d.items()}',
    'f"{x!r:>10}" {x.y} {x[0]} { x } {} {{x}} {{{x}}} %(x)s ${nothing} $x {nothing}',
    'a\n\n   \n\tb  \n    c\n',
    '>>> f(1)\n... g\nIn [1]: h\n   ...: i',
    '!ls\n%time y\n%%bash\nfoo?\n?bar\n/f 1\n,f a b',
    '# a heading\n```python\nprint("{x:.2f}")\n```',
    'quotes \' " \'\'\' """ and \\n \\\\ \\x41 backslashes \\',
    'Ærøskøbing 漢字 🌍👩‍👩‍👧 שלום עולם \u202e\u200f مرحبا e\u0301',
    'nul \0, bell \a, escape \x1b[31m, next line \x85, separators \u2028 \u2029, feed \f, carriage\rreturn\r\nend',
    '%%deep -m other\nhi',
    'x' * 200_000,
]
FILLED_IN = {
    '{t}': '{x}',
    '{t} {t}\n{x}{x}': '{x} {x}\n00',
    '{v:k} {t}': '{v:k} {x}',
    'größe {größe}': 'größe 5',
    '{broken}': '<Broken whose text cannot be made: RuntimeError>',
}
SETUP = """
seen = []
model = script('ok', seen=seen)
d = {}; v = 1; k = 2; x = 0; t = '{x}'; größe = 5
class Broken:
    def __str__(self): raise RuntimeError
broken = Broken()
"""


def last_prompt(kernel: RealKernel) -> str:
    prompt = json.loads(kernel.run('import json; print(json.dumps(prompts(seen[-1])[-1]))').stdout)
    assert isinstance(prompt, str)
    return prompt


def test_the_prompt_arrives_as_written(kernel: RealKernel) -> None:
    deep(kernel, SETUP)
    for text, expected in [*zip(AS_WRITTEN, AS_WRITTEN, strict=True), *FILLED_IN.items()]:
        # IPython ends every cell with a line end of its own, so the last one of a prompt cannot be told from it.
        result = run_deep(kernel, '--new', text, allow_stdin=False)

        assert result.status == 'ok', (text[:100], result.error)
        assert last_prompt(kernel) == expected.removesuffix('\n'), text[:100]


def test_words_on_the_line_and_ordinary_magic_calls_are_no_exception(kernel: RealKernel) -> None:
    deep(kernel, SETUP)
    body = '{v:k} {t} $x\n>>> 1\n  \n  2'
    expected = '{v:k} {x} $x\n>>> 1\n  \n  2'
    for code in (
        f'%%deep -m model {body}',
        f'get_ipython().run_cell_magic("deep", "-m model", {body!r})',
        f'get_ipython().run_cell_magic("deep", "-m model " + {body.partition(chr(10))[0]!r}, '
        f'{body.partition(chr(10))[2]!r})',
        f'  %%deep -m model\n  {body}'.replace('\n', '\n  ').replace('\n    {', '\n  {'),
    ):
        result = kernel.run(code, allow_stdin=False)

        assert result.status == 'ok', (code, result.error)
        assert last_prompt(kernel) == expected, code

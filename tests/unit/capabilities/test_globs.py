from __future__ import annotations

import pytest
from pydantic_ai.exceptions import ToolFailed

from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.filesystem.globs import compile_glob
from deep_notebook.workspaces import StateBackend
from harness.play import Deps, play


@pytest.mark.parametrize(
    ('pattern', 'matches', 'misses'),
    [
        ('*.py', ['a.py', 'src/a.py', 'a/b/c.py'], ['a.pyc', 'a.py/b']),
        ('src/*.py', ['src/a.py'], ['a.py', 'src/b/a.py', 'x/src/a.py']),
        ('src/**/*.py', ['src/a.py', 'src/b/c/a.py'], ['a.py', 'srcs/a.py']),
        ('**/test_?.py', ['test_a.py', 'x/y/test_b.py'], ['test_ab.py']),
        ('src/**', ['src/a', 'src/b/c'], ['src', 'a']),
        ('./a.txt', ['a.txt', 'b/a.txt'], ['xa.txt']),
        ('data/[ab]*.{csv,json}', ['data/a1.csv', 'data/b.json'], ['data/c.csv', 'data/a.txt']),
        ('data/[!a].txt', ['data/b.txt'], ['data/a.txt', 'data//.txt']),
        ('a+b(1).txt', ['a+b(1).txt'], ['aab1.txt']),
        ('[', ['['], ['a']),
    ],
)
def test_a_pattern_matches_what_it_means(pattern: str, matches: list[str], misses: list[str]) -> None:
    matcher = compile_glob(pattern)
    assert [path for path in [*matches, *misses] if matcher.match(path)] == matches


@pytest.mark.parametrize('pattern', ['{a,b', '[z-a]', 'x' * 501])
def test_a_pattern_that_is_none_is_answered(pattern: str) -> None:
    with pytest.raises(ToolFailed):
        compile_glob(pattern)


@pytest.mark.anyio
async def test_hidden_and_tool_directories_are_passed_over_unless_named() -> None:
    names = ['a.py', 'src/b.py', '.venv/c.py', 'node_modules/d.py', 'src/__pycache__/e.py', '.hidden.py']
    backend = StateBackend({f'/{name}': b'' for name in names})
    played = await play(
        [
            ('glob', {'pattern': '*.py'}),
            ('glob', {'pattern': '.venv/*.py'}),
            ('glob', {'pattern': '*.py', 'path': 'src'}),
            ('glob', {'pattern': '*.py', 'path': '.venv'}),
            ('glob', {'pattern': '*.csv'}),
        ],
        capabilities=[Filesystem()],
        deps=Deps(backend),
    )
    assert played.texts == ['a.py\nsrc/b.py', '.venv/c.py', 'src/b.py', '.venv/c.py', "No file matches '*.csv'."]
    assert played.returns[0].metadata == {'summary': '*.py · 2 files'}

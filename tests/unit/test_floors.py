"""Nothing imports upward, the agent knows no notebook, and importing the package costs next to nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / 'deep_notebook'

FLOORS = {
    '_version': 0,
    'bundled_skills': 0,
    'errors': 0,
    'masking': 0,
    'models': 0,
    'store': 0,
    'workspaces': 0,
    'capabilities': 1,
    'agent': 2,
    'deps': 2,
    'options': 2,
    'settling': 2,
    'spec': 2,
    'styles': 2,
    'views': 3,
    'kernel': 4,
    '__init__': 5,
    '__main__': 5,
    'cli': 5,
}
"""Each module and package directly under `deep_notebook` → its floor."""

NOTEBOOK_LIBRARIES = {'IPython', 'anywidget', 'comm', 'ipykernel', 'ipywidgets', 'jupyter_client', 'jupyterlab'}
AGENT_FLOORS = 2

MODULES = sorted(path for path in PACKAGE.rglob('*.py') if 'node_modules' not in path.parts)


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def floor_of(path: Path) -> int:
    return FLOORS[path.relative_to(PACKAGE).parts[0].removesuffix('.py')]


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Each import of a module, also in functions and under TYPE_CHECKING, as (line, absolute dotted name)."""
    package = ['deep_notebook', *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = '.'.join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f'{origin}.{alias.name}') for alias in node.names)


def test_every_module_has_a_floor() -> None:
    homes = {path.name.removesuffix('.py') for path in PACKAGE.iterdir() if path.suffix == '.py' or path.is_dir()}

    assert homes - {'__pycache__', 'py.typed'} - FLOORS.keys() == set()


@pytest.mark.parametrize('path', MODULES, ids=name_of)
def test_nothing_imports_upward(path: Path) -> None:
    above = [
        f'line {line}: {name}'
        for line, name in imports_of(path)
        if name.startswith('deep_notebook.') and FLOORS.get(name.split('.')[1], FLOORS['__init__']) > floor_of(path)
    ]

    assert above == []


@pytest.mark.parametrize('path', [path for path in MODULES if floor_of(path) <= AGENT_FLOORS], ids=name_of)
def test_the_agent_knows_no_notebook(path: Path) -> None:
    known = [f'line {line}: {name}' for line, name in imports_of(path) if name.split('.')[0] in NOTEBOOK_LIBRARIES]

    assert known == []


def test_importing_the_package_loads_neither_an_agent_library_nor_a_notebook_library() -> None:
    heavy = NOTEBOOK_LIBRARIES | {'pydantic', 'pydantic_ai', 'anthropic', 'openai', 'xllamacpp', 'httpx'}
    code = f'import sys, deep_notebook; print(*sorted({heavy!r} & {{name.split(".")[0] for name in sys.modules}}))'
    loaded = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True).stdout

    assert loaded.split() == []

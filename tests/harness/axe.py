"""What axe finds wrong with a page for people who do not see it, or cannot use a mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from .environment import ROOT, missing_node
from .processes import succeed

__all__ = ['FRONTEND', 'faults', 'install_frontend']

FRONTEND = ROOT / 'deep_notebook' / 'views' / 'frontend'
_SERIOUS = ('serious', 'critical')


def install_frontend() -> None:
    """Install the front end's packages, axe-core among them, where they are missing; skips without Node."""
    if (missing := missing_node()) is not None:
        pytest.skip(missing)
    if not (FRONTEND / 'node_modules' / '.package-lock.json').exists():
        succeed('npm', 'ci', cwd=FRONTEND)


def faults(page: Page, selector: str) -> list[tuple[str, list[str]]]:
    """The serious and critical faults of what `selector` finds, as rules and the elements that break them."""
    install_frontend()
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate((FRONTEND / 'node_modules' / 'axe-core' / 'axe.min.js').read_text(encoding='utf-8'))
    found = page.evaluate('async (selector) => (await axe.run(selector)).violations', selector)
    return [(fault['id'], [node['html'] for node in fault['nodes']]) for fault in found if fault['impact'] in _SERIOUS]

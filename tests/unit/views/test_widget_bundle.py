"""What a kernel sends to the browser reaches out for nothing, and what builds it names no place to load from.

That the bundle is what the sources build to, and small, is checked with the TypeScript.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

VIEWS = Path(__file__).parents[3] / 'deep_notebook' / 'views'


@pytest.mark.parametrize('reach', ['fetch(', 'XMLHttpRequest', 'WebSocket', 'sendBeacon', 'EventSource', 'import('])
def test_the_script_asks_for_nothing_from_anywhere(reach: str) -> None:
    assert reach not in (VIEWS / 'static' / 'widget.js').read_text('utf-8')


@pytest.mark.parametrize('reach', ['@import', 'url(', 'image-set('])
def test_the_style_asks_for_nothing_from_anywhere(reach: str) -> None:
    assert reach not in (VIEWS / 'static' / 'widget.css').read_text('utf-8')


def test_the_lock_file_pins_every_package_and_names_no_host() -> None:
    packages = json.loads((VIEWS / 'frontend' / 'package-lock.json').read_text('utf-8'))['packages']
    pinned = {name: package for name, package in packages.items() if name}

    assert [name for name, package in pinned.items() if 'resolved' in package] == []
    assert [name for name, package in pinned.items() if 'integrity' not in package] == []

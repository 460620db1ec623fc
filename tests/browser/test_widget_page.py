"""The run view on a plain page, without a kernel: readable in every theme and width, and silent on the network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page

from harness.axe import FRONTEND, faults, install_frontend
from harness.browser import MISSING, find_chromium, launched
from harness.environment import ARTIFACTS
from harness.processes import succeed

pytestmark = pytest.mark.browser

STATES = ('starting', 'running', 'waiting', 'questions', 'done', 'stopped', 'failed', 'suspended', 'lost')

OpenPage = Callable[..., Page]


@pytest.fixture(scope='module')
def harness_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built page that draws the widget for states to look at."""
    install_frontend()
    folder = tmp_path_factory.mktemp('harness')
    succeed('npm', 'run', 'build', '--', '--harness', '--outdir', folder / 'dist', cwd=FRONTEND)
    page = folder / 'index.html'
    page.write_text((FRONTEND / 'dev' / 'index.html').read_text('utf-8'), 'utf-8')
    return page


@pytest.fixture(scope='module')
def chromium() -> Iterator[Browser]:
    if (executable := find_chromium()) is None:
        pytest.skip(MISSING)
    with launched(executable) as browser:
        yield browser


@pytest.fixture
def open_page(harness_page: Path, chromium: Browser) -> Iterator[OpenPage]:
    """Open the page for a state; a request to anywhere but its own files fails the test."""
    asked: list[str] = []
    pages: list[Page] = []

    def opened(width: int = 940, color_scheme: Any = 'light', **query: str) -> Page:
        page = chromium.new_page(
            viewport={'width': width, 'height': 800}, color_scheme=color_scheme, reduced_motion='reduce'
        )
        pages.append(page)
        page.on('request', lambda request: asked.append(request.url))
        page.goto(f'{harness_page.as_uri()}?{urlencode(query)}')
        page.wait_for_selector('.dn-run')
        return page

    yield opened
    for page in pages:
        page.close()
    assert [url for url in asked if not url.startswith(('file:', 'data:'))] == []


def look(page: Page, name: str) -> None:
    """Keep a picture of the page, to be looked at."""
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / f'widget-{name}.png', full_page=True)


@pytest.mark.parametrize('theme', ['light', 'dark'])
@pytest.mark.parametrize('act', ['', '_', 'Edit', 'Deny', 'rest', 'Work'])
def test_axe_finds_no_serious_fault_in_any_state(open_page: OpenPage, theme: str, act: str) -> None:
    page = open_page(show=','.join(STATES), theme=theme, act=act)
    look(page, f'{theme}-{act or "all"}')
    assert faults(page, '.dn-run') == []


@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_a_plain_page_follows_the_system(open_page: OpenPage, scheme: str) -> None:
    page = open_page(color_scheme=scheme, show='waiting')
    lightness = page.evaluate("getComputedStyle(document.querySelector('.dn-run')).backgroundColor")
    assert lightness == ('rgb(255, 255, 255)' if scheme == 'light' else 'rgb(17, 17, 17)')
    assert faults(page, '.dn-run') == []


@pytest.mark.parametrize('act', ['', '_', 'Edit', 'Deny', 'rest'])
def test_a_narrow_page_needs_no_sideways_scrolling(open_page: OpenPage, act: str) -> None:
    page = open_page(width=360, show=','.join(STATES), theme='light', act=act)
    look(page, f'narrow-{act or "all"}')
    assert page.evaluate('document.documentElement.scrollWidth') <= 360
    outside = """[...document.querySelectorAll('.dn-run button, .dn-run textarea, .dn-run input')]
        .filter(control => control.getBoundingClientRect().right > 360).map(control => control.outerHTML)"""
    assert page.evaluate(outside) == []


def test_the_keyboard_reaches_and_answers_everything(open_page: OpenPage) -> None:
    page = open_page(show='waiting', theme='light')
    reached: list[str] = []
    for _ in range(30):
        page.keyboard.press('Tab')
        reached.append(page.evaluate("document.activeElement.closest('button, summary, .dn-scroll')?.innerText ?? ''"))
        if 'Approve the rest' in reached[-1]:
            break
    for control in ('Stop', 'Plan', 'read_file', '# Sales by region', 'Approve', 'Edit first', 'Deny'):
        assert any(control in text for text in reached), control
    page.keyboard.press('Enter')
    page.keyboard.press('Tab')
    assert page.evaluate('document.activeElement.innerText') == 'for write_file'
    outline = page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
    assert outline == 'solid'


def test_nothing_moves_for_who_wants_no_motion(open_page: OpenPage) -> None:
    page = open_page(show='running', theme='light')
    assert page.evaluate('document.getAnimations().length') == 0

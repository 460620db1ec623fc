"""Chromium or Chrome, found where people have it and driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

CANDIDATES = (
    'chromium',
    'chromium-browser',
    'google-chrome',
    'google-chrome-stable',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
)
"""Where to look, after the environment variable CHROME. `scripts/ensure_browser.sh` looks in the same places."""

FLAGS = (
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
)

MISSING = 'no Chromium or Chrome: run `make browser`, or set CHROME to its path'


def find_chromium() -> str | None:
    """The path of a browser, or None."""
    names = [name for name in (os.environ.get('CHROME'), *CANDIDATES) if name]
    return next((path for name in names if (path := shutil.which(name))), None)


@contextmanager
def launched(executable: str) -> Iterator[Browser]:
    """A running browser; it and Playwright's driver end with the context."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS), headless=True)
        try:
            yield browser
        finally:
            browser.close()

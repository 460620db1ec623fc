#!/bin/sh
# The browser tests need Chromium or Chrome. Find one; as root on Debian or Ubuntu, install one; else say how to get it.
# The places are those of tests/harness/browser.py.
for browser in "${CHROME:-}" chromium chromium-browser google-chrome google-chrome-stable \
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" \
    "/Applications/Chromium.app/Contents/MacOS/Chromium"; do
    if [ -n "$browser" ] && command -v "$browser" >/dev/null 2>&1; then
        exit 0
    fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo 'Installing chromium for the browser tests' >&2
    export DEBIAN_FRONTEND=noninteractive
    if apt-get update -qq >&2 && apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >&2; then
        exit 0
    fi
fi
echo 'No Chromium or Chrome: the browser tests will be skipped. Install one (apt-get install chromium, brew install --cask chromium), or set CHROME to its path.' >&2

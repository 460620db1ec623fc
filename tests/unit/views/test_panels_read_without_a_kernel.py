"""What a terminal prints of a panel, and what is left of it in a saved notebook."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from pydantic import TypeAdapter

from deep_notebook.views import panels_html, panels_text
from deep_notebook.views.panel_shapes import Hit, Pages, Panel, Search, Timeline, to_json
from harness.panels import CHANGES, QUESTION, SEARCH, TIMELINE, find

PAGE = Pages(
    title='Result of execute', path='.deep/x', page=2, pages=3, first_line=3, lines=6, text='three\n\x1b[1mfour'
)
FOUND = asyncio.run(find(SEARCH, {'do': 'search', 'query': 'port'}))
PANELS = [TIMELINE, replace(TIMELINE, ask=QUESTION), CHANGES, SEARCH, FOUND, PAGE]
HOSTILE = '</pre></details></style><img src=x onerror="alert(1)"><script>alert(2)</script>'


def test_a_timeline_as_text() -> None:
    assert panels_text.render(TIMELINE, times=False) == snapshot("""\
Checkpoints · 4
  ○ start of run 1   run 1 · 0 messages
  ● before the report   run 1 · after edit_file · 6 messages
      config.yaml  +1 −1
  ○ step 4   run 2 · after write_file · 12 messages
      report.md  +3
      deep/in/a/directory/that/has/a/long/name/settings.yaml  +1 −1
  ○ start of run 3   run 3 · 14 messages   <- here
%deep rewind LABEL goes back to one of them.\
""")


def test_a_rewind_as_text() -> None:
    timeline = Timeline(ask=QUESTION, undo="Went back to 'x'.", notice='See `%deep checkpoints`.')
    assert panels_text.render(timeline, times=False) == snapshot("""\
There are no checkpoints yet. %deep checkpoint LABEL makes one.

Go back to 'before the report'? 8 messages are taken back.
  - report.md  −3 · is removed
  ~ config.yaml  +1 −1 · goes back to how it was · changed since by you or another program
  + sales.csv  +240 · comes back
  ! model.bin  stays as it is: what it held then, or holds now, could not be kept
  ! `data/` was not looked at: it holds more than 2,000 files.
  Variables are not taken back: df, totals
Went back to 'x'. %deep undo takes it back.
See %deep checkpoints.\
""")


def test_changes_as_text() -> None:
    assert panels_text.render(CHANGES) == snapshot("""\
Changes of run 3 · 3 of 3 files to review

config.yaml   +2 −2
    @@ -1,2 +1,2 @@
     host: localhost
    -port: 8080
    +port: 9090
    @@ -40,2 +40,2 @@
     log:
    -  level: info
    +  level: debug

report.md   +3   new
    @@ -0,0 +1,3 @@
    +# Sales
    +
    +North leads.

logo.png   not text: only as a whole
! `make clean` may have changed files under `build/`.\
""")


def test_a_search_as_text() -> None:
    assert panels_text.render(FOUND, times=False) == snapshot("""\
Search for 'port': The best 3 places

run 1 · you
    the line before
  > Move the *port* to 9090, please.

run 2 · agent
    the line before
  > The *port* is **9090** now. I left `debug` as it was.

run 7 · execute
    the line before
  > grep -n *port* config.yaml
  > port: 9090\
""")


def test_a_page_as_text() -> None:
    assert panels_text.render(PAGE) == snapshot("""\
Result of execute · .deep/x
Page 2 of 3 · lines 3–4 of 6
three
four\
""")


def test_a_terminal_names_checkpoints_so_that_one_can_ask_for_them() -> None:
    point = replace(TIMELINE.points[0], id='0123456789abcdef')
    said = panels_text.render(Timeline(points=(point,)))
    assert re.search(r'start of run 1   run 1 · 0 messages · \d{4}-\d\d-\d\d \d\d:\d\d · 01234567$', said, re.MULTILINE)


@pytest.mark.parametrize('panel', PANELS, ids=lambda panel: panel.kind)
def test_nothing_is_missing_in_the_html(panel: Panel) -> None:
    html = words(panels_html.render(panel, times=False))
    missing = [word for word in re.findall(r'\w{3,}', panels_text.render(panel, times=False)) if word not in html]

    assert missing == []


@pytest.mark.parametrize('panel', PANELS, ids=lambda panel: panel.kind)
def test_a_notebook_that_is_run_again_has_the_same_output(panel: Panel) -> None:
    forms = [panels_html.render(panel, times=False), panels_text.render(panel, times=False)]
    assert not re.search(r'\d{4}-\d\d-\d\d|\bp[1-4]\b', ''.join(map(words, forms)))


@pytest.mark.parametrize('panel', PANELS, ids=lambda panel: panel.kind)
def test_what_was_said_cannot_act(panel: Panel) -> None:
    harmless = re.compile('North leads|localhost|the port is|three|before the report', re.IGNORECASE)
    hostile, count = harmless.subn(lambda _: json.dumps(HOSTILE)[1:-1], json.dumps(to_json(panel)))
    assert count or panel == SEARCH
    shown: Panel = TypeAdapter(Panel).validate_json(hostile)
    tags = Tags(panels_html.render(shown))
    assert tags.found <= {
        *('div', 'style', 'strong', 'span', 'p', 'code', 'ol', 'ul', 'li', 'b', 'i', 'details', 'summary', 'pre'),
        *('mark', 'br'),
    }
    assert not any(name.startswith('on') for name in tags.attributes)


def test_a_search_marks_what_matched_and_nothing_else() -> None:
    hit = Hit(snippet='a <b> & a port', matches=((0, 1), (10, 14)))
    html = panels_html.render(Search(query='a port', hits=(hit,)))
    assert '<mark>a</mark> &lt;b&gt; &amp; a <mark>port</mark>' in html


def test_the_style_sheets_fetch_nothing() -> None:
    for path in Path(panels_html.__file__).parent.glob('*.css'):
        assert not re.search(r'url\(|@import', path.read_text(encoding='utf-8')), path


class Tags(HTMLParser):
    """The tags and attributes of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}


def words(html: str) -> str:
    return re.sub(r'<style>.*?</style>|<[^>]*>', '', html, flags=re.DOTALL)

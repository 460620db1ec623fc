"""A panel shows what tools and files said: no form of it may show a secret."""

from __future__ import annotations

import json

import pytest

from deep_notebook.views import panels_html, panels_text
from deep_notebook.views.panel_shapes import (
    ChangeSet,
    Hit,
    Hunk,
    Pages,
    Panel,
    PlannedFile,
    ReviewFile,
    RewindQuestion,
    Search,
    Timeline,
    TimelinePoint,
    masked,
    to_json,
)
from deep_notebook.views.run_shape import FileChange

SECRET = 'sk-ant-' + 'A1b2' * 6
DIFF = f'@@ -0,0 +1 @@\n+KEY={SECRET}\n'

TIMELINE = Timeline(
    points=(
        TimelinePoint(
            id='1', label=f'with {SECRET}', turn=1, messages=2, at=0, files=(FileChange(path='.env', diff=DIFF),)
        ),
    ),
    ask=RewindQuestion(
        id='1',
        label=SECRET,
        files=(PlannedFile(path='.env', action='delete', diff=DIFF),),
        gaps=(f'`echo {SECRET}` ran',),
    ),
    undo=SECRET,
    notice=SECRET,
)
CHANGES = ChangeSet(
    files=(ReviewFile(path='.env', action='create', hunks=(Hunk(id='1', header='@@ -0,0 +1 @@', text=f'+{SECRET}'),)),),
    gaps=(SECRET,),
    notice=SECRET,
)
SEARCH = Search(query=SECRET, hits=(Hit(snippet=SECRET, before=(SECRET,), after=(SECRET,)),), notice=SECRET)
PAGES = Pages(title=SECRET, text=SECRET, notice=SECRET)


@pytest.mark.parametrize('panel', [TIMELINE, CHANGES, SEARCH, PAGES], ids=lambda panel: panel.kind)
def test_no_form_shows_a_secret(panel: Panel) -> None:
    shown = masked(panel)

    assert SECRET in json.dumps(to_json(panel))
    for form in (json.dumps(to_json(shown)), panels_html.render(shown), panels_text.render(shown)):
        assert SECRET not in form
        assert '[masked]' in form


def test_a_mask_does_not_leave_matches_in_the_wrong_place() -> None:
    text = f'{SECRET} port'
    hidden = masked(Search(hits=(Hit(snippet=text, matches=((len(SECRET) + 1, len(text)),)),)))
    kept = masked(Search(hits=(Hit(snippet='a port', matches=((2, 6),)),)))

    assert isinstance(hidden, Search)
    assert isinstance(kept, Search)
    assert hidden.hits[0].matches == ()
    assert kept.hits[0].matches == ((2, 6),)

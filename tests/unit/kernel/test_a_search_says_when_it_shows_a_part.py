"""`%deep search` shows the best places only, and never lets a person take them for all there are."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai.messages import ModelRequest, UserPromptPart

from deep_notebook.kernel import history_commands
from deep_notebook.views.panel_wording import searched_words
from harness.scripted import script
from harness.sessions import opened_cells


@pytest.mark.parametrize(('said', 'words'), [(19, '19 places'), (20, '20 places'), (21, 'The best 20 places')])
def test_what_is_left_out_is_said(said: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(history_commands, 'show_panel', lambda cells, panel, handle: shown.append(panel))
    with opened_cells(tmp_path, script('Hello.')) as cells:
        store = cells.call(cells.session.store())
        cells.call(store.append([ModelRequest([UserPromptPart(f'heron {number}')]) for number in range(said)]))
        near = SimpleNamespace(session=cells.session, call=cells.call, shows_html=True)
        history_commands.COMMANDS['search'](near, 'heron')  # type: ignore[arg-type]
    assert searched_words(shown[0]) == words

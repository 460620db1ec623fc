from __future__ import annotations

from pathlib import Path

import pytest

from deep_notebook.store import session_path
from deep_notebook.workspaces import AGENT_SPOTS, KernelWorkspace


@pytest.mark.parametrize('spot', AGENT_SPOTS)
def test_no_notebook_name_puts_its_conversation_where_the_agent_may_write(tmp_path: Path, spot: str) -> None:
    notebook = tmp_path / f'{spot}.ipynb'
    database = session_path(notebook)
    assert not KernelWorkspace(tmp_path).allows(str(database))

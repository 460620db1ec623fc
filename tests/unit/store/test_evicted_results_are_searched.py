"""What went into a file because it was too large is found like everything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.messages import ModelRequest, ToolReturnPart

from deep_notebook.capabilities.evicted_files import EvictedFiles
from deep_notebook.capabilities.history_search import format_hits
from deep_notebook.store import SessionStore, session_path
from deep_notebook.store import search as search_module

pytestmark = pytest.mark.anyio

SPOT = '.deep/large_tool_results'


def evicted(root: Path, name: str, text: str) -> ModelRequest:
    (root / SPOT).mkdir(parents=True, exist_ok=True)
    (root / SPOT / name).write_text(text)
    preview = f'Tool result too large, saved to: {SPOT}/{name}\n\nPreview (head/tail):\n{text[:20]}'
    return ModelRequest(parts=[ToolReturnPart('execute', preview, name)])


def opened(root: Path) -> SessionStore:
    return SessionStore.open(session_path(root / 'sales.ipynb'), whole=EvictedFiles(root).whole)


async def test_a_word_far_into_the_file_is_found_and_the_file_is_told(tmp_path: Path) -> None:
    text = '\n'.join(f'row {number}' for number in range(40_000)) + '\nthe heron\nlast'
    with opened(tmp_path) as store:
        await store.sync([evicted(tmp_path, 'call_1', text)])
        [hit] = await store.search('heron', context=1)
    assert (hit.snippet, hit.matches, hit.before, hit.after) == ('the heron', ((4, 9),), ('row 39999',), ('last',))
    assert hit.speaker == f'Tool [execute] in {SPOT}/call_1'
    assert f'Tool [execute] in {SPOT}/call_1: the heron' in format_hits([hit])


async def test_a_match_in_one_long_line_is_shown(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        await store.sync([evicted(tmp_path, 'call_1', 'é ' * 400_000 + 'heron ' + 'x ' * 50_000)])
        [hit] = await store.search('heron')
    assert 'heron' in hit.snippet
    assert len(hit.snippet) < 400


async def test_a_file_that_is_gone_leaves_its_preview(tmp_path: Path) -> None:
    message = evicted(tmp_path, 'call_1', 'the stork\n' + 'row\n' * 50 + 'the heron')
    with opened(tmp_path) as store:
        await store.sync([message])
        assert len(await store.search('heron')) == 1
        (tmp_path / SPOT / 'call_1').unlink()
        [hit] = await store.search('stork')
        assert (hit.speaker, hit.snippet) == ('Tool [execute]', 'the stork')
        [hit] = await store.search('heron')
        assert hit.speaker == 'Tool [execute]'


async def test_large_files_are_indexed_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, '_BATCH_CHARS', 1_000)
    with opened(tmp_path) as store:
        await store.sync([evicted(tmp_path, f'call_{n}', f'{"row " * 400}heron{n}') for n in range(5)])
        assert [len(await store.search(f'heron{n}')) for n in range(5)] == [1] * 5
        assert len(await store.search('row', limit=20)) == 5

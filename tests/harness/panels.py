"""Panels to use by hand and in tests: example states, and handlers that do what a notebook's would."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from deep_notebook.errors import UsageError
from deep_notebook.kernel.panels import Handle, show_panel
from deep_notebook.views.panel_shapes import (
    Action,
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
)
from deep_notebook.views.run_shape import FileChange

if TYPE_CHECKING:
    from deep_notebook.kernel.cells import DeepCells

__all__ = [
    'CHANGES',
    'PAGES',
    'QUESTION',
    'SEARCH',
    'TIMELINE',
    'show',
    'show_changes',
    'show_pages',
    'show_search',
    'show_timeline',
]

PORT = (
    '--- a/config.yaml\n+++ b/config.yaml\n@@ -1,3 +1,3 @@\n host: localhost\n-port: 8080\n+port: 9090\n debug: false\n'
)
REPORT = '--- /dev/null\n+++ b/report.md\n@@ -0,0 +1,3 @@\n+# Sales\n+\n+North leads.\n'
GONE = '--- a/report.md\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-# Sales\n-\n-North leads.\n'
PORT_FILE = FileChange(path='config.yaml', added=1, removed=1, diff=PORT)
REPORT_FILE = FileChange(path='report.md', added=3, diff=REPORT)

TIMELINE = Timeline(
    points=(
        TimelinePoint(id='p1', label='start of run 1', turn=0, messages=0, at=1764594000, automatic=True, run=1),
        TimelinePoint(
            id='p2',
            label='before the report',
            turn=2,
            messages=6,
            at=1764594120,
            run=1,
            tool='edit_file',
            files=(PORT_FILE,),
        ),
        TimelinePoint(
            id='p3',
            label='step 4',
            turn=4,
            messages=12,
            at=1764594300,
            automatic=True,
            run=2,
            tool='write_file',
            files=(REPORT_FILE, replace(PORT_FILE, path='deep/in/a/directory/that/has/a/long/name/settings.yaml')),
        ),
        TimelinePoint(
            id='p4', label='start of run 3', turn=5, messages=14, at=1764594480, automatic=True, run=3, here=True
        ),
    ),
)
QUESTION = RewindQuestion(
    id='p2',
    label='before the report',
    files=(
        PlannedFile(path='report.md', action='delete', removed=3, diff=GONE),
        PlannedFile(path='config.yaml', action='edit', yours=True, added=1, removed=1, diff=PORT),
        PlannedFile(path='sales.csv', action='create', added=240),
        PlannedFile(path='model.bin', action='edit', possible=False),
    ),
    gaps=('`data/` was not looked at: it holds more than 2,000 files.',),
    variables=('df', 'totals'),
    messages=8,
)
CHANGES = ChangeSet(
    run=3,
    files=(
        ReviewFile(
            path='config.yaml',
            action='edit',
            added=2,
            removed=2,
            hunks=(
                Hunk(id='h1', header='@@ -1,2 +1,2 @@', text=' host: localhost\n-port: 8080\n+port: 9090\n'),
                Hunk(id='h2', header='@@ -40,2 +40,2 @@', text=' log:\n-  level: info\n+  level: debug\n'),
            ),
        ),
        ReviewFile(
            path='report.md',
            action='create',
            added=3,
            hunks=(Hunk(id='h3', header='@@ -0,0 +1,3 @@', text='+# Sales\n+\n+North leads.\n'),),
        ),
        ReviewFile(path='logo.png', action='edit', note='not text: only as a whole'),
    ),
    gaps=('`make clean` may have changed files under `build/`.',),
)
LINES = [f'{number:04} {"x" * (number % 7)} tests/test_io.py::test_{number} PASSED' for number in range(1, 641)]
LINES[120] += ' ' + 'and a line that is much wider than any page ' * 8
PAGES = Pages(
    title='Result of execute', path='.deep/large_tool_results/7f3a', pages=7, lines=640, text='\n'.join(LINES[:100])
)
SAID = {
    1: ('you', 'Move the port to 9090, please.'),
    2: ('agent', 'The port is **9090** now. I left `debug` as it was.'),
    7: ('execute', 'grep -n port config.yaml\nport: 9090'),
}
SEARCH = Search()


def show(panel: Panel, handle: Handle) -> None:
    """Show a panel in the running cell."""
    from IPython import get_ipython

    cells: DeepCells = get_ipython().magics_manager.registry['DeepMagics'].cells
    show_panel(cells, panel, handle)


async def travel(panel: Panel, action: Action) -> Panel:
    """Go back and forth between checkpoints; the file `did` beside the notebook says what was asked."""
    assert isinstance(panel, Timeline)
    match action:
        case {'do': 'ask', 'id': 'p1'}:
            raise UsageError("'start of run 1' is gone: `%deep checkpoints` lists what there is.")
        case {'do': 'ask', 'id': 'p3'}:
            raise RuntimeError('the disk is full\nand more')
        case {'do': 'ask', 'id': id}:
            label = next(point.label for point in panel.points if point.id == id)
            return replace(panel, ask=replace(QUESTION, id=id, label=label))
        case {'do': 'rewind', 'id': id, 'parts': parts, 'mine': mine}:
            Path('did').write_text(f'{id} {",".join(parts)} {mine}')
            points = tuple(replace(point, here=point.id == id) for point in panel.points)
            return replace(panel, points=points, ask=None, undo="Went back to 'before the report'.")
        case {'do': 'cancel'}:
            return replace(panel, ask=None)
        case {'do': 'undo'}:
            return replace(TIMELINE, notice='Everything is as it was before.')
    raise AssertionError(action)


async def review(panel: Panel, action: Action) -> Panel:
    """Keep or undo places of files."""
    assert isinstance(panel, ChangeSet)
    state: Literal['kept', 'undone'] = 'kept' if action['do'] == 'keep' else 'undone'

    def reviewed(file: ReviewFile) -> ReviewFile:
        if action['path'] not in (None, file.path):
            return file
        hunks = tuple(
            replace(hunk, state=state) if action['hunk'] in (None, hunk.id) and hunk.state == 'open' else hunk
            for hunk in file.hunks
        )
        states = {hunk.state for hunk in hunks}
        whole = states.pop() if len(states) == 1 else 'mixed'
        return replace(file, hunks=hunks, state=whole if hunks else state)

    return replace(panel, files=tuple(map(reviewed, panel.files)))


async def find(panel: Panel, action: Action) -> Panel:
    """Search what was said in three runs."""
    assert isinstance(panel, Search)
    if action['do'] == 'show':
        return replace(
            panel, shown=f'<div class="deep-run"><script>alert(1)</script>Run {action["run"]} as stored</div>'
        )
    query = action['query'].strip()
    hits = tuple(
        Hit(
            run=run,
            speaker=speaker,
            snippet=text,
            matches=((at, at + len(query)),),
            before=('the line before',),
            at=1764594000 + run,
        )
        for run, (speaker, text) in SAID.items()
        if query and (at := text.lower().find(query.lower())) >= 0
    )
    return Search(query=query, hits=hits, more=bool(hits))


async def turn(panel: Panel, action: Action) -> Panel:
    """Turn to a page."""
    assert isinstance(panel, Pages)
    first = 100 * (action['page'] - 1)
    return replace(panel, page=action['page'], first_line=first + 1, text='\n'.join(LINES[first : first + 100]))


def show_timeline() -> None:
    """Show checkpoints that can be gone back to."""
    show(TIMELINE, travel)


def show_changes() -> None:
    """Show changes to review."""
    show(CHANGES, review)


def show_search() -> None:
    """Show a search."""
    show(SEARCH, find)


def show_pages() -> None:
    """Show a long text."""
    show(PAGES, turn)

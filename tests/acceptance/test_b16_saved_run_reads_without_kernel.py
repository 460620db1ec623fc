"""A notebook that was saved and opened again without a kernel still shows the plan, the diff and the answer."""

from __future__ import annotations

import re
from html import unescape

import nbformat
import pytest
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output
from pydantic_ai.messages import FunctionToolResultEvent, PartStartEvent, TextPart, ToolCallPart, ToolReturnPart

from deep_notebook.capabilities.approvals import ApprovalDecision, ApprovalRequest
from deep_notebook.capabilities.events import ApprovalAskedEvent, ApprovalDecidedEvent, TodosChangedEvent
from deep_notebook.views import RunState, reduce
from deep_notebook.views.run_state import ModelInfo, RunFinished, RunStarted
from deep_notebook.views.static_html import render as render_html
from deep_notebook.views.text import render as render_text

DIFF = '--- config.yaml\n+++ config.yaml\n@@ -1,2 +1,2 @@\n host: localhost\n-port: 8080\n+port: 9090\n'
REQUEST = ApprovalRequest(
    id='c1', tool='write_file', tool_class='write', args={'path': 'config.yaml', 'content': 'port: 9090'},
    title='Write config.yaml?', path='config.yaml', detail='1 line changed', diff=DIFF,
)  # fmt: skip
CHANGE = {'path': 'config.yaml', 'added': 1, 'removed': 1, 'diff': DIFF}
WRITTEN = ToolReturnPart(
    'write_file', 'Wrote it.', tool_call_id='c1',
    metadata={'summary': 'config.yaml · 2 lines', 'file': CHANGE},
)  # fmt: skip
MODEL = ModelInfo(label='Qwen2.5-Coder-1.5B · local, limited', local=True)
EVENTS = [
    RunStarted(run='1', prompt='Move the port', model=MODEL, at=0),
    TodosChangedEvent(todos=[{'id': '1', 'content': 'Change the port', 'status': 'completed'}]),
    PartStartEvent(index=0, part=ToolCallPart('write_file', dict(REQUEST.args), tool_call_id='c1')),
    ApprovalAskedEvent(request=REQUEST),
    ApprovalDecidedEvent(request=REQUEST, decision=ApprovalDecision(verdict='approve', channel='widget')),
    FunctionToolResultEvent(WRITTEN),
    PartStartEvent(index=0, part=TextPart('The port is **9090** now.')),
    RunFinished(phase='done'),
]  # fmt: skip


@pytest.fixture(scope='module')
def state() -> RunState:
    state = RunState()
    for second, event in enumerate(EVENTS):
        state = reduce(state, event, now=float(second))
    return state


def reopened(state: RunState) -> nbformat.NotebookNode:
    """Return the notebook as it comes back from disk."""
    bundle = {'text/html': render_html(state), 'text/plain': render_text(state)}
    cell = new_code_cell('%%deep\nMove the port', outputs=[new_output('display_data', bundle)])
    notebook = nbformat.reads(nbformat.writes(new_notebook(cells=[cell])), as_version=4)
    nbformat.validate(notebook)
    return notebook


def words(html: str) -> str:
    text = re.sub(r'<style>.*?</style>', '', html, flags=re.DOTALL)
    return ' '.join(unescape(re.sub(r'<[^>]+>', ' ', text)).split())


SAID = (
    'Done',
    'Qwen2.5-Coder-1.5B · local, limited',
    'The port is 9090 now.',
    'Plan · 1 of 1',
    'Change the port',
    'write_file config.yaml · 2 lines · approved by you',
    '1 file changed',
    '-port: 8080 +port: 9090',
)


def test_the_page_shows_plan_diff_and_answer(state: RunState) -> None:
    (output,) = reopened(state).cells[0].outputs
    for said in SAID:
        assert said in words(output.data['text/html'])
    assert not re.search(r'<script|<button|widget|href=|src=', output.data['text/html'])


def test_an_exported_page_shows_them_too(state: RunState) -> None:
    page, _ = HTMLExporter().from_notebook_node(reopened(state))
    for said in SAID:
        assert said in words(page)


def test_a_reader_of_text_sees_plan_change_and_answer(state: RunState) -> None:
    (output,) = reopened(state).cells[0].outputs
    for line in (
        '✓ Change the port',
        '✓ write_file  config.yaml · 2 lines',
        'config.yaml  +1 −1',
        'The port is **9090** now.',
    ):
        assert line in output.data['text/plain']

"""The file of a recording: reads well, is written whole or not at all, and is refused when it is not sound."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryImage,
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition

from deep_notebook.errors import UsageError
from deep_notebook.models import Recording, ReplayModel
from deep_notebook.models.recording import recording_path
from deep_notebook.models.recording_file import read_yaml, write_atomically, yaml_text

pytestmark = pytest.mark.anyio

FROZEN = Path(__file__).parents[2] / 'fixtures' / 'recordings'

TOOLS = ModelRequestParameters(function_tools=[ToolDefinition(name='read_file', description='Read a file.')])


def recorded(path: Path, *answers: ModelResponse) -> Recording:
    recording = Recording.new(path)
    draft = recording.record('a', TestModel(), name='mine', tool_class=lambda tool: 'read')
    for number, answer in enumerate(answers):
        request = recording.normaliser.request(
            [ModelRequest(parts=[UserPromptPart(str(number))])], None, TOOLS, model='scripted:scripted'
        )
        draft.add(draft.reserve(), request, answer, tools=TOOLS.function_tools)
    draft.save()
    return recording


def test_text_stands_in_literal_blocks(tmp_path: Path) -> None:
    path = tmp_path / 'r.yaml'
    call = ToolCallPart('write_file', '{"path": "a.py", "content": "import os\\n\\nprint(os.name)  # 😀\\n"}')
    recorded(path, ModelResponse(parts=[TextPart('One.\nTwo: #3\n'), call]))
    written = path.read_text(encoding='utf-8')
    assert '        content: |\n          One.\n          Two: #3\n' in written
    assert '          content: |\n            import os\n\n            print(os.name)  # 😀\n' in written


LINES = st.text(alphabet=st.characters(exclude_categories=['Cs']), max_size=30) | st.sampled_from(
    [
        '\n',
        ' \n',
        'a\n b',
        '\tx\ny',
        '\r\n',
        '- a\n- b',
        'a: b\n',
        '# c\n',
        '---\n',
        '...\n',
        '\x1b[0m\n',
        '\ufeff',
        '😀\n',
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(LINES, max_size=4).map(''.join))
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / 'text.yaml'
    path.write_bytes(yaml_text({text: [text, {'x': text}]}).encode())
    assert read_yaml(path) == {text: [text, {'x': text}]}


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / 'r.yaml'
    write_atomically(path, b'old')

    def full(self: Path, target: Path) -> None:
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(Path, 'replace', full)
    with pytest.raises(OSError, match='No space'):
        write_atomically(path, b'new')
    assert path.read_bytes() == b'old'
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_recording_gets_the_closest_name(tmp_path: Path) -> None:
    path = recording_path(tmp_path, 'sales')
    recorded(path)
    with pytest.raises(UsageError, match=re.escape("There is no recording 'sale' in")) as caught:
        Recording.load(recording_path(tmp_path, 'sale'))
    assert str(caught.value).endswith("Did you mean 'sales'?")


@pytest.mark.parametrize('name', ['../x', 'a/b', '', '.hidden', 'a b', '/etc/passwd', 'x' * 200])
def test_a_name_is_a_plain_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='cannot name a recording'):
        recording_path(tmp_path, name)


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        (r'\Aformat: .*', 'format: something', 'is not a recording of deep_notebook'),
        (r'(?s)\A.*', '- 1\n', 'is not a recording of deep_notebook'),
        (r'(?s)\A.*', '\x00', 'cannot be read as a recording'),
        (r'(?s)\A.*', 'a: [1', 'cannot be read as a recording'),
        (r'(?s)\A.*', '!!python/object/apply:os.system ["true"]', 'cannot be read as a recording'),
        ('version: 1', 'version: 2', 'was written by a newer deep_notebook'),
        ('- uuids', '- moon-phase', "needs the normaliser 'moon-phase'"),
        ('  - key: .*', '  - kei: 1', 'is damaged: cells.0.entries.0.key: Field required'),
        ('tools: [0-9a-f]+', 'tools: beef', "is damaged: it refers to 'beef'"),
    ],
)
def test_a_file_that_is_not_sound_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / 'r.yaml'
    recorded(path, ModelResponse(parts=[TextPart('x')]))
    path.write_text(re.sub(old, new, path.read_text(), count=1))
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        Recording.load(path)
    assert '\n' not in str(caught.value)


async def ask(recording: Recording) -> ModelResponse:
    model = ReplayModel(recording.cell('a'))
    return await model.request([ModelRequest(parts=[UserPromptPart('0')])], None, TOOLS)


@pytest.mark.parametrize('damage', ['missing', 'changed', 'elsewhere'])
async def test_a_picture_that_is_not_the_recorded_one_is_refused(damage: str, tmp_path: Path) -> None:
    path = tmp_path / 'r.yaml'
    recorded(path, ModelResponse(parts=[FilePart(BinaryImage(b'\x89PNG', media_type='image/png'))]))
    (file,) = recording_files(path)
    if damage == 'missing':
        file.unlink()
    elif damage == 'changed':
        file.write_bytes(b'other')
    else:
        replace_in(path, file.name, '../../etc/passwd')
    with pytest.raises(UsageError, match=r'cannot be read|not the file that was recorded|not the name'):
        await ask(Recording.load(path))


def recording_files(path: Path) -> list[Path]:
    return list(path.with_suffix('.files').iterdir())


def replace_in(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


PNG = base64.b64decode(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
)


def frozen_conversation() -> list[tuple[str, list[ModelMessage], ModelResponse]]:
    """What `v1.yaml` holds, written out: cell, request and answer."""
    ask_rows = ModelRequest(parts=[UserPromptPart('How many rows?')])
    look = ModelResponse(
        parts=[
            TextPart('I look.\nOne moment.'),
            ToolCallPart('read_file', '{"path": "sales.csv"}', tool_call_id='call_A1'),
        ]
    )
    result = ModelRequest(
        parts=[
            ToolReturnPart(
                'read_file',
                'month,sales\nMay,3\n<X object at 0x7f00000001>\n/home/ann/work/sales.csv, token: 0123456789abcdef',
                tool_call_id='call_A1',
            )
        ]
    )
    rows = ModelResponse(parts=[TextPart('One row, in /home/ann/work/sales.csv.')])
    ask_draw = ModelRequest(parts=[UserPromptPart(['Draw it', BinaryImage(PNG, media_type='image/png')])])
    draw = ModelResponse(parts=[FilePart(BinaryImage(PNG, media_type='image/png'))])
    first: list[ModelMessage] = [ask_rows]
    second: list[ModelMessage] = [*first, look, result]
    return [('rows', first, look), ('rows', second, rows), ('draw', [*second, rows, ask_draw], draw)]


@pytest.mark.parametrize('streamed', [False, True], ids=['request', 'stream'])
async def test_a_recording_of_version_1_is_replayed_for_ever(streamed: bool) -> None:
    recording = Recording.load(FROZEN / 'v1.yaml', workspace=Path('/home/ann/work'))
    cells = {cell: recording.cell(cell) for cell in recording.cells}
    for cell, messages, answer in frozen_conversation():
        model = ReplayModel(cells[cell])
        if streamed:
            async with model.request_stream(messages, None, TOOLS) as stream:
                async for _ in stream:
                    pass
                replayed = stream.get()
        else:
            replayed = await model.request(messages, None, TOOLS)
        assert replayed.parts == answer.parts
    assert recording.unused() == []
    assert cells['rows'].banner == 'Replayed · recorded with a scripted model on 2026-11-30'

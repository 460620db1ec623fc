"""What is exported is the whole conversation, readable, without secrets, and over nobody's file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from inline_snapshot import snapshot
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from deep_notebook.errors import UsageError
from deep_notebook.kernel.export import check_target, collect, parse_export, rendered
from deep_notebook.kernel.session import FRESH_KERNEL, NotebookSession

pytestmark = pytest.mark.anyio

KEY = 'sk-ant-api03-abcdefghijklmnop'
PICTURE = BinaryContent(data=b'\x89PNG' + b'0' * 40, media_type='image/png')
CODE = 'import pandas\nprint("""```\nfenced\n```""")'
MESSAGES: list[ModelMessage] = [
    ModelRequest(parts=[SystemPromptPart('Be brief.'), UserPromptPart([FRESH_KERNEL, f'Sum it, key {KEY}.'])]),
    ModelResponse(
        parts=[
            ThinkingPart('Hm.'),
            TextPart('I look.'),
            ToolCallPart('read_file', {'path': 'a.csv', 'limit': 3}, 'c1'),
            ToolCallPart('run_python', {'code': CODE}, 'c2'),
        ]
    ),
    ModelRequest(
        parts=[ToolReturnPart('read_file', 'a,b\n' * 3_000, 'c1'), ToolReturnPart('run_python', ['6', PICTURE], 'c2')]
    ),
    ModelResponse(parts=[TextPart('The sum is **6**.')]),
    ModelRequest(parts=[UserPromptPart('The task t1 is done.')]),
    ModelResponse(parts=[ToolCallPart('ls', {}, 'c3')]),
]


def session(root: Path) -> NotebookSession:
    return NotebookSession(
        directory=root, notebook=root / 'sales.ipynb', database=root / '.deep/session.db', namespace={}
    )


async def exported(root: Path, name: str, *, everything: bool = False) -> str:
    notebook = session(root)
    conversations, prompts = await collect(notebook, everything=everything)
    await notebook.close()
    return rendered(root / name, conversations, notebook='sales.ipynb', prompts=prompts).decode()


@pytest.fixture
async def root(tmp_path: Path) -> Path:
    notebook = session(tmp_path)
    store = await notebook.store()
    run = await store.start_run(prompt=f'Sum it, key {KEY}.', model='scripted')
    await store.sync(MESSAGES)
    await store.save_run(run, phase='done', state={'usage': {'requests': 2}, 'files': [{'path': 'a.csv'}], 'todos': []})
    await notebook.close()
    return tmp_path


async def test_markdown_reads_as_it_happened(root: Path) -> None:
    text = await exported(root, 'talk.md')
    head, _, rest = text.partition('\nExported ')
    assert head == '# Conversation of sales.ipynb\n'
    body = rest.partition('\n')[2]
    assert body.count('a,b') < 1_100
    shown = body.replace('a,b\n', '')
    assert shown == snapshot('''\

## You

Sum it, key sk-…[masked].

## Agent

I look.

**read_file**

```text
path: a.csv
limit: 3
```

```text

… 8,032 characters left out …
```

**run_python**

````python
import pandas
print("""```
fenced
```""")
````

```text
6
[a picture]
```

The sum is **6**.

## Note to the agent

The task t1 is done.

## Agent

**ls**
''')


async def test_json_is_complete_and_is_read_back(root: Path) -> None:
    data = json.loads(await exported(root, 'talk.json'))
    [conversation] = data['conversations']
    read = ModelMessagesTypeAdapter.validate_python(conversation['messages'])
    plain = json.loads(ModelMessagesTypeAdapter.dump_json(MESSAGES).replace(KEY.encode(), b'sk-\xe2\x80\xa6[masked]'))
    assert json.loads(ModelMessagesTypeAdapter.dump_json(read)) == plain
    [run] = conversation['runs']
    assert (run['prompt'], run['phase']) == ('Sum it, key sk-…[masked].', 'done')
    assert (run['usage'], run['files']) == ({'requests': 2}, ['a.csv'])
    assert (data['version'], data['notebook'], conversation['current']) == (1, 'sales.ipynb', True)


async def test_a_notebook_holds_the_talk_and_the_code_that_ran(root: Path) -> None:
    notebook = nbformat.reads(await exported(root, 'talk.ipynb'), as_version=4)
    nbformat.validate(notebook)
    assert [(cell.cell_type, cell.source) for cell in notebook.cells] == [
        ('markdown', '# Conversation of sales.ipynb'),
        ('markdown', '**You:**\n\nSum it, key sk-…[masked].'),
        ('markdown', 'I look.'),
        ('code', CODE),
        ('markdown', 'The sum is **6**.'),
    ]
    text, picture = notebook.cells[3].outputs
    assert (text.text, list(picture.data)) == ('6\n', ['image/png'])
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)


@pytest.mark.parametrize('name', ['talk.md', 'talk.ipynb'])
async def test_each_call_has_its_own_result_where_a_model_counts_its_calls_anew(tmp_path: Path, name: str) -> None:
    notebook = session(tmp_path)
    store = await notebook.store()
    await store.sync(
        [
            message
            for turn in ('one', 'two')
            for message in (
                ModelRequest(parts=[UserPromptPart(f'Prompt {turn}.')]),
                ModelResponse(parts=[ToolCallPart('run_python', {'code': f'print({turn!r})'}, 'call_0')]),
                ModelRequest(parts=[ToolReturnPart('run_python', f'result {turn}', 'call_0')]),
            )
        ]
    )
    await notebook.close()
    text = await exported(tmp_path, name)
    (code, result), (next_code, next_result) = (
        [text.index(words) for words in (f'print({turn!r})', f'result {turn}')] for turn in ('one', 'two')
    )
    assert max(code, result) < min(next_code, next_result)


@pytest.mark.parametrize('name', ['talk.md', 'talk.json', 'talk.ipynb'])
async def test_compressed_parts_are_there_and_other_conversations_only_when_asked_for(root: Path, name: str) -> None:
    notebook = session(root)
    store = await notebook.store()
    await store.sync([ModelRequest(parts=[CompactionPart('They summed.')]), *MESSAGES[-2:]])
    await notebook.reset()
    await store.sync([ModelRequest(parts=[UserPromptPart('Anew.')])])
    await store.start_run(prompt='Anew.', model='scripted')
    await notebook.close()

    one, every = await exported(root, name), await exported(root, name, everything=True)
    assert 'Anew.' in one
    assert 'The sum is' not in one
    assert all(words in every for words in ('Anew.', 'The sum is **6**.', 'They summed.'))
    assert every.index('The sum is') < every.index('They summed.') < every.index('Anew.')
    assert KEY not in every


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('', '%deep export takes the name of a file that ends in .md, .json or .ipynb.'),
        ('--all', '%deep export takes the name of a file that ends in .md, .json or .ipynb.'),
        ('talk.md --al', '%deep export knows --all and --force, not --al.'),
        ('talk.txt', '%deep export writes .md, .json or .ipynb, and talk.txt ends in none of them.'),
        ('sales.ipynb --force', 'sales.ipynb is the notebook that is open and running: choose another name.'),
        ('linked.ipynb --force', 'linked.ipynb is the notebook that is open and running: choose another name.'),
        ('there.md', 'there.md is there already: choose another name, or add --force to replace it.'),
        (f'{"a" * 300}.md', f'{"a" * 300}.md cannot be written (File name too long).'),
        ('folder.md --force', 'folder.md is a directory: add the name of a file.'),
    ],
)
def test_no_file_is_lost(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / 'sales.ipynb').write_text('{}')
    (tmp_path / 'linked.ipynb').hardlink_to(tmp_path / 'sales.ipynb')
    (tmp_path / 'there.md').write_text('mine')
    (tmp_path / 'folder.md').mkdir()

    def check() -> Any:
        request = parse_export(line)
        check_target(tmp_path / request.file, request, session(tmp_path))

    with pytest.raises(UsageError) as raised:
        check()
    assert str(raised.value) == message


def test_flags_stand_before_or_after_and_names_keep_their_spaces(tmp_path: Path) -> None:
    for line in ('--all my talk.md --force', 'my talk.md --force --all'):
        request = parse_export(line)
        assert (request.file, request.everything, request.force) == ('my talk.md', True, True)
    assert parse_export('a--all.md').file == 'a--all.md'

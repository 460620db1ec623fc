from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from pydantic_ai.messages import BinaryContent

from deep_notebook.capabilities.python import PythonResult, RunPython, without_fences
from harness.play import play

pytestmark = pytest.mark.anyio

PICTURE = BinaryContent(data=b'\x89PNG', media_type='image/png')


@dataclass
class Runner:
    result: PythonResult
    ran: list[str] = field(default_factory=list)

    async def run(self, code: str, *, timeout: float | None) -> PythonResult:
        self.ran.append(code)
        return self.result


@dataclass(frozen=True)
class Case:
    result: PythonResult
    text: str
    summary: str


@pytest.mark.parametrize(
    'case',
    [
        Case(PythonResult(text='1\n2\n'), '1\n2', '2 lines'),
        Case(PythonResult(text=''), '[no output]', 'no output'),
        Case(PythonResult(text='', images=[PICTURE]), '[a picture]', '1 picture'),
        Case(
            PythonResult(text='before', error='Traceback …\nNameError: x'),
            'before\nTraceback …\nNameError: x',
            'NameError: x',
        ),
        Case(
            PythonResult(text='a', error='KeyboardInterrupt', interrupted=True),
            'a\n[interrupted]\nKeyboardInterrupt',
            'interrupted',
        ),
    ],
)
async def test_the_model_sees_what_a_reader_would_see(case: Case) -> None:
    played = await play([('run_python', {'code': 'x'})], capabilities=[RunPython(Runner(case.result))])
    part = played.returns[0]
    assert part.content == ([case.text, PICTURE] if case.result.images else case.text)
    assert part.metadata == {'summary': case.summary, 'failed': case.result.error is not None}
    assert part.outcome == 'success'


async def test_long_output_is_shown_at_both_ends_and_pictures_are_counted() -> None:
    result = PythonResult(text='x' * 5000 + 'end', images=[PICTURE] * 10)
    played = await play([('run_python', {'code': 'x'})], capabilities=[RunPython(Runner(result), max_chars=1000)])
    text, *pictures = played.returns[0].content
    assert len(pictures) == 8
    assert text.endswith('end\n[2 more pictures were not shown]')
    assert len(text) < 1100


@pytest.mark.parametrize(
    ('given', 'code'),
    [
        ('```python\nprint(1)\n```', 'print(1)'),
        ('\n```\na = 1\n\nb = 2\n```\n', 'a = 1\n\nb = 2'),
        ('~~~py\nx\n~~~', 'x'),
        ("print('```')", "print('```')"),
        ('a = """\n```\n"""', 'a = """\n```\n"""'),
        ('  indented = 1', '  indented = 1'),
    ],
)
async def test_a_fence_around_the_code_is_no_code(given: str, code: str) -> None:
    assert without_fences(given) == code
    runner = Runner(PythonResult(text=''))
    await play([('run_python', {'code': given})], capabilities=[RunPython(runner)])
    assert runner.ran == [code]


async def test_no_code_does_not_run() -> None:
    runner = Runner(PythonResult(text=''))
    played = await play([('run_python', {'code': ' \n'})], capabilities=[RunPython(runner)])
    assert (runner.ran, played.texts) == ([], ['There is no code.'])

"""C17 (deepagents#6198): `LC_ALL=C PYTHONUTF8=0`: prompts, answers, files, recordings and sessions survive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.deep import deep, run_deep
from harness.environment import kernel_python
from harness.kernels import RealKernel
from harness.terminal import ipython

C_LOCALE = {'LC_ALL': 'C', 'LANG': 'C', 'PYTHONUTF8': '0', 'PYTHONCOERCECLOCALE': '0'}
WORDS = 'Grüße 漢字 🌍 שלום'


@pytest.fixture
def kernel(start_kernel: Callable[..., RealKernel], tmp_path: Path) -> RealKernel:
    kernel = start_kernel('7.4', env=C_LOCALE | {'JPY_SESSION_NAME': str(tmp_path / 'Übung.ipynb')})
    encoding = kernel.run('import sys, locale; print(sys.getfilesystemencoding(), locale.getpreferredencoding(False))')
    assert encoding.stdout == 'ascii ANSI_X3.4-1968\n', 'not the locale that this is about'
    return kernel


@pytest.mark.kernel
def test_every_tool_and_text_survives(kernel: RealKernel, tmp_path: Path) -> None:
    (tmp_path / 'old.txt').write_text(f'{WORDS}\n', encoding='utf-8')
    deep(
        kernel,
        f"""
        words = {WORDS!r}
        seen = []
        def told(messages): return words + ' | ' + ' | '.join(str(part.content) for part in returns(messages))
        model = script(
            call('write_file', path='note.md', content=words + '\\n'), call('read_file', path='old.txt'),
            call('grep', pattern='Grü|字'), call('execute', command='echo ' + words + '; cat old.txt'),
            call('run_python', code='print(' + repr(words) + ')'),
            call('write_todos', todos=[{{'content': words, 'status': 'pending'}}]), told, seen=seen,
        )
        """,
    )
    result = run_deep(kernel, '--approve auto --into ans', WORDS)

    assert result.status == 'ok', result.error
    assert (tmp_path / 'note.md').read_text(encoding='utf-8') == f'{WORDS}\n'
    answer = kernel.run('print(ans)').stdout
    assert answer.count(WORDS) == 7, answer
    assert WORDS in result.displays[-1]['text/plain']
    assert WORDS in result.displays[-1]['text/html']
    assert WORDS in kernel.run('print(prompts(seen[-1]))').stdout
    assert 'Übung.ipynb' in kernel.run('%deep status').stdout

    kernel.restart()
    deep(kernel, 'seen = []\nmodel = script("ok", seen=seen)')
    run_deep(kernel, '', 'And now?')
    assert WORDS in kernel.run('print(prompts(seen[-1]))').stdout
    assert WORDS in kernel.run('%deep show 1').displays[-1]['text/plain']
    assert WORDS in kernel.run('%deep todos').stdout
    assert (tmp_path / '.deep' / 'Übung.ipynb' / 'session.db').exists()


@pytest.mark.kernel
def test_recordings_and_dotenv_survive(kernel: RealKernel, tmp_path: Path) -> None:
    (tmp_path / '.env').write_text(f'GREETING={WORDS}\nPLAIN=plain\n', encoding='utf-8')
    deep(kernel, f'model = script({WORDS!r})')

    recorded = run_deep(kernel, '--record first', WORDS)
    assert recorded.status == 'ok', recorded.error
    assert "Ignored in .env: GREETING holds characters that this system's locale lacks." in str(recorded.displays[-1])
    assert WORDS in (tmp_path / 'recordings' / 'first.yaml').read_text(encoding='utf-8')
    replayed = kernel.run(f'%%deep --replay first --new\n{WORDS}', allow_stdin=False)
    assert WORDS in replayed.displays[-1]['text/plain']
    assert kernel.run('import os; print(os.environ["PLAIN"])').stdout == 'plain\n'
    refused = kernel.run(f'%%deep --record première -m model\n{WORDS}')
    assert len(refused.stderr.splitlines()) == 1
    assert 'names of files are ascii on this system' in refused.stderr


@pytest.mark.kernel
def test_a_name_that_this_system_lacks_is_refused_and_the_run_goes_on(kernel: RealKernel, tmp_path: Path) -> None:
    (tmp_path / 'Öl.txt').write_text('fine', encoding='utf-8')
    deep(
        kernel,
        """
        def told(messages): return ' | '.join(f'{part.outcome}: {part.content}' for part in returns(messages))
        model = script(
            [call('write_file', path='résumé.md', content='x'), call('ls'), call('glob', pattern='*'),
             call('grep', pattern='fine'), call('read_file', path='Öl.txt')], told,
        )
        """,
    )
    result = run_deep(kernel, '--approve auto', 'Try names.')

    assert result.status == 'ok', result.error
    assert "'résumé.md' cannot be a file name here: file names are ascii" in result.displays[-1]['text/plain']


def test_a_terminal_shows_and_reads_what_it_can(tmp_path: Path) -> None:
    (tmp_path / 'work').mkdir()
    with ipython(kernel_python('7.4'), tmp_path / 'work', env=C_LOCALE) as terminal:
        assert 'ascii' in terminal.run('import sys; print(sys.stdout.encoding)')
        terminal.run('%load_ext deep_notebook')
        assert '`anthropic:...`' in terminal.run('%deep help')
        terminal.run('from harness.scripted import call, prompts, returns, script; seen = []')
        terminal.run(r'answer = "Gr\xfc\xdfe \U0001f30d"; model = script(answer, seen=seen)')
        terminal.run(
            r'writer = script(call("write_file", path="a.txt", content=answer), lambda m: returns(m)[-1].content)'
        )

        said = terminal.run(f'%%deep -m model --into ans\n{WORDS}')
        assert r'Gr\xfc\xdfe \U0001f30d' in said
        assert 'Done - model - scripted' in said
        assert ascii(WORDS).strip("'") in terminal.run('print(ascii(prompts(seen[-1])), ans == answer + " ")')
        assert r'Gr\xfc\xdfe' in terminal.run('%deep show')

        terminal.enter('%%deep -m writer\nwrite')
        question = terminal.wait_for('of this run: ')
        assert r'+Gr\xfc\xdfe \U0001f30d' in question, 'what is approved is shown'
        terminal.send('no, für später\n')
        assert r'f\xfcr sp\xe4ter' in terminal.wait_for('In [')
        terminal.wait_for(': ')
        assert not (tmp_path / 'work' / 'a.txt').exists()
        assert 'Traceback' not in terminal.screen

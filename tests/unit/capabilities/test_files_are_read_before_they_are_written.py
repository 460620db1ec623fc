"""Nothing is written over what the agent has not seen, or over what somebody changed since."""

from __future__ import annotations

from pathlib import Path

import pytest
from dirty_equals import IsStr
from pydantic_ai.messages import ModelRequest

from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.workspaces import KernelWorkspace
from harness.play import Deps, anchors, play

pytestmark = pytest.mark.anyio


@pytest.fixture
def deps(tmp_path: Path) -> Deps:
    return Deps(KernelWorkspace(tmp_path))


async def test_a_new_file_is_written_at_once(tmp_path: Path, deps: Deps) -> None:
    played = await play(
        [('write_file', {'path': 'out/report.md', 'content': '# Hi\n'})], capabilities=[Filesystem()], deps=deps
    )
    assert played.texts == ['Wrote out/report.md: new file · 1 line.']
    assert (tmp_path / 'out/report.md').read_text() == '# Hi\n'
    assert played.returns[0].metadata == {
        'summary': 'out/report.md · new file · 1 line',
        'file': {'path': 'out/report.md', 'added': 1, 'removed': 0, 'diff': IsStr(regex=r'(?s)--- /dev/null.*\+# Hi')},
        'edit_format': 'hashline',
    }


async def test_an_unread_file_is_not_overwritten(tmp_path: Path, deps: Deps) -> None:
    (tmp_path / 'a.txt').write_text('mine\n')
    played = await play(
        [('write_file', {'path': 'a.txt', 'content': 'x\n'})],
        [('read_file', {'path': 'a.txt'})],
        [('write_file', {'path': 'a.txt', 'content': 'x\n'})],
        capabilities=[Filesystem()],
        deps=deps,
    )
    assert 'read it first' in played.texts[0]
    assert played.returns[0].outcome == 'failed'
    assert played.texts[2] == 'Wrote a.txt: +1 −1.'


async def test_what_the_agent_wrote_it_may_write_again(tmp_path: Path, deps: Deps) -> None:
    await play(
        [('write_file', {'path': 'a.txt', 'content': 'one\n'})],
        [('write_file', {'path': './a.txt', 'content': 'two\n'})],
        capabilities=[Filesystem()],
        deps=deps,
    )
    assert (tmp_path / 'a.txt').read_text() == 'two\n'


@pytest.mark.parametrize('edit_format', ['hashline', 'str_replace'])
async def test_what_was_read_in_an_earlier_run_counts(tmp_path: Path, deps: Deps, edit_format: str) -> None:
    (tmp_path / 'a.txt').write_text('one\n')
    capabilities = [Filesystem(edit_format=edit_format)]  # type: ignore[arg-type]
    first = await play([('read_file', {'path': 'a.txt'})], capabilities=capabilities, deps=deps)
    assert first.output == 'done'
    await play([('write_file', {'path': 'a.txt', 'content': 'two\n'})], capabilities=capabilities, deps=deps)
    assert (tmp_path / 'a.txt').read_text() == 'two\n'


async def test_without_a_memory_in_deps_a_read_counts_for_its_run_only(tmp_path: Path) -> None:
    (tmp_path / 'a.txt').write_text('one\n')

    class OnlyBackend:
        backend = KernelWorkspace(tmp_path)

    capabilities = [Filesystem()]
    await play([('read_file', {'path': 'a.txt'})], capabilities=capabilities, deps=OnlyBackend())
    write = ('write_file', {'path': 'a.txt', 'content': 'two\n'})
    later = await play(
        [write], [('read_file', {'path': 'a.txt'})], [write], capabilities=capabilities, deps=OnlyBackend()
    )
    assert 'read it first' in later.texts[0]
    assert (tmp_path / 'a.txt').read_text() == 'two\n'


async def test_str_replace_needs_a_read_and_anchors_prove_one(tmp_path: Path, deps: Deps) -> None:
    (tmp_path / 'a.txt').write_text('one\ntwo\n')
    quoted = await play(
        [('edit_file', {'path': 'a.txt', 'old_string': 'one', 'new_string': 'ONE'})],
        capabilities=[Filesystem(edit_format='str_replace')],
        deps=deps,
    )
    assert 'read it first' in quoted.texts[0]
    anchored = await play(
        [('grep', {'pattern': 'two'})],
        lambda returns: [
            ('edit_file', {'path': 'a.txt', 'operations': [{'op': 'delete', 'anchor': anchors(returns[0].content)[0]}]})
        ],
        capabilities=[Filesystem()],
        deps=deps,
    )
    assert anchored.texts[1].startswith('Edited a.txt: +0 −1.')
    assert (tmp_path / 'a.txt').read_text() == 'one\n'


async def test_a_refusal_costs_no_retry(tmp_path: Path, deps: Deps) -> None:
    (tmp_path / 'a.txt').write_text('mine\n')
    write = [('write_file', {'path': 'a.txt', 'content': 'x\n'})]
    played = await play(*[write] * 8, capabilities=[Filesystem()], deps=deps)
    assert played.output == 'done'
    assert {part.outcome for part in played.returns} == {'failed'}


async def test_what_is_not_text_is_not_overwritten(tmp_path: Path, deps: Deps) -> None:
    (tmp_path / 'a.png').write_bytes(b'\x89PNG\r\n\x1a\n\0\0')
    played = await play(
        [('read_file', {'path': 'a.png'}), ('write_file', {'path': 'a.png', 'content': 'x'})],
        capabilities=[Filesystem()],
        deps=deps,
    )
    assert 'is not text (image/png)' in played.texts[1]
    assert (tmp_path / 'a.png').read_bytes().startswith(b'\x89PNG')


async def test_line_tags_do_not_get_into_a_file(tmp_path: Path, deps: Deps) -> None:
    (tmp_path / 'a.txt').write_text('one\ntwo\n')
    played = await play(
        [('read_file', {'path': 'a.txt'})],
        lambda returns: [('write_file', {'path': 'b.txt', 'content': returns[0].content})],
        capabilities=[Filesystem()],
        deps=deps,
    )
    assert 'line tag' in played.texts[1]
    assert not (tmp_path / 'b.txt').exists()


async def test_parallel_edits_of_one_file_all_land(tmp_path: Path, deps: Deps) -> None:
    (tmp_path / 'a.txt').write_text(''.join(f'{"x" if number % 2 else ""}\n' for number in range(40)))

    def edits(returns: list) -> list:  # type: ignore[type-arg]
        tags = anchors(returns[0].content)
        operations = [
            {'op': 'insert_before', 'anchor': tags[0], 'text': 'TOP\nTOP'},
            {'op': 'replace', 'anchor': tags[11], 'text': 'ELEVEN'},
            {'op': 'delete', 'anchor': tags[20], 'end': tags[22]},
            {'op': 'insert_after', 'anchor': tags[31], 'text': 'AFTER 31'},
        ]
        return [('edit_file', {'path': 'a.txt', 'operations': [operation]}) for operation in operations]

    played = await play([('read_file', {'path': 'a.txt'})], edits, capabilities=[Filesystem()], deps=deps)
    assert [part.outcome for part in played.returns] == ['success'] * 5
    expected = ['x' if number % 2 else '' for number in range(40)]
    expected[31:32] = [expected[31], 'AFTER 31']
    del expected[20:23]
    expected[11] = 'ELEVEN'
    assert (tmp_path / 'a.txt').read_text().split('\n')[:-1] == ['TOP', 'TOP', *expected]


async def test_an_edit_by_somebody_else_between_two_of_ours_is_noticed(tmp_path: Path, deps: Deps) -> None:
    file = tmp_path / 'a.txt'
    file.write_text('one\ntwo\n')

    def somebody_else(returns: list) -> list:  # type: ignore[type-arg]
        file.write_text('zero\n' + file.read_text())
        anchor = anchors(returns[-1].content)[-1]
        return [('edit_file', {'path': 'a.txt', 'operations': [{'op': 'delete', 'anchor': anchor}]})]

    played = await play([('read_file', {'path': 'a.txt'})], somebody_else, capabilities=[Filesystem()], deps=deps)
    assert 'read it again' in played.texts[1]
    assert file.read_text() == 'zero\none\ntwo\n'


@pytest.mark.parametrize(
    ('model', 'quotes'),
    [('claude-opus-4-6', True), ('gpt-5', True), ('openai/o3', True), ('qwen2.5-coder', False), ('gemma-3', False)],
)
async def test_auto_picks_the_edit_format_by_the_models_family(deps: Deps, model: str, quotes: bool) -> None:
    played = await play(
        [('write_file', {'path': 'a.txt', 'content': 'one\n'})],
        [('edit_file', {'path': 'a.txt', 'old_string': 'one', 'new_string': 'two'})],
        [('edit_file', {'path': 'a.txt', 'operations': [{'op': 'insert_after', 'anchor': '1:xx', 'text': 'x'}]})],
        capabilities=[Filesystem(edit_format='auto')],
        deps=deps,
        model_name=model,
    )
    assert played.returns[0].metadata['edit_format'] == ('str_replace' if quotes else 'hashline')
    assert (played.returns[1].outcome == 'success') is quotes


async def test_edits_of_a_link_and_of_its_target_are_one_file(tmp_path: Path, deps: Deps) -> None:
    (tmp_path / 'real.txt').write_text('one\n')
    (tmp_path / 'link.txt').symlink_to('real.txt')
    await play(
        [('read_file', {'path': 'link.txt'})],
        [('write_file', {'path': 'real.txt', 'content': 'two\n'})],
        capabilities=[Filesystem()],
        deps=deps,
    )
    assert (tmp_path / 'real.txt').read_text() == 'two\n'


async def test_two_runs_do_not_share_what_they_have_read(tmp_path: Path) -> None:
    (tmp_path / 'a.txt').write_text('one\n')
    capabilities = [Filesystem()]
    backend = KernelWorkspace(tmp_path)
    await play([('read_file', {'path': 'a.txt'})], capabilities=capabilities, deps=Deps(backend))
    other = await play(
        [('write_file', {'path': 'a.txt', 'content': 'x'})], capabilities=capabilities, deps=Deps(backend)
    )
    assert 'read it first' in other.texts[0]
    assert not any(isinstance(message, ModelRequest) and message.state == 'interrupted' for message in other.messages)

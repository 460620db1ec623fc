"""What a run changed is kept or undone as the person says, and nothing of theirs goes with it."""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from dirty_equals import IsStr

from deep_notebook.errors import UsageError
from deep_notebook.kernel.review import Reviewer
from deep_notebook.kernel.session import NotebookSession
from deep_notebook.store.journal import Journal
from deep_notebook.store.runs import RunTerms
from deep_notebook.views.panel_shapes import ChangeSet

pytestmark = pytest.mark.anyio

LINES = [f'line {number}\n' for number in range(1, 41)]
BEFORE = ''.join(LINES)
AFTER = ''.join([*LINES[:4], 'first\n', *LINES[5:20], 'second\n', *LINES[20:34], 'third\n', *LINES[35:]])
"""Three hunks: a line replaced, one inserted, one replaced."""


class Notebook:
    """A notebook whose agent writes files."""

    def __init__(self, root: Path, database: Path) -> None:
        self.root = root
        self.session = NotebookSession(directory=root, notebook=None, database=database, namespace={})

    @property
    def review(self) -> Reviewer:
        return self.session.review

    async def journal(self) -> Journal:
        await self.session.store()
        assert self.session.journal is not None
        return self.session.journal

    async def run(self, mode: str = 'review') -> int:
        """A run begins."""
        store = await self.session.store()
        return await store.start_run(prompt='go', model='scripted', terms=RunTerms(approve=mode))  # type: ignore[arg-type]

    async def writes(self, run: int, path: str, data: bytes | None, *, mode: int | None = None) -> None:
        """The agent writes a file in a run, or deletes it."""
        journal = await self.journal()
        expected = await journal.state_of(path)
        await journal.write(path, data, mode=mode, expected=expected, source='tool', run=run)
        self.session.deps.read_digests[path] = 'as the agent saw it'

    def holds(self, path: str) -> bytes | None:
        file = self.root / path
        return file.read_bytes() if file.exists() else None

    async def restarted(self) -> Notebook:
        await self.session.close()
        return Notebook(self.root, self.session.database)


@pytest.fixture
async def notebook(tmp_path: Path) -> AsyncIterator[Notebook]:
    root = tmp_path / 'work'
    root.mkdir()
    notebook = Notebook(root, tmp_path / 'session.db')
    yield notebook
    await notebook.session.close()


async def edited(notebook: Notebook, path: str = 'model.py') -> tuple[int, list[str]]:
    """A run with three hunks in one file; returns it and the ids of the hunks."""
    (notebook.root / path).write_text(BEFORE)
    run = await notebook.run()
    await notebook.writes(run, path, AFTER.encode())
    return run, hunks(await notebook.review.changes(run))


def hunks(changes: ChangeSet, file: int = 0) -> list[str]:
    return [hunk.id for hunk in changes.files[file].hunks]


def states(changes: ChangeSet) -> dict[str, str]:
    return {file.path: file.state for file in changes.files}


async def test_one_hunk_is_undone_and_the_rest_kept(notebook: Notebook) -> None:
    run, ids = await edited(notebook)
    await notebook.review.decide(run, 'undo', 'model.py', ids[1])
    assert notebook.holds('model.py') == AFTER.replace('second\n', '').encode()
    changes = await notebook.review.decide(run, 'keep')
    assert [hunk.state for hunk in changes.files[0].hunks] == ['kept', 'undone', 'kept']
    assert states(changes) == {'model.py': 'mixed'}


async def test_a_hunk_comes_back_when_it_is_kept_after_all(notebook: Notebook) -> None:
    run, ids = await edited(notebook)
    await notebook.review.decide(run, 'undo', 'model.py', ids[0])
    await notebook.review.decide(run, 'keep', 'model.py', ids[0])
    assert notebook.holds('model.py') == AFTER.encode()


async def test_what_the_person_wrote_since_stays(notebook: Notebook) -> None:
    run, _ = await edited(notebook)
    mine = AFTER.replace('line 12\n', 'mine\n')
    (notebook.root / 'model.py').write_text(mine)
    changes = await notebook.review.changes(run)
    assert changes.files[0].note == 'changed since'
    await notebook.review.decide(run, 'undo')
    assert notebook.holds('model.py') == BEFORE.replace('line 12\n', 'mine\n').encode()


async def test_lines_that_the_person_changed_are_left_alone_and_named(notebook: Notebook) -> None:
    run, ids = await edited(notebook)
    mine = AFTER.replace('second\n', 'second, and mine\n').encode()
    (notebook.root / 'model.py').write_bytes(mine)
    with pytest.raises(UsageError, match=r'model.py, change 2 of 3: these lines were changed since, .* is.$'):
        await notebook.review.decide(run, 'undo', 'model.py', ids[1])
    with pytest.raises(UsageError, match=r'change 2 of 3: .* Its other changes can be tried one by one'):
        await notebook.review.decide(run, 'undo', 'model.py')
    assert notebook.holds('model.py') == mine
    await notebook.review.decide(run, 'undo', 'model.py', ids[0])
    assert notebook.holds('model.py') == mine.replace(b'first\n', b'line 5\n')


CONTENTS = [
    pytest.param('ein\r\nzwei\r\n'.encode('utf-16'), 'ein\r\nzwo\r\n'.encode('utf-16'), id='utf-16'),
    pytest.param(codecs.BOM_UTF8 + b'a\r\nb\n', b'a\nb\n', id='mark-and-endings-lost'),
    pytest.param('Größe: 1\n'.encode('latin-1'), 'Größe: 2\n'.encode(), id='another-encoding'),
    pytest.param(b'\x00\x01\x02', b'\x00\x03', id='binary'),
    pytest.param(b'text\n', b'\x00', id='text-to-binary'),
    pytest.param(b'', b'x', id='from-empty'),
    pytest.param(b'x', b'', id='to-empty'),
]


@pytest.mark.parametrize(('before', 'after'), CONTENTS)
async def test_undoing_a_file_gives_back_every_byte_and_its_mode(
    notebook: Notebook, before: bytes, after: bytes
) -> None:
    file = notebook.root / 'data.txt'
    file.write_bytes(before)
    file.chmod(0o640)
    run = await notebook.run()
    await notebook.writes(run, 'data.txt', after, mode=0o755)
    await notebook.review.decide(run, 'undo', 'data.txt')
    assert (notebook.holds('data.txt'), file.stat().st_mode & 0o777) == (before, 0o640)
    await notebook.review.decide(run, 'keep', 'data.txt')
    assert (notebook.holds('data.txt'), file.stat().st_mode & 0o777) == (after, 0o755)


async def test_created_files_go_and_deleted_files_return(notebook: Notebook) -> None:
    (notebook.root / 'old.csv').write_bytes(b'a,b\r\n1,2\r\n')
    run = await notebook.run()
    await notebook.writes(run, 'out/new.md', b'# New\n')
    await notebook.writes(run, 'old.csv', None)
    changes = await notebook.review.changes(run)
    assert [(file.path, file.action, file.added, file.removed) for file in changes.files] == [
        ('out/new.md', 'create', 1, 0),
        ('old.csv', 'delete', 0, 2),
    ]
    await notebook.review.decide(run, 'undo')
    assert (notebook.holds('out/new.md'), notebook.holds('old.csv')) == (None, b'a,b\r\n1,2\r\n')
    assert not (notebook.root / 'out').exists()
    await notebook.review.decide(run, 'keep', 'out/new.md')
    assert notebook.holds('out/new.md') == b'# New\n'


async def test_what_the_person_put_back_themselves_is_undone(notebook: Notebook) -> None:
    run, _ = await edited(notebook)
    (notebook.root / 'model.py').write_text(BEFORE)
    assert states(await notebook.review.changes(run)) == {'model.py': 'undone'}
    assert await notebook.review.after(run) is None


async def test_a_new_file_that_the_person_went_on_with_is_not_deleted(notebook: Notebook) -> None:
    run = await notebook.run()
    await notebook.writes(run, 'new.md', b'# New\n')
    await notebook.writes(run, 'other.md', b'x\n')
    (notebook.root / 'new.md').write_bytes(b'# New\nand mine\n')
    changes = await notebook.review.decide(run, 'undo')
    assert changes.notice == IsStr(regex='new.md was changed since, so it is left as it is.*')
    assert (notebook.holds('new.md'), notebook.holds('other.md')) == (b'# New\nand mine\n', None)


async def test_what_came_and_went_within_the_run_is_no_change(notebook: Notebook) -> None:
    run = await notebook.run()
    await notebook.writes(run, 'scratch.py', b'x\n')
    await notebook.writes(run, 'scratch.py', None)
    assert (await notebook.review.changes(run)).files == ()


async def test_undoing_all_leaves_what_was_kept(notebook: Notebook) -> None:
    run, _ = await edited(notebook)
    await notebook.writes(run, 'new.md', b'# New\n')
    await notebook.review.decide(run, 'keep', 'new.md')
    await notebook.review.decide(run, 'undo')
    assert (notebook.holds('model.py'), notebook.holds('new.md')) == (BEFORE.encode(), b'# New\n')
    with pytest.raises(UsageError, match='Nothing is left to decide'):
        await notebook.review.decide(run, 'keep')


async def test_a_later_run_in_the_same_file_stays(notebook: Notebook) -> None:
    first, _ = await edited(notebook)
    second = await notebook.run('auto')
    await notebook.writes(second, 'model.py', AFTER.replace('line 40\n', 'by the second\n').encode())
    await notebook.review.decide(first, 'undo')
    assert notebook.holds('model.py') == BEFORE.replace('line 40\n', 'by the second\n').encode()
    assert [file.added for file in (await notebook.review.changes(second)).files] == [1]


async def test_the_review_is_there_after_a_restart(notebook: Notebook) -> None:
    run, ids = await edited(notebook)
    await notebook.review.decide(run, 'undo', 'model.py', ids[2])
    notebook = await notebook.restarted()
    assert await notebook.review.latest() == run
    changes = await notebook.review.changes(run)
    assert [hunk.state for hunk in changes.files[0].hunks] == ['open', 'open', 'undone']
    await notebook.review.decide(run, 'undo')
    assert notebook.holds('model.py') == BEFORE.encode()
    await notebook.session.close()


async def test_the_latest_run_with_something_open_comes_first(notebook: Notebook) -> None:
    with pytest.raises(UsageError, match='No run has changed a file'):
        await notebook.review.latest()
    first, _ = await edited(notebook)
    second = await notebook.run()
    await notebook.writes(second, 'new.md', b'x\n')
    assert await notebook.review.latest() == second
    await notebook.review.decide(second, 'keep')
    assert await notebook.review.latest() == first
    await notebook.review.decide(first, 'undo')
    assert await notebook.review.latest() == second


async def test_an_undo_can_be_gone_back_on(notebook: Notebook) -> None:
    """It is in the journal like everything else, and is no change of the run's."""
    run, ids = await edited(notebook)
    journal = await notebook.journal()
    position = await journal.position()
    await notebook.review.decide(run, 'undo', 'model.py', ids[0])
    assert [record.source for record in await journal.changes(after=position)] == ['review']
    await journal.restore(await journal.plan(position), source='rewind')
    assert notebook.holds('model.py') == AFTER.encode()
    changes = await notebook.review.changes(run)
    assert [hunk.state for hunk in changes.files[0].hunks] == ['open', 'open', 'open']


async def test_the_agent_has_to_read_again_what_was_undone(notebook: Notebook) -> None:
    """Its next edit is refused as of a file that somebody else changed, also after a restart."""
    run, ids = await edited(notebook)
    await notebook.review.decide(run, 'keep', 'model.py', ids[1])
    assert notebook.session.deps.read_digests == {'model.py': 'as the agent saw it'}
    await notebook.review.decide(run, 'undo', 'model.py', ids[0])
    digests = dict(notebook.session.deps.read_digests)
    assert digests == {'model.py': 'reviewed'}
    notebook = await notebook.restarted()
    await notebook.session.store()
    assert notebook.session.deps.read_digests == digests
    await notebook.session.close()


async def test_the_agent_is_told_once_what_was_undone(notebook: Notebook) -> None:
    run, ids = await edited(notebook)
    await notebook.writes(run, 'report.md', b'x\n')
    await notebook.review.decide(run, 'keep', 'report.md')
    assert await notebook.review.news() == []
    await notebook.review.decide(run, 'undo', 'model.py', ids[1])
    notebook = await notebook.restarted()
    told = 'Note: you changed model.py and report.md; the person undid model.py (1 of 3 hunks).'
    assert await notebook.review.news() == [told]
    assert await notebook.review.news() == []
    await notebook.review.decide(run, 'keep', 'model.py', ids[1])
    await notebook.review.decide(run, 'undo', 'report.md')
    told = 'Note: you changed model.py and report.md; the person undid report.md and put back model.py.'
    assert await notebook.review.news() == [told]
    await notebook.session.close()


async def test_a_file_that_the_person_deleted_is_said_to_be_gone(notebook: Notebook) -> None:
    run, _ = await edited(notebook)
    (notebook.root / 'model.py').unlink()
    assert (await notebook.review.changes(run)).files[0].note == 'deleted since'
    with pytest.raises(UsageError, match=r'model\.py was deleted since'):
        await notebook.review.decide(run, 'undo', 'model.py')
    assert notebook.holds('model.py') is None


async def test_a_file_that_came_back_is_not_said_to_be_undone(notebook: Notebook) -> None:
    (notebook.root / 'old.csv').write_bytes(b'1\n')
    run = await notebook.run()
    await notebook.writes(run, 'old.csv', None)
    await notebook.review.decide(run, 'undo', 'old.csv')
    told = 'Note: you changed old.csv; the person undid the deletion of old.csv.'
    assert await notebook.review.news() == [told]


async def test_a_panel_that_is_out_of_date_shows_what_was_decided_elsewhere(notebook: Notebook) -> None:
    run, _ = await edited(notebook)
    old = await notebook.review.changes(run)
    await notebook.review.decide(run, 'undo')
    changes = await notebook.review.act(old, {'do': 'keep', 'path': None, 'hunk': None})
    assert states(changes) == {'model.py': 'undone'}
    how = f'`%deep review keep {run} PATH` takes an undo back.'
    assert changes.notice == f'Nothing is left to decide. {how}'


async def test_a_new_conversation_knows_nothing_of_it(notebook: Notebook) -> None:
    run, _ = await edited(notebook)
    await notebook.review.decide(run, 'undo')
    await notebook.session.reset()
    assert await notebook.review.news() == []


@pytest.mark.parametrize('mode', ['ask', 'auto', 'review'])
async def test_only_review_mode_shows_what_a_run_changed_at_its_end(notebook: Notebook, mode: str) -> None:
    run = await notebook.run(mode)
    assert await notebook.review.after(run) is None
    await notebook.writes(run, 'new.md', b'x\n')
    shown = await notebook.review.after(run)
    assert (shown is not None) == (mode == 'review')
    assert states(await notebook.review.changes(run)) == {'new.md': 'open'}


async def test_very_much_is_shown_in_part_and_undone_as_a_whole(notebook: Notebook) -> None:
    run = await notebook.run()
    for number in range(25):
        await notebook.writes(run, f'{number}.txt', b'0123456789 line\n' * 2_000)
    changes = await notebook.review.changes(run)
    texts = [file.hunks[0].text for file in changes.files]
    assert sum(map(len, texts)) < 310_000
    assert texts[0] == IsStr(regex=r'(?s)\+0123.*\n… [\d,]+ more lines')
    assert texts[-1] == '… 2,000 more lines'
    assert {file.added for file in changes.files} == {2_000}
    await notebook.review.decide(run, 'undo')
    assert list(notebook.root.iterdir()) == []


async def test_files_and_runs_that_are_not_there_are_named(notebook: Notebook) -> None:
    run, _ = await edited(notebook)
    with pytest.raises(UsageError, match=rf"Run {run} did not change 'modle.py'.*model.py"):
        await notebook.review.decide(run, 'undo', 'modle.py')
    with pytest.raises(UsageError, match='no such hunk'):
        await notebook.review.decide(run, 'undo', 'model.py', 'x')
    with pytest.raises(UsageError, match='There is no run 99'):
        await notebook.review.changes(99)

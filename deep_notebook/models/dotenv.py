"""The `.env` file beside a notebook: read without executing anything, never overriding what is set.

A notebook may come from a stranger together with such a file. So it cannot preload code into commands
(`LD_…`, `PYTHON…`), redirect traffic (`…_PROXY`), or send a key of yours elsewhere: an address such as
`OPENAI_BASE_URL` counts only when no key for it was set outside the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path

from deep_notebook.masking import is_secret_name

__all__ = ['Dotenv', 'load_dotenv', 'parse_dotenv']

_MAX_BYTES = 1_000_000

_ASSIGNMENT = re.compile(r'[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*')
_SINGLE_QUOTED = re.compile(r"'([^']*)'[ \t]*(?:#[^\n]*)?(?=\n|\Z)")
_DOUBLE_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"[ \t]*(?:#[^\n]*)?(?=\n|\Z)', re.DOTALL)
_BARE = re.compile(r'[^\n]*')
_COMMENT = re.compile(r'(?:\A|[ \t])#.*')
_ESCAPE = re.compile(r'\\(.)', re.DOTALL)
_ESCAPES = {'n': '\n', 'r': '\r', 't': '\t'}

_HARMFUL = re.compile(
    r'(?:LD_|DYLD_|PYTHON|IPYTHON|JUPYTER|GIT_|BASH_|PERL5|RUBY|NODE_).*|PATH|ENV|HOME|SHELL|IFS|.*_PROXY',
    re.IGNORECASE,
)
_ADDRESS = re.compile(r'.*_(?:BASE|URL|URI|ENDPOINT|HOST)', re.IGNORECASE)


def parse_dotenv(text: str) -> tuple[dict[str, str], list[int]]:
    """Return the variables of a `.env` file, and the numbers (from 1) of the lines that are not `NAME=value`.

    Understood: comments, `export`, `'literal'`, `"with \\n escapes"`, quoted values over several lines. Nothing
    is expanded: `$HOME` and backquotes stay as they are written.
    """
    text = text.removeprefix('\ufeff').replace('\r\n', '\n')
    values: dict[str, str] = {}
    bad: list[int] = []
    position = 0
    while position < len(text):
        end = _line_end(text, position)
        line = text[position:end].strip()
        if line and not line.startswith('#'):
            value_end = _assign(text, position, values)
            if value_end is None:
                bad.append(text.count('\n', 0, position) + 1)
            else:
                end = value_end
        position = end + 1
    return values, bad


def _assign(text: str, position: int, values: dict[str, str]) -> int | None:
    """Read the assignment at `position` into `values` and return where it ends, or `None` if there is none."""
    assignment = _ASSIGNMENT.match(text, position)
    if assignment is None:
        return None
    start = assignment.end()
    if text.startswith("'", start):
        value = _SINGLE_QUOTED.match(text, start)
        found = value and value[1]
    elif text.startswith('"', start):
        value = _DOUBLE_QUOTED.match(text, start)
        found = value and _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), value[1])
    else:
        value = _BARE.match(text, start)
        found = value and _COMMENT.sub('', value[0]).strip()
    if value is None or found is None:
        return None
    values[assignment[1]] = found
    return value.end()


def _line_end(text: str, position: int) -> int:
    end = text.find('\n', position)
    return len(text) if end < 0 else end


@dataclass
class Dotenv:
    """One `.env` file and what it put into an environment.

    Args:
        path: The file; it need not be there.
        environ: The environment that it adds to.
    """

    path: Path
    environ: MutableMapping[str, str]
    notice: str | None = field(default=None, init=False)
    """One line for the person about what was ignored, without any value."""
    _stamp: tuple[int, int] | None = field(default=None, init=False)
    _ours: dict[str, str] = field(default_factory=dict, init=False)

    def refresh(self) -> None:
        """Read the file if it changed: what it set before and no longer does is taken back."""
        try:
            status = self.path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
        except OSError:
            stamp = None
        if stamp == self._stamp:
            return
        self._stamp = stamp
        for name, value in self._ours.items():
            if self.environ.get(name) == value:
                del self.environ[name]
        self._ours = {}
        self.notice = None
        if stamp is not None:
            self._apply(stamp[1])

    def _apply(self, size: int) -> None:
        try:
            if size > _MAX_BYTES:
                raise ValueError
            values, bad = parse_dotenv(self.path.read_bytes().decode())
        except (OSError, ValueError):
            self.notice = f'{self.path.name} was not used: it is not a readable UTF-8 file of less than 1 MB.'
            return
        remarks = [f'line {number} is not NAME=value' for number in bad]
        foreign_keys = [name for name in self.environ if is_secret_name(name)]
        for name, value in values.items():
            if name in self.environ:
                continue
            if refusal := _refusal(name, foreign_keys):
                remarks.append(refusal)
            elif '\0' in value:
                remarks.append(f'{name} holds a null character')
            elif not _fits(value):
                remarks.append(f"{name} holds characters that this system's locale lacks")
            else:
                self.environ[name] = self._ours[name] = value
        if remarks:
            self.notice = f'Ignored in {self.path.name}: {"; ".join(remarks)}.'


def _fits(value: str) -> bool:
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return False
    return True


def _refusal(name: str, foreign_keys: Iterable[str]) -> str | None:
    if _HARMFUL.fullmatch(name):
        return f'{name} (it changes how programs run)'
    if _ADDRESS.fullmatch(name):
        pieces = name.upper().split('_')
        for key in foreign_keys:
            if key.upper().split('_')[0] in pieces:
                return f'{name} (it would send {key}, which is not from this file, to another address)'
    return None


_loaded: dict[tuple[Path, int], Dotenv] = {}


def load_dotenv(directory: Path, environ: MutableMapping[str, str] = os.environ) -> str | None:
    """Add the `.env` in `directory`, and only there, to `environ`; read again only when the file changed.

    Returns:
        One line for the person about lines that were ignored, or `None`. It never shows a value.
    """
    path = directory / '.env'
    dotenv = _loaded.setdefault((path, id(environ)), Dotenv(path, environ))
    dotenv.refresh()
    return dotenv.notice

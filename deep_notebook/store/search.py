"""Find words in everything that was ever said or done: a full-text index over the stored messages.

What is found is a part of a message: a prompt, an answer, a call, a result. A message that grew or was merged with
another is stored anew; its parts are indexed once. The index holds no text of its own, only words and where they are.
It is brought up to date before a search, a batch at a time, so that nothing else waits for it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Protocol, TypeAlias

from .search_text import Query, parse_query, spaced, unescaped, window

__all__ = [
    'REINDEXED_SCHEMA',
    'SEARCH_SCHEMA',
    'SEARCH_TOOL',
    'HistoryArchive',
    'SearchHit',
    'WholeResult',
    'index_some',
    'part_ids',
    'search_index',
]

SEARCH_TOOL = 'search_conversation_history'
"""The tool that searches; its own calls and results are not found."""

SEARCH_SCHEMA = (
    """
    CREATE TABLE search_parts (
        id INTEGER PRIMARY KEY,
        key BLOB NOT NULL UNIQUE,
        message INTEGER NOT NULL REFERENCES messages (id),
        part INTEGER NOT NULL,
        kind TEXT NOT NULL,
        tool TEXT,
        shown TEXT NOT NULL
    )
    """,
    """
    CREATE VIRTUAL TABLE search_words USING fts5 (
        text, content='', tokenize="unicode61 remove_diacritics 2 categories 'L* N* Co So'"
    )
    """,
    'CREATE TABLE search_progress (message INTEGER NOT NULL)',
    'INSERT INTO search_progress VALUES (-1)',
)
"""`search_parts` says what the rows of `search_words` are: the parts of messages, in the order of their time."""
REINDEXED_SCHEMA = (
    'DELETE FROM search_parts',
    "INSERT INTO search_words (search_words) VALUES ('delete-all')",
    'UPDATE search_progress SET message = -1',
)
"""Index anew at the next search: the words of arguments and of structured results were not all found."""

_BATCH = 200
_BATCH_CHARS = 2_000_000
"""Messages, and about how many characters, that are indexed in one transaction."""
_CANDIDATES = 200
"""Of all that match, the newest are ranked: for a frequent word ranking all of 20,000 takes 80 ms instead of 2."""
_MAX_TEXT = 200_000
"""Characters of one part that are indexed."""
_MAX_WHOLE = 2_000_000
"""Characters that are indexed of a result that lies in a file."""
_LINE = 300
"""Characters of one line that are shown."""
_SHOWN = {'system-prompt': 200, 'tool-call': 200}
_SHOWN_ELSE = 500
"""Characters of a part that are shown where it is not what was found."""

_IS_JSON = """
    (json_extract(p.value, '$.part_kind') = 'tool-call' OR (
        json_extract(p.value, '$.part_kind') LIKE '%tool-return' AND json_type(p.value, '$.content') <> 'text'
        AND NOT instr(json_extract(p.value, '$.content'), '"media_type":')))
"""
"""Whether the text of a part is JSON: arguments, and results that are neither text nor hold files."""
_TEXT = f"""
    substr(CASE
        WHEN json_extract(p.value, '$.part_kind') = 'tool-call' THEN coalesce(json_extract(p.value, '$.args'), '')
        WHEN json_type(p.value, '$.content') = 'text' OR {_IS_JSON} THEN json_extract(p.value, '$.content')
        ELSE (
            SELECT group_concat(t.atom, ' ') FROM json_tree(p.value, '$.content') AS t
            WHERE t.atom IS NOT NULL AND t.type <> 'null'
                AND (typeof(t.key) <> 'text' OR t.key NOT IN ('data', 'kind', 'media_type', 'identifier'))
        )
    END, 1, {_MAX_TEXT})
"""
"""The text of a part, extracted by SQLite itself, which lets other threads run meanwhile; bytes are left out."""

_PARTS_OF_MESSAGES = f"""
    SELECT m.id, p.key, json_extract(p.value, '$.part_kind'), json_extract(p.value, '$.tool_name'),
        coalesce(json_extract(p.value, '$.tool_call_id'), json_extract(p.value, '$.timestamp'),
            json_extract(m.body, '$.timestamp'), ''),
        {_TEXT}, {_IS_JSON}
    FROM messages AS m, json_each(m.body, '$.parts') AS p
    WHERE m.id {{condition}} AND json_extract(p.value, '$.part_kind') IN (
        'user-prompt', 'system-prompt', 'compaction', 'text', 'tool-call', 'tool-return', 'builtin-tool-return',
        'retry-prompt')
    ORDER BY m.id, p.key
"""


@dataclass(frozen=True, kw_only=True)
class SearchHit:
    """A part of a message that was found, and the line in it that matches best."""

    message: int
    """The number of the message in the archive, in the order of time."""
    speaker: str
    """Whose words they are: `User`, `Assistant`, `System`, `Tool [name]` or `Tool Call [name]`; of a result that was
    too large for the history also the file that it is in: `Tool [name] in PATH`."""
    snippet: str
    """The line, or the part of it around the first match."""
    matches: Sequence[tuple[int, int]]
    """Where the words are in `snippet`: start and end."""
    before: Sequence[str] = ()
    """The lines before it, of the same and of earlier messages, as they are shown."""
    after: Sequence[str] = ()
    """The lines after it."""
    run: int | None = None
    """The run in which it was said, if that is known."""
    created: float | None = field(default=None, compare=False)
    """When it was stored, in Unix seconds, if that is known."""


WholeResult: TypeAlias = Callable[[str], tuple[str, str] | None]
"""Returns the path and the whole text of a result of which the history has a preview, or `None` for any other."""


class HistoryArchive(Protocol):
    """Where everything is that was ever said."""

    async def search(self, query: str, *, limit: int = 10, context: int = 5) -> list[SearchHit]:
        """Return what matches `query`, the best first; nothing for a query without words.

        Args:
            query: Words in any script; signs have no meaning.
            limit: The most hits.
            context: Lines to show before and after each.
        """
        ...


def index_some(connection: sqlite3.Connection, *, whole: WholeResult | None = None) -> bool:
    """Index the next messages that are not indexed and return whether there may be more.

    Args:
        connection: In a transaction.
        whole: Finds the text of results that lie in files.
    """
    at = connection.execute('SELECT message FROM search_progress').fetchone()[0]
    last = connection.execute(
        'SELECT max(id), count(*) FROM (SELECT id FROM messages WHERE id > ? ORDER BY id LIMIT ?)', (at, _BATCH)
    ).fetchone()
    if last[1] == 0:
        return False
    done, more, chars = last[0], bool(last[1] == _BATCH), 0
    for message, part, kind, tool, moment, raw, is_json in connection.execute(
        _PARTS_OF_MESSAGES.format(condition='BETWEEN ? AND ?'), (at + 1, done)
    ):
        if chars > _BATCH_CHARS and message > at:
            done, more = at, True
            break
        at = message
        if not raw or tool == SEARCH_TOOL:
            continue
        text = unescaped(raw) if is_json else str(raw)
        shown = text[: _SHOWN.get(kind, _SHOWN_ELSE)]
        cursor = connection.execute(
            'INSERT INTO search_parts (key, message, part, kind, tool, shown) VALUES (?, ?, ?, ?, ?, ?)'
            ' ON CONFLICT (key) DO NOTHING',
            (_key(kind, tool, moment, str(raw)), message, part, kind, tool, shown),
        )
        if cursor.rowcount:
            _, words = _in_file(kind, text, whole) or (None, text)
            chars += len(words)
            connection.execute(
                'INSERT INTO search_words (rowid, text) VALUES (?, ?)', (cursor.lastrowid, spaced(words))
            )
    connection.execute('UPDATE search_progress SET message = ?', (done,))
    return more


def part_ids(connection: sqlite3.Connection, messages: Iterable[int]) -> set[int]:
    """Return the ids of the indexed parts that these messages hold, wherever they were first seen."""
    ids: set[int] = set()
    for message in messages:
        rows = connection.execute(_PARTS_OF_MESSAGES.format(condition='= ?'), (message,)).fetchall()
        for _, _, kind, tool, moment, text, _ in rows:
            key = _key(kind, tool, moment, str(text or ''))
            ids.update(id for (id,) in connection.execute('SELECT id FROM search_parts WHERE key = ?', (key,)))
    return ids


def search_index(
    connection: sqlite3.Connection,
    text: str,
    *,
    limit: int,
    context: int,
    without: Collection[int] = (),
    whole: WholeResult | None = None,
) -> list[SearchHit]:
    """Return what matches in the index, the best first.

    Args:
        connection: Where `index_some` has nothing left to do.
        text: The query.
        limit: The most hits.
        context: Lines to show before and after each.
        without: Ids of parts that are not wanted.
        whole: Finds the text of results that lie in files.
    """
    query = parse_query(text)
    if query is None:
        return []
    return [_hit(connection, id, query, context, without, whole) for id in _ranked(connection, query, limit, without)]


def _ranked(connection: sqlite3.Connection, query: Query, limit: int, without: Collection[int]) -> list[int]:
    """Return the ids of parts, the best first: what holds all words, or else what holds any."""
    ids: dict[int, None] = {}
    for expressions in query.expressions():
        for expression in expressions:
            rows = connection.execute(
                'SELECT id FROM (SELECT rowid AS id, bm25(search_words) AS score FROM search_words'
                ' WHERE search_words MATCH ? ORDER BY rowid DESC LIMIT ?) ORDER BY score, id DESC LIMIT ?',
                (expression, _CANDIDATES, limit + len(without)),
            )
            ids.update((id, None) for (id,) in rows if id not in without)
            if len(ids) >= limit:
                break
        if ids:
            break
    return list(ids)[:limit]


def _hit(
    connection: sqlite3.Connection,
    id: int,
    query: Query,
    context: int,
    without: Collection[int],
    whole: WholeResult | None,
) -> SearchHit:
    found = connection.execute(
        'SELECT id, message, part, kind, tool, shown FROM search_parts WHERE id BETWEEN ? AND ? ORDER BY id',
        (id - context, id + context),
    )
    rows = [row for row in found if row[0] not in without]
    at = next(index for index, row in enumerate(rows) if row[0] == id)
    _, message, part, kind, tool, shown = rows[at]
    text = _whole(connection, message, part, kind, shown)
    file, text = _in_file(kind, text, whole) or (None, text)
    lines = text.splitlines() or ['']
    best = query.best_line(lines)
    snippet, matches = window(lines[best], query.ranges(lines[best]), _LINE)
    own = _formatted(message, kind, tool, lines[: best + 1 + context])
    before = [*_shown(rows[:at]), *own[:best]]
    after = own[best + 1 : best + 1 + context]
    if len(after) < context:
        after += _shown(rows[at + 1 :])
    return SearchHit(
        message=message,
        speaker=_speaker(kind, tool) + (f' in {file}' if file else ''),
        snippet=snippet,
        matches=tuple(matches),
        before=tuple(map(_cut, before[max(len(before) - context, 0) :])),
        after=tuple(map(_cut, after[:context])),
    )


def _in_file(kind: str, text: str, whole: WholeResult | None) -> tuple[str, str] | None:
    """Return the path and the text of a result that lies in a file, or `None`."""
    found = whole(text) if whole is not None and kind == 'tool-return' else None
    return None if found is None else (found[0], found[1][:_MAX_WHOLE])


def _whole(connection: sqlite3.Connection, message: int, part: int, kind: str, shown: str) -> str:
    if len(shown) < _SHOWN.get(kind, _SHOWN_ELSE):
        return shown
    row = connection.execute(
        f"SELECT {_TEXT}, {_IS_JSON} FROM messages AS m, json_each(m.body, '$.parts') AS p"
        ' WHERE m.id = ? AND p.key = ?',
        (message, part),
    ).fetchone()
    return unescaped(row[0]) if row[1] else str(row[0])


def _shown(rows: Sequence[tuple[Any, ...]]) -> list[str]:
    return [
        line for _, message, _, kind, tool, text in rows for line in _formatted(message, kind, tool, text.splitlines())
    ]


def _formatted(message: int, kind: str, tool: str | None, lines: Sequence[str]) -> list[str]:
    return [f'[{message}] {_speaker(kind, tool)}: {lines[0] if lines else ""}', *lines[1:]]


def _speaker(kind: str, tool: str | None) -> str:
    match kind:
        case 'user-prompt':
            return 'User'
        case 'text':
            return 'Assistant'
        case 'tool-call':
            return f'Tool Call [{tool}]'
        case 'system-prompt':
            return 'System'
        case 'compaction':
            return '[Compression summary]'
        case _:
            return 'System' if tool is None else f'Tool [{tool}]'


def _cut(line: str) -> str:
    return line if len(line) <= _LINE else f'{line[:_LINE]}…'


def _key(kind: str, tool: str | None, moment: str, text: str) -> bytes:
    """Return what is the same for a part wherever it stands."""
    identity = '\0'.join([kind, tool or '', moment, text])
    return blake2b(identity.encode('utf-8', 'surrogatepass'), digest_size=12).digest()

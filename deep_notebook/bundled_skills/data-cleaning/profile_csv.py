"""Profile a table of text: what its columns hold and what looks wrong. Reads line by line, needs no packages."""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

MISSING = frozenset({'', 'na', 'n/a', 'nan', 'null', 'none', '-', '--', '?', '#n/a'})
DELIMITERS = ',;\t|'
MAX_DISTINCT = 10_000
SAMPLE_LINES = 100

INTEGER = re.compile(r'[+-]?\d+')
NUMBER = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?')
GROUPED = re.compile(r'[+-]?\d{1,3}(,\d{3})+(\.\d+)?')
DECIMAL_COMMA = re.compile(r'[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+')
DATE = re.compile(r'\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?')
OTHER_DATE = re.compile(r'\d{1,2}[/.]\d{1,2}[/.]\d{2,4}')
LEADING_ZERO = re.compile(r'0\d+')


class Column:
    """What is known of a column so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.filled = 0
        self.missing = 0
        self.spaced = 0
        self.zeros = 0
        self.kinds: Counter[str] = Counter()
        self.values: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.low: float | None = None
        self.high: float | None = None

    def add(self, text: str) -> None:
        """Take in one value."""
        value = text.strip()
        self.spaced += value != text
        if value.lower() in MISSING:
            self.missing += 1
            return
        self.filled += 1
        kind = kind_of(value)
        self.kinds[kind] += 1
        self.examples.setdefault(kind, value)
        self.zeros += bool(LEADING_ZERO.fullmatch(value))
        if value in self.values or len(self.values) < MAX_DISTINCT:
            self.values[value] += 1
        if kind in ('integer', 'number'):
            number = float(value)
            self.low = number if self.low is None else min(self.low, number)
            self.high = number if self.high is None else max(self.high, number)

    @property
    def kind(self) -> str:
        """The kind that most values are of; an integer among numbers is one of them."""
        kinds = Counter(self.kinds)
        if kinds['number']:
            kinds['number'] += kinds.pop('integer', 0)
        return kinds.most_common(1)[0][0] if self.filled else 'empty'

    def row(self) -> tuple[str, ...]:
        """Return the line of the column in the table."""
        rows = self.filled + self.missing
        distinct = f'{len(self.values):,}' + ('+' if len(self.values) == MAX_DISTINCT else '')
        missing = f'{self.missing:,} ({self.missing / rows:.1%})' if rows and self.missing else '0'
        if self.low is not None and self.high is not None:
            shown = f'{self.low:,.6g} to {self.high:,.6g}'
        elif self.kind == 'date':
            shown = f'{min(self.values)} to {max(self.values)}'
        else:
            shown = ', '.join(short(value) for value, _ in self.values.most_common(3))
        return self.name, self.kind, missing, distinct, shown

    def findings(self) -> Iterator[str]:
        """Yield what looks wrong."""
        if not self.filled:
            yield 'is empty'
            return
        if self.spaced:
            yield f'{count(self.spaced, "value")} with spaces around: strip them'
        if self.zeros and self.kind in ('integer', 'number'):
            yield f'{count(self.zeros, "value")} with leading zeros: keep the column as text'
        mixed = {kind: number for kind, number in self.kinds.items() if kind != self.kind}
        if self.kind == 'number':
            mixed.pop('integer', None)
        for kind, number in sorted(mixed.items(), key=lambda item: -item[1]):
            example = short(self.examples[kind])
            yield f'{count(number, "value")} of {self.filled:,} not {self.kind} but {kind}, such as {example}'
        if self.kind in ('grouped number', 'decimal comma'):
            yield f'numbers written as {short(self.examples[self.kind])}: convert them'
        if self.kind == 'day or month first':
            yield f'dates written as {short(self.examples[self.kind])}: find out which is the day, and say the format'
        if len(self.values) == 1 and self.filled > 1:
            yield f'has one value only: {short(next(iter(self.values)))}'
        folded = Counter(value.casefold() for value in self.values)
        same = [value for value in self.values if folded[value.casefold()] > 1]
        if self.kind == 'text' and same:
            yield f'spellings that differ in case only: {", ".join(map(short, sorted(same)[:4]))}'


def kind_of(value: str) -> str:
    """Return what a value looks like."""
    for kind, pattern in (
        ('integer', INTEGER),
        ('number', NUMBER),
        ('date', DATE),
        ('grouped number', GROUPED),
        ('decimal comma', DECIMAL_COMMA),
        ('day or month first', OTHER_DATE),
    ):
        if pattern.fullmatch(value):
            return kind
    return 'text'


def encoding_of(path: Path) -> str:
    """Return the encoding of a file: UTF-8 or UTF-16 where it is that, else Windows-1252."""
    with path.open('rb') as file:
        if file.read(2) in (b'\xff\xfe', b'\xfe\xff'):
            return 'utf-16'
    try:
        with path.open(encoding='utf-8-sig') as text:
            while text.read(1_000_000):
                pass
    except UnicodeDecodeError:
        return 'cp1252'
    return 'utf-8-sig'


def delimiter_of(lines: list[str]) -> str:
    """Return the delimiter that cuts most of `lines` into the same number of fields, more than one."""

    def agreement(delimiter: str) -> tuple[int, int]:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter) if len(row) > 1)
        if not widths:
            return 0, 0
        width, rows = widths.most_common(1)[0]
        return rows, width

    return max(DELIMITERS, key=agreement)


def profile(path: Path, *, encoding: str, delimiter: str, max_rows: int) -> Iterator[str]:
    """Yield the lines of the report."""
    with path.open(encoding=encoding, errors='replace', newline='') as file:
        reader = csv.reader(file, delimiter=delimiter)
        header = next(reader, [])
        columns = [Column(name.strip() or f'(column {at})') for at, name in enumerate(header, start=1)]
        ragged: list[int] = []
        seen: set[int] = set()
        repeated = rows = 0
        for row in reader:
            if not row:
                continue
            if max_rows and rows == max_rows:
                break
            rows += 1
            if len(row) != len(columns):
                ragged.append(reader.line_num)
            for column, value in zip(columns, row, strict=False):
                column.add(value)
            key = hash(tuple(row))
            repeated += key in seen
            seen.add(key)
        complete = next(reader, None) is None
    written = encoding.removesuffix('-sig')
    limit = '' if complete else ' (the first ones; --rows 0 reads all)'
    name = 'tab' if delimiter == '\t' else f"'{delimiter}'"
    yield f'{path.name}: {count(rows, "row")}{limit}, {count(len(columns), "column")}, delimiter {name}, {written}'
    yield ''
    yield from table([('column', 'type', 'missing', 'distinct', 'values'), *(column.row() for column in columns)])
    findings = [f'{column.name}: {finding}' for column in columns for finding in column.findings()]
    names = Counter(column.name for column in columns)
    findings += [f'{name}: {number} columns have this name' for name, number in names.items() if number > 1]
    if ragged:
        lines = ', '.join(map(str, ragged[:5])) + (', …' if len(ragged) > 5 else '')
        findings.append(f'{count(len(ragged), "row")} without {count(len(columns), "field")}: lines {lines}')
    if repeated:
        findings.append(f'{count(repeated, "row")} repeated exactly')
    yield ''
    yield from ['Looks wrong:', *(f'- {finding}' for finding in findings)] if findings else ['Nothing looks wrong.']


def table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a table with aligned columns."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        yield '  '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def short(value: str) -> str:
    """Return a value for the report."""
    return repr(value if len(value) <= 24 else f'{value[:23]}…')


def count(number: int, what: str) -> str:
    """Return `'1 row'`, `'2,000 rows'`."""
    return f'{number:,} {what}{"" if number == 1 else "s"}'


def main() -> int:
    """Run the script; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('file', type=Path, help='a CSV, TSV or similar file with a header line')
    parser.add_argument(
        '--rows', type=int, default=1_000_000, help='rows to read at most, 0 for all (default: a million)'
    )
    parser.add_argument('--delimiter', help='by default, found out')
    parser.add_argument('--encoding', help='by default, found out')
    options = parser.parse_args()
    csv.field_size_limit(sys.maxsize)
    try:
        encoding = options.encoding or encoding_of(options.file)
        with options.file.open(encoding=encoding, errors='replace', newline='') as file:
            lines = [line for line, _ in zip(file, range(SAMPLE_LINES), strict=False)]
        delimiter = (options.delimiter or delimiter_of(lines)).replace('\\t', '\t')
        for line in profile(options.file, encoding=encoding, delimiter=delimiter, max_rows=options.rows):
            print(line)
    except (OSError, LookupError, csv.Error, TypeError) as error:
        print(f'{options.file}: {getattr(error, "strerror", None) or error}', file=sys.stderr)
        return 2
    return 0


if __name__ == '__main__':
    sys.exit(main())

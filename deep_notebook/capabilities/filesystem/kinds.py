"""What a file is that is not text."""

from __future__ import annotations

import mimetypes

__all__ = ['image_type', 'kind_of', 'size_text']

_IMAGES: tuple[tuple[bytes, str], ...] = (
    (b'\x89PNG\r\n\x1a\n', 'image/png'),
    (b'\xff\xd8\xff', 'image/jpeg'),
    (b'GIF87a', 'image/gif'),
    (b'GIF89a', 'image/gif'),
)
_OTHERS: tuple[tuple[bytes, str], ...] = (
    (b'%PDF-', 'PDF'),
    (b'SQLite format 3\0', 'SQLite database'),
    (b'PAR1', 'Parquet'),
    (b'ARROW1', 'Arrow'),
    (b'\x89HDF', 'HDF5'),
    (b'\x93NUMPY', 'NumPy array'),
    (b'\x1f\x8b', 'gzip'),
    (b'PK\x03\x04', 'zip'),
    (b'\x7fELF', 'executable'),
)


def image_type(data: bytes) -> str | None:
    """Return the media type of a picture that models can look at, going by its first bytes."""
    if data[:4] == b'RIFF' and data[8:12] == b'WEBP':
        return 'image/webp'
    return next((kind for magic, kind in _IMAGES if data.startswith(magic)), None)


def kind_of(data: bytes, name: str) -> str:
    """Return what a file that is not text seems to be, by its first bytes and its name."""
    known = image_type(data) or next((kind for magic, kind in _OTHERS if data.startswith(magic)), None)
    return known or mimetypes.guess_type(name)[0] or 'binary data'


def size_text(size: int) -> str:
    """Return a number of bytes for a reader, such as `'1.2 MB'`."""
    if size < 1000:
        return f'{size} B'
    value = float(size)
    for unit in ('kB', 'MB', 'GB'):
        value /= 1000
        if value < 999.95 or unit == 'GB':
            break
    return f'{value:.1f} {unit}'

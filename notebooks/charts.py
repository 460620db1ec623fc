"""A bar chart without any plotting library, so that the tutorials need none: a small PNG, the same on every machine."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

WIDTH, ROW, LEFT, TOP = 640, 40, 220, 12
WHITE, BLUE, BLACK = 0, 1, 2
PALETTE = bytes([255, 255, 255, 66, 133, 190, 40, 40, 40])
GLYPH = 3
"""Screen pixels a pixel of the font."""

CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.%-'
SHAPES = """
25755 65656 34443 65556 74647 74644 34553 55755 72227 11152 55655 44447 57755 65555 25552 65644 25563 65655 34216
72222 55557 55552 55775 55255 55222 71247 25552 26227 61247 61216 55711 74616 34652 71244 25252 25316 00002 51245
00700
"""
"""Five rows of three pixels for each character, the top row first, as octal digits: 5 is `X.X`."""
FONT = dict(zip(CHARACTERS, SHAPES.split(), strict=True))


class Chart:
    """A picture that a notebook shows."""

    def __init__(self, png: bytes, words: str) -> None:
        self._png = png
        self._words = words

    def _repr_png_(self) -> bytes:
        return self._png

    def __repr__(self) -> str:
        return self._words


def bar_chart(values: Mapping[str, float]) -> Chart:
    """Return a chart with one horizontal bar for each of `values`, which are not negative."""
    height = 2 * TOP + ROW * len(values)
    canvas = [bytearray(WIDTH) for _ in range(height)]
    longest = max(values.values(), default=0) or 1
    for row, (name, value) in enumerate(values.items()):
        top, length = TOP + row * ROW, round((WIDTH - LEFT - 90) * value / longest)
        for line in canvas[top + 4 : top + ROW - 4]:
            line[LEFT : LEFT + length] = bytes([BLUE]) * length
        middle = top + (ROW - 5 * GLYPH) // 2
        _write(canvas, name.upper(), LEFT - 12 - _width(name), middle)
        _write(canvas, f'{value:g}', LEFT + length + 10, middle)
    words = ', '.join(f'{name} {value:g}' for name, value in values.items())
    return Chart(_png(canvas), f'Bar chart: {words}')


def _width(text: str) -> int:
    return len(text) * 4 * GLYPH - GLYPH


def _write(canvas: list[bytearray], text: str, left: int, top: int) -> None:
    for position, character in enumerate(text):
        for y, bits in enumerate(FONT.get(character, '00000')):
            for x in range(3):
                if int(bits) & 4 >> x:
                    start = left + (position * 4 + x) * GLYPH
                    for line in canvas[top + y * GLYPH : top + (y + 1) * GLYPH]:
                        line[start : start + GLYPH] = bytes([BLACK]) * GLYPH


def _png(canvas: list[bytearray]) -> bytes:
    """Return the picture; uncompressed, since compressors differ in what they make of it."""
    packed = b''.join(b'\0' + _packed(line) for line in canvas)
    stored = b'\x78\x01\x01' + struct.pack('<HH', len(packed), len(packed) ^ 0xFFFF) + packed
    stored += struct.pack('>I', zlib.adler32(packed))
    header = struct.pack('>IIBBBBB', WIDTH, len(canvas), 2, 3, 0, 0, 0)
    chunks = [(b'IHDR', header), (b'PLTE', PALETTE), (b'IDAT', stored), (b'IEND', b'')]
    return b'\x89PNG\r\n\x1a\n' + b''.join(_chunk(kind, data) for kind, data in chunks)


def _packed(line: bytearray) -> bytes:
    """Return four pixels a byte."""
    return bytes(line[x] << 6 | line[x + 1] << 4 | line[x + 2] << 2 | line[x + 3] for x in range(0, len(line), 4))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

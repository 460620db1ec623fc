"""Check colours for charts: contrast on the background, and pairs that look alike to colour-blind readers."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from itertools import combinations

Colour = tuple[float, float, float]
"""Red, green and blue, linear, from 0 to 1."""

ENOUGH_CONTRAST = 3.0
"""For graphical objects (WCAG 2.1, success criterion 1.4.11)."""
ALIKE = 15.0
"""Distance in CIELAB (CIE 1976) below which thin lines are hard to tell apart: a rule of thumb."""

SEEN: dict[str, tuple[Colour, Colour, Colour]] = {
    'with full colour vision': ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    'without red cones': (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    'without green cones': (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
}
"""How linear RGB is seen: Machado, Oliveira and Fernandes (2009), severity 1.0."""


def parse(text: str) -> Colour:
    """Return the colour that `#rrggbb` stands for."""
    if not re.fullmatch(r'#?[0-9a-fA-F]{6}', text):
        raise argparse.ArgumentTypeError(f'{text!r} is not a colour: write it as #0072B2')
    digits = text.lstrip('#')
    return linear(digits[:2]), linear(digits[2:4]), linear(digits[4:])


def linear(digits: str) -> float:
    """Return the linear value of two hexadecimal digits (IEC 61966-2-1)."""
    value = int(digits, 16) / 255
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast ratio of two colours, from 1 to 21 (WCAG 2.1)."""
    low, high = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in (one, other))
    return (high + 0.05) / (low + 0.05)


def seen(colour: Colour, matrix: Sequence[Colour]) -> Colour:
    """Return a colour as it is seen."""
    red, green, blue = (min(max(sum(a * b for a, b in zip(row, colour, strict=True)), 0), 1) for row in matrix)
    return red, green, blue


def lab(colour: Colour) -> Colour:
    """Return a colour in CIELAB, for daylight (D65)."""
    red, green, blue = colour
    x = stretched((0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047)
    y = stretched(0.2126729 * red + 0.7151522 * green + 0.0721750 * blue)
    z = stretched((0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def stretched(value: float) -> float:
    """Return the cube root that CIELAB takes, straight near zero."""
    return float(value ** (1 / 3)) if value > 216 / 24389 else (24389 / 27 * value + 16) / 116


def distance(one: Colour, other: Colour) -> float:
    """Return how far apart two colours are in CIELAB."""
    return float(sum((a - b) ** 2 for a, b in zip(lab(one), lab(other), strict=True)) ** 0.5)


def main() -> int:
    """Run the script; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('colours', nargs='+', help='such as #0072B2')
    parser.add_argument('--background', default='#ffffff', help='the colour behind them (default: white)')
    options = parser.parse_args()
    try:
        colours = {text: parse(text) for text in options.colours}
        background = parse(options.background)
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    for text, colour in colours.items():
        ratio = contrast(colour, background)
        weak = '' if ratio >= ENOUGH_CONTRAST else f'  too little for lines and text: at least {ENOUGH_CONTRAST:g}'
        print(f'{text}  contrast {ratio:.1f}{weak}')
    alike = 0
    for (one, first), (other, second) in combinations(colours.items(), 2):
        for who, matrix in SEEN.items():
            apart = distance(seen(first, matrix), seen(second, matrix))
            if apart < ALIKE:
                alike += 1
                print(f'{one} and {other} look alike {who} (distance {apart:.0f}, at least {ALIKE:g})')
    if not alike:
        print('All of them can be told apart, with and without red and green cones.')
    return 0


if __name__ == '__main__':
    sys.exit(main())

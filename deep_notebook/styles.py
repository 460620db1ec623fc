"""How an agent writes its answers: named styles, built in or from a directory of Markdown files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from .errors import UsageError, did_you_mean

__all__ = ['BUILTIN_STYLES', 'OutputStyle', 'discover_styles', 'format_style_prompt', 'resolve_style']

_FENCE = '---'


@dataclass(frozen=True)
class OutputStyle:
    """One way to write answers."""

    name: str
    description: str
    """One line for the person who chooses."""
    content: str
    """What the agent is told."""


def _by_name(*styles: OutputStyle) -> Mapping[str, OutputStyle]:
    return MappingProxyType({style.name: style for style in styles})


BUILTIN_STYLES = _by_name(
    OutputStyle(
        'concise',
        'The answer and nothing else.',
        'Give the answer first and stop when it is given. No preamble, no summary of what you did unless it went '
        'differently than asked, no offers. Fragments and lists are fine; every number keeps its unit.',
    ),
    OutputStyle(
        'explanatory',
        'The answer, and why it is so.',
        'After the answer, explain the choices that mattered: what you considered, why this way, what would change '
        'your mind. Explain a term when you first use it. Point to the line or cell that shows what you say.',
    ),
    OutputStyle(
        'formal',
        'Prose that could go into a report.',
        'Write whole sentences in a neutral register: no contractions, no first person, no jokes, no emoji. Define '
        'abbreviations once. State methods, assumptions and limits before conclusions.',
    ),
    OutputStyle(
        'conversational',
        'As a colleague would say it.',
        'Talk to the person as a colleague at the same desk: plain words, short paragraphs, tables only for what is '
        'a table. Say what surprised you. Ask back when you are not sure what is meant.',
    ),
)
"""The styles that are always there, by name."""


def resolve_style(style: str | OutputStyle, styles_dir: str | Path | None = None) -> OutputStyle:
    """Return the style that is meant.

    Args:
        style: A style, or the name of one.
        styles_dir: A directory of own styles; one of them goes before a built-in style of the same name.

    Raises:
        UsageError: No style has this name, or `discover_styles` raises it.
    """
    if isinstance(style, OutputStyle):
        return style
    styles = {**BUILTIN_STYLES, **(discover_styles(styles_dir) if styles_dir is not None else {})}
    if style in styles:
        return styles[style]
    where = '.' if styles_dir is None else f' (own ones: {styles_dir}).'
    raise UsageError(
        f'There is no output style {style!r}.{did_you_mean(style, styles)} There are {", ".join(sorted(styles))}{where}'
    )


def discover_styles(directory: str | Path) -> dict[str, OutputStyle]:
    """Return the styles of the `*.md` files in a directory, by name.

    The text of a file is what the agent is told. YAML between two lines `---` at its beginning can give `name`
    (else that of the file counts) and `description`; other keys are left alone.

    Args:
        directory: A directory of this machine; `~` is the home directory. Directories in it are not looked into.

    Raises:
        UsageError: The directory cannot be read, a file is no style, or two have one name.
    """
    place = Path(directory).expanduser()
    try:
        files = sorted(path for path in place.iterdir() if path.suffix.lower() == '.md' and path.name[0] != '.')
    except OSError as error:
        raise UsageError(
            f'The styles directory {directory} cannot be read ({error.strerror}): create it, or set styles_dir anew.'
        ) from error
    found: dict[str, tuple[OutputStyle, Path]] = {}
    for path in files:
        style = _read_style(path)
        if style.name in found:
            raise UsageError(
                f'{found[style.name][1]} and {path} are both named {style.name!r}: change the name in one of them.'
            )
        found[style.name] = (style, path)
    return {name: style for name, (style, _) in found.items()}


def format_style_prompt(style: OutputStyle) -> str:
    """Return the section of the instructions that asks for `style`."""
    return f'## Output style: {style.name}\n\n{style.content.strip()}'


def _read_style(path: Path) -> OutputStyle:
    try:
        text = path.read_text(encoding='utf-8-sig')
    except OSError as error:
        raise UsageError(f'{path} cannot be read ({error.strerror}): mend or remove it.') from error
    except UnicodeDecodeError as error:
        raise UsageError(f'{path} is not UTF-8 (byte {error.start}): save it as UTF-8.') from error
    header, content = _split_header(path, text)
    if not content.strip():
        raise UsageError(f'{path} says nothing: write below the header how the agent should answer.')
    return OutputStyle(
        _header_text(path, header, 'name') or path.stem, _header_text(path, header, 'description'), content.strip()
    )


def _split_header(path: Path, text: str) -> tuple[dict[Any, Any], str]:
    lines = text.split('\n')
    if lines[0].rstrip() != _FENCE:
        return {}, text
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        raise UsageError(f'{path} has a header without an end: put a line --- below it.')
    try:
        header = yaml.safe_load('\n'.join(lines[1:end]))
    except yaml.YAMLError as error:
        mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
        line = '' if mark is None else f' in line {mark.line + 2}'
        raise UsageError(
            f'The header of {path} is not YAML{line}: put texts with special characters in quotes.'
        ) from error
    if header is None:
        return {}, '\n'.join(lines[end + 1 :])
    if not isinstance(header, dict):
        raise UsageError(f'The header of {path} must have lines such as "name: mine", got {header!r}.')
    return header, '\n'.join(lines[end + 1 :])


def _header_text(path: Path, header: dict[Any, Any], key: str) -> str:
    value = header.get(key, '')
    if not isinstance(value, str):
        raise UsageError(f'{key} in the header of {path} must be a text, got {value!r}: put it in quotes.')
    return ' '.join(value.split())

"""The `%deep` subcommands about what the agent is given: its options, copies of files, its notes and servers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..capabilities.agent_paths import agent_path
from ..capabilities.memory import memory_file
from ..errors import UsageError
from ..masking import mask_secrets
from ..models.recording_file import write_atomically
from ..options import DeepAgentSpec
from ..settling import settle, spec_of
from ..spec import read_spec, spec_data, spec_text, write_spec
from . import mcp_command
from .prompt import expand

if TYPE_CHECKING:
    from .cells import DeepCells
    from .session import NotebookSession

__all__ = ['COMMANDS', 'path_given']


def _spec(cells: DeepCells, rest: str) -> str:
    session = cells.session
    word, _, file = rest.partition(' ')
    match word:
        case '':
            return spec_text(_present(cells)).rstrip() or 'Every option is as it is by default.'
        case '--save':
            if not file.strip():
                raise UsageError('%deep spec --save takes the name of a file, such as agent.yaml.')
            write_spec(path_given(session, file), _present(cells))
            return f'The options are kept in {file.strip()}.'
        case '--default':
            session.use(settle({}))
            return 'Every option is as it is by default.'
    settled = read_spec(path_given(session, rest))
    session.use(settled)
    if settled.spec.model is None:
        return f'From now on the agent of this notebook is as {rest} says.'
    cells.magics.model = settled.spec.model
    return f'From now on the agent of this notebook is as {rest} says, and {settled.spec.model} answers.'


def _present(cells: DeepCells) -> DeepAgentSpec:
    """Return the options in force, with the model and the budget of this notebook."""
    given = spec_data(spec_of(cells.session.settled))
    if cells.magics.model:
        given['model'] = cells.magics.model
    if servers := cells.session.mcp_servers:
        given['mcp_servers'] = {name: server.as_config() for name, server in servers.items()}
    if cells.magics.budget:
        given['cost_budget_usd'] = cells.magics.budget
    return settle(given).spec


def _upload(cells: DeepCells, rest: str) -> str:
    if not rest:
        raise UsageError('%deep upload takes the name of a file, such as %deep upload ~/Downloads/sales.csv.')
    source = path_given(cells.session, rest)
    try:
        content = source.read_bytes()
    except OSError as error:
        raise UsageError(f'{rest} cannot be read ({error.strerror}).') from error
    try:
        path = cells.call(cells.session.deps.upload_file(source.name, content))
    except OSError as error:
        raise UsageError(f'The copy of {source.name} could not be written ({error.strerror}).') from error
    return f'The agent has a copy of {source.name}: {path}'


def _memory(cells: DeepCells, rest: str) -> str:
    spec = cells.session.settled.spec
    directory = cells.session.directory
    path = directory / agent_path(memory_file(spec.name or 'main', spec.memory_dir), str(directory))
    word, _, text = rest.partition(' ')
    match word:
        case '':
            return _read(path).rstrip() or 'The agent has no notes. It keeps its own, and yours: %deep memory add TEXT'
        case 'add' if text.strip():
            before = _read(path)
            gap = '' if not before or before.endswith('\n') else '\n'
            _write(path, f'{before}{gap}{mask_secrets(text.strip())}\n')
            return 'Noted. The agent sees it from your next %%deep on.'
        case 'edit' if not text:
            notes = _read(path)
            _write(path, notes)  # the directory has to be there for %%writefile
            cells.shell.set_next_input(f'%%writefile "{os.path.relpath(path)}"\n{notes}')
            return 'The notes are in a new cell: change them there and run it.'
        case _:
            raise UsageError(f'%deep memory takes nothing, add TEXT, or edit; not {rest!r}.')


def _mcp(cells: DeepCells, rest: str) -> str:
    return '\n'.join(cells.call(mcp_command.run(cells.session.mcp_servers, rest)))


COMMANDS: dict[str, Callable[[DeepCells, str], str]] = {
    'mcp': _mcp,
    'memory': _memory,
    'spec': _spec,
    'upload': _upload,
}


def path_given(session: NotebookSession, text: str) -> Path:
    """Return the file that is meant: quotes may stand around it, `{name}` is the text of a variable, `~` is home, and
    the rest starts at the notebook.
    """
    text = expand(text.strip(), session.namespace)
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in '"\''
    return session.directory / Path(text[1:-1] if quoted else text).expanduser()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding='utf-8')
    except FileNotFoundError:
        return ''
    except OSError as error:
        raise UsageError(f'{path} cannot be read ({error.strerror}).') from error
    except UnicodeDecodeError as error:
        raise UsageError(f'{path} is not UTF-8 any more (byte {error.start}): mend it in an editor.') from error


def _write(path: Path, text: str) -> None:
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise UsageError(f'{path} cannot be written ({error.strerror}).') from error

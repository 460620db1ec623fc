"""Tell files that hold secrets by their paths, and find such paths in commands and code.

Going by names, this sees what is written out. A name that only comes to be when the command or the code runs, such as
`chr(46) + 'env'`, a variable, or a walk over all files, is not seen.
"""

from __future__ import annotations

import ast
import posixpath
import re
import shlex
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice, product
from urllib.parse import unquote

from pydantic_ai.exceptions import ToolFailed

from .filesystem.globs import compile_glob
from .python import without_fences

__all__ = ['Secret', 'SecretPaths']

_SECRETS: dict[str, tuple[str, ...]] = {
    'an environment file': ('.env', '.env.*', '?*.env', '.envrc', 'proc/*/environ'),
    'a private key': (
        *('id_{rsa,dsa,ecdsa,ed25519}*', '?*.{pem,key,p12,pfx,jks,keystore,ppk,kdbx,ovpn}'),
        *('.ssh', '.ssh/**', '.gnupg', '.gnupg/**', 'library/keychains/**'),
    ),
    'a file of credentials': (
        *('credentials.{json,yaml,yml,toml,ini,csv,txt,db}', 'secrets.{json,yaml,yml,toml,ini}', 'git/credentials'),
        *('client_secret*.json', 'service{-,_}account*.json', '.git-credentials', '{.,_}netrc', '.pgpass', '.my.cnf'),
        *('.pypirc', '.npmrc', '.htpasswd', '.vault-token', '.s3cfg', '.boto', '.password-store', '.password-store/**'),
        *('kaggle.json', '{.,}huggingface/token', 'etc/{g,}shadow', '{jp,nb}server-*.json', 'kernel-*.json'),
        *('jupyter_cookie_secret', 'notebook_cookie_secret'),
    ),
    'cloud configuration': (
        *(f'.{name}{end}' for name in ('aws', 'azure', 'kube', 'docker', 'oci') for end in ('', '/**')),
        *('.config/{gcloud,gh,rclone}', '.config/{gcloud,gh,rclone}/**', 'application_default_credentials.json'),
        *('kubeconfig', '?*.kubeconfig', '.dockercfg', 'rclone.conf', '?*.tfvars{,.json}', '?*.tfstate{,.backup}'),
        '.terraformrc',
    ),
}
"""What is secret, by what it is: names at any depth, all in lower case."""
_NO_SECRETS = ('.env.{example,sample,template,dist,defaults}', '{example,sample,template}.env', '?*.pub', 'cacert.pem')

_HIDDEN_FILES = (
    *('.env', '.env.local', '.env.production', '.envrc', '.netrc', '.pgpass', '.pypirc', '.npmrc', '.git-credentials'),
    *('.vault-token', '.dockercfg'),
)
_HIDDEN_DIRECTORIES = ('.ssh', '.aws', '.gnupg', '.azure', '.kube', '.docker', '.oci', '.password-store')
_STEM = '\1'
"""A stem that no pattern names, so that only the ending of a pattern can match."""
_FILES = (
    *('id_rsa', 'id_ecdsa', 'id_ed25519'),
    *(f'{_STEM}.{ending}' for ending in ('env', 'pem', 'key', 'p12', 'pfx', 'jks', 'ppk', 'kdbx', 'tfvars', 'tfstate')),
)
_WILD = re.compile(r'[*?\[{]')
_BRACES = re.compile(r'\{([^{}]*,[^{}]*)\}')
_MAX_CHOICES = 64
_MAX_PATH = 4_096
"""Characters; Linux takes no longer path (PATH_MAX)."""

_BETWEEN = re.compile(r"""[\s;|&()<>=,:@`'"$!]+""")
_CREDENTIAL_COMMAND = re.compile(
    r'\b(?:gh\s+auth\s+(?:token|status\s.*-t)|gcloud\s+auth\s+(?:\S+\s+)?print-\w+-token|aws\s+configure\s+(?:get|export)'
    r'|az\s+account\s+get-access-token|kubectl\s+config\s+view|git\s+credential\s+fill|docker-credential-\S+\s+get'
    r'|security\s+find-\w+-password|(?:op|bw|pass|vault)\s+(?:read|get|show)|hf\s+auth\s+token)\b'
)

_SHELL_LINE = re.compile(r'^([ \t]*)(?:[\w, ]+=[ \t]*)?([!%].*)$', re.MULTILINE)
_SHELL_WORDS = frozenset(
    {'cat', 'cp', 'edit', 'ldir', 'less', 'lf', 'lk', 'll', 'load', 'ls', 'lx', 'man', 'more', 'mv', 'pfile', 'pycat'}
    | {'rm', 'run', 'sc', 'sx', 'system', 'writefile'}
)
"""What IPython takes for a command or a magic at the beginning of a line, also without `!` or `%`."""
_RUNNERS = frozenset(
    {'Popen', 'call', 'check_call', 'check_output', 'create_subprocess_exec', 'create_subprocess_shell', 'eval', 'exec'}
    | {'execv', 'execve', 'execvp', 'getoutput', 'getstatusoutput', 'glob', 'iglob', 'popen', 'rglob', 'run'}
    | {'run_cell', 'run_cell_magic', 'run_line_magic', 'spawnl', 'spawnv', 'system', 'system_piped'}
)
"""Functions that run commands or code, or expand patterns of file names."""
_READERS = frozenset({'load_dotenv', 'dotenv_values', 'find_dotenv', 'get_password'})


@dataclass(frozen=True)
class Secret:
    """Something secret that a text names."""

    name: str
    """As it was written."""
    kind: str
    """What it is, with its article."""


class SecretPaths:
    """The paths that hold secrets.

    Args:
        deny: More of them, as patterns: a name at any depth, or a path below any directory.
        allow: Patterns of paths that hold none, whatever their names say.

    Raises:
        ValueError: A pattern is malformed.
    """

    def __init__(self, *, deny: Sequence[str] = (), allow: Sequence[str] = ()) -> None:
        kinds = {**_SECRETS, 'a file that is kept secret here': tuple(deny)}
        self._kinds = [kind for kind, patterns in kinds.items() if patterns]
        groups = [f'(?P<kind{at}>{_any_of(kinds[kind])})' for at, kind in enumerate(self._kinds)]
        self._secret = re.compile('|'.join(groups))
        self._allowed = re.compile(_any_of((*_NO_SECRETS, *allow)))

    def in_path(self, path: str) -> Secret | None:
        """Return what is secret at `path`, by its name alone."""
        name = _normal(path)
        match = self._secret.match(name)
        if match is None or self._allowed.match(name):
            return None
        return Secret(path, self._kinds[int((match.lastgroup or '')[4:])])

    def in_glob(self, pattern: str) -> Secret | None:
        """Return what is secret among what a file name pattern is after; `*` and such are after nothing special."""
        for choice in _choices(pattern):
            found = self.in_path(choice) or self._in_wildcards(choice)
            if found is not None:
                return Secret(pattern, found.kind)
        return None

    def in_command(self, command: str) -> Secret | None:
        """Return the first secret that a shell command names, also in quotes or in code that it runs."""
        kept = _CREDENTIAL_COMMAND.search(command)
        if kept is not None:
            return Secret(kept[0], 'a command that shows credentials')
        for word in _words(command):
            for part in dict.fromkeys([word, *_BETWEEN.split(word)]):
                if (found := self.in_glob(part)) is not None:
                    return found
        return None

    def in_python(self, code: str) -> Secret | None:
        """Return the first secret that Python code, or a notebook cell, names."""
        code = without_fences(code)
        if code.lstrip().startswith('%%'):
            first, _, rest = code.lstrip().partition('\n')
            return self.in_command(first) or self.in_command(rest)
        for line in code.splitlines():
            shell = _SHELL_LINE.match(line)
            command = shell[2][1:] if shell is not None else line if _first_word(line) in _SHELL_WORDS else ''
            if (found := self.in_command(command)) is not None:
                return found
        try:
            tree = ast.parse(_SHELL_LINE.sub(r'\1pass', code))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return self.in_command(code)
        return next(filter(None, map(self._in_node, ast.walk(tree))), None)

    def _in_node(self, node: ast.AST) -> Secret | None:
        if isinstance(node, ast.Call):
            return self._in_call(node)
        text = _constant(node)
        return None if text is None else self.in_path(text)

    def _in_call(self, call: ast.Call) -> Secret | None:
        function = call.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, 'id', '')
        if name in _READERS:
            return Secret(name, 'a function that reads secrets')
        if name not in _RUNNERS:
            return None
        texts = (_constant(node) for argument in _arguments(call) for node in ast.walk(argument))
        return next((found for text in texts if text and (found := self.in_command(text)) is not None), None)

    def _in_wildcards(self, pattern: str) -> Secret | None:
        parts = [part for part in _normal(pattern).split('/') if part]
        for at, part in enumerate(parts):
            if not _WILD.search(part):
                continue
            last = at == len(parts) - 1
            # As in a shell, a name that begins with a dot is matched only by a pattern that does.
            if part.startswith('.'):
                names: Iterable[str] = (*_HIDDEN_DIRECTORIES, *(_HIDDEN_FILES if last else ()))
            else:
                names = _FILES if last and len(re.findall(r'[a-z0-9]', re.sub(r'\[.*?\]', '', part))) > 1 else ()
            for name in names:
                if fnmatchcase(name, part):
                    return self.in_path(name.replace(_STEM, 'x'))
        return None


def _any_of(patterns: Sequence[str]) -> str:
    try:
        return '|'.join(compile_glob(f'**/{pattern.strip("/").casefold()}').pattern for pattern in patterns)
    except ToolFailed as error:
        raise ValueError(str(error)) from error


def _normal(path: str) -> str:
    """Return `path` as the patterns have it: one spelling for all that some file system takes for the same."""
    path = path.strip()
    if len(path) > _MAX_PATH or '\n' in path or path.startswith(('http://', 'https://')):
        return ''
    text = unicodedata.normalize('NFKC', path).casefold().replace('\\', '/')
    if text.startswith('file:'):
        text = unquote(text[5:])
    text = ''.join(char for char in text if unicodedata.category(char) != 'Cf')
    return posixpath.normpath(text).strip('/')


def _choices(pattern: str) -> Iterator[str]:
    """Yield what the braces of a pattern stand for, as a shell expands them."""
    if len(pattern) > _MAX_PATH:
        return
    pieces = _BRACES.split(pattern)
    # Every other piece is what stood between braces.
    choices = [piece.split(',') if at % 2 else [piece] for at, piece in enumerate(pieces)]
    yield from islice((''.join(chosen) for chosen in product(*choices)), _MAX_CHOICES)


def _first_word(line: str) -> str:
    return (line.split(None, 1) or [''])[0]


def _words(command: str) -> list[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars='();<>|&')
    lexer.whitespace_split = True
    lexer.commenters = ''
    try:
        return list(dict.fromkeys(lexer))
    except ValueError:
        return list(dict.fromkeys(re.sub(r'[\\\'"]', '', command).split()))


def _constant(node: ast.AST) -> str | None:
    """Return the string that an expression is, with `_` for what is only known when it runs."""
    if isinstance(node, ast.Constant):
        value = node.value
        return value.decode('latin-1') if isinstance(value, bytes) else value if isinstance(value, str) else None
    if isinstance(node, ast.JoinedStr):
        return ''.join(_constant(part) or '_' for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _constant(node.left), _constant(node.right)
        return None if left is None or right is None else left + right
    return None


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (keyword.value for keyword in call.keywords)

"""Take secrets out of text before it is shown, stored or recorded.

Three nets, all linear in the length of the text:

1. the values of environment variables whose names look secret (`…_API_KEY`, `…_TOKEN`, `…_PASSWORD`, …);
2. keys of known shapes (`sk-…`, `ghp_…`, `AKIA…`, JSON web tokens, PEM private keys, …);
3. what is assigned to a secret-looking name (`password=…`, `"api_key": "…"`, `Bearer …`, `https://user:…@host`).

A mask keeps the recognisable beginning of a key (`sk-…[masked]`), so that one sees what stood there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import JsonValue

__all__ = ['MASK', 'is_secret_name', 'mask_secrets', 'mask_value']

MASK = '…[masked]'

_MIN_ENVIRONMENT_VALUE = 8

_SECRET_NAME = re.compile(
    r'(?:API_?KEY|ACCESS_?KEY(?:_ID)?|SECRET_?KEY|PRIVATE_?KEY|SIGNING_?KEY|ENCRYPTION_?KEY|(?:^|_)KEY'
    r'|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|(?:^|_)PASS)(?:_?\d{1,3})?$',
    re.IGNORECASE,
)

# A key starts a word; `\n`, `\r`, `\t` before it are the escapes of JSON text, not letters of that word.
_START = r'(?:(?<=\\[nrt])|(?<![A-Za-z0-9_-]))'

_SHAPES = re.compile(
    _START + r'(?:'
    r'(?P<openai>sk-)(?:(?:ant|proj|or|svcacct|admin)-[\w-]{12,}+|(?=[a-z-]*+[A-Z0-9])[\w-]{20,}+)'
    r'|(?P<stripe>[rsp]k_(?:live|test)_)[A-Za-z0-9]{16,}+'
    r'|(?P<github>gh[opsur]_)[A-Za-z0-9]{20,}+'
    r'|(?P<github_pat>github_pat_)\w{20,}+'
    r'|(?P<gitlab>glpat-)[\w-]{20,}+'
    r'|(?P<aws>A(?:KIA|SIA))[A-Z0-9]{16}(?![A-Za-z0-9])'
    r'|(?P<hub>hf_)[A-Za-z0-9]{20,}+'
    r'|(?P<slack>xox[abeoprs]-)[\w-]{10,}+'
    r'|(?P<google>AIza)[\w-]{30,}+'
    r'|(?P<groq>gsk_)[A-Za-z0-9]{20,}+'
    r'|(?P<other>pplx-|xai-|tvly-|r8_|npm_|pypi-)(?=[a-z-]*+[A-Z0-9])[\w-]{24,}+'
    r'|(?P<jwt>eyJ)[\w-]{8,}+\.[\w-]{8,}+\.[\w-]{8,}+'
    r')',
)

# Most text holds none of these, and looking for them costs next to nothing.
_PREFIXES = (
    *('sk-', 'sk_', 'rk_', 'pk_', 'gho_', 'ghp_', 'ghs_', 'ghu_', 'ghr_', 'github_pat_', 'glpat-', 'AKIA', 'ASIA'),
    *('hf_', 'xox', 'AIza', 'gsk_', 'pplx-', 'xai-', 'tvly-', 'r8_', 'npm_', 'pypi-', 'eyJ'),
)
_WORDS = ('passw', 'passphrase', 'pwd', 'secret', 'token', 'key')

# sklearn's HTML has classes such as `sk-container-id-12`: a bare `sk-` key has capitals or one long piece.
_LONG_PIECE = re.compile(r'[A-Za-z0-9_]{16,}+')

_PEM = re.compile(
    r'(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----)'
    r'((?:[\w+/=\\\s:,]|-(?!-))*+)'
    r'(-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?'
)
_BASE64_PIECE = re.compile(r'[A-Za-z0-9+/=]{32,}+')

_BEARER = re.compile(r'(?i)\b(bearer|basic)([ \t]+)([A-Za-z0-9._~+/=-]{8,}+)(?!…)')

_URL_PASSWORD = re.compile(r'(?<=://)([^\s:/@"\'<>…]{0,128}+:)([^\s/@"\'<>…]{1,256}+)(?=@)')

_ASSIGNMENT = re.compile(
    r'(?i)(?P<word>password|passwd|passphrase|pwd|secret|token|(?:api|access|secret|private|signing|encryption)[_-]?key)'
    r'(?P<sep>(?:_?\d{1,3})?(?:\\?["\'])?[ \t]{0,8}(?:=>|:=|={1,3}|:)[ \t]{0,8})'
    r'(?:(?P<quote>\\?["\'])(?P<quoted>[^"\'\\\r\n…]{4,512}+)(?=\\?["\'])'
    r'|(?P<bare>[^\s"\'`,;&|()\[\]{}<>=\\…][^\s"\'`,;&()\[\]{}<>\\…]{3,512}+)(?P<after>[(\[…]?))'
)

_OPTION = re.compile(
    r'(?i)(?P<sep>--(?:[a-z]{1,20}-){0,3}(?:password|passphrase|secret|token|api-?key|access-?key)[ \t]{1,8})'
    r'(?P<bare>[^\s"\'`;&|()\[\]{}<>\\…$-][^\s"\'`;&|()\[\]{}<>\\…]{3,512}+)(?!…)'
)

_PLACEHOLDER = re.compile(r'[<\[{%(*].*|\$\{?\w*\}?|(?:your|my)[-_ ].*|x{3,}|\.{3,}', re.IGNORECASE)
_CODE = re.compile(r'(?:[A-Za-z_]+\.?)++[:,.]?')
_NOT_VALUES = re.compile(
    r'string|integer|number|boolean|object|array|null|none|true|false|required|optional|default|bytes', re.IGNORECASE
)


def mask_secrets(text: str) -> str:
    """Return `text` with everything that looks like a secret replaced by a mask such as `sk-…[masked]`.

    Masking twice changes nothing more, and ordinary text comes back as it was.

    Args:
        text: Any text: a prompt, tool arguments, a diff, the output of a command, JSON.
    """
    return _mask(text, _environment_pattern(_secret_values(os.environ)))


def mask_value(value: JsonValue) -> JsonValue:
    """Return JSON with every string masked; a string under a secret-looking key is masked as a whole.

    The data of pydantic-ai's binary content stays as it is.

    Args:
        value: Such as the arguments of a tool call: `{"password": "hunter2"}`.
    """
    return _mask_json(value, '', _environment_pattern(_secret_values(os.environ)))


def _mask_json(value: JsonValue, key: str, pattern: re.Pattern[str] | None) -> JsonValue:
    if isinstance(value, str):
        assignment = f'{key}="{value}"'
        return MASK if key and _mask_assignments(assignment) == f'{key}="{MASK}"' else _mask(value, pattern)
    if isinstance(value, dict):
        # The base64 of a picture is no text, and is no picture any more with a mask in it.
        kept = 'data' if value.get('kind') == 'binary' else None
        return {name: item if name == kept else _mask_json(item, name, pattern) for name, item in value.items()}
    if isinstance(value, list):
        return [_mask_json(item, key, pattern) for item in value]
    return value


def _mask(text: str, pattern: re.Pattern[str] | None) -> str:
    if pattern is not None:
        text = pattern.sub(MASK, text)
    if '-----BEGIN' in text:
        text = _PEM.sub(_mask_pem, text)
    if any(prefix in text for prefix in _PREFIXES):
        text = _SHAPES.sub(_mask_shape, text)
    text = _BEARER.sub(_mask_bearer, text)
    if '://' in text:
        text = _URL_PASSWORD.sub(rf'\1{MASK}', text)
    lowered = text.lower()
    if not any(word in lowered for word in _WORDS):
        return text
    text = _mask_assignments(text)
    return _OPTION.sub(rf'\g<sep>{MASK}', text)


def is_secret_name(name: str) -> bool:
    """Say whether a variable called `name` is expected to hold a secret (`OPENAI_API_KEY`, `DB_PASSWORD`)."""
    return _SECRET_NAME.search(name) is not None


def _secret_values(environ: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        sorted(
            {
                value
                for name, value in environ.items()
                if len(value) >= _MIN_ENVIRONMENT_VALUE and value not in MASK and is_secret_name(name)
            },
            key=len,
            reverse=True,
        )
    )


@lru_cache(maxsize=8)
def _environment_pattern(values: tuple[str, ...]) -> re.Pattern[str] | None:
    return re.compile('|'.join(map(re.escape, values))) if values else None


def _mask_shape(match: re.Match[str]) -> str:
    prefix = match[str(match.lastgroup)]
    rest = match[0][len(prefix) :]
    if prefix == 'sk-' and rest == rest.lower() and not _LONG_PIECE.search(rest):
        return match[0]
    return prefix + MASK


def _mask_pem(match: re.Match[str]) -> str:
    begin, body, end = match[1], match[2], match[3]
    if end is None and not _BASE64_PIECE.search(body):
        return match[0]
    if not body.strip():
        return match[0]
    return begin + MASK + (end or '')


def _mask_bearer(match: re.Match[str]) -> str:
    kind, space, value = match.groups()
    if _is_word(value) and len(value) < 24:
        return match[0]
    return kind + space + MASK


def _mask_assignments(text: str) -> str:
    """Return `text` with a mask for each value of a secret-looking name.

    What is no secret itself is looked into: in `token: password=…` and `token: token: …` the value is a name too.
    """
    parts: list[str] = []
    at = 0
    while (match := _ASSIGNMENT.search(text, at)) is not None:
        quoted = match['quoted'] is not None
        start, end = match.span('quoted' if quoted else 'bare')
        value = text[start:end]
        if _is_secret(match['word'].lower(), match['sep'], value, quoted=quoted, after=match['after'] or ''):
            parts += [text[at:start], MASK]
            at = end
        else:
            parts.append(text[at : match.end('sep')])
            at = match.end('sep')
    return ''.join([*parts, text[at:]])


def _is_secret(word: str, sep: str, value: str, *, quoted: bool, after: str) -> bool:
    if after == '…' or _PLACEHOLDER.fullmatch(value) or _NOT_VALUES.fullmatch(value):
        return False
    has_digit = any(character.isdigit() for character in value)
    if word == 'token':
        # `token` is also a word of language models and parsers: only what looks random is masked.
        return ' ' not in value and ((has_digit and len(value) >= 8) or len(value) >= 24) and not after
    if word == 'pwd' and value.startswith('/'):
        return False
    if quoted:
        return ' ' not in value or word in ('password', 'passphrase', 'passwd')
    if after:
        return False
    if _is_word(value):
        # `password=swordfish` in a file of settings is a value; `password: str` and `password = ask_user` are code.
        return sep in ('=', ':=') and '.' not in value and word not in value.lower()
    return True


def _is_word(value: str) -> bool:
    return _CODE.fullmatch(value) is not None

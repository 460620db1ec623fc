"""Secrets leave no trace in what is shown, stored or recorded; ordinary text is not touched."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from deep_notebook.masking import MASK, is_secret_name, mask_secrets, mask_value


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    masked: str


def _key(prefix: str, length: int) -> str:
    """Assemble a key of a known shape here, so that no scanner stumbles over this file."""
    return prefix + ('a1B2c3D4' * 20)[:length]


SECRETS = [
    Case('openai', f'key {_key("sk-", 48)}.', f'key sk-{MASK}.'),
    Case('openai project', _key('sk-proj-', 60), f'sk-{MASK}'),
    Case('anthropic', f"'{_key('sk-ant-api03-', 90)}'", f"'sk-{MASK}'"),
    Case('github', _key('ghp_', 36), f'ghp_{MASK}'),
    Case('github fine-grained', _key('github_pat_', 60), f'github_pat_{MASK}'),
    Case('aws', 'AKIA' + 'IOSFODNN7EXAMPLE', f'AKIA{MASK}'),
    Case('hugging face', _key('hf_', 34), f'hf_{MASK}'),
    Case('slack', _key('xoxb-', 40), f'xoxb-{MASK}'),
    Case('google', _key('AIza', 35), f'AIza{MASK}'),
    Case('json web token', _key('eyJ', 20) + '.' + _key('', 30) + '.' + _key('', 30), f'eyJ{MASK}'),
    Case('after an escape in JSON', '{"out": "x\\n' + _key('sk-ant-', 40) + '"}', '{"out": "x\\nsk-' + MASK + '"}'),
    Case(
        'private key',
        'a\n-----BEGIN RSA PRIVATE KEY-----\n' + 'MIIEow\n' * 9 + '-----END RSA PRIVATE KEY-----\nb',
        f'a\n-----BEGIN RSA PRIVATE KEY-----{MASK}-----END RSA PRIVATE KEY-----\nb',
    ),
    Case(
        'private key in JSON, cut off',
        '"-----BEGIN PRIVATE KEY-----\\nMIIE' + 'Qk0' * 20 + '"',
        f'"-----BEGIN PRIVATE KEY-----{MASK}"',
    ),
    Case('bearer', 'Authorization: Bearer abc123def456', f'Authorization: Bearer {MASK}'),
    Case('settings file', 'PASSWORD=swordfish\nDEBUG=1', f'PASSWORD={MASK}\nDEBUG=1'),
    Case('yaml', 'password: hunter2', f'password: {MASK}'),
    Case('spaces around', 'api_key = "abcd1234"', f'api_key = "{MASK}"'),
    Case('json', '{"client_secret": "abcd-efgh"}', '{"client_secret": "' + MASK + '"}'),
    Case('escaped json', '{\\"password\\": \\"hunter2\\"}', '{\\"password\\": \\"' + MASK + '\\"}'),
    Case('pass phrase', "password='correct horse battery'", f"password='{MASK}'"),
    Case('token', 'token: 0123456789abcdef', f'token: {MASK}'),
    Case('query string', '/x?access_token=abc123def4&y=1', f'/x?access_token={MASK}&y=1'),
    Case('command option', 'psql --password swordfish -h db', f'psql --password {MASK} -h db'),
    Case('url', 'postgres://me:s3cret@db:5432/x', f'postgres://me:{MASK}@db:5432/x'),
]

ORDINARY = [
    'The password: please ask your colleague.',
    'def login(password: str, token: str | None = None) -> None: ...',
    'login(password=password, token=token)',
    'api_key = os.environ["OPENAI_API_KEY"]',
    'secret = getpass()',
    'max_tokens=12345678, tokens: 300',
    'tokenizer.pad_token = "<|endoftext|>"; token = "hello"',
    '{"password": {"type": "string"}, "token": "string"}',
    'API_KEY=${API_KEY} password=<your password> token=$TOKEN',
    'PWD=/home/me/work1',
    'class="sk-container-id-12 sk-estimator-doc-link-1234567"',
    'pip install scikit-learn; git checkout 29bd9ab4d1c2b8f7a6e5d4c3b2a190ffeeddccbb',
    'Bearer authentication is basic knowledge',
    'https://example.org:8080/a@b and mail me@example.org',
    'https://user@example.org/',
    "a PEM file begins with '-----BEGIN PRIVATE KEY-----' and then the key",
    'if token == other: keys = {"a": 1}',
    'x = "密码: 请询问"',
    '',
]


@pytest.mark.parametrize('case', SECRETS, ids=lambda case: case.name)
def test_a_secret_is_masked(case: Case) -> None:
    assert mask_secrets(case.text) == case.masked


@pytest.mark.parametrize('case', SECRETS, ids=lambda case: case.name)
def test_masking_twice_changes_nothing_more(case: Case) -> None:
    assert mask_secrets(case.masked) == case.masked


@pytest.mark.parametrize('text', ORDINARY)
def test_ordinary_text_is_untouched(text: str) -> None:
    assert mask_secrets(text) == text


def test_json_is_masked_by_its_keys_and_by_its_strings() -> None:
    arguments: dict[str, JsonValue] = {
        'password': 'hunter2',
        'key': 'name',
        'headers': {'Authorization': 'Bearer abc123def456', 'api_key': ['abcd-1234']},
        'content': 'api_key = "abcd1234"\n',
        'count': 3,
        'password_hint': 'the usual',
    }
    masked = mask_value(arguments)
    assert masked == {
        'password': MASK,
        'key': 'name',
        'headers': {'Authorization': f'Bearer {MASK}', 'api_key': [MASK]},
        'content': f'api_key = "{MASK}"\n',
        'count': 3,
        'password_hint': 'the usual',
    }
    assert mask_value(masked) == masked


def test_the_values_of_secret_variables_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('WEATHER_API_KEY', 'blue whale')
    monkeypatch.setenv('WEATHER_TOKEN', 'short')
    monkeypatch.setenv('WEATHER_CITY', 'Reykjavik')
    assert mask_secrets('blue whale, short, Reykjavik') == f'{MASK}, short, Reykjavik'


def test_the_longer_of_two_secret_values_is_masked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('A_SECRET', 'blue whale')
    monkeypatch.setenv('B_SECRET', 'blue whale song')
    assert mask_secrets('a blue whale song') == f'a {MASK}'


def test_a_variable_that_holds_the_mask_itself_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('DB_PASSWORD', '[masked]')
    assert mask_secrets(f'sk-{MASK}') == f'sk-{MASK}'


@pytest.mark.parametrize('name', ['OPENAI_API_KEY', 'GITHUB_TOKEN', 'DB_PASSWORD', 'AWS_SECRET_ACCESS_KEY', 'KEY_2'])
def test_names_of_secrets_are_recognised(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize('name', ['PATH', 'MONKEY', 'TOKENIZERS_PARALLELISM', 'SSH_AUTH_SOCK', 'COMPASS', 'KEYMAP'])
def test_names_of_ordinary_variables_are_not(name: str) -> None:
    assert not is_secret_name(name)


PIECES = [
    'sk-',
    'sk-ant-',
    'password=',
    '"api_key": "',
    "'",
    '"',
    '://u:',
    '@',
    'Bearer ',
    '-----BEGIN PRIVATE KEY-----',
    '-----END PRIVATE KEY-----',
    'token: ',
    '--token ',
    'a1B2c3D4e5F6g7H8i9J0',
    'eyJ',
    '.',
    ' ',
    '\n',
    '…',
    MASK,
    'word',
]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map(''.join))
@example('--token token: password=sk-ant-')
@example('--token token: token: a1B2c3D4e5F6g7H8i9J0')
def test_masking_is_idempotent(text: str) -> None:
    once = mask_secrets(text)
    assert mask_secrets(once) == once


@pytest.mark.parametrize('piece', [*PIECES, 'eyJaaaaaaaa.', 'a.', '--a-', '\\n', 'password', '"password": "', '-'])
def test_hostile_repetitions_stay_linear(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    started = time.process_time()
    mask_secrets(text)
    assert time.process_time() - started < 3, 'quadratic masking takes minutes here, linear masking a tenth of a second'


def test_the_data_of_a_picture_is_no_secret() -> None:
    data = 'iVBOR+sk-ant-api03-abcdefghijklmnop'
    picture = {'kind': 'binary', 'media_type': 'image/png', 'data': data, 'identifier': data}
    masked = mask_value({'content': [picture], 'data': data})
    hidden = f'iVBOR+sk-{MASK}'
    assert masked == {'content': [{**picture, 'identifier': hidden}], 'data': hidden}

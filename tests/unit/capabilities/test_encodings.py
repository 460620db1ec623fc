"""Short texts in older encodings are told apart, and the narrowest encoding that fits is meant."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deep_notebook.capabilities.filesystem import text_files
from deep_notebook.capabilities.filesystem.text_files import decode_text


@pytest.mark.parametrize(
    ('encoding', 'text'),
    [
        ('gbk', '销售数据：第一季度\n北京 1200\n'),
        ('gbk', '你好，世界'),
        ('big5', '銷售資料：第一季'),
        ('shift_jis', 'こんにちは世界、売上データ'),
        ('euc_jp', 'こんにちは世界、売上データ'),
        ('euc_kr', '안녕하세요 세계'),
        ('latin-1', 'Café à Zürich, naïve façade\nprix: 12\n'),
        ('latin-1', 'é'),
        ('cp1252', '“smart” quotes – déjà'),
        ('cp1250', 'Zażółć gęślą jaźń'),
        ('cp1251', 'Привет, мир! Данные о продажах'),
        ('koi8_r', 'Привет, мир! Данные о продажах'),
        ('cp1253', 'Καλημέρα κόσμε'),
    ],
)
def test_an_encoding_is_told(encoding: str, text: str) -> None:
    file = decode_text(text.encode(encoding))
    assert file is not None
    assert (file.encoding, file.text) == (encoding, text)


def test_a_long_text_is_told_by_its_beginning() -> None:
    text = '销售数据，' * 40_000
    file = decode_text(text.encode('gbk'))
    assert file is not None
    assert (file.encoding, file.text) == ('gbk', text)


def test_utf_8_is_not_guessed_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def guess(data: bytes) -> Iterator[str]:
        raise AssertionError
        yield ''

    monkeypatch.setattr(text_files, 'guess_encodings', guess)
    assert decode_text('é'.encode()) is not None


def test_a_long_text_of_few_words_is_told() -> None:
    text = 'Привет, мир; ' * 20_000
    file = decode_text(text.encode('cp1251'))
    assert file is not None
    assert (file.encoding, file.text) == ('cp1251', text)

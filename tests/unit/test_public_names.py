from __future__ import annotations

import pytest

import deep_notebook


@pytest.mark.parametrize('name', deep_notebook.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(deep_notebook, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = deep_notebook.nothing

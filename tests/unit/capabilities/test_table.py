from __future__ import annotations

from dataclasses import fields

from deep_notebook.capabilities import CAPABILITIES


def test_each_capability_has_the_id_it_is_listed_under_and_a_line_about_itself() -> None:
    for name, capability in CAPABILITIES.items():
        defaults = {field.name: field.default for field in fields(capability)}  # type: ignore[arg-type]
        assert defaults['id'] == name
        assert isinstance(defaults['description'], str)
        assert '\n' not in defaults['description']

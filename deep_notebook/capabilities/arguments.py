"""Be lenient with how models write arguments, where it is clear what they mean."""

from __future__ import annotations

import json
from typing import Any

__all__ = ['parse_json_text']


def parse_json_text(value: Any) -> Any:
    """Return a list or object that was given as JSON text; anything else as it is, for validation to judge."""
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value)
    except json.JSONDecodeError:
        return value
    return parsed if isinstance(parsed, (list, dict)) else value
